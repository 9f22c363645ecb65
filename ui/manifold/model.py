"""A request, and what can be shown of it: one sentence for each part that cannot.

A `ManifoldRequest` is plain numbers and words, as controls and links give them. `resolve` turns it
into the models to measure; wherever a combination cannot be, or makes no difference, it says so and
shows the nearest thing that can.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace

import numpy as np

from gating_core.attention import MECHANISMS, AttentionConfig, GateConfig
from gating_core.experiments import AFFORDABLE_COST, COARSEST_GRID, cost
from gating_core.experiments.instance import CHOSEN_SEEDS, ModelInstance, chart_of
from gating_core.geometry import Matrix, square_grid, whitening
from ui.common.lessons import section
from ui.common.possible import fitting_heads
from ui.drawing.axes import DRAWN, Axes, coordinate_axes, principal_axes
from ui.limits import GRID_POINTS, LARGEST_DRAGGED

METRICS = ("isotropic", "diagonal", "turned")
DISTANT = 3.0  # |x|, in units of half the input square's side
AXES_GRID = 21  # points along each side of the chart, to find the principal components


@dataclass(frozen=True)
class Metric:
    """The covariance: one ``variance``, one for each of D axes, or a stretch along one direction.

    The direction stands at ``angle`` degrees to the first drawn axis, in the plane of the first
    two; its variance is ``ratio``, all others are 1.
    """

    kind: str = "isotropic"  # METRICS
    variance: float = 1.0
    variances: tuple[float, ...] = ()
    angle: float = 30.0
    ratio: float = 4.0


@dataclass(frozen=True)
class ManifoldRequest:
    """The page's controls; fields as in `AttentionConfig` and `GateConfig`."""

    kind: str = "sigmoid"
    strength: float = 1.0
    depth: int = 1
    chart: str = "inputs"
    source: str = "memory"
    position: str = "G1"
    granularity: str = "elementwise"
    model_dim: int = 3
    value_count: int = 3
    heads: int = 1
    residual: bool = False
    norm: str = "none"
    output_projection: bool = False
    sink: str = "none"
    seed: int | None = None  # None: the seed of `CHOSEN_SEEDS` for the depth
    sharpness: float = 1.0
    grid: int = 61
    axes_depth: int | None = None  # layers of the model whose principal components are drawn
    metric: Metric = field(default_factory=Metric)
    values: Matrix | None = None  # what the last layer's values were dragged to
    gate_weight: Matrix | None = None  # what the first layer's gate weights were dragged to

    @property
    def own_seed(self) -> int:
        """The seed in use."""
        return CHOSEN_SEEDS[self.depth] if self.seed is None else self.seed

    @property
    def drawn_depth(self) -> int:
        """Layers of the model whose components are drawn; each depth has its own chosen model."""
        return self.depth if self.seed is None else self.axes_depth or self.depth


COPIED = {x.name for x in fields(ManifoldRequest)} & {x.name for x in fields(AttentionConfig)}


@dataclass(frozen=True, eq=False)
class Resolved:
    """The ``variants`` to measure, ungated first; ``notes`` by the control they stand at."""

    request: ManifoldRequest
    variants: list[ModelInstance]
    grid: int
    axes: Axes
    notes: dict[str, str]


def resolve(request: ManifoldRequest) -> Resolved:
    """Return the nearest to ``request`` that can be shown.

    ``ValueError`` where nothing of it can: a covariance that is not positive definite, weights that
    are not finite, a grid that is not one of `GRID_POINTS`, and whatever `AttentionConfig` refuses.
    """
    if request.grid not in GRID_POINTS:
        raise ValueError(
            f"The grid is {request.grid}; it must be one of {', '.join(map(str, GRID_POINTS))}."
        )
    notes: dict[str, str] = {}
    config = _config(request, notes)
    gated = _instance(request, config, notes)
    grid, sizes = request.grid, (COARSEST_GRID, *GRID_POINTS)
    while cost(config) * grid**2 > AFFORDABLE_COST and grid > COARSEST_GRID:
        grid = sizes[sizes.index(grid) - 1]
    if grid != request.grid:
        notes["grid"] = (
            f"A model of this size is measured on a grid of {grid}, which takes seconds."
        )
    own = replace(
        gated, config=replace(config, depth=request.drawn_depth), values=None, gate_weight=None
    )
    axes = axes_of(own)  # what is dragged moves before axes that stay put
    gated = replace(gated, covariance=_covariance(request.metric, axes, config.model_dim))
    variants = [gated.ungated]
    try:
        chart_of(at_strength(gated, 1.0))  # where that exists, all strengths do
        variants.append(gated)
    except ValueError as error:
        notes["chart"] = f"No query of the gated model reaches this slice: {_reason(error)}."
        notes["chart"] += " Shown: the ungated surface only."
    return Resolved(request, variants, grid, axes, notes)


def _config(request: ManifoldRequest, notes: dict[str, str]) -> AttentionConfig:
    heads, note = fitting_heads(request.heads, request.model_dim)
    if note:
        notes["heads"] = note
    gate = GateConfig(request.kind, request.granularity, request.position, request.strength)
    sink = request.sink
    if sink != "none" and not MECHANISMS[request.source].has_softmax:
        sink = "none"
        notes["sink"] = "A sink stands in the denominator of a softmax. Shown: none."
    copied = {name: getattr(request, name) for name in COPIED}
    config = AttentionConfig(**copied | {"heads": heads, "gate": gate, "sink": sink})
    if note := _position_note(config, gate):
        notes["position"] = note
    return config


