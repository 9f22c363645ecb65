"""The tab Surface: both output surfaces under one camera, K over the chart, and the verdict.

A total has one source: the grid's, where that is known to a tenth, else the refined one. Until that
is there no number is written, so the first number is the one that stays.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from gating_core.attention import SMALLEST_WEIGHT, AttentionConfig
from gating_core.experiments.instance import (
    COLOURINGS,
    NEAR_DEGENERATE,
    SEEDS,
    MeasuredInstance,
    ModelInstance,
    chosen_config,
    elongation,
    instance_values,
    link_digits,
    own_values,
)
from gating_core.export import Surface
from gating_core.geometry import (
    BENT,
    CURVED,
    FLAT,
    MOST_CURVED,
    POINT_TYPES,
    TANGENT_ERROR_LIMIT,
    UNKNOWN,
    SurfaceIntegrals,
    concentration,
)
from ui.common import formatting as common
from ui.common.lessons import draw_explanation, section
from ui.common.links import pick_text, put_in_link
from ui.common.page import draw_finding
from ui.common.take_along import OfferedSurface, offered
from ui.components.pair import Pair, Point, Side, draw_pair
from ui.drawing.axes import Axes
from ui.drawing.colours import ColourScale, colour_scale, exported, scale_of
from ui.drawing.first_view import (
    NO_SEGMENTS,
    RISES,
    best_eye,
    both_bends,
    level,
    scale_share,
    straight_segments,
    view_axes,
)
from ui.manifold import shared
from ui.manifold.shared import Result, best_total, degenerate, strength_of
from ui.proved import offer_notebook
from ui.work.cache import cached

KEY = "manifold_pair"
FRAMES = "manifold_strengths"  # of the pair in the browser
CORNERS = "manifold_corners"  # what a dragged value of the pair in the browser is
DISTANT = 3.0  # |x|, in units of half the input square's side
FAR = 8.0  # times as large as the surface, the triangle of the values is not drawn
FLAT_EYE = np.pi / 2 + 0.35, np.pi / 3  # a flat surface lies there, along a diagonal
SHAPE = 1.3, 1.0  # of a picture: width and height
SMALLEST = 0.8  # a gated surface that is smaller, against the ungated one, is magnified
RIDGE = 0.25  # of a total on `MOST_CURVED` of the area: it is said
Frames = Sequence[MeasuredInstance]  # of one variant, by strength
Told = tuple[str, str]  # what is large or bold, and the rest


def draw(result: Result, colouring: str) -> None:
    """Draw the verdict, both surfaces and K over their chart, and what is known of a point."""
    found, variants, request = result.resolved, result.variants, result.request
    ungated, gated = variants[0], variants[-1]
    dial_request = shared.dial_request(gated.instance, found.grid)
    frames: Frames = shared.DIALS.cached((dial_request,)).get(dial_request, ())
    if not frames:  # enough to play: a strength of 0 is no gate, and the full one gives all colours
        full = shared.measure(dial_request.instance, found.grid)
        frames = [ungated, full] if _gate(gated) else [gated]
    if strength_of(gated) not in map(strength_of, frames):
        frames = sorted([*frames, gated], key=strength_of)
    st.session_state[FRAMES] = strengths = [*map(strength_of, frames)]
    doubtful = tuple(x.instance for x in variants if best_total(x, None) is None)
    refined = shared.TOTALS.cached(doubtful)
    drawn, times, scale = pair_of(
        (found.variants[0], dial_request, *strengths), colouring, ungated, frames, found.axes
    )
    st.session_state[CORNERS] = ungated.instance, drawn, found.axes
    told = [[verdict_of(x, refined.get(x.instance)) for x in side] for side in ([ungated], frames)]
    signed = COLOURINGS[colouring].range == "signed"
    hatched = any(np.isnan(x.surface.known[0]).any() for x in (ungated, *frames))
    legend = (
        "Green: K > 0 · violet: K < 0 · black line: K = 0" + " · hatched: undetermined" * hatched
    )
    legends = {  # what the colours do not show by themselves
        "K = 0 wherever it is known": signed and scale.collapsed,
        legend: signed and not scale.collapsed,
        "logarithmic": scale.log,
    }
    sizes = [f"right surface drawn at {common.rough(x)} times its size" * (x != 1) for x in times]
    chart = "input square" if request.chart == "inputs" else "attention-weight chart"
    draw_finding(*finding(ungated, gated))
    draw_pair(
        drawn,
        key=KEY,
        scene=str(replace(dial_request.instance, values=None)),
        frame=strengths.index(strength_of(gated)),
        point=result.point,
        verdicts=told,
        exact=[
            [common.exact_text(best_total(x, refined.get(x.instance))) for x in side]
            for side in ([ungated], frames)
        ],
        quantity=f"{COLOURINGS[colouring].name} over the {chart}",
        names=("x₁", "x₂") if gated.instance.chart == "inputs" else ("u", "v"),
        note=[
            " · ".join(x for x, there in {**legends, size: size}.items() if there) for size in sizes
        ],
        on_leave=_on_leave,
    )
    details = [model_text(result), slice_warning(ungated), chart_text(variants), axes_text(result)]
    if scale.soft is not None:
        details.append(f"Colours: asinh scale, linear within ±{common.short(scale.soft)}.")
    if scale.beyond:
        details.append(f"{common.beyond_text(scale.beyond)}.")
    if gated.instance.covariance is not None:
        details.append(section("manifold", "covariance"))
    st.caption(" ".join(filter(None, details)))
    if gated.instance.values is not None:
        st.button("The seed's own values", icon=":material/undo:", key="own_values",
                  on_click=put_in_link, kwargs={"values": ""})  # fmt: skip
    if result.point is not None:
        columns = [point_column(x, result.point) for x in variants]
        names = shared.VARIANT_NAMES[: len(variants)]
        table = {n: [*x.values()] for n, x in zip(names, columns, strict=True)}
        st.table({"At the marked point": [*columns[0]]} | table)
    draw_explanations(result, colouring)
    _offer(result, refined)
    if len(variants) > 1:
        _, job = shared.DIALS.fetch(dial_request)  # after the picture: no visitor waits for it
        if job is None and len(frames) < len(dial_request.strengths):
            st.rerun()
        if job is not None:
            shared.DIALS.watch(job, "Measuring every gate strength",
                               again="Measure every strength", beside=False)  # fmt: skip
    if doubtful and len(shared.totals_of(doubtful)) > len(refined):
        st.rerun()


def _on_leave(frame: int, point: Point | None, corners: np.ndarray | None) -> None:
    """Put the strength, the marked point and dragged values into the link."""
    strength = st.session_state[FRAMES][frame]
    texts = {"lambda": "" if strength == 1 else f"{strength:g}", "point": pick_text(point)}
    if corners is not None:
        instance, pair, axes = st.session_state[CORNERS]
        moved = link_digits(dragged(instance, pair, axes, corners))
        texts["values"] = ",".join(f"{x:g}" for row in moved for x in row)
    put_in_link(**texts)


def dragged(ungated: ModelInstance, pair: Pair, axes: Axes, corners: np.ndarray) -> np.ndarray:
    """Return the values (3, D) of which the ``corners`` (3, 3) are drawn."""
    before = pair.sides[0].corners
    step = 0.0 if before is None else (corners - before) @ (axes.basis @ pair.back).T
    return own_values(ungated) + step


# --- The pictures ---------------------------------------------------------------------------------


@cached()
def pair_of(
    key: Hashable, colouring: str, _ungated: MeasuredInstance, _frames: Frames, _axes: Axes
) -> tuple[Pair, list[float], ColourScale]:
    """Return what is drawn, how many times larger at each strength, and the colour scale.

    Both lie in one space: the widest extents of the ungated surface are level. Where it is flat,
    height shows how far the gate lifts the other out of its plane. Where a gated surface is seen
    much smaller or larger, each strength is drawn as large as the ungated one. Each stands in the
    middle of its picture. Where the gate alone curves, each has a view of its own: the flat surface
    lies there as a sheet with straight lines, the other is turned until its bends are seen.
    Elsewhere both are seen from half-way up: lower, the near bend of a saddle hides the far one.
    Colours come from no gate and the strongest one; ``key`` names the variants.
    """
    quantity = COLOURINGS[colouring]
    both = [[_ungated], list(_frames)]
    fields = [[quantity.field(x, -1, None) for x in frames] for frames in both]
    scale = colour_scale(quantity, [fields[0][0], fields[1][-1]], asinh=True)
    values = [_axes.project(np.stack([x.surface.values[0] for x in frames])) for frames in both]
    values = [np.pad(x, [(0, 0)] * 3 + [(0, 3 - x.shape[-1])]) for x in values]
    values = [np.where(np.isfinite(x), x, 0.0) for x in values]  # overflow: K is unresolved there
    undragged = _undragged(values[0][0], values[1][-1], _ungated, _frames, _axes)
    middle, turn, unit = level(*undragged)
    drawn = [(x - middle) @ turn for x in values]
    flat, own_turn, lines = drawn[0][0], np.eye(3), NO_SEGMENTS
    if (_ungated.verdict.word, _frames[-1].verdict.word) == (FLAT, CURVED):
        eye, own_turn = FLAT_EYE, both_bends((undragged[1] - middle) @ turn, FLAT_EYE)
        lines = straight_segments(values[0][0], unit * flat, _ungated.surface.axis)[None]
    else:
        eye = best_eye([flat, drawn[1][-1]], rises=RISES[1:2], crossing=True)
    drawn[1] = drawn[1] @ own_turn
    across = view_axes(*eye)[1:].T / SHAPE
    own, *sizes = (_size(x @ across) for x in (drawn[0][0], *drawn[1]))
    times = [1.0] * len(sizes)
    if not all(SMALLEST * own <= size <= own / SMALLEST for size in sizes):
        times = [float(f"{own / size:.2g}") if own * size else 1.0 for size in sizes]
    middles = [(x.min((1, 2), keepdims=True) + x.max((1, 2), keepdims=True)) / 2 for x in drawn]
    centres = middles[1] - middles[0]
    drawn[1] = (drawn[1] - middles[1]) * np.reshape(times, (-1, 1, 1, 1)) + middles[0]
    if (plane := shared.averaged(_ungated)) is not None:
        plane = _axes.project(plane)
        plane = np.pad(plane, [(0, 0), (0, 3 - plane.shape[-1])])
    sides = []
    for index, (frames, points) in enumerate(zip(both, drawn, strict=True)):
        turned, centre = (turn @ own_turn, centres[:, 0]) if index else (turn, 0.0)
        shown = plane is not None and _size(plane) < FAR * _size(drawn[0][0])
        shown = shown and (index == 0 or set(times) == {1.0})
        sides.append(
            Side(
                name=heading(frames[-1]) if index == 0 or _gate(frames[-1]) else "",
                short=shared.VARIANT_NAMES[index].lower(),
                values=unit * points,
                shares=np.stack([scale_share(field, scale) for field in fields[index]]),
                signed=np.stack([x.surface.signed[0] for x in frames]),
                gaussian=np.stack([x.surface.known[0] for x in frames]),
                error=np.stack([x.surface.known_error[0] for x in frames]),
                flat=[x.verdict.proof is not None for x in frames],
                corners=unit * ((plane - middle) @ turned - centre)
                if shown and plane is not None
                else None,
                lines=NO_SEGMENTS if index else lines,
            )
        )
    low, high = ("", "") if scale.collapsed else map(common.rough, scale.ends)
    strengths = [*map(strength_of, _frames)]
    labels = [f"Gate λ = {strength:.2f}" for strength in strengths]
    back = turn[: _axes.basis.shape[1]] / unit
    return (
        Pair(tuple(sides), labels, strengths, eye, scale.colours, (low, high), back, headlit=True),
        times,
        scale,
    )


def _undragged(
    flat: np.ndarray, other: np.ndarray, ungated: MeasuredInstance, frames: Frames, axes: Axes
) -> tuple[np.ndarray, np.ndarray]:
    """Both surfaces (R, R, 3) with the seed's own values: a dragged value turns no picture."""
    if ungated.instance.values is None:
        return flat, other
    own = [replace(x.instance, values=None) for x in (ungated, frames[-1])]
    values = [axes.project(x) for x in instance_values(own, len(flat))]
    first, last = (np.pad(x, [(0, 0)] * 2 + [(0, 3 - x.shape[-1])]) for x in values)
    return first, last


