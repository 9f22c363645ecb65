"""The tab Surface: both output surfaces, K over their chart, and what the numbers say of them.

A total has one source: the grid's, where that is known to a tenth, else the refined one. Until that
is there no number is written, so the first number is the one that stays.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
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
    chosen_config,
    elongation,
)
from gating_core.export import Surface
from gating_core.geometry import (
    CURVED,
    FLAT,
    MOST_CURVED,
    POINT_TYPES,
    TANGENT_ERROR_LIMIT,
    UNKNOWN,
    Integral,
    SurfaceIntegrals,
    concentration,
)
from ui.common import formatting as common
from ui.common.explanations import draw_explanation
from ui.common.lessons import section
from ui.common.take_along import OfferedSurface, offered
from ui.components.view3d import Legend, clicked, stopped, view3d
from ui.drawing.axes import Axes
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.exported import exported
from ui.drawing.panels import View
from ui.manifold import shared
from ui.manifold.error_analysis import code_of, surface_of
from ui.manifold.model import DISTANT, ManifoldRequest, Metric, Resolved, at_strength
from ui.manifold.picture import ManifoldPicture, ManifoldView, manifold_picture
from ui.manifold.shared import VARIANT_NAMES, Result, Totals, best_total, degenerate
from ui.manifold.variants import (
    Settled,
    Variants,
    averaged,
    draws_plane,
    draws_simplex,
    settled_by,
    strength_of,
)
from ui.proved.section import offer_notebook
from ui.work.cache import cached

VIEW_KEY = "manifold_view"
STRENGTHS = "manifold_strengths"  # of the frames in the browser
SPARE, SPARE_INSPECT = 545, 530  # pixels of the window that all but the pictures takes
BEING_REFINED, REFINED_ELSEWHERE = "being refined …", "refined on the tab Surface"
_explain = partial(draw_explanation, "manifold")


@cached()
def picture(
    key: Hashable,
    _variants: Variants,
    _axes: Axes,
    view: ManifoldView,
    _settled: Sequence[Settled],
) -> ManifoldPicture:
    """Return the linked view; ``key`` says of which request, at which strengths."""
    return manifold_picture(_variants, _axes, view, _settled)


@cached()
def captions(
    key: Hashable,
    _variants: Variants,
    _refined: Totals,
    _picture: ManifoldPicture,
    _model: str,
    unrefined: str,
) -> list[list[str]]:
    """Return what stands over a picture in every frame; ``key`` names the refined totals, too.

    ``_model`` stands over the first variant alone.
    """
    rows = zip(_variants, _picture.stretches, (_model, ""), strict=False)
    return [
        [caption(x, _refined.get(x.instance), stretch, model, unrefined) for x in frames]
        for frames, stretch, model in rows
    ]


def draw(result: Result) -> None:
    """Draw what the tab shows below its picture: totals, the chart, the axes, explanations."""
    request = result.request
    if result.resolved.axes.principal and request.drawn_depth != request.depth:
        st.button(
            "Fit the axes to this depth",
            key="fit_axes",
            on_click=shared.put_in_link,
            args=({"axes": None},),
        )
    draw_explanations(result)
    doubtful = tuple(x.instance for x in result.variants if best_total(x, None) is None)
    shared.watch_totals(doubtful, lambda totals: _draw_totals(result, totals))


def draw_view(result: Result) -> None:
    """Draw the linked surfaces and maps, what plays them, and sentences on chart and axes."""
    found, request, view = result.resolved, result.request, result.view
    frames = [result.variants[:1], *([result.dial] if result.dial else [])]
    refined = shared.TOTALS.cached(result.instances)
    every = _settled(result)
    there = tuple(result.strengths), tuple(every[-1].values)
    model = replace(request, strength=ManifoldRequest().strength)  # it has a frame of each
    drawn = picture((model, *there), frames, found.axes, view, every)
    totals = request, *there, tuple(each in refined for each in result.instances), view
    _offer(result, every)
    symbol, scale = COLOURINGS[view.colouring].symbol, drawn.scale
    notes = [scale_note(drawn, view, frame) for frame in range(drawn.view.frames)]
    ends = [f"{symbol} = {common.rough(end)}" for end in scale.ends]
    low, high = ("", "") if scale.collapsed else ends
    st.session_state[STRENGTHS] = result.strengths
    view3d(
        drawn.view,
        key=VIEW_KEY,
        headings=[heading(variant) for variant in result.variants],
        captions=captions(
            totals,
            frames,
            refined,
            drawn,
            model_text(found),
            REFINED_ELSEWHERE if view.inspect else BEING_REFINED,
        ),
        readings=readings(result.variants[0], result.dial),
        readouts=drawn.readouts,
        frame=result.strengths.index(request.strength) if result.dial else 0,
        frame_labels=[f"λ = {strength:.2f}" for strength in result.strengths],
        ends=("no gate", "full gate"),
        scrub=True,
        scene=str(scene_of(request)),
        spare=SPARE_INSPECT if view.inspect else SPARE,
        reveal=st.session_state.get(shared.REVEALED, 0),
        legend=Legend(scale.colours, low, high, notes),
        pick=result.point,
        on_pick=_on_pick,
        on_stop=_on_stop,
    )
    with st.container(key="progress"):
        if result.job is not None:
            shared.DIALS.watch(
                result.job,
                "Measuring every strength of the gate",
                again="Measure every strength",
                beside=False,
            )
    axes = found.axes
    for line in (
        slice_warning(result.variants[0]),
        f"{chart_text(result.variants)} {axes_text(axes, drawn.shares, request.drawn_depth)}",
        metric_text(request.metric),
    ):
        if line:
            st.caption(line)


def _offer(result: Result, settled: Sequence[Settled]) -> None:
    """Offer the shown surfaces as files, coloured by K as in the picture."""
    request, view = result.request, result.view
    ends = [each.full.surface.known[0] for each in settled]
    scale = scale_of("curvature", ends, view.asinh)
    offer = offered()
    for variant in result.variants:
        name = f"{request.source}_layers{request.depth}_seed{request.own_seed}"
        shown, strength = VARIANT_NAMES[0], strength_of(variant)
        if variant.instance.config.gate is not None:
            name = f"{name}_{request.kind}_lambda{strength:.2f}"
            shown = f"{VARIANT_NAMES[1]}, λ = {strength:.2f}"
        offer.name = name
        offer.surfaces[shown] = OfferedSurface(
            name, partial(_exported, variant, result.resolved.axes, scale)
        )
    variant = result.variants[-1]
    refined = shared.TOTALS.cached((variant.instance,)).get(variant.instance)
    total = None if degenerate(variant) else best_total(variant, refined)
    offer_notebook(
        heading(variant),
        offer.name,
        code_of(variant.instance),
        total,
        request.model_dim,
        surface_of(variant.instance).covariance,
    )
    offer.settings |= {"seed of the weights": request.own_seed, "lambda": request.strength}


def _exported(variant: MeasuredInstance, axes: Axes, scale: ColourScale, line: str) -> Surface:
    """Return a variant with its gates and attention weights in the last layer."""
    more = {"|H|": np.where(variant.surface.resolved[0], variant.mean_norm, np.nan)}
    names = ("x1", "x2") if variant.instance.chart == "inputs" else ("u", "v")
    points = axes.project(variant.surface.values[0])
    return exported(variant.surface, line, points, scale, names, more | variant.last_layer)


def _settled(result: Result) -> list[Settled]:
    """Return what colours, camera and boxes come from, whichever strengths are measured so far."""
    settled = [settled_by(result.variants[:1])]
    if result.dial:
        gated, grid = result.resolved.variants[1], result.resolved.grid
        every = {*shared.strengths(gated, grid), *result.strengths}
        settled.append(shared.settled(gated, grid, tuple(sorted(every))))
    return settled


def scene_of(request: ManifoldRequest) -> ManifoldRequest:
    """Return what the camera is chosen for: the model, whatever is dragged or measured of it."""
    plain = ManifoldRequest()
    return replace(
        request,
        strength=plain.strength,
        grid=plain.grid,
        metric=Metric(),
        values=None,
        gate_weight=None,
    )


def _on_pick() -> None:
    if point := clicked(VIEW_KEY):
        shared.put_in_link({"point": point})


def _on_stop() -> None:
    """The slider was released, or playing ended: put the strength into the link."""
    shown = st.session_state.get(STRENGTHS, ())
    frame = stopped(VIEW_KEY, len(shown))
    if shown and frame is not None:
        shared.put_in_link({"lambda": None if shown[frame] == 1 else f"{shown[frame]:g}"})


def _draw_totals(result: Result, totals: Totals) -> None:
    for column, variant in zip(st.columns(2), result.variants, strict=False):
        with column:
            total = best_total(variant, totals.get(variant.instance))
            left, right = st.columns(2)
            name = variant_name(variant)
            left.metric(
                f"Total curvature, {name[:1].lower()}{name[1:]}",
                "…" if total is None else total_of(variant, total),
                help=_total_help(variant),
            )
            right.metric(
                "Undetermined area",
                common.percent(variant.verdict.undetermined),
                help=section("manifold", "help_undetermined"),
            )
            if total is not None:
                st.caption(total_caption(variant, total))


# --- What stands over a surface -------------------------------------------------------------------


def heading(variant: MeasuredInstance) -> str:
    """Return what stands over a surface, whatever the strength of its gate."""
    gate = variant.instance.config.gate
    if gate is None:
        return VARIANT_NAMES[0]
    per = "channel" if gate.granularity == "elementwise" else "head"
    return f"The same with a {gate.record.title} at {gate.position}, one per {per}"


def variant_name(variant: MeasuredInstance) -> str:
    """Return the name of a variant in tables and over numbers."""
    gate = variant.instance.config.gate
    if gate is None:
        return VARIANT_NAMES[0]
    return VARIANT_NAMES[1] if gate.strength else "Gate at λ = 0"


def model_text(resolved: Resolved) -> str:
    """Say which model both variants are, and by which rule it was selected."""
    request, model = resolved.request, at_strength(resolved.variants[-1], 1.0)
    config = model.config
    text = f"{common.layers_text(config.depth)}, D = {config.model_dim}, n = {config.value_count}"
    text = f"{text} · seed {request.own_seed}"
    if request.seed is not None:
        return text
    if config == chosen_config(request.depth) and model.sharpness == 1:
        return f"{text}, chosen: the broadest of {SEEDS}"
    return f"{text}, chosen for another gate or size"


def caption(
    variant: MeasuredInstance,
    refined: SurfaceIntegrals | None = None,
    stretch: float = 1.0,
    model: str = "",
    unrefined: str = BEING_REFINED,
) -> str:
    """Return the line below the heading: the ``model``, how it is drawn, its total curvature.

    The total is as `best_total` says, or ``unrefined``; ``stretch`` is how many times broader than
    true the surface is drawn.
    """
    total = best_total(variant, refined)
    times = elongation(variant.surface.values[0])
    much = "more than 1000" if times > 1e3 else common.rough(times)
    thin = f"nearly degenerate, {much} times as long as broad" if times > NEAR_DEGENERATE else ""
    scale = f"**stretched {common.rough(stretch)} times across: not to scale**"
    text = unrefined if total is None else _total_text(variant, total)
    parts = [model, thin, scale if stretch > 1 else "", f"total curvature {text}"]
    return " · ".join(filter(None, parts))


def _total_text(variant: MeasuredInstance, total: Integral) -> str:
    text = f"**{total_of(variant, total)}**"
    if degenerate(variant):
        return f"{text}: no {'surface' if on_a_line(variant) else 'tangent plane'}"
    if variant.verdict.word == FLAT:
        return f"{text}: {common.flat_text(variant.verdict)}"
    if not total.converged():
        text += ", refining does not help"
    share = float(concentration(variant.surface)[0])
    if UNKNOWN in text or not share:
        return text
    return f"{text}, {common.percent(share)} of it on {common.percent(MOST_CURVED)} of the area"


def total_of(variant: MeasuredInstance, total: Integral) -> str:
    """Format the headline number."""
    if degenerate(variant):
        return "none" if on_a_line(variant) else UNKNOWN
    return common.total_text(total, variant.verdict.word == FLAT)


def total_caption(variant: MeasuredInstance, total: Integral) -> str:
    """Say how sure a total is."""
    if degenerate(variant):
        return "No tangent plane is resolved."
    text = common.doubt_text(total, variant.verdict)
    if variant.verdict.word == FLAT or total.converged() or not total.quotable():
        return text
    return f"{text}; more than a tenth of it is in doubt, and a few seconds of refining do not help"


def _total_help(variant: MeasuredInstance) -> str:
    text = section("manifold", "total")
    flat = variant.verdict.word == FLAT
    return f"{text} Here: {common.bound_text(variant.verdict)}" if flat else text


def on_a_line(variant: MeasuredInstance) -> bool:
    """Return whether the outputs are averages of values on a line: there is no surface."""
    config, dimension = variant.instance.config, variant.hull_dimension
    plain = config.gate is None and not config.residual and config.norm != "post"
    return plain and dimension is not None and dimension < 2


# --- Sentences ------------------------------------------------------------------------------------


def readings(ungated: MeasuredInstance, dial: Sequence[MeasuredInstance]) -> list[str]:
    """Return one paragraph for every strength that says what is on the screen."""
    first = _sentence("**Without a gate**", ungated)
    return [f"{first} {_sentence(_with_gate(variant), variant)}" for variant in dial] or [first]


def _with_gate(variant: MeasuredInstance) -> str:
    gate = variant.instance.config.gate
    assert gate is not None
    if gate.strength == 0:
        return "**With its gate at λ = 0**"
    return f"**With the {gate.record.title} at λ = {gate.strength:.2f}**"


def _sentence(name: str, variant: MeasuredInstance) -> str:
    if degenerate(variant):
        why = "all outputs lie on a line: there is no surface"
        if not on_a_line(variant):
            why = "rounding hides every tangent plane, so flat or curved is not known"
        return f"{name} {why}."
    bent = ""
    if variant.verdict.word == FLAT and variant.verdict.proof is None:
        share = float((variant.types == POINT_TYPES.index("parabolic")).mean())
        bent = " in itself, although it bends like a rolled sheet of paper" if share > 0.5 else ""
    return f"{name} the surface is {common.verdict_text(variant.verdict)}{bent}."


def slice_warning(variant: MeasuredInstance) -> str:
    """Say why an ungated surface curves, where it does: it is never the gate."""
    config = variant.instance.config
    if variant.verdict.word != CURVED or variant.verdict.curved <= common.SLIGHT:
        return ""
    if not config.layer.fixed_values:
        return section("manifold", "slice_tokens")
    if config.sink != "none":
        return section("manifold", "slice_sink")
    if not config.weights_on_simplex:
        return section("manifold", "slice_off_simplex")
    if config.norm == "post":
        return section("manifold", "slice_normalised")
    if config.residual:
        return section("manifold", "slice_residual")
    if config.norm == "pre":
        return section("manifold", "slice_query")
    hull = variant.hull_dimension
    return "" if hull == 2 else section("manifold", "slice_inputs", hull=hull)


def chart_text(variants: list[MeasuredInstance]) -> str:
    """Say which chart is shown, and what it leaves out."""
    if variants[0].instance.chart == "inputs":
        return section("manifold", "chart_inputs")
    text = section("manifold", "chart_weights", smallest=f"{SMALLEST_WEIGHT:g}")
    reach = next((x.reach for x in variants if x.reach is not None), None)
    if reach is not None:
        text += f" The inputs with these weights reach |x| = {common.short(reach)}"
        text += ", far outside the input square." if reach > DISTANT else "."
    elif len(variants) > 1 and variants[1].instance.config.value_count > 3:
        text += " For n > 3 the gate reads a hidden state that in general no input produces."
    return text


def axes_text(axes: Axes, shares: list[float], depth: int) -> str:
    """Say what the drawn axes are, and how much of each variant's variance they show."""
    if not axes.principal:
        return ""
    shown = " and ".join(common.percent(share) for share in shares)
    both = len(shares) > 1
    return section(
        "manifold",
        "axes",
        shown=shown,
        layers=common.layers_text(depth),
        names=" (without gate, with gate)" if both else "",
        whose="the points of both models together" if both else "the points",
    )