def _position_note(config: AttentionConfig, gate: GateConfig) -> str:
    """Why a gate at this position makes no difference, where that is so."""
    fixed, position = config.layer.fixed_values, gate.position
    after = {
        (True, True): " (residual and normalisation come after that)",
        (True, False): " (the residual comes after that)",
        (False, True): " (normalisation comes after that)",
    }.get((config.residual, config.norm == "post"), "")
    averages = config.weights_on_simplex
    if fixed and position in ("G2", "G3"):
        what = "values" if position == "G2" else "keys"
        stay = f", and averages of fixed vectors stay in a flat space{after}" if averages else ""
        return section("manifold", "note_slots", position=position, what=what, stay=stay)
    if fixed and position == "G4":
        stay = (
            f", and averages of the values stay in the same flat space{after}" if averages else ""
        )
        return section("manifold", "note_query", stay=stay)
    if position == "G5" and not config.output_projection:
        alike = gate.granularity == "elementwise" or config.heads == 1
        return section("manifold", "note_projection", but="" if alike else ", but for the heads")
    return ""


def _instance(
    request: ManifoldRequest, config: AttentionConfig, notes: dict[str, str]
) -> ModelInstance:
    plain = ModelInstance(config, request.own_seed, request.sharpness)
    chart = request.chart
    if chart == "weights" and (reason := _no_weight_chart(replace(plain, chart=chart))):
        chart = "inputs"
        notes["chart"] = f"There is no attention-weight chart here: {reason}. Shown: inputs."
    values, gate_weight = request.values, request.gate_weight
    if (values or gate_weight) and (not config.layer.fixed_values or config.value_count != 3):
        values = gate_weight = None
        notes["value_count"] = "Dragged values and gates need learned slots and n = 3. Shown: none."
    _check_dragged(values, config.value_count, config.model_dim, "values")
    _check_dragged(gate_weight, config.model_dim, _gate_width(config), "gate weights")
    return replace(plain, chart=chart, values=values, gate_weight=gate_weight)


def _no_weight_chart(instance: ModelInstance) -> str | None:
    """Why the ungated model has no attention-weight chart, where it has none."""
    config = instance.config
    if config.value_count < 3:
        return "two values span a line, not a surface"
    if config.norm == "pre":
        return "a normalised query comes from no known hidden state"
    if config.no_weight_chart is not None:
        return config.no_weight_chart
    try:
        chart_of(replace(instance, config=replace(config, gate=None)))
    except ValueError as error:
        return _reason(error)
    return None


def _reason(error: ValueError) -> str:
    """The reason alone: our errors say what arrived, a semicolon, and then why not."""
    return str(error).split("; ", 1)[-1]


def _gate_width(config: AttentionConfig) -> int:
    assert config.gate is not None
    if config.gate.granularity == "elementwise":
        return config.model_dim
    return 1 if config.gate.position == "G5" else config.heads


def _check_dragged(matrix: Matrix | None, rows: int, columns: int, name: str) -> None:
    if matrix is None:
        return
    if not all(abs(x) <= LARGEST_DRAGGED for row in matrix for x in row):
        raise ValueError(
            f"The dragged {name} contain a number that is not finite or beyond"
            f" ±{LARGEST_DRAGGED:,.0f}."
        )
    if len(matrix) != rows or any(len(row) != columns for row in matrix):
        raise ValueError(f"The dragged {name} must be {rows} by {columns} numbers.")


def _covariance(metric: Metric, axes: Axes, dim: int) -> Matrix | None:
    if metric == Metric():
        return None
    variances = metric.variances if metric.kind == "diagonal" else (metric.variance,) * dim
    if len(variances) != dim:
        raise ValueError(
            f"The covariance has {len(variances)} variances; it must have {dim}, finite numbers"
            " with commas between them, one for each dimension."
        )
    turned = metric.kind == "turned"
    given = turned_covariance(axes, metric.angle, metric.ratio) if turned else np.array(variances)
    try:
        whitening(given.tolist(), dim)
    except ValueError as error:
        raise ValueError(f"The covariance cannot be used: {error}.") from error
    return tuple(map(tuple, (given if turned else np.diag(given)).tolist()))


def axes_of(instance: ModelInstance) -> Axes:
    """Return the drawn axes of an instance and its ungated twin, at full strength.

    A variant that has no surface on the instance's chart is left out.
    """
    dim = instance.config.model_dim
    if dim <= DRAWN:
        return coordinate_axes(dim)
    points = square_grid(AXES_GRID).points
    clouds = []
    for variant in (instance.ungated, at_strength(instance, 1.0)):
        try:
            clouds.append(chart_of(variant)(points)[0].numpy())
        except ValueError:
            continue
    if not clouds:
        raise ValueError("neither the gated nor the ungated model has a surface on this chart")
    return principal_axes(clouds)


def at_strength(instance: ModelInstance, strength: float) -> ModelInstance:
    """Return the same with its gate, if it has one, at another ``strength``."""
    gate = instance.config.gate
    if not isinstance(gate, GateConfig):
        return instance
    return replace(instance, config=replace(instance.config, gate=replace(gate, strength=strength)))


def turned_covariance(axes: Axes, angle: float, ratio: float) -> np.ndarray:
    """(D, D): variance ``ratio`` along a direction in the plane of the first two drawn axes.

    The direction stands at ``angle`` (degrees) to the first axis; all others have variance 1.
    """
    turn = np.radians(angle % 360)  # NaN where there is no such angle
    along = axes.basis[:, 0] * np.cos(turn) + axes.basis[:, 1] * np.sin(turn)
    with np.errstate(invalid="ignore"):  # an infinite ratio is refused as no covariance
        return np.eye(len(along)) + (ratio - 1) * np.outer(along, along)
