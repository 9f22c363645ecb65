"""The measured surface of one model, and the quantities that can colour it.

Shapes: R x C grid points, D model dimension, H heads, n values, W gates of a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention.charts import WeightChart
from gating_core.checks import check_weights
from gating_core.experiments.budget import affordable_integrals
from gating_core.experiments.instance.model import ModelInstance, build_instance, chart_of
from gating_core.experiments.layers import LayerFields, layer_fields
from gating_core.geometry.flatness import affine_hull
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral, SurfaceIntegrals
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult
from gating_core.geometry.verdict import Verdict, point_types
from gating_core.progress import Progress, silent


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