def _size(points: np.ndarray) -> float:
    return float(np.ptp(points.reshape(-1, points.shape[-1]), 0).max())


def _gate(variant: MeasuredInstance) -> bool:
    return variant.instance.config.gate is not None


# --- Sentences ------------------------------------------------------------------------------------


def finding(ungated: MeasuredInstance, gated: MeasuredInstance) -> Told:
    """Return the answer of the page at one strength: a sentence, and why it need not be a dome."""
    if not _gate(gated):
        return f"{_word(ungated).capitalize()} without a gate.", ""
    words, verdict = (_word(ungated), _word(gated)), gated.verdict
    bold = {
        (FLAT, CURVED): "The gate curves this surface",
        (BENT, CURVED): "The gate curves this surface",
        (FLAT, BENT): "The gate bends this surface and does not curve it",
        (FLAT, FLAT): "Flat with and without this gate",
        (BENT, BENT): "Bent, not curved, with and without this gate",
        (CURVED, BENT): "The gate leaves this surface bent, not curved",
        (CURVED, FLAT): "The gate flattens this surface",
        (BENT, FLAT): "The gate flattens this surface",
        (CURVED, CURVED): "Curved with and without this gate",
    }.get(words, "Inconclusive")
    if words[1] != CURVED:
        return f"{bold}.", ""
    dome = verdict.positive >= verdict.negative
    shape, share = ("dome", verdict.positive) if dome else ("saddle", verdict.negative)
    why = "" if dome or words[0] != FLAT else section("manifold", "untrained")
    return f"{bold}: a {shape} on {common.percent(share)} of it.", why


