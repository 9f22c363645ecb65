"""One model on one chart: its values, which can be dragged, and its surface, measured on a grid.

Shapes: R x C grid points, D model dimension, H heads, n values, W gates of a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import torch

from gating_core.assets import ASSETS
from gating_core.attention.charts import WeightChart, weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, build_attention
from gating_core.checks import check_choice, check_integer, check_number, check_weights
from gating_core.experiments.measuring import LayerFields, affordable_integrals, layer_fields
from gating_core.geometry.curvature import Matrix
from gating_core.geometry.discrete import ErrorCurve
from gating_core.geometry.flatness import affine_hull
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral, SurfaceIntegrals
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult
from gating_core.geometry.verdict import Verdict, point_types
from gating_core.progress import Progress, silent
from gating_core.records import load_record

CHARTS = ("inputs", "weights")
SHARPNESS_RANGE = (0.1, 100.0)


@dataclass(frozen=True)
class ModelInstance:
    """A model with random weights, one chart on it, and the metric it is measured in."""

    config: AttentionConfig = field(default_factory=AttentionConfig)
    seed: int = 0
    sharpness: float = 1.0  # factor on all keys: the larger, the more the softmax saturates
    chart: str = "inputs"  # CHARTS: the query chart or the attention-weight chart
    covariance: Matrix | None = None  # (D, D), None for the identity
    values: Matrix | None = None  # (n, D): replaces the last layer's values

    def __post_init__(self) -> None:
        check_choice("chart", self.chart, CHARTS)
        check_integer("seed", self.seed, 0, 2**31 - 1)
        check_number("sharpness", self.sharpness, *SHARPNESS_RANGE)

    @property
    def ungated(self) -> ModelInstance:
        """This instance without its gate."""
        return replace(self, config=replace(self.config, gate=None))


def build_instance(instance: ModelInstance) -> Attention:
    """Build the model, an ensemble of one; ``ValueError`` if a replaced matrix does not fit."""
    model = build_attention(instance.config, (instance.seed,))
    if instance.sharpness != 1.0:
        for layer in model.blocks:
            layer.sharpen(instance.sharpness)
    if instance.values is not None:
        if not instance.config.layer.fixed_values:
            raise ValueError(
                f"values were given for a model of {instance.config.source}; its values are"
                " computed"
            )
        last = model.blocks[-1].values
        new, shape = torch.tensor(instance.values, dtype=torch.float64), tuple(last.shape[1:])
        if tuple(new.shape) != shape:
            raise ValueError(f"values has shape {tuple(new.shape)}; it must be {shape}")
        if not new.isfinite().all():
            raise ValueError("values contains NaN or infinite numbers; all must be finite")
        last.data[0] = new
    return model


def chart_of(instance: ModelInstance, model: Attention | None = None) -> Attention | WeightChart:
    """Return the callable (N, 2) -> (1, N, D) whose image is the instance's surface.

    ``ValueError`` where there is no attention-weight chart (see `weight_chart`).
    """
    model = build_instance(instance) if model is None else model
    return model if instance.chart == "inputs" else weight_chart(model)


# --- Dragged values -------------------------------------------------------------------------------

LINK_DIGITS = 4  # after the point, of dragged numbers in a link


def draggable_values(config: AttentionConfig) -> bool:
    """Return whether a model has three fixed value vectors."""
    return config.layer.fixed_values and config.value_count == 3


def own_values(instance: ModelInstance) -> np.ndarray:
    """(n, D): the last layer's values, before any gate."""
    return build_instance(instance).blocks[-1].values[0].numpy()


def link_digits(array: np.ndarray) -> Matrix:
    """Round a matrix to the digits of a link."""
    return tuple(tuple(round(float(x), LINK_DIGITS) for x in row) for row in array)


# --- Selection ------------------------------------------------------------------------------------

NEAR_DEGENERATE = 10.0  # elongation above which a surface counts as near-degenerate
SEEDS = 1024  # candidates of the rule, from 0
# For each depth, the seed of the random model that shows best what a gate does, with one sigmoid
# gate per channel at G1 and the sizes of `AttentionConfig`. Random gated stacks without a residual
# collapse with depth: most of their surfaces are near-degenerate, or ribbons. A model is broad if
# neither its ungated surface nor its gated one is ten times as long as broad. Among the broad ones,
# or among all if there are none, the largest product was taken of the breadth of both surfaces; one
# minus the share of the curvature on the most curved part of the area; and the total curvature, up
# to 1 (`gating_core.experiments.instance` of commit 1f4177a5). With seven layers or more no
# model is broad.
CHOSEN_SEEDS = {1: 614, 2: 543, 3: 892, 4: 808, 5: 59, 6: 557, 7: 149, 8: 149}


