"""Shared by the tabs of Manifold: the model that is requested, its measurements, its totals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import streamlit as st

from gating_core.attention import (
    GATE_NAMES,
    GATE_POSITIONS,
    MECHANISMS,
    NORMS,
    SINKS,
    AttentionConfig,
    GateConfig,
)
from gating_core.experiments.comparison import LIMITS
from gating_core.experiments.instance import (
    CHARTS,
    CHOSEN_SEEDS,
    COLOURINGS,
    SEEDS,
    MeasuredInstance,
    ModelInstance,
    chart_of,
    draggable_values,
    integrate_instance,
    link_digits,
    measure_instance,
)
from gating_core.experiments.measuring import AFFORDABLE_COST, COARSEST_GRID, cost
from gating_core.geometry import (
    Integral,
    Matrix,
    SurfaceIntegrals,
    square_grid,
    whitening,
)
from ui import limits
from ui.common.formatting import SOURCES_HELP, fitting_heads
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_number, parse_numbers, parse_pick
from ui.common.page import front_columns
from ui.drawing.axes import DRAWN, Axes, coordinate_axes, principal_axes
from ui.foreign import error_words
from ui.proved import Code, short_code
from ui.work import pool
from ui.work.cache import CACHE, NUMBERS_CACHE, cached
from ui.work.jobs import Jobs
from ui.work.pool import Rank

GRIDS = (COARSEST_GRID, 31, 61)  # points along each side of the chart
AXES_GRID = 21  # points along each side of the chart, to find the principal components
PER = {"channel": "elementwise", "head": "headwise"}
VARIANT_NAMES = ("Without gate", "With gate")
STEP_COUNTS = (20, 10, 5, 2, 1)  # from no gate to a full one
COST_PER_SECOND = 1e7  # of a core, bounds included; 4 to 20 million were measured
LEAST_COST = 128.0  # what a point costs at least: some of the work is the same for all models


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
    covariance: str = "1"  # see `parse_covariance`
    values: tuple[float, ...] | None = None  # dragged: three vectors of the last layer, in turn
    seed: int | None = None  # None: the seed of `CHOSEN_SEEDS` for the depth
    sharpness: float = 1.0

    @property
    def own_seed(self) -> int:
        """The seed in use."""
        return CHOSEN_SEEDS[self.depth] if self.seed is None else self.seed


COPIED = {x.name for x in fields(ManifoldRequest)} & {x.name for x in fields(AttentionConfig)}


@dataclass(frozen=True, eq=False)
class Resolved:
    """The ``variants`` to measure, ungated first; ``notes``: what of the request is not shown."""

    request: ManifoldRequest
    variants: list[ModelInstance]
    grid: int
    axes: Axes
    notes: list[str]


@dataclass(frozen=True, eq=False)
class Result:
    """The measured variants at the requested strength, ungated first."""

    resolved: Resolved
    variants: list[MeasuredInstance]
    point: tuple[int, int] | None  # the marked grid point

    @property
    def request(self) -> ManifoldRequest:
        return self.resolved.request


# --- Controls -------------------------------------------------------------------------------------


def draw_controls() -> tuple[ManifoldRequest, str]:
    """Draw all controls; return the request, and the key of `COLOURINGS` that is in colour."""
    kind, layers, source, colour, more = front_columns([4, 3, 3, 3, 2], "bottom")
    front = {
        "kind": kind.radio("Gate", GATE_NAMES, key="kind", horizontal=True, **LINK,
                           help=section("manifold", "help_kind")),
        "depth": layers.slider("Layers", *limits.MANIFOLD_LAYERS, 1, key="layers", **LINK),
        "source": source.selectbox("Keys and values from", [*MECHANISMS], key="source",
                                   help=SOURCES_HELP, **LINK),
    }  # fmt: skip
    colouring = colour.selectbox(
        "Colour by",
        [*COLOURINGS],
        key="by",
        help="; ".join(f"*{name}*: {x.name}" for name, x in COLOURINGS.items()),
        **LINK,
    )
    fold = more.popover("Model", icon=":material/tune:", width="stretch",
                        help="Gate position, size, normalisation, sink, seed, chart")  # fmt: skip
    gate, size, layer, more = fold.columns(4)
    folded = {
        "position": gate.radio("Gate position", GATE_POSITIONS, key="position", horizontal=True,
                               help=section("manifold", "help_position"), **LINK),
        "granularity": PER[gate.radio("One gate per", [*PER], key="per", horizontal=True, **LINK)],
        "model_dim": size.slider("Dimension D", *limits.MANIFOLD_CHANNELS, 3, key="dim", **LINK),
        "value_count": size.slider("Values n (slots or tokens)", *limits.MANIFOLD_VALUES, 3,
                                   key="n", **LINK),
        "heads": size.slider("Heads", *limits.MANIFOLD_HEADS, 1, key="heads", **LINK),
        "norm": layer.radio("Normalisation (RMSNorm)", NORMS, key="norm", horizontal=True, **LINK),
        "sink": layer.radio("Sink logit", SINKS, key="sink", horizontal=True,
                            help=section("manifold", "help_sink"), **LINK),
        "residual": layer.toggle("Residual connection", key="residual", **LINK),
        "output_projection": layer.toggle("Output projection", key="projection", **LINK),
        "sharpness": more.slider("Inverse temperature", *limits.MANIFOLD_SHARPNESS, 1.0, 0.5,
                                 key="sharpness", help=section("manifold", "help_sharpness"),
                                 **LINK),
        "seed": more.number_input("Seed of the weights", *LIMITS["seed"], None, 1, key="model",
                                  placeholder="automatic", **LINK,
                                  help=section("manifold", "help_model", last=SEEDS - 1)),
        "covariance": more.text_input("Covariance Σ of the Gaussians", "1", key="variances",
                                      max_chars=limits.LINK_NUMBERS * 8, **LINK,
                                      help=section("manifold", "help_covariance")),
        "chart": more.radio("Chart", CHARTS, key="chart", horizontal=True, **LINK,
                            help=section("manifold", "help_chart")),
    }  # fmt: skip
    strength = link_value("lambda", _parse_strength, 1.0, "1")
    values = link_value("values", parse_numbers, None, "the seed's own")
    return ManifoldRequest(**front, **folded, strength=strength, values=values), colouring


def _parse_strength(text: str) -> float | None:
    number = parse_number(text)
    return None if number is None or not 0 <= number <= 1 else round(20 * number) / 20


def show_model(request: ManifoldRequest) -> None:
    """Set the controls to ``request``, coloured by K; for callbacks only."""
    keys = {"depth": "layers", "model_dim": "dim", "value_count": "n", "seed": "model",
            "output_projection": "projection", "covariance": "variances"}  # fmt: skip
    for field in fields(request):
        if field.name not in ("strength", "granularity", "values"):
            st.session_state[keys.get(field.name, field.name)] = getattr(request, field.name)
    st.session_state["per"] = next(k for k, v in PER.items() if v == request.granularity)
    st.session_state["by"], st.session_state["tab"] = "curvature", "Surface"
    for name in ("lambda", "values", "point"):
        st.query_params.pop(name, None)


# --- What can be shown ----------------------------------------------------------------------------


@st.cache_resource(max_entries=limits.CACHED_RESOLVED, show_spinner=False)
def resolve(request: ManifoldRequest) -> Resolved:
    """Return the nearest to ``request`` that can be shown, with a sentence on each difference."""
    notes: list[str] = []
    heads, note = fitting_heads(request.heads, request.model_dim)
    sink = request.sink
    if sink != "none" and not MECHANISMS[request.source].has_softmax:
        sink, note = "none", "A sink stands in the denominator of a softmax. Shown: none."
    gate = GateConfig(request.kind, request.granularity, request.position, request.strength)
    copied = {name: getattr(request, name) for name in COPIED}
    config = AttentionConfig(**copied | {"heads": heads, "gate": gate, "sink": sink})
    notes += [note, _position_note(config, gate)]
    gated = ModelInstance(config, request.own_seed, request.sharpness)
    try:
        gated = replace(gated, covariance=parse_covariance(request.covariance, config.model_dim))
    except ValueError as error:
        notes.append(f"Σ cannot be used: {error_words(error)}. Shown: the identity.")
    if request.values is not None:
        dragged = np.array(request.values)
        if not draggable_values(config):
            notes.append("Values are dragged of three learned slots only. Shown: the seed's own.")
        elif dragged.size != 3 * config.model_dim or abs(dragged).max() > limits.LARGEST_DRAGGED:
            notes.append(
                f"Dragged values are 3 × {config.model_dim} numbers up to"
                f" {limits.LARGEST_DRAGGED:,.0f}. Shown: the seed's own."
            )
        else:
            gated = replace(gated, values=link_digits(dragged.reshape(3, -1)))
    if request.chart == "weights":
        reason = _no_weight_chart(replace(gated, chart="weights"))
        if reason:
            notes.append(f"There is no attention-weight chart here: {reason}. Shown: inputs.")
        else:
            gated = replace(gated, chart="weights")
    grid = next(
        (g for g in reversed(GRIDS) if cost(config) * g**2 <= AFFORDABLE_COST), COARSEST_GRID
    )
    variants = [gated.ungated]
    try:
        chart_of(at_strength(gated, 1.0))  # where that exists, all strengths do
        variants.append(gated)
    except ValueError as error:
        notes.append(f"No query of the gated model reaches this slice: {_reason(error)}.")
    axes = axes_of([replace(x, values=None) for x in variants])  # a dragged value turns no axes
    return Resolved(request, variants, grid, axes, [*filter(None, notes)])


def parse_covariance(text: str, dim: int) -> Matrix | None:
    """Read a covariance (D, D); ``None`` is the identity, ``ValueError`` says why there is none.

    One number is s² of s² I; D numbers with commas between them are a diagonal; D such rows with
    semicolons between them are a whole matrix.
    """
    rows = [parse_numbers(row) for row in text.split(";")]
    if any(row is None for row in rows):
        raise ValueError("a part of it is no finite number")
    given = np.array([x for row in rows for x in row or ()])
    if len(rows) == 1 and given.size in (1, dim):
        matrix = np.diag(np.broadcast_to(given, dim))
    elif len(rows) == dim and all(len(row or ()) == dim for row in rows):
        matrix = given.reshape(dim, dim)
    else:
        raise ValueError(f"for D = {dim} it is 1 number, {dim}, or {dim} rows of {dim}")
    try:
        whitening(matrix.tolist(), dim)
    except ValueError:
        raise ValueError("it is not symmetric and positive definite") from None
    return None if (matrix == np.eye(dim)).all() else tuple(map(tuple, matrix.tolist()))


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
        stay = f", and averages of the values stay in the same flat space{after}" * averages
        return section("manifold", "note_query", stay=stay)
    if position == "G5" and not config.output_projection:
        alike = gate.granularity == "elementwise" or config.heads == 1
        return section("manifold", "note_projection", but="" if alike else ", but for the heads")
    return ""


def _no_weight_chart(gated: ModelInstance) -> str | None:
    """Why the ungated model has no attention-weight chart, where it has none."""
    config = gated.config
    if config.value_count < 3:
        return "two values span a line, not a surface"
    if config.norm == "pre":
        return "a normalised query comes from no known hidden state"
    if config.no_weight_chart is not None:
        return config.no_weight_chart
    try:
        chart_of(gated.ungated)
    except ValueError as error:
        return _reason(error)
    return None


def _reason(error: ValueError) -> str:
    """The reason alone: our errors say what arrived, a semicolon, and then why not."""
    return str(error).split("; ", 1)[-1]


def axes_of(variants: list[ModelInstance]) -> Axes:
    """Return the drawn axes of ``variants`` together, at full strength."""
    dim = variants[0].config.model_dim
    if dim <= DRAWN:
        return coordinate_axes(dim)
    points = square_grid(AXES_GRID).points
    return principal_axes([chart_of(at_strength(x, 1.0))(points)[0].numpy() for x in variants])


def at_strength(instance: ModelInstance, strength: float) -> ModelInstance:
    """Return the same with its gate, if it has one, at another ``strength``."""
    gate = instance.config.gate
    if not isinstance(gate, GateConfig):
        return instance
    return replace(instance, config=replace(instance.config, gate=replace(gate, strength=strength)))


# --- Measurements ---------------------------------------------------------------------------------


def fetch(request: ManifoldRequest) -> Result:
    """Measure what is requested; say what is shown in its place."""
    found = resolve(request)
    point = link_value("point", lambda text: parse_pick(text, GRIDS[-1]), None, "no point")
    if point is not None and max(point) >= found.grid:
        point = None
    for note in found.notes:
        st.caption(f":material/info: {note}")
    return Result(found, [measure(x, found.grid) for x in found.variants], point)


@cached("Measuring curvature …")
def measure(instance: ModelInstance, grid: int) -> MeasuredInstance:
    """Measure an instance on a grid, with rigorous bounds."""
    if instance in resolve(ManifoldRequest()).variants:  # the first visitor waits for no worker
        return measure_instance(instance, grid)
    return pool.POOL.call(measure_instance, instance, grid, seconds=seconds_of(instance, grid))


def seconds_of(instance: ModelInstance, grid: int) -> float:
    """Predict the seconds of a core in which an instance is measured."""
    return max(cost(instance.config), LEAST_COST) * grid**2 / COST_PER_SECOND


@dataclass(frozen=True)
class DialRequest:
    """A model with a full gate, at all ``strengths`` of it, on a grid."""

    instance: ModelInstance
    grid: int
    strengths: tuple[float, ...]


def dial_request(instance: ModelInstance, grid: int) -> DialRequest:
    """Return evenly spaced strengths from 0 to 1, as many as can be measured in seconds."""
    each = seconds_of(instance, grid)
    steps = next((n for n in STEP_COUNTS if (n + 1) * each <= limits.DIAL_SECONDS), STEP_COUNTS[-1])
    strengths = tuple(round(i / steps, 2) for i in range(steps + 1))
    return DialRequest(at_strength(instance, 1.0), grid, strengths)


def _dial_steps(request: DialRequest) -> Iterator[Any]:
    each = tuple(at_strength(request.instance, strength) for strength in request.strengths)
    yield from pool.POOL.split(_measure_all, each, request.grid)


def _measure_all(instances: tuple[ModelInstance, ...], grid: int) -> Iterator[MeasuredInstance]:
    for instance in instances:
        yield measure_instance(instance, grid)


DIALS: Jobs[DialRequest, tuple[MeasuredInstance, ...]] = Jobs("strengths", _dial_steps, CACHE)
TOTALS: Jobs[ModelInstance, SurfaceIntegrals] = Jobs(
    "totals",
    lambda instance: pool.POOL.stream(integrate_instance, instance, rank=Rank.REST),
    NUMBERS_CACHE,
)


def totals_of(instances: tuple[ModelInstance, ...]) -> Mapping[ModelInstance, SurfaceIntegrals]:
    """Return the refined totals that are there; a job refines the others, and draws again."""
    totals, job = TOTALS.fetch_all(instances)
    if job is not None:
        TOTALS.watch(job, "Refining totals", again="Refine", beside=False)
    return totals


def degenerate(variant: MeasuredInstance) -> bool:
    """Return whether no tangent plane is resolved anywhere: no surface, or one too thin to see."""
    return variant.verdict.proof is None and not bool(variant.surface.resolved.any())


def best_total(variant: MeasuredInstance, refined: SurfaceIntegrals | None) -> Integral | None:
    """Return the grid's total where that is known to a tenth, else the ``refined`` one, if any."""
    flat = degenerate(variant) or variant.verdict.without_curvature
    if flat or variant.total.converged():
        return variant.total
    return None if refined is None else refined.absolute


def code_of(instance: ModelInstance) -> Code:
    """Return imports, and a line of Python that makes the surface."""
    imports = (
        "from gating_core.attention import AttentionConfig, GateConfig\n"
        "from gating_core.experiments.instance import ModelInstance, chart_of"
    )
    return imports, f"surface = chart_of({short_code(instance)})"


def strength_of(variant: MeasuredInstance) -> float:
    """Return the strength of its gate; 0 without one."""
    gate = variant.instance.config.gate
    return 0.0 if gate is None else gate.strength


def averaged(variant: MeasuredInstance) -> np.ndarray | None:
    """(3, D): the last layer's three values, where the outputs are averages of them and no more."""
    config, gate = variant.instance.config, variant.instance.config.gate
    plain = not config.residual and config.norm != "post" and not config.output_projection
    plain = plain and (gate is None or gate.position in ("G2", "G3", "G4"))
    plain = plain and config.weights_on_simplex
    return variant.values if plain and config.value_count == 3 and config.heads == 1 else None
