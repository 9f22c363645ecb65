"""The folded parts of the page of gates: what each fetches once it is open, and its layout.

Maps stand beside each other; on a phone one below the other.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import plotly.graph_objects as go
import streamlit as st

import gating_core.theory as theory
from ui.common.lessons import section
from ui.common.parts import BARE, figures
from ui.common.words import error_text, short
from ui.components.view3d import view3d
from ui.drawing.colours import scale_of
from ui.gates import measured
from ui.gates import panel_words as words
from ui.gates.controls import GATES, layer_controls, premise_controls, shape_controls
from ui.gates.folded import FittedGate, ShapeRequest
from ui.gates.frames import GateFrame
from ui.gates.maps import map_figure, triangle_figure
from ui.gates.parts import SPARE, GateResult, legend_of
from ui.gates.words import caption, range_text, readout

CHANNELS = ("y₁", "y₂", "y₃")


def draw_panels(result: GateResult) -> None:
    """Draw all of them; nothing is computed for one that is folded."""
    panels: dict[str, Callable[[], None]] = {
        "maps": lambda: _draw_maps(result),
        "real": _draw_real,
        "premises": _draw_premises,
        "shaping": _draw_shaping,
    }
    for key, draw in panels.items():
        fold = GATES[key].draw(st)
        if fold.open:
            with fold:
                draw()


def _draw_chart(figure: go.Figure, title: str, key: str, alt: str = "") -> None:
    st.markdown(title)
    st.plotly_chart(figure, alt=(alt or title).replace("*", ""), key=key, config=BARE)


def _draw_row(charts: dict[str, go.Figure], key: str) -> None:
    """Charts under their titles, beside each other."""
    for index, (column, title) in enumerate(zip(st.columns(len(charts)), charts, strict=True)):
        with column:
            _draw_chart(charts[title], title, f"{key}_{index}")


# --- The open gate --------------------------------------------------------------------------------


def _draw_maps(result: GateResult) -> None:
    """K and |H| of the open gate, and the gate, of every channel if there are several."""
    frame, count = result.frame, result.frame.channels.shape[-1]
    maps = figures(("gates maps", result.request, frame.strength), lambda: _map_figures(frame))
    titles = [f"**K**: {range_text(frame.range)}", f"**|H|** up to {short(frame.largest_bend)}"]
    names = ["**gate** in use"] if count == 1 else [f"**gate of {name}**" for name in CHANNELS]
    for index, name in enumerate(names):
        gate = frame.channels[..., index]
        ends = "none"
        if np.isfinite(gate).any():
            ends = f"{short(float(np.nanmin(gate)))} to {short(float(np.nanmax(gate)))}"
        titles.append(f"{name}: {ends}")
    with st.container(key="gates_maps"):
        _draw_row(dict(zip(titles, maps, strict=True)), "gates_map")
    note = "" if count == 1 else " The small map beside the surface shows the mean of the three."
    st.caption(f"At λ = {frame.strength:.2f}; dashed: K = 0; hatched: not known, or no gate.{note}")


def _map_figures(frame: GateFrame) -> list[go.Figure]:
    axis, gates = frame.axis, [*np.moveaxis(frame.channels, -1, 0)]
    k, bend, gate = (
        scale_of(name, fields)
        for name, fields in (("curvature", [frame.known]), ("mean", [frame.mean]), ("gate", gates))
    )
    return [
        map_figure(frame.known, axis, k, "K", frame.signed, frame.error),
        map_figure(frame.mean, axis, bend, "|H|"),
        *(map_figure(channel, axis, gate, "gate") for channel in gates),
    ]


# --- The law for a real layer ---------------------------------------------------------------------


def _draw_real() -> None:
    """The conic of a real gated layer over its exact K."""
    with st.container(key="gates_real"):
        left, right = st.columns([5, 6], gap="large")
    with left:
        request = layer_controls(st)
        trained, job = None, None
        if request.source == "trained":
            trained, job = measured.LAYERS.fetch(request.as_trained)
        if job is not None:
            measured.LAYERS.watch(job, "Training a gated layer")
            return
        conic = measured.layer(request, trained)
        text = f"{words.signs_text(conic)} {words.line_text(conic)}"
        st.latex(section("gates", "layer_law"))
        st.markdown(words.exponents_text(conic))
        st.markdown(text)
        if trained is not None:
            st.caption(words.trained_text(trained))
        st.caption(section("gates", "layer"))
    with right:
        (figure,) = figures(("gates layer", request), lambda: [triangle_figure(conic)])
        title = "**K over the triangle of attention weights**; black: the conic, from the formula"
        _draw_chart(figure, title, "gates_triangle", text)


# --- The theorem ----------------------------------------------------------------------------------


def _draw_premises() -> None:
    """The theorem, and a live counterexample for each thing that it does not say."""
    st.markdown(section("gates", "theorem"))
    chosen, seed = premise_controls(st)
    names = (
        chosen,
        *(name for name, each in theory.COUNTEREXAMPLES.items() if each.point != "slice"),
    )
    rows = zip(st.columns(3), names, measured.counterexamples(names, seed), strict=True)
    for number, (column, name, each) in enumerate(rows, 1):
        record = theory.COUNTEREXAMPLES[name]
        (figure,) = figures(("gates premise", name, seed), partial(_premise_figures, each))
        text = words.counterexample_text(each.surface, each.twin, each.exact)
        with column:
            st.markdown(f"**{number}. {theory.THEOREM_GAPS[record.point]}**  \n{record.why}")
            title = f"K of an ungated layer with {record.title}"
            _draw_chart(figure, title, f"gates_premise_{number}", text)
            st.markdown(text)
    st.caption(section("gates", "premises", seed=seed))


def _premise_figures(each: theory.MeasuredCounterexample) -> list[go.Figure]:
    surface = each.surface
    known, error = surface.known[-1], surface.known_error[-1]
    signed = surface.gaussian_where(surface.decided)[-1]
    scale = scale_of("curvature", [known])
    return [map_figure(known, surface.axis, scale, "K", signed, error)]


# --- A gate for a shape ---------------------------------------------------------------------------


def _draw_shaping() -> None:
    """The gate that a shape needs, and what a network makes of it."""
    request = shape_controls(st)
    design = measured.designed(request.shape, request.size)
    st.markdown(f"*{theory.SHAPES[request.shape].why.capitalize()}.* "
                f"{words.design_text(design, design.reachable.size)}")  # fmt: skip
    fit, job = measured.SHAPED.fetch(request)
    with st.container(key="gates_shape"):
        left, right = st.columns(2, gap="medium")
    with left:
        _draw_images(request, design, fit)
    if job is not None:
        measured.SHAPED.watch(job, "Fitting a gate network")
    if fit is None:
        return
    maps = figures(("gates shape", request), lambda: shape_figures(fit))
    titles = f"**Network − gate**: at most {error_text(fit.largest_error)}", K_APART
    exact, fitted = (words.range_with_doubt(image.surface) for image in (fit.exact, fit.fitted))
    with right:
        _draw_row(dict(zip(titles, maps, strict=True)), "gates_shape")
        st.markdown(words.fit_text(fit))
        st.caption(f"Exact: {exact}. Fitted: {fitted}.")


K_APART = "**K, fitted − exact**"


def _draw_images(request: ShapeRequest, design: theory.GateDesign, fit: FittedGate | None) -> None:
    """The sheet under the gate for the shape and under the network, one in place of the other."""
    frames, picture = measured.shape_picture(request, fit is not None, design, fit)
    view3d(
        picture.view,
        key="gates_shape_view",
        headings=[""],
        captions=[[caption(frame) for frame in frames.values()]],
        readouts=[readout(scalar=True)],
        rest=(len(design.image.surface.axis) // 2,) * 2,
        frame=0,
        frame_labels=list(frames),
        playable=fit is not None,
        ends=("exact gate", "network"),
        scrub=True,
        scene=f"{request.shape} {request.size}",
        spare=SPARE,
        legend=legend_of(picture, "K", tuple(frames.values())),
    )


def shape_figures(fit: FittedGate) -> list[go.Figure]:
    """Draw how far the network is off, in the gate and in K."""
    exact, fitted = fit.exact.surface, fit.fitted.surface
    apart = (fitted.known - exact.known)[-1]
    doubt = (fitted.known_error + exact.known_error)[-1]
    gate, k = (scale_of("curvature", [field]) for field in (fit.error, apart))
    return [
        map_figure(fit.error, exact.axis, gate, "network − gate"),
        map_figure(apart, exact.axis, k, "K apart", None, doubt),
    ]