def chosen_config(depth: int) -> AttentionConfig:
    """Return the configuration of the candidates with ``depth`` layers."""
    return AttentionConfig(depth=depth, gate=GateConfig())


def elongation(values: np.ndarray) -> float:
    """Compute length by breadth of the points ``values`` (..., D).

    From the standard deviations along their first two principal components, of the points that are
    finite; 1 for a single point or none, infinite on a line.
    """
    points = values.reshape(-1, values.shape[-1])
    points = points[np.isfinite(points).all(-1)]
    if not len(points):
        return 1.0
    points = points / max(float(np.abs(points).max()), np.finfo(float).tiny)  # squares overflow
    spread = np.linalg.svd(points - points.mean(0), compute_uv=False)
    if not spread[0] > 0:
        return 1.0
    return float(spread[0] / spread[1]) if spread[1] > 0 else np.inf


# --- Measuring ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeasuredInstance:
    """A model instance's surface on a grid, with its curvature, its layers' weights and gates.

    ``surface`` has one frame. ``total`` is its integral of |K| dA on the grid, ``bending`` that of
    |II|^2 dA; errors as in `MeasuredSurface`.
    Fields are (R, C): ``mean_norm`` |H| (1 / length), ``types`` codes of `POINT_TYPES`.
    ``principal`` (R, C, 2) and its error, larger first, for D = 3 only.
    ``weights`` (H, R, C, n) and ``gates`` (W, R, C) are in the order of the layers; ``gates`` is
    empty without a gate.
    """

    instance: ModelInstance
    surface: SurfaceResult
    total: Integral
    bending: Integral
    mean_norm: np.ndarray
    types: np.ndarray
    principal: np.ndarray | None
    principal_error: np.ndarray | None
    weights: list[np.ndarray]
    gates: list[np.ndarray]
    reach: float | None  # largest |x| behind the attention-weight chart, where that is known
    values: np.ndarray | None  # (n, D): the last layer's values in force; None with tokens

    @property
    def last_layer(self) -> dict[str, np.ndarray]:
        """Gates and attention weights of the last layer by name, (R, C) each."""
        return LayerFields(self.weights[-1], self.gates[-1] if self.gates else None).by_name

    @property
    def verdict(self) -> Verdict:
        """The verdict on the surface, with shares of its area."""
        return self.surface.verdicts[0]

    @property
    def hull_dimension(self) -> int | None:
        """Dimension of the flat space that the last layer's outputs fill without their gate.

        With several heads each contributes its own values' rank. Where weights do not add up to
        one, outputs fill the values' linear span: the flat space through the origin as well.
        ``None`` with tokens.
        """
        if self.values is None:
            return None
        values, config = self.values, self.instance.config
        most = config.layer.mixed_count(config) - 1
        if not config.weights_on_simplex:
            values, most = np.concatenate([values, np.zeros_like(values[:1])]), most + 1
        heads = np.split(values, config.heads, axis=1)
        return sum(min(affine_hull(torch.from_numpy(part)).dimension, most) for part in heads)


def integrate_instance(instance: ModelInstance, progress: Progress = silent) -> SurfaceIntegrals:
    """Compute all integrals over the chart within a few seconds; errors as `chart_of`."""
    return affordable_integrals(
        chart_of(instance), instance.config, instance.covariance, progress=progress
    )


def instance_values(instances: Sequence[ModelInstance], grid_size: int = 61) -> list[np.ndarray]:
    """Evaluate the outputs (R, C, D) of each instance on a grid, without its curvature."""
    grid = square_grid(grid_size)
    shape = tuple(grid.weights.shape)
    with torch.no_grad():
        return [chart_of(each)(grid.points)[0].unflatten(0, shape).numpy() for each in instances]


def measure_instance(instance: ModelInstance, grid_size: int = 61) -> MeasuredInstance:
    """Sample and measure an instance with rigorous bounds; errors as `chart_of`."""
    model = build_instance(instance)
    check_weights(model)
    chart = chart_of(instance, model)
    found = MeasuredSurface(chart, square_grid(grid_size), instance.covariance)
    surface, field, form, grid = found.surface, found.field, found.form, found.grid
    shape = tuple(grid.weights.shape)
    principal = principal_error = None
    if instance.config.model_dim == 3:
        curvatures, error = form.principal_curvatures()
        principal = curvatures.reshape(*shape, 2).numpy()
        principal_error = error.reshape(shape).numpy()
    fields = layer_fields(chart, grid)
    reach = None
    if isinstance(chart, WeightChart) and chart.inputs_known:
        reach = float(chart.reach(grid.points))
    return MeasuredInstance(
        instance=instance,
        surface=surface,
        total=found.total.at(0),
        bending=found.bending.at(0),
        mean_norm=field.mean_norm.reshape(shape).numpy(),
        types=point_types(field, form, float(surface.diagonal[0])).reshape(shape).numpy(),
        principal=principal,
        principal_error=principal_error,
        weights=[each.weights for each in fields],
        gates=[
            np.ones((layer.gate.weight.shape[-1], *shape)) if each.gates is None else each.gates
            for layer, each in zip(model.blocks, fields, strict=True)
            if layer.gate is not None
        ],
        reach=reach,
        values=model.blocks[-1].slot_values()[0].numpy()
        if instance.config.layer.fixed_values
        else None,
    )


