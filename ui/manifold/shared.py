"""Shared by the tabs of Manifold: the controls of the model, cached measurements, jobs.

Worker processes measure, so that the server has time for other visitors. Totals are refined, and
the strengths of a gate measured, in jobs, which may take many seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.attention import GATE_NAMES, GATE_POSITIONS, MECHANISMS, NORMS, SINKS
from gating_core.experiments import cost
from gating_core.experiments.comparison import LIMITS
from gating_core.experiments.instance import (
    CHARTS,
    COLOURINGS,
    SEEDS,
    MeasuredInstance,
    ModelInstance,
    instance_values,
    integrate_instance,
    measure_instance,
)
from gating_core.geometry import FLAT, Integral, Matrix, SurfaceIntegrals
from ui import limits
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.links import LINK, link_value, parse_number, parse_numbers, parse_pick
from ui.common.possible import SOURCES_HELP
from ui.manifold.model import METRICS, ManifoldRequest, Metric, Resolved, at_strength, resolve
from ui.manifold.picture import ManifoldView
from ui.manifold.variants import Settled, strength_of
from ui.work import pool
from ui.work.cache import CACHE, NUMBERS_CACHE, cached
from ui.work.jobs import Job, Jobs
from ui.work.pool import Rank

PER = {"channel": "elementwise", "head": "headwise"}
VARIANT_NAMES = ("Without gate", "With gate")
IN_LINK = ("lambda", "axes", "values", "gates", "point")  # parameters that no widget holds
SHOWN_DEPTH, LAST_GOOD, UNDO = "manifold_depth", "manifold_last_good", "handles_history"
REVEALED = "manifold_revealed"  # how often the pictures had to come into view
TABS = ("Surface", "Inspect", "Error analysis")
STEP_COUNTS = (20, 10, 5, 2, 1)  # from no gate to a full one
LEAST_COST = 128.0  # what a point costs at least: some of the work is the same for all models
Dial = tuple[MeasuredInstance, ...]  # by strength
Totals = Mapping[ModelInstance, SurfaceIntegrals]
Slots = dict[str, DeltaGenerator]  # where a sentence can stand, by the field that it is about


@dataclass(frozen=True, eq=False)
class Result:
    """The one or two variants at the requested strength, and the gated one at all strengths."""

    view: ManifoldView
    resolved: Resolved
    variants: list[MeasuredInstance]  # ungated first
    dial: Sequence[MeasuredInstance]  # frames of the gated variant; none without one
    job: Job | None  # measures all strengths, as long as ``dial`` has only the requested one
    point: tuple[int, int] | None  # the marked grid point

    @property
    def request(self) -> ManifoldRequest:
        return self.resolved.request

    @property
    def strengths(self) -> list[float]:
        return list(map(strength_of, self.dial))

    @property
    def instances(self) -> tuple[ModelInstance, ...]:
        return tuple(variant.instance for variant in self.variants)

    @property
    def at(self) -> tuple[int, int]:
        """The marked grid point, or the middle of the chart."""
        middle = self.resolved.grid // 2
        return self.point or (middle, middle)


# --- Controls -------------------------------------------------------------------------------------


def draw_front() -> tuple[dict[str, Any], str, bool, Slots]:
    """Draw the controls above the tabs.

    Returns fields of the request, the quantity in colour, whether values and gates are dragged, and
    slots.
    """
    gate, depth, chart, colour, drag = front_columns([4, 3, 3, 3, 2])
    fields = {
        "kind": gate.radio("Gate", GATE_NAMES, key="kind", horizontal=True, **LINK,
                           help=section("manifold", "help_kind")),
        "depth": depth.slider("Layers", *limits.MANIFOLD_LAYERS, 1, key="layers", **LINK,
                              on_change=_keep_axes),
        "chart": chart.radio("Chart", CHARTS, key="chart", horizontal=True, **LINK,
                             help=section("manifold", "help_chart")),
    }  # fmt: skip
    colouring = colour.selectbox(
        "Colour by",
        [*COLOURINGS],
        key="by",
        **LINK,
        help="; ".join(f"*{name}*: {c.name}" for name, c in COLOURINGS.items()),
    )
    handles = drag.toggle(
        "Handles", key="handles", help=section("manifold", "help_handles"), **LINK
    )
    return fields, colouring, handles, {"position": gate.empty(), "chart": chart.empty()}


def draw_more() -> tuple[dict[str, Any], dict[str, Any], Slots | None]:
    """Draw the fold *More*; return fields of the request and of the view, and slots if unfolded."""
    fold = st.expander(
        "More: source, heads, normalisation, seed, scale", key="more", on_change="rerun", **LINK
    )
    gate, size, layer, picture = fold.columns(4)
    fields = {
        "source": gate.radio("Keys and values from", [*MECHANISMS], key="source", help=SOURCES_HELP,
                             **LINK),
        "position": gate.radio("Gate position", GATE_POSITIONS, key="position", horizontal=True,
                               help=section("manifold", "help_position"), **LINK),
        "granularity": PER[gate.radio("One gate per", [*PER], key="per", horizontal=True, **LINK)],
        "model_dim": size.slider("Dimension D", *limits.MANIFOLD_CHANNELS, 3, key="dim", **LINK),
        "value_count": size.slider("Values n (slots or tokens)", *limits.MANIFOLD_VALUES, 3,
                                   key="n", **LINK),
        "heads": size.slider("Heads", *limits.MANIFOLD_HEADS, 1, key="heads", **LINK),
        "norm": layer.radio("Normalisation (RMSNorm)", NORMS, key="norm", horizontal=True, **LINK),
        "residual": layer.toggle("Residual connection", key="residual", **LINK),
        "output_projection": layer.toggle("Output projection", key="projection", **LINK),
        "sink": layer.radio("Sink logit", SINKS, key="sink", horizontal=True,
                            help=section("manifold", "help_sink"), **LINK),
        "sharpness": layer.slider("Inverse temperature", *limits.MANIFOLD_SHARPNESS, 1.0, 0.5,
                                  key="sharpness", help=section("manifold", "help_sharpness"),
                                  **LINK),
        "seed": picture.number_input("Seed of the weights", *LIMITS["seed"], None, 1, key="model",
                                     placeholder="automatic", **LINK,
                                     help=section("manifold", "help_model", last=SEEDS - 1)),
        "grid": int(picture.select_slider("Grid", [*map(str, limits.GRID_POINTS)], "61", key="grid",
                                          help="Points along each side of the chart.", **LINK)),
    }  # fmt: skip
    scale = picture.radio(
        "Colour scale",
        ["linear", "asinh"],
        1,
        key="scale",
        horizontal=True,
        help=section("manifold", "help_scale"),
        **LINK,
    )
    left, right = picture.columns(2)
    shown = left.number_input(
        "Layer",
        0,
        limits.MANIFOLD_LAYERS[1],
        0,
        key="layer",
        **LINK,
        help="The layer whose gate or entropy is shown. 0 is the last one.",
    )
    part = right.number_input(
        "Channel or head",
        0,
        limits.MANIFOLD_CHANNELS[1],
        0,
        key="part",
        help="0 is the mean over all of them.",
        **LINK,
    )
    view = {
        "asinh": scale == "asinh",
        "layer": min(shown, st.session_state["layers"]) - 1 if shown else -1,
        "part": part - 1 if part else None,
    }
    slots = {
        name: column.empty()
        for name, column in {
            "value_count": size,
            "heads": size,
            "sink": layer,
            "grid": picture,
            "part": picture,
        }.items()
    }
    return fields, view, slots if fold.open else None


def draw_metric(dim: int) -> Metric:
    """Draw the covariance that lengths are measured with, in ``dim`` dimensions."""
    kinds, lengths = st.columns([2, 3], vertical_alignment="bottom")
    kind = kinds.radio(
        "Covariance Σ of the Gaussians",
        METRICS,
        key="metric",
        horizontal=True,
        **LINK,
        help=section("manifold", "help_metric"),
    )
    if kind == "isotropic":
        variance = lengths.slider("Variance s²", 0.05, 20.0, 1.0, 0.05, key="variance", **LINK)
        return Metric(kind, variance)
    if kind == "turned":
        left, right = lengths.columns(2)
        angle = left.slider("Angle to the first drawn axis (°)", 0, 180, 30, key="angle", **LINK)
        ratio = right.slider("Ratio of the variances", 0.05, 20.0, 4.0, 0.05, key="ratio", **LINK)
        return Metric(kind, angle=float(angle), ratio=ratio)
    text = lengths.text_input(
        f"The {dim} variances, with commas between them",
        ", ".join(["1"] * dim),
        key="variances",
        **LINK,
    )
    numbers = parse_numbers(text)
    if numbers is None:
        return Metric(kind)  # which no model has
    if len(numbers) != dim:
        st.caption(f":material/info: {dim} variances are needed. Shown: cut, or filled with 1.")
    return Metric(kind, variances=(*numbers, *(1.0,) * dim)[:dim])


def read_link(dim: int) -> dict[str, Any]:
    """Return the fields of the request that are dragged, for models in ``dim`` dimensions."""
    gates = _rows("gates", dim)
    if gates and len(gates[-1]) == dim:  # in the link one row per gate
        gates = tuple(zip(*gates, strict=True))
    return {
        "strength": link_value("lambda", _parse_strength, 1.0, "1"),
        "axes_depth": link_value("axes", _parse_depth, None, "the model's own"),
        "values": _rows("values", dim),
        "gate_weight": gates,
    }


def _parse_strength(text: str) -> float | None:
    number = parse_number(text)
    return None if number is None or not 0 <= number <= 1 else round(20 * number) / 20


def _parse_depth(text: str) -> int | None:
    depths = {str(depth): depth for depth in range(1, limits.MANIFOLD_LAYERS[1] + 1)}
    return depths.get(text)


def _rows(name: str, width: int) -> Matrix | None:
    """Return numbers in the link as rows of ``width``; the last one may lack some."""
    numbers = link_value(name, parse_numbers, None)
    if numbers is None:
        return None
    return tuple(numbers[i : i + width] for i in range(0, len(numbers), width))


def link_point() -> tuple[int, int] | None:
    """Return the grid point that the link marks, on whatever grid."""
    last = limits.GRID_POINTS[-1]
    return link_value("point", lambda text: parse_pick(text, last), None, "no point")


def _keep_axes() -> None:
    """Principal components stay those of the depth that was shown before, of the same seed."""
    shown = None if st.session_state.get("model") is None else st.session_state.get(SHOWN_DEPTH)
    if shown and "axes" not in st.query_params:
        st.query_params["axes"] = str(shown)


def put_in_link(texts: Mapping[str, str | None]) -> None:
    """Set parameters that no widget holds, or remove them; for callbacks only."""
    for name, text in texts.items():
        if text is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = text


def show_model(request: ManifoldRequest) -> None:
    """Set the controls to ``request``, coloured by K; for callbacks only.

    What was dragged of another model cannot be undone in this one.
    """
    for key, field in {
        "layers": "depth",
        "dim": "model_dim",
        "n": "value_count",
        "model": "seed",
        "projection": "output_projection",
    }.items():
        st.session_state[key] = getattr(request, field)
    for key in (
        "kind",
        "chart",
        "source",
        "position",
        "heads",
        "norm",
        "residual",
        "sink",
        "sharpness",
    ):
        st.session_state[key] = getattr(request, key)
    st.session_state["per"] = next(k for k, v in PER.items() if v == request.granularity)
    st.session_state["grid"], st.session_state["by"] = str(request.grid), "curvature"
    st.session_state["metric"], st.session_state["variance"] = "isotropic", 1.0
    if st.session_state["tab"] == TABS[-1]:  # where there are no pictures
        st.session_state["tab"] = TABS[0]
    put_in_link(dict.fromkeys(IN_LINK))
    st.session_state.pop(UNDO, None)
    st.session_state[REVEALED] = st.session_state.get(REVEALED, 0) + 1
    st.toast("The pictures above show this model now.", icon=":material/arrow_upward:")


# --- Measurements ---------------------------------------------------------------------------------


@st.cache_resource(max_entries=limits.CACHED_RESOLVED, show_spinner=False)
def resolved(request: ManifoldRequest) -> Resolved:
    """Return what can be shown of a request; its ``ValueError`` is not cached."""
    return resolve(request)


@cached("Measuring curvature …")
def measure(instance: ModelInstance, grid: int) -> MeasuredInstance:
    """Measure an instance on a grid, with rigorous bounds."""
    return pool.POOL.call(measure_instance, instance, grid)


def fetch(request: ManifoldRequest, view: ManifoldView, dials: bool = True) -> Result:
    """Return what is requested; where nothing of it can be shown, the last good picture.

    Without ``dials`` no strength of the gate is measured but the requested one.
    """
    try:
        result = _fetch(request, view, dials)
        st.session_state[LAST_GOOD] = request
    except ValueError as error:
        last = st.session_state.get(LAST_GOOD)
        result = _fetch(last or ManifoldRequest(), view, dials)
        shown = "the last picture that could be drawn" if last else "the first example"
        st.error(f"{error} Shown: {shown}.")
    principal = result.resolved.axes.principal
    st.session_state[SHOWN_DEPTH] = result.request.depth if principal else None
    return result


def _fetch(request: ManifoldRequest, view: ManifoldView, dials: bool) -> Result:
    found, point = resolved(request), link_point()
    ungated, *gated = found.variants
    variants, job = [measure(ungated, found.grid)], None
    dial: Dial = ()
    if gated:
        if dials:
            dial, job = dial_of(gated[0], found.grid)
        if request.strength not in map(strength_of, dial):  # alone while a job measures the others
            dial = tuple(sorted((*dial, measure(gated[0], found.grid)), key=strength_of))
        variants += [frame for frame in dial if strength_of(frame) == request.strength]
    notes = found.notes | _part_note(variants[-1], view)
    if point is not None and max(point) >= found.grid:
        point = None
        notes = {"grid": "The marked point lies outside this grid. Shown: none."} | notes
    # The last good picture may have fewer layers than the requested one.
    view = replace(view, layer=min(view.layer, request.depth - 1))
    return Result(view, replace(found, notes=notes), variants, dial, job, point)


def _part_note(variant: MeasuredInstance, view: ManifoldView) -> dict[str, str]:
    """Return a sentence on a head or channel that the layer does not have."""
    inner = COLOURINGS[view.colouring].inner
    if not inner or view.part is None:
        return {}
    stacks = variant.weights if inner == "head" else variant.gates
    count = len(stacks[min(view.layer, len(stacks) - 1)]) if stacks else 0
    return (
        {}
        if view.part < count
        else {"part": f"The layer has {count} to choose from. Shown: the mean."}
    )


def draw_notes(result: Result, slots: Slots, folded: Slots | None) -> None:
    """Draw each sentence beside its control; below the picture where that is folded."""
    for name, note in result.resolved.notes.items():
        slot = slots.get(name) or (folded or {}).get(name) or st
        slot.caption(f":material/info: {note}")


# --- Totals ---------------------------------------------------------------------------------------

TOTALS: Jobs[ModelInstance, SurfaceIntegrals] = Jobs(
    "totals",
    lambda instance: pool.POOL.stream(integrate_instance, instance, rank=Rank.REST),
    NUMBERS_CACHE,
)


def watch_totals(instances: tuple[ModelInstance, ...], draw: Callable[[Totals], None]) -> None:
    """Refine the totals of ``instances``; ``draw`` those that are there, and again at the end."""
    totals, job = TOTALS.fetch_all(instances)
    if job is None:
        draw(totals)
    else:
        TOTALS.watch(
            job,
            "Refining totals",
            lambda: draw(job.results | TOTALS.cached(instances)),
            again="Refine",
            beside=False,
        )


def degenerate(variant: MeasuredInstance) -> bool:
    """Return whether no tangent plane is resolved anywhere: no surface, or one too thin to see."""
    return variant.verdict.proof is None and not bool(variant.surface.resolved.any())


def best_total(variant: MeasuredInstance, refined: SurfaceIntegrals | None) -> Integral | None:
    """Return the grid's total where that is known to a tenth, else the ``refined`` one, if any."""
    flat = degenerate(variant) or variant.verdict.word == FLAT
    if flat or variant.total.converged():
        return variant.total
    return None if refined is None else refined.absolute


