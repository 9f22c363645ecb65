"""The folded parts of the page of gates: what each fetches once it is open, and its layout.

Maps stand beside each other; on a phone one below the other.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.theory import COUNTEREXAMPLES, SHAPES, THEOREM_GAPS, Design
from ui.common.figures import figures
from ui.common.words import error_text, short
from ui.components.view3d import view3d
from ui.gates import measured
from ui.gates import panel_words as words
from ui.gates.controls import GATES, layer_controls, premise_controls, shape_controls
from ui.gates.frames import GateFrame
from ui.gates.maps import CONFIG, bend_scale, gate_scale, map_figure, signed_scale
from ui.gates.parts import SPARE, FoundGate, legend_of
from ui.gates.shapes import FittedGate, ShapeRequest
from ui.gates.triangle import triangle_figure
from ui.gates.words import caption, range_text, readout

CHANNELS = ("y₁", "y₂", "y₃")


def draw_panels(found: FoundGate) -> None:
    """All of them; nothing is computed for one that is folded."""
    for key, draw in PANELS.items():
        fold = GATES[key].draw(st)
        if fold.open:
            with fold:
                draw(found)


def _chart(figure: go.Figure, title: str, key: str, alt: str) -> None:
    st.markdown(title)
    st.plotly_chart(figure, alt=alt, key=key, config=CONFIG)


# --- The open gate --------------------------------------------------------------------------------


def draw_maps(found: FoundGate) -> None:
    """K and |H| of the open gate, and the gate, of every channel if there are several."""
    request, frame = found.request, found.frame
    made = figures(("gates maps", request, frame.strength), lambda: _map_figures(frame))
    titles = [f"**K**: {range_text(frame.range or (None, None))}",
              f"**|H|** up to {short(frame.largest_bend)}"]  # fmt: skip
    count = frame.channels.shape[-1]
    names = ["**gate** in force"] if count == 1 else [f"**gate of {name}**" for name in CHANNELS]
    for place, name in enumerate(names):
        gate = frame.channels[..., place]
        ends = f"{short(float(np.nanmin(gate)))} to {short(float(np.nanmax(gate)))}"
        titles.append(f"{name}: {ends if np.isfinite(gate).any() else 'none'}")
    with st.container(key="gates_maps"):
        columns = st.columns(len(titles))
    for place, (column, title, figure) in enumerate(zip(columns, titles, made, strict=True)):
        with column:
            _chart(figure, title, f"gates_map_{place}", title.replace("*", ""))
    note = "" if count == 1 else " The small map beside the surface shows the mean of the three."
    st.caption(f"At λ = {frame.strength:.2f}; dashed: K = 0; hatched: not known, or no gate.{note}")


def _map_figures(frame: GateFrame) -> list[go.Figure]:
    axis = frame.axis
    gates = [frame.channels[..., place] for place in range(frame.channels.shape[-1])]
    scale = gate_scale(gates)
    return [
        map_figure(frame.known, axis, signed_scale([frame.known]), "K", frame.signed, frame.error),
        map_figure(frame.mean, axis, bend_scale([frame.mean]), "|H|"),
        *(map_figure(gate, axis, scale, "gate") for gate in gates),
    ]


# --- The law for a real layer ---------------------------------------------------------------------


def draw_real(found: FoundGate) -> None:
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
        layer = measured.layer(request, trained)
        st.latex(words.LAYER_LAW)
        st.markdown(words.exponents_text(layer))
        st.markdown(f"{words.signs_text(layer)} {words.line_text(layer)}")
        if trained is not None:
            st.caption(words.trained_text(trained))
        st.caption(
            "One layer, one head, three fixed values, a headwise sigmoid gate, and a plane of"
            " values that misses the origin. The formula knows the gate's weights only; K is"
            " measured on the layer by the general geometry, with its rounding-error bound."
        )
    with right:
        (figure,) = figures(("gates layer", request), lambda: [triangle_figure(layer.conic)])
        _chart(figure, "**K over the triangle of attention weights**; black: the conic, from the"
               " formula", "gates_triangle", f"{words.signs_text(layer)} {words.line_text(layer)}"
               .replace("*", ""))  # fmt: skip


# --- The theorem ----------------------------------------------------------------------------------


def draw_premises(found: FoundGate) -> None:
    """The theorem, and a live counterexample for each thing that it does not say."""
    st.markdown(words.THEOREM)
    chosen, seed = premise_controls(st)
    names = (chosen, *(name for name, each in COUNTEREXAMPLES.items() if each.point != "slice"))
    measures = measured.counterexamples(names, seed)
    for place, (column, name, each) in enumerate(zip(st.columns(3), names, measures, strict=True)):
        record, surface = COUNTEREXAMPLES[name], each.surface
        known = surface.known[-1]
        make = _maker(known, surface.axis, surface.gaussian_where(surface.decided)[-1],
                      surface.known_error[-1])  # fmt: skip
        (figure,) = figures(("gates premise", name, seed), make)
        said = words.counterexample_text(surface, each.twin, each.exact)
        with column:
            st.markdown(f"**{place + 1}. {THEOREM_GAPS[record.point]}**  \n{record.why}")
            _chart(figure, f"K of an ungated layer with {record.title}", f"gates_premise_{place}",
                   said.replace("*", ""))  # fmt: skip
            st.markdown(said)
    st.caption(
        f"All models are ungated and random, from seed {seed}, one layer each, measured now over"
        " the input plane [−1, 1]² (the query chart). *Without it*: the same model without the one"
        " part that is named, which the theorem covers."
    )


def _maker(
    known: np.ndarray, axis: np.ndarray, signed: np.ndarray, error: np.ndarray
) -> Callable[[], list[go.Figure]]:
    return lambda: [map_figure(known, axis, signed_scale([known]), "K", signed, error)]


# --- A gate for a shape ---------------------------------------------------------------------------


def draw_shaping(found: FoundGate) -> None:
    """The gate that a shape needs, and what a network makes of it."""
    request = shape_controls(st)
    wanted = measured.designed(request.shape, request.size)
    st.markdown(f"*{SHAPES[request.shape].why.capitalize()}.* "
                f"{words.design_text(wanted, wanted.reachable.size)}")  # fmt: skip
    fit, job = measured.SHAPED.fetch(request)
    with st.container(key="gates_shape"):
        left, right = st.columns(2, gap="medium")
    with left:
        _draw_images(request, wanted, fit)
    if job is not None:
        measured.SHAPED.watch(job, "Fitting a gate network")
    if fit is None:
        return
    made = figures(("gates shape", request), lambda: _shape_figures(fit))
    titles = [f"**Network less gate**: at most {error_text(fit.largest_error)}",
              "**K, fitted less exact**"]  # fmt: skip
    exact, fitted = (words.range_with_doubt(image.surface) for image in (fit.exact, fit.fitted))
    with right:
        columns = st.columns(2)
        for place, (column, title, figure) in enumerate(zip(columns, titles, made, strict=True)):
            with column:
                _chart(figure, title, f"gates_shape_{place}", title.replace("*", ""))
        st.markdown(words.fit_text(fit))
        st.caption(f"Exact: {exact}. Fitted: {fitted}.")


def _draw_images(request: ShapeRequest, wanted: Design, fit: FittedGate | None) -> None:
    """The sheet under the gate for the shape and under the network, one in place of the other."""
    frames, picture = measured.shape_picture(request, fit is not None, wanted, fit)
    view3d(
        picture.view,
        key="gates_shape_view",
        headings=[""],
        captions=[[caption(frame) for frame in frames.values()]],
        readouts=[readout(scalar=True)],
        rest=(len(wanted.image.surface.axis) // 2,) * 2,
        frame=0,
        frame_labels=list(frames),
        playable=fit is not None,
        ends=("exact gate", "network"),
        scrub=True,
        scene=f"{request.shape} {request.size}",
        spare=SPARE,
        legend=legend_of(picture, "K", tuple(frames.values())),
    )


def _shape_figures(fit: FittedGate) -> list[go.Figure]:
    """How far the network is off, in the gate and in K."""
    exact, fitted = fit.exact.surface, fit.fitted.surface
    apart = (fitted.known - exact.known)[-1]
    doubt = (fitted.known_error + exact.known_error)[-1]
    return [
        map_figure(fit.error, exact.axis, signed_scale([fit.error]), "network less gate"),
        map_figure(apart, exact.axis, signed_scale([apart]), "K apart", None, doubt),
    ]


PANELS = {
    "maps": draw_maps,
    "real": draw_real,
    "premises": draw_premises,
    "shaping": draw_shaping,
}