def _word(variant: MeasuredInstance) -> str:
    return UNKNOWN if degenerate(variant) else variant.verdict.word


def verdict_of(variant: MeasuredInstance, refined: SurfaceIntegrals | None) -> Told:
    """Return the word and the total curvature over a surface, and the line below them."""
    total = best_total(variant, refined)
    text = "being refined …"
    if total is not None and degenerate(variant):
        text = "none" if on_a_line(variant) else UNKNOWN
    elif total is not None:
        text = common.headline_text(total, variant.verdict.without_curvature)
    word = "No surface" if on_a_line(variant) else _word(variant).capitalize()
    known = common.verdict_text(variant.verdict).removeprefix(f"{word.lower()}, ")  # is above
    parts = [] if degenerate(variant) else [known]
    if (thin := elongation(variant.surface.values[0])) > NEAR_DEGENERATE:
        times = "more than 1000" if thin > 1e3 else common.rough(thin)
        parts.append(f"nearly degenerate: {times} times as long as broad")
    share = float(concentration(variant.surface)[0])
    is_ridge = variant.verdict.word == CURVED and share >= RIDGE
    if total is not None and is_ridge and UNKNOWN not in text:
        on = f"{common.percent(share)} of the total on {common.percent(MOST_CURVED)} of the area"
        parts.append(on if total.converged() else f"{on}, not converged to 10\u00a0%")
    return f"{word} · total curvature {text}", " · ".join(parts)