# --- Strengths of a gate --------------------------------------------------------------------------


@dataclass(frozen=True)
class DialRequest:
    """A model with a full gate, at all ``strengths`` of it, on a grid."""

    instance: ModelInstance
    grid: int
    strengths: tuple[float, ...]


def strengths(instance: ModelInstance, grid: int) -> tuple[float, ...]:
    """Return evenly spaced strengths from 0 to 1, for ``grid`` points along each side."""
    each = max(cost(instance.config), LEAST_COST) * grid**2
    steps = next((n for n in STEP_COUNTS if (n + 1) * each <= limits.DIAL_COST), STEP_COUNTS[-1])
    return tuple(round(i / steps, 2) for i in range(steps + 1))


def dial_of(instance: ModelInstance, grid: int) -> tuple[Dial, Job | None]:
    """Return an instance at all strengths, or none and the job that measures them."""
    request = DialRequest(at_strength(instance, 1.0), grid, strengths(instance, grid))
    dial, job = DIALS.fetch(request)
    return dial or (), job


@cached()
def settled(instance: ModelInstance, grid: int, strengths: tuple[float, ...]) -> Settled:
    """Return what is settled before all ``strengths`` of a gated instance are measured."""
    each = tuple(at_strength(instance, strength) for strength in strengths)
    full = measure(at_strength(instance, 1.0), grid)
    values = pool.POOL.call(instance_values, each, grid)
    return Settled(full, dict(zip(strengths, values, strict=True)))


def _dial_steps(request: DialRequest) -> Iterator[Any]:
    each = tuple(at_strength(request.instance, strength) for strength in request.strengths)
    for item in pool.POOL.split(_measure_all, each, request.grid):
        yield without_copies(item) if isinstance(item, tuple) else item


def without_copies(dial: Dial) -> Dial:
    """Return the same, holding once what no strength changes: grid, weights of the first layer."""

    def same(array: np.ndarray, first: np.ndarray) -> np.ndarray:
        return first if np.array_equal(array, first) else array

    def sharing(each: MeasuredInstance) -> MeasuredInstance:
        quadrature = same(each.surface.quadrature, dial[0].surface.quadrature)
        weights = [same(*pair) for pair in zip(each.weights, dial[0].weights, strict=True)]
        return replace(each, surface=replace(each.surface, quadrature=quadrature), weights=weights)

    return tuple(map(sharing, dial))


def _measure_all(instances: tuple[ModelInstance, ...], grid: int) -> Iterator[MeasuredInstance]:
    for instance in instances:
        yield measure_instance(instance, grid)


DIALS: Jobs[DialRequest, Dial] = Jobs("strengths", _dial_steps, CACHE)