def metric_text(metric: Metric) -> str:
    """Say which covariance lengths are measured with, where it is not the identity."""
    if metric == Metric():
        return ""
    what = {
        "isotropic": f"variance s² = {metric.variance:g} in every direction: K is multiplied by it",
        "diagonal": "variances " + ", ".join(f"{x:g}" for x in metric.variances),
        "turned": f"variance {metric.ratio:g} along {metric.angle:g}° in the plane of the first two"
        " drawn axes, 1 in all other directions",
    }[metric.kind]
    return f"Lengths are measured with the covariance chosen under *Error analysis*: {what}."


def scale_note(picture: ManifoldPicture, view: ManifoldView, frame: int) -> str:
    """Say what the colour scale and the scenes do not show by themselves in a ``frame``."""
    scale = picture.scale
    signed = COLOURINGS[view.colouring].range == "signed"
    if signed and scale.collapsed:
        return "K = 0 wherever it is known"
    beyond = max(shares[min(frame, len(shares) - 1)] for shares in picture.beyond)
    notes = {
        "black: K = 0": signed,
        "logarithmic": scale.log,
        f"asinh scale, linear within ±{common.short(scale.soft or 0.0)}": scale.soft is not None,
        common.beyond_text(beyond): beyond > 0,
        common.ridge_text(): _is_drawn(picture.view, "_ridge_u", frame),
        "hatched: not known": _is_drawn(picture.view, "_hatch_u", frame),
        "each λ is drawn to its own scale": picture.boxes_vary,
    }
    return " · ".join(note for note, there in notes.items() if there)