def on_a_line(variant: MeasuredInstance) -> bool:
    """Return whether the outputs are averages of values on a line: there is no surface."""
    config, dimension = variant.instance.config, variant.hull_dimension
    plain = config.gate is None and not config.residual and config.norm != "post"
    return plain and dimension is not None and dimension < 2


def heading(variant: MeasuredInstance) -> str:
    """Return what stands over a surface, whatever the strength of its gate."""
    gate = variant.instance.config.gate
    if gate is None:
        return shared.VARIANT_NAMES[0]
    per = "channel" if gate.granularity == "elementwise" else "head"
    return f"With a {gate.record.title} at {gate.position}, one per {per}"


def model_text(result: Result) -> str:
    """Say which model both variants are, and by which rule it was selected."""
    request, model = result.request, shared.at_strength(result.resolved.variants[-1], 1.0)
    config = model.config
    text = f"{common.layers_text(config.depth)}, D = {config.model_dim}, n = {config.value_count}"
    text = f"Model: {text}, seed {request.own_seed}"
    if request.seed is not None:
        return f"{text}."
    if config == chosen_config(request.depth) and model.sharpness == 1:
        return f"{text}, chosen: the broadest of {SEEDS}."
    return f"{text}, chosen for another gate or size."


def slice_warning(variant: MeasuredInstance) -> str:
    """Say why an ungated surface curves, where it does: it is never the gate."""
    config = variant.instance.config
    if variant.verdict.word != CURVED or variant.verdict.curved <= common.SLIGHT:
        return ""
    reasons = {
        "slice_tokens": not config.layer.fixed_values,
        "slice_sink": config.sink != "none",
        "slice_off_simplex": not config.weights_on_simplex,
        "slice_normalised": config.norm == "post",
        "slice_residual": config.residual,
        "slice_query": config.norm == "pre",
    }
    name = next((name for name, there in reasons.items() if there), None)
    if name is not None:
        return section("manifold", name)
    hull = variant.hull_dimension
    return "" if hull == 2 else section("manifold", "slice_inputs", hull=hull)