# --- Colourings -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Colouring:
    """A quantity over the chart, NaN where it is not known; ``inner`` if a layer's own.

    An inner quantity has a part for each channel or head of a layer.
    """

    title: str  # in words
    symbol: str
    field: Callable[[MeasuredInstance, int, int | None], np.ndarray]
    range: str = "from zero"  # or "signed", "least to largest", "logarithm"
    inner: str = ""  # "head", "channel" or nothing

    @property
    def name(self) -> str:
        """The title, and the symbol if the title does not contain it."""
        return self.title if self.symbol in self.title else f"{self.title} {self.symbol}"


def _resolved(m: MeasuredInstance, field: np.ndarray) -> np.ndarray:
    return np.where(m.surface.resolved[0], field, np.nan)


def _gate(m: MeasuredInstance, layer: int, part: int | None) -> np.ndarray:
    """The gate, or 1 without a gate."""
    return _part(m.gates[layer], part) if m.gates else np.ones_like(m.mean_norm)


def _part(stack: np.ndarray, part: int | None) -> np.ndarray:
    """Select one head or channel of ``stack``, or the mean over all for any other ``part``."""
    return stack.mean(0) if part is None or part >= len(stack) else stack[part]


def _entropy(m: MeasuredInstance, layer: int, part: int | None) -> np.ndarray:
    """Entropy in nats of the weights as shares of their sum: 0 (one value takes all) to log n."""
    weights = m.weights[layer]
    if not m.instance.config.weights_on_simplex:
        weights = weights / weights.sum(-1, keepdims=True)
    logs = np.log(np.where(weights > 0, weights, 1.0))
    return _part(-(weights * logs).sum(-1), part)


COLOURINGS: dict[str, Colouring] = {
    "curvature": Colouring("Gaussian curvature", "K", lambda m, *_: m.surface.known[0], "signed"),
    "size": Colouring("size of the curvature", "|K|", lambda m, *_: np.abs(m.surface.known[0])),
    "mean": Colouring("mean curvature", "|H|", lambda m, *_: _resolved(m, m.mean_norm)),
    "area": Colouring(
        "area element", "√det g", lambda m, *_: np.nan_to_num(m.surface.area_element[0])
    ),
    "gate": Colouring("how open the gate is", "gate", _gate, "least to largest", inner="channel"),
    "entropy": Colouring("attention entropy", "entropy", _entropy, inner="head"),
    "error": Colouring(
        "bound on the error of K",
        "error of K",
        lambda m, *_: _resolved(m, m.surface.gaussian_error[0]),
        "logarithm",
    ),
}


# --- Second opinions ------------------------------------------------------------------------------

# Bundled for *Learn*: `gating_core.experiments.instance` of commit 1f4177a5 measured them, the
# triangle meshes by PyVista on grids of 21 to 121 points along each side.
INSTANCE = ModelInstance(AttentionConfig(gate=GateConfig()), CHOSEN_SEEDS[1])
BUNDLED = ASSETS / "manifold" / "second_opinions.safetensors"


@dataclass(frozen=True, eq=False)
class SecondOpinions:
    """The surface of `INSTANCE`, measured in several ways.

    ``curves``: relative errors of differences in *double* and in *single* precision and of a
    triangle *mesh*, all of K over ``scale``, the mean |K| over the surface's area, and of the
    *proxy*, over its limit. ``apart``: the median difference of K in both precisions at the largest
    step, over ``scale``. ``quadrature`` and ``holonomy``: the integral of K dA and its error.
    """

    curves: dict[str, ErrorCurve]
    scale: float
    apart: float
    quadrature: tuple[float, float]
    holonomy: tuple[float, float]


@cache
def bundled_second_opinions() -> SecondOpinions:
    """Return the bundled opinions."""
    return load_record(SecondOpinions, BUNDLED, "holds no second opinions")