def _is_drawn(view: View, line: str, frame: int) -> bool:
    return any(
        np.isfinite(x[frame] if name in view.framed else x).any()
        for name, x in view.arrays.items()
        if name.endswith(line)
    )


# --- Explanations, with the numbers on the screen -------------------------------------------------


def draw_explanations(result: Result) -> None:
    """Draw the buttons that explain the surfaces, the maps and the triangles of weights."""
    variants, view, at = result.variants, result.view, result.at
    variant, config = variants[-1], variants[-1].instance.config
    row, column = at
    axis = variant.surface.axis
    point = f"({axis[column]:z.2f}, {axis[row]:z.2f})"
    lines = "lines_grid"
    if draws_plane(variants[0]):
        lines = "lines_square" if averaged(variants[0]) is None else "lines_triangle"
    gates = [common.vector_text(stack[:, *at]) for stack in variant.gates[-1:]]
    colouring = COLOURINGS[view.colouring]
    shown = common.short(float(colouring.field(variant, view.layer, view.part)[at]))
    if view.colouring == "curvature":
        shown = common.curvature_text(variant.surface, (0, *at))
    formula, look_for, misread = section("manifold", f"quantity_{view.colouring}").split("\n\n")
    with st.container(horizontal=True):
        _explain(
            "the surfaces",
            "surfaces",
            dim=config.model_dim,
            lines=section("manifold", lines),
            source=config.layer.come_from,
            point=point,
            weights=common.vector_text(variant.weights[-1][0, *at]),
            gate=f", the gate is {gates[0]}" if gates else "",
            y=common.vector_text(variant.surface.values[0, *at]),
            ungated=_without_gate(config),
        )
        _explain(
            "the heatmaps",
            "heatmap",
            quantity=colouring.name,
            limit=f"{TANGENT_ERROR_LIMIT:g}",
            formula=formula,
            point=point,
            symbol=colouring.symbol,
            shown=shown,
            look_for=look_for,
            misread=misread,
        )
        if view.inspect and draws_simplex(variants[0].instance.config):
            heads = variant.weights[view.layer]
            chosen = view.part if view.colouring == "entropy" and view.part is not None else 0
            head = chosen if chosen < len(heads) else 0
            weights = heads[head, *at]
            _explain(
                "the triangles",
                "triangles",
                head=head + 1,
                sum=f"{weights.sum():.3g}",
                weights=common.vector_text(weights),
            )


def _without_gate(config: AttentionConfig) -> str:
    """Say what an ungated model of this kind computes."""
    if not config.layer.fixed_values:
        return section("manifold", "ungated_tokens")
    if config.sink != "none":
        return section("manifold", "ungated_sink")
    if not config.weights_on_simplex:
        return section("manifold", "ungated_off_simplex")
    parts = {
        "an output projection": config.output_projection,
        "the residual": config.residual,
        "normalisation": config.norm == "post",
    }
    after = [name for name, there in parts.items() if there]
    heads = "for every head " if config.heads > 1 else ""
    average = r"$\sum_i \alpha_i U_i$ with $\sum_i \alpha_i = 1$: an average of fixed vectors"
    text = f"Without a gate the layer computes {heads}{average}."
    return f"{text} Then come {' and '.join(after)}." if after else text