def chart_text(variants: list[MeasuredInstance]) -> str:
    """Say which chart is shown, and what it leaves out."""
    if variants[0].instance.chart == "inputs":
        return section("manifold", "chart_inputs")
    text = section("manifold", "chart_weights", smallest=f"{SMALLEST_WEIGHT:g}")
    reach = next((x.reach for x in variants if x.reach is not None), None)
    if reach is not None:
        far = ", far outside the input square." if reach > DISTANT else "."
        return f"{text} The inputs with these weights reach |x| = {common.short(reach)}{far}"
    if len(variants) > 1 and variants[1].instance.config.value_count > 3:
        text += " For n > 3 the gate reads a hidden state that in general no input produces."
    return text


def axes_text(result: Result) -> str:
    """Say what the drawn axes are, and how much of each variant's variance they show."""
    axes, variants = result.resolved.axes, result.variants
    if not axes.principal:
        return ""
    shares = [axes.share(x.surface.values) for x in variants]
    both = len(shares) > 1
    return section(
        "manifold",
        "axes",
        shown=" and ".join(map(common.percent, shares)),
        layers=common.layers_text(result.request.depth),
        names=" (without gate, with gate)" if both else "",
        whose="the points of both models together" if both else "the points",
    )


# --- A marked point, explanations, files ----------------------------------------------------------


def point_column(variant: MeasuredInstance, at: Point) -> dict[str, str]:
    """Return what is known of a variant ``at`` a row and column of the grid, by quantity."""
    surface, axis = variant.surface, variant.surface.axis
    resolved = bool(surface.resolved[0, *at])
    principal = "unresolved" if variant.principal is not None else "for D = 3 only"
    if variant.principal is not None and variant.principal_error is not None and resolved:
        error = float(variant.principal_error[at])
        principal = ", ".join(common.plus_minus(float(k), error) for k in variant.principal[at])
    gates = variant.gates[-1][:, *at] if variant.gates else None
    return {
        "Chart": f"({axis[at[1]]:z.3f}, {axis[at[0]]:z.3f})",
        "Output y": common.vector_text(surface.values[0, *at]),
        "Attention weights": " | ".join(map(common.vector_text, variant.weights[-1][:, *at])),
        "Gate": "none" if gates is None else common.vector_text(gates),
        "K": common.curvature_text(surface, (0, *at)),
        "|H|": common.short(float(variant.mean_norm[at])) if resolved else "unresolved",
        "Principal curvatures": principal,
        "Point type": POINT_TYPES[variant.types[at]],
    }


