"""What someone asked to see, and what can be shown of it: one sentence for each that cannot.

A `Request` is plain numbers and words, as controls and links give them. `resolve` turns it into
a specimen; wherever a combination cannot be, or makes no difference, it says so and shows the
nearest thing that can.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from gating_core.attention import AttentionConfig, GateConfig
from gating_core.experiments import AFFORDABLE_COST, COARSEST_GRID, cost
from gating_core.experiments.specimen import CHOSEN_SEEDS, Specimen, chart_of
from gating_core.geometry import Matrix, square_grid, whitening
from ui.common.possible import fitting_heads
from ui.drawing.axes import DRAWN, Axes, coordinate_axes, principal_axes
from ui.limits import GRID_POINTS, LARGEST_DRAGGED

METRICS = ("isotropic", "diagonal", "turned")
DISTANT = 3.0  # |x|, in units of half the input square's side


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
class Request:
    """The controls of the Manifold page; fields as in `AttentionConfig` and `GateConfig`."""

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
    seed: int | None = None  # none said: the one that `CHOSEN_SEEDS` has for the depth
    sharpness: float = 1.0
    grid: int = 61
    axes_depth: int | None = None  # layers of the model whose principal components are drawn
    metric: Metric = field(default_factory=Metric)
    values: Matrix | None = None  # what the last layer's values were dragged to
    gate_weight: Matrix | None = None  # what the first layer's gate weights were dragged to

    @property
    def own_seed(self) -> int:
        """The seed in force."""
        return CHOSEN_SEEDS[self.depth] if self.seed is None else self.seed

    @property
    def drawn_depth(self) -> int:
        """Layers of the model whose components are drawn; each depth has its own chosen model."""
        return self.depth if self.seed is None else self.axes_depth or self.depth


@dataclass(frozen=True, eq=False)
class Resolved:
    """``sides`` to measure, ungated first; ``notes`` by the name of the control they stand at."""

    request: Request
    sides: list[Specimen]
    grid: int
    axes: Axes
    notes: dict[str, str]


def resolve(request: Request) -> Resolved:
    """The nearest that can be shown; ``ValueError`` where nothing of it can.

    That is: a covariance that is not positive definite, weights that are not finite, a grid that
    is not one of `GRID_POINTS`, and whatever `AttentionConfig` refuses.
    """
    if request.grid not in GRID_POINTS:
        raise ValueError(
            f"The grid is {request.grid}; it must be one of {', '.join(map(str, GRID_POINTS))}."
        )
    notes: dict[str, str] = {}
    config = _config(request, notes)
    gated = _specimen(request, config, notes)
    grid = request.grid
    sizes = (COARSEST_GRID, *GRID_POINTS)
    while cost(config) * grid**2 > AFFORDABLE_COST and grid > COARSEST_GRID:
        grid = sizes[sizes.index(grid) - 1]
    if grid != request.grid:
        notes["grid"] = f"A model of this size is measured on a grid of {grid}, to stay within"
        notes["grid"] += " seconds."
    own = replace(
        gated, config=replace(config, depth=request.drawn_depth), values=None, gate_weight=None
    )
    axes = axes_of(own)  # what is dragged moves before axes that stay put
    covariance = _covariance(request.metric, axes, config.model_dim)
    gated = replace(gated, covariance=covariance)
    sides = [gated.ungated]
    try:
        chart_of(at_strength(gated, 1.0))  # where that is, all strengths are
        sides.append(gated)
    except ValueError as error:
        notes["chart"] = f"No query of the gated model reaches this slice: {_why(error)}."
        notes["chart"] += " Shown: the ungated surface only."
    return Resolved(request, sides, grid, axes, notes)


def _config(request: Request, notes: dict[str, str]) -> AttentionConfig:
    heads, note = fitting_heads(request.heads, request.model_dim)
    if note:
        notes["heads"] = note
    gate = GateConfig(request.kind, request.granularity, request.position, request.strength)
    config = AttentionConfig(
        source=request.source,
        model_dim=request.model_dim,
        value_count=request.value_count,
        heads=heads,
        depth=request.depth,
        residual=request.residual,
        norm=request.norm,
        output_projection=request.output_projection,
        gate=gate,
    )
    if config.layer.fixed_values and gate.position in ("G2", "G3"):
        what = "values" if gate.position == "G2" else "keys"
        stay = _still_flat(config, "fixed vectors stay in a flat space")
        notes["position"] = (
            f"On memory slots {gate.position} reads the slot's own vector, so it is a constant: it"
            f" only moves the fixed {what}{stay}. Choose tokens to see it depend on the input."
        )
    elif config.layer.fixed_values and gate.position == "G4":
        stay = _still_flat(config, "the values stay in the same flat space")
        notes["position"] = f"G4 gates the query: it only moves the attention weights{stay}."
    elif gate.position == "G5" and not config.output_projection:
        notes["position"] = (
            "Without an output projection there is nothing between G1 and G5: they are the same"
            + ("." if gate.granularity == "elementwise" or heads == 1 else ", but for the heads.")
        )
    return config


def _still_flat(config: AttentionConfig, where: str) -> str:
    """Where averages stay, if outputs are averages, and what may still curve them."""
    if not config.layer.weights_on_simplex:
        return ""
    residual, norm = config.residual, config.norm == "post"
    what = {(True, True): "residual and normalisation come", (True, False): "the residual comes",
            (False, True): "normalisation comes"}.get((residual, norm))  # fmt: skip
    return f", and averages of {where}" + (f" ({what} after that)" if what else "")


def _specimen(request: Request, config: AttentionConfig, notes: dict[str, str]) -> Specimen:
    chart = request.chart
    if chart == "weights":
        reason = {
            config.layer.no_weight_chart is not None: config.layer.no_weight_chart,
            config.norm == "pre": "a normalised query comes from no known hidden state",
            config.value_count < 3: "two values span a line, not a surface",
        }.get(True)
        if reason is None:
            try:
                chart_of(Specimen(replace(config, gate=None), request.own_seed, chart=chart))
            except ValueError as error:
                reason = _why(error)
        if reason:
            chart = "inputs"
            notes["chart"] = f"There is no attention-weight chart here: {reason}. Shown: inputs."
    values, gate_weight = request.values, request.gate_weight
    if (values or gate_weight) and (not config.layer.fixed_values or config.value_count != 3):
        values = gate_weight = None
        notes["value_count"] = "Dragged values and gates need memory slots and n = 3. Shown: none."
    return Specimen(
        config,
        request.own_seed,
        request.sharpness,
        chart,
        values=_fitting(values, config.value_count, config.model_dim, "values"),
        gate_weight=_fitting(gate_weight, config.model_dim, _gate_width(config), "gate weights"),
    )


def _why(error: ValueError) -> str:
    """The reason alone: our errors say what arrived, a semicolon, and then why not."""
    return str(error).split("; ", 1)[-1]


def _gate_width(config: AttentionConfig) -> int:
    assert config.gate is not None
    if config.gate.granularity == "elementwise":
        return config.model_dim
    return 1 if config.gate.position == "G5" else config.heads


def _fitting(matrix: Matrix | None, rows: int, columns: int, name: str) -> Matrix | None:
    if matrix is None:
        return None
    if not all(abs(x) <= LARGEST_DRAGGED for row in matrix for x in row):
        raise ValueError(
            f"The dragged {name} contain a number that is not finite or beyond"
            f" ±{LARGEST_DRAGGED:,.0f}."
        )
    if len(matrix) != rows or any(len(row) != columns for row in matrix):
        raise ValueError(f"The dragged {name} must be {rows} by {columns} numbers.")
    return matrix


def _covariance(metric: Metric, axes: Axes, dim: int) -> Matrix | None:
    if metric == Metric():
        return None
    if metric.kind == "diagonal":
        given: object = list(metric.variances)
        if len(metric.variances) != dim:
            raise ValueError(
                f"The covariance has {len(metric.variances)} variances; it must have {dim}, finite"
                " numbers with commas between them, one for each dimension."
            )
    elif metric.kind == "turned":
        given = turned_covariance(axes, metric.angle, metric.ratio).tolist()
    else:
        given = [metric.variance] * dim
    try:
        whitening(given, dim)
    except ValueError as error:
        raise ValueError(f"The covariance cannot be used: {error}.") from error
    if metric.kind != "turned":
        given = [[x if i == j else 0.0 for j in range(dim)] for i, x in enumerate(given)]  # type: ignore
    return tuple(tuple(row) for row in given)  # type: ignore


COARSE_GRID = 21  # points along each side of the chart, to find the principal components


def axes_of(specimen: Specimen) -> Axes:
    """The axes for a specimen and its ungated twin; the gate's strength makes no difference.

    A side that has no surface on the specimen's chart is left out.
    """
    dim = specimen.config.model_dim
    if dim <= DRAWN:
        return coordinate_axes(dim)
    points = square_grid(COARSE_GRID).points
    clouds = []
    for side in (specimen.ungated, at_strength(specimen, 1.0)):
        try:
            clouds.append(chart_of(side)(points)[0].numpy())
        except ValueError:
            continue
    if not clouds:
        raise ValueError("neither the gated nor the ungated model has a surface on this chart")
    return principal_axes(clouds)


def at_strength(specimen: Specimen, strength: float) -> Specimen:
    """The same with its gate, if it has one, at another ``strength``."""
    gate = specimen.config.gate
    if not isinstance(gate, GateConfig):
        return specimen
    return replace(specimen, config=replace(specimen.config, gate=replace(gate, strength=strength)))


def turned_covariance(axes: Axes, angle: float, ratio: float) -> np.ndarray:
    """(D, D): variance ``ratio`` along a direction in the plane of the first two drawn axes.

    The direction stands at ``angle`` (degrees) to the first axis; all others have variance 1.
    """
    turn = np.radians(angle % 360)  # NaN where there is no such angle
    along = axes.basis[:, 0] * np.cos(turn) + axes.basis[:, 1] * np.sin(turn)
    with np.errstate(invalid="ignore"):  # an infinite ratio is refused as no covariance
        return np.eye(len(along)) + (ratio - 1) * np.outer(along, along)
