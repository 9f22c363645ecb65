"""One model on one chart, built and measured: what the Manifold page shows of each side.

Shapes: R x C grid points, D model dimension, H heads, n values, W gates of a layer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from gating_core.attention import Attention, LayerLook, build_attention
from gating_core.config import AttentionConfig, check_choice, check_integer, check_number
from gating_core.gates import Gate
from gating_core.geometry import curvature, second_fundamental_form
from gating_core.giving_way import drained, jet_by_parts
from gating_core.hull import affine_hull
from gating_core.integrals import (
    LARGEST_SAMPLE,
    PART_POINTS,
    SurfaceIntegrals,
    adaptive_steps,
    grid_integrals,
)
from gating_core.jets import check_weights, second_order_jet
from gating_core.measure import surface_result
from gating_core.point_types import POINT_TYPES, point_types
from gating_core.results import FLAT_ERROR, SurfaceResult
from gating_core.sample import WeightChart, square_grid, weight_chart

CHARTS = ("inputs", "weights")
SHARPNESS_RANGE = (0.1, 100.0)
AFFORDABLE = 1e8  # of `cost` times points: some five seconds of one core, bounds included
PART_COST = 4e6  # of `cost` times points, done without giving way: a fifth of a second
FEWEST_REFINED = 24_000  # points: twice what the first cells and their quarters take
COARSE = 19  # points along each side, where a model is too large for more: with all grid lines
TOLERANCE = 0.02  # relative, of the total curvature
Matrix = tuple[tuple[float, ...], ...]
Chart = Callable[..., torch.Tensor]


@dataclass(frozen=True)
class Specimen:
    """A model with random weights, one chart on it, and the metric it is measured in."""

    config: AttentionConfig = field(default_factory=AttentionConfig)
    seed: int = 0
    sharpness: float = 1.0  # factor on all keys: the larger, the more the softmax saturates
    chart: str = "inputs"  # CHARTS: the query chart or the attention-weight chart
    covariance: Matrix | None = None  # (D, D), None for the identity
    values: Matrix | None = None  # (n, D): what stands for the last layer's values
    gate_weight: Matrix | None = None  # (D, W): what stands for the first layer's gate weights

    def __post_init__(self) -> None:
        check_choice("chart", self.chart, CHARTS)
        check_integer("seed", self.seed, 0, 2**31 - 1)
        check_number("sharpness", self.sharpness, *SHARPNESS_RANGE)

    @property
    def ungated(self) -> Specimen:
        """The same without its gate."""
        return replace(self, config=replace(self.config, gate=None), gate_weight=None)


@dataclass(frozen=True, eq=False)
class MeasuredSpecimen:
    """A specimen's surface, sampled and measured on a grid, and what its layers did there.

    ``surface`` has one frame. Fields are (R, C): ``mean_norm`` |H| (1 / length), ``bending`` |II|
    (1 / length), ``types`` codes of `POINT_TYPES`. ``principal`` (R, C, 2) and its error, larger
    first, for D = 3 only. ``weights`` (H, R, C, n) and ``gates`` (W, R, C) stand in the order of
    the layers; ``gates`` is empty without a gate.
    """

    specimen: Specimen
    surface: SurfaceResult
    quadrature: np.ndarray  # (R, C): weights over the chart
    mean_norm: np.ndarray
    bending: np.ndarray
    types: np.ndarray
    principal: np.ndarray | None
    principal_error: np.ndarray | None
    weights: list[np.ndarray]
    gates: list[np.ndarray]
    reach: float | None  # largest |x| behind the attention-weight chart, where that is known
    values: np.ndarray | None  # (n, D): the last layer's values in force; None with tokens

    @property
    def uncertain_share(self) -> float:
        """The share of the area on which it is not known whether, or which way, it curves."""
        area = np.nan_to_num(self.surface.area_element[0]) * self.quadrature
        surface, values = self.surface, self.surface.values[0]
        span = values.max((0, 1)) - values.min((0, 1))
        within = np.abs(surface.gaussian[0]) <= surface.gaussian_error[0]
        sharp = surface.gaussian_error[0] * float((span**2).sum()) < FLAT_ERROR
        zero = surface.resolved[0] & within & sharp  # known not to curve, whether it bends or not
        unknown = (self.types == POINT_TYPES.index("undecided")) & ~zero
        whole = float(area.sum())
        return float((area * unknown).sum()) / whole if whole > 0 else 1.0

    @property
    def hull_dimension(self) -> int | None:
        """Dimension of the flat space that the last layer's outputs fill without their gate.

        With several heads each contributes its own values' rank. ``None`` with tokens.
        """
        if self.values is None:
            return None
        heads = np.split(self.values, self.specimen.config.heads, axis=1)
        return sum(affine_hull(torch.from_numpy(part)).dimension for part in heads)


def cost(config: AttentionConfig) -> float:
    """Roughly what one point costs, in numbers touched: tokens look at each other in pairs."""
    width = config.model_dim * config.value_count
    if config.source == "tokens":
        width *= config.value_count * 8
    return config.depth * (width + config.model_dim**2)


def specimen_integrals(specimen: Specimen) -> SurfaceIntegrals:
    """All integrals over the chart, refined as far as a few seconds allow; errors as `chart_of`."""
    return affordable_integrals(chart_of(specimen), specimen.config, specimen.covariance)


def affordable_integrals(
    chart: Chart, config: AttentionConfig, covariance: Matrix | None = None
) -> SurfaceIntegrals:
    """All integrals over a chart of a model that ``config`` describes, within a few seconds."""
    return drained(affordable_steps(chart, config, covariance))


def affordable_steps(
    chart: Chart, config: AttentionConfig, covariance: Matrix | None = None
) -> Generator[None, None, SurfaceIntegrals]:
    """`affordable_integrals`, giving way several times a second."""
    sample = int(AFFORDABLE / cost(config))
    part = max(int(PART_COST / cost(config)), 1)
    if sample < FEWEST_REFINED:  # not even the first cells: then a coarse grid as it is
        grid = square_grid(COARSE)
        jet = yield from jet_by_parts(chart, grid.points, "rigorous", part)
        return grid_integrals(jet, grid.weights, covariance)
    most = min(sample, LARGEST_SAMPLE)
    return (
        yield from adaptive_steps(
            chart, covariance, TOLERANCE, "rigorous", most, min(part, PART_POINTS)
        )
    )


def build_specimen(specimen: Specimen) -> Attention:
    """The model, an ensemble of one; ``ValueError`` where a replaced matrix does not fit."""
    model = build_attention(specimen.config, (specimen.seed,))
    if specimen.sharpness != 1.0:
        for layer in model.blocks:
            keys = layer.keys if specimen.config.source == "memory" else layer.key_map
            keys.data *= specimen.sharpness
    first, last = model.blocks[0], model.blocks[-1]
    if specimen.values is not None:
        if specimen.config.source != "memory":
            raise ValueError("values were given for a token model; its values are computed")
        _replace(last.values, specimen.values, "values")
    if specimen.gate_weight is not None:
        if first.gate is None:
            raise ValueError("gate_weight was given for a model without a gate")
        _replace(first.gate.weight, specimen.gate_weight, "gate_weight")
    return model


def _diameter(values: torch.Tensor) -> float:
    """The diagonal of the box around the outputs (1, N, D)."""
    span = values.amax(-2) - values.amin(-2)
    return float(torch.linalg.vector_norm(span))


def _replace(parameter: torch.nn.Parameter, matrix: Matrix, name: str) -> None:
    new = torch.tensor(matrix, dtype=torch.float64)
    if new.shape != parameter.shape[1:]:
        wanted = tuple(parameter.shape[1:])
        raise ValueError(f"{name} has shape {tuple(new.shape)}; it must be {wanted}")
    if not new.isfinite().all():
        raise ValueError(f"{name} contains NaN or infinite numbers; all must be finite")
    parameter.data[0] = new


def chart_of(specimen: Specimen, model: Attention | None = None) -> Attention | WeightChart:
    """The callable (N, 2) -> (1, N, D) that the specimen's surface is the image of.

    ``ValueError`` where the attention-weight chart cannot be (see `weight_chart`).
    """
    model = build_specimen(specimen) if model is None else model
    return model if specimen.chart == "inputs" else weight_chart(model)


def measure_specimen(specimen: Specimen, grid_size: int = 61) -> MeasuredSpecimen:
    """Sample and measure a specimen with rigorous bounds; errors as `chart_of`."""
    grid = square_grid(grid_size)
    shape = tuple(grid.weights.shape)
    model = build_specimen(specimen)
    check_weights(model)
    chart = chart_of(specimen, model)
    jet = second_order_jet(chart, grid.points, "rigorous")
    field_ = curvature(jet, specimen.covariance)
    form = second_fundamental_form(jet, specimen.covariance)
    principal = principal_error = None
    if specimen.config.model_dim == 3:
        found, error = form.principal_curvatures()
        principal = found.reshape(*shape, 2).numpy()
        principal_error = error.reshape(shape).numpy()
    looks: list[LayerLook] = []
    chart(grid.points, looks)
    reach = None
    if isinstance(chart, WeightChart) and chart.inputs_known:
        reach = float(chart.reach(grid.points))
    return MeasuredSpecimen(
        specimen=specimen,
        surface=surface_result(jet, field_, grid),
        quadrature=grid.weights.numpy(),
        mean_norm=field_.mean_norm.reshape(shape).numpy(),
        bending=form.norm.reshape(shape).numpy(),
        types=point_types(field_, form, _diameter(jet.value)).reshape(shape).numpy(),
        principal=principal,
        principal_error=principal_error,
        weights=[look.weights[0].unflatten(1, shape).numpy() for look in looks],
        gates=[
            _gate_in_force(layer.gate, look, shape)
            for layer, look in zip(model.blocks, looks, strict=True)
            if layer.gate is not None
        ],
        reach=reach,
        values=None
        if specimen.config.source == "tokens"
        else model.blocks[-1].slot_values()[0].numpy(),
    )


def _gate_in_force(gate: Gate, look: LayerLook, shape: tuple[int, ...]) -> np.ndarray:
    """(W, R, C); 1 where the chart prescribes the weights and leaves the gate nothing to do."""
    if look.gate is None:
        return np.ones((gate.weight.shape[-1], *shape))
    return look.gate[0].T.reshape(-1, *shape).numpy()