def draw_explanations(result: Result, colouring: str) -> None:
    """Draw the buttons that explain the surfaces and the map, with the numbers of one point."""
    variant = result.variants[-1]
    config, middle = variant.instance.config, result.resolved.grid // 2
    at = result.point or (middle, middle)
    axis, quantity = variant.surface.axis, COLOURINGS[colouring]
    point = f"({axis[at[1]]:z.2f}, {axis[at[0]]:z.2f})"
    gates = [common.vector_text(stack[:, *at]) for stack in variant.gates[-1:]]
    shown = common.short(float(quantity.field(variant, -1, None)[at]))
    if colouring == "curvature":
        shown = common.curvature_text(variant.surface, (0, *at))
    formula, look_for, misread = section("manifold", f"quantity_{colouring}").split("\n\n")
    explain = partial(draw_explanation, "manifold")
    with st.container(horizontal=True):
        explain(
            "the surfaces", "surfaces", dim=config.model_dim, source=config.layer.come_from,
            lines=section("manifold", "lines_grid"), point=point,
            weights=common.vector_text(variant.weights[-1][0, *at]),
            gate=f", the gate is {gates[0]}" if gates else "",
            y=common.vector_text(variant.surface.values[0, *at]), ungated=_without_gate(config),
        )  # fmt: skip
        explain(
            "the map", "heatmap", quantity=quantity.name, limit=f"{TANGENT_ERROR_LIMIT:g}",
            formula=formula, point=point, symbol=quantity.symbol, shown=shown, look_for=look_for,
            misread=misread,
        )  # fmt: skip


def _without_gate(config: AttentionConfig) -> str:
    """Say what an ungated model of this kind computes."""
    if not config.layer.fixed_values:
        return section("manifold", "ungated_tokens")
    if config.sink != "none":
        return section("manifold", "ungated_sink")
    if not config.weights_on_simplex:
        return section("manifold", "ungated_off_simplex")
    return r"Without a gate each head computes $\sum_i \alpha_i U_i$ with $\sum_i \alpha_i = 1$."


def _offer(result: Result, refined: Mapping[ModelInstance, SurfaceIntegrals]) -> None:
    """Offer the shown surfaces as files, coloured by K as in the picture."""
    request, offer = result.request, offered()
    scale = scale_of("curvature", [x.surface.known[0] for x in result.variants])
    for variant in result.variants:
        name = f"{request.source}_layers{request.depth}_seed{request.own_seed}"
        shown = shared.VARIANT_NAMES[0]
        if _gate(variant):
            name = f"{name}_{request.kind}_lambda{request.strength:.2f}"
            shown = f"{shared.VARIANT_NAMES[1]}, λ = {request.strength:.2f}"
        offer.name = name
        make = partial(_exported, variant, result.resolved.axes, scale)
        offer.surfaces[shown] = OfferedSurface(name, make)
    last = result.variants[-1]
    total = None if degenerate(last) else best_total(last, refined.get(last.instance))
    offer_notebook(heading(last), offer.name, shared.code_of(last.instance), total,
                   request.model_dim, last.instance.covariance)  # fmt: skip
    offer.settings |= {"seed of the weights": request.own_seed, "lambda": request.strength}


def _exported(variant: MeasuredInstance, axes: Axes, scale: ColourScale, line: str) -> Surface:
    """Return a variant with its gates and attention weights in the last layer."""
    more = {"|H|": np.where(variant.surface.resolved[0], variant.mean_norm, np.nan)}
    names = ("x1", "x2") if variant.instance.chart == "inputs" else ("u", "v")
    points = axes.project(variant.surface.values[0])
    return exported(variant.surface, line, points, scale, names, more | variant.last_layer)
