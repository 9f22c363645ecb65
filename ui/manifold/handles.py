"""What can be taken hold of? Value vectors and the arrows of gates: surface and curvature follow.

What was dragged stands in the link, so that it can be shared; every drag can be undone.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from gating_core.experiments.specimen import (
    MeasuredSpecimen,
    Specimen,
    draggable_gates,
    draggable_values,
    gate_arrows,
    link_digits,
    moved_gate,
    own_values,
)
from gating_core.geometry import Matrix
from ui.common.link_check import forget
from ui.components.pad import Handle, pad
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.manifold.controls import PAIR, PAIRS, UNDO, link_of

CURRENT, IN_LINK = "hold_current", "hold_in_link"
DRAGGING = "hold_dragging"
PARAMETERS = ("values", "gates")
PAD_WIDTH = 320  # pixels, where there is room
SMALLEST_EXTENT = 2.0  # doubled until all handles fit
GATE_COLOURS = ("#0f766e", "#b45309", "#4338ca", "#be185d", "#4d7c0f", "#475569")


def draw_hold(side: MeasuredSpecimen, axes: Axes) -> None:
    """Both pads, side by side where there is room, and the way back.

    ``side`` is the gated one, or the only one there is; one that `can_hold`.
    """
    st.session_state[IN_LINK] = {name: st.query_params.get(name) for name in PARAMETERS}
    with st.container(horizontal=True):
        with st.container(width=PAD_WIDTH, gap="xsmall"):
            _draw_values(side, axes)
        with st.container(width=PAD_WIDTH, gap="xsmall"):
            _draw_gates(side.specimen)
            _draw_way_back()


def can_hold(side: MeasuredSpecimen) -> bool:
    """Whether there is something to take hold of: values that can be dragged."""
    return draggable_values(side.specimen.config) and side.values is not None


def _draw_way_back() -> None:
    with st.container(horizontal=True, gap="xsmall"):
        st.button(
            "Undo", key="hold_undo_button", icon=":material/undo:", on_click=_undo,
            disabled=not st.session_state.get(UNDO),
        )  # fmt: skip
        st.button(
            "Reset", key="hold_reset", on_click=_reset, help="Back to the seed's own",
            disabled=not any(name in st.query_params for name in PARAMETERS),
        )  # fmt: skip


def is_dragging() -> bool:
    """Whether a handle is in the visitor's hand."""
    return bool(st.session_state.get(DRAGGING))


def _draw_values(side: MeasuredSpecimen, axes: Axes) -> None:
    drawn = axes.basis.shape[1]
    pairs = {name: pair for name, pair in PAIRS.items() if max(pair) < drawn}
    pair = replace(PAIR, words=pairs).draw(st, label_visibility="collapsed")
    own = own_values(side.specimen)  # before a gate at G2 scales them
    places = value_positions(own, axes, pair)
    st.session_state[CURRENT] = (own, axes, pair, side.specimen)
    pad(
        key="hold_values",
        handles=[
            Handle(f"U{i + 1}", float(x), float(y), palette.ACCENT)
            for i, (x, y) in enumerate(places)
        ],
        extent=_extent(places),
        label="Values of the last layer",
        x_name=_plain(axes.names[pair[0]]),
        y_name=_plain(axes.names[pair[1]]),
        polygon=True,
        on_move=_on_value,
    )


def _draw_gates(specimen: Specimen) -> None:
    if not draggable_gates(specimen.config):
        st.caption(
            "The gate's arrows: only where a gate of the first layer reads the input (G1, G4, G5"
            " without pre-normalisation)."
        )
        return
    arrows = gate_arrows(specimen)
    pad(
        key="hold_gates",
        handles=[
            Handle(f"g{i + 1}", float(x), float(y), GATE_COLOURS[i % len(GATE_COLOURS)], True)
            for i, (x, y) in enumerate(arrows)
        ],
        extent=_extent(arrows),
        label="Gates of the first layer",
        x_name="x1",
        y_name="x2",
        on_move=_on_gate,
    )


def _extent(places: np.ndarray) -> float:
    extent = SMALLEST_EXTENT
    while abs(places).max() > 0.9 * extent:
        extent *= 2
    return extent


def _plain(name: str) -> str:
    return name.replace("<sub>", "").replace("</sub>", "")


def _on_value() -> None:
    moved = st.session_state["hold_values"]["moved"]
    own, axes, pair, _ = st.session_state[CURRENT]
    place = (float(moved["x"]), float(moved["y"]))
    _keep("values", link_of(moved_value(own, axes, pair, moved["index"], place)), moved)


def _on_gate() -> None:
    moved = st.session_state["hold_gates"]["moved"]
    specimen = st.session_state[CURRENT][3]
    place = (float(moved["x"]), float(moved["y"]))
    matrix = moved_gate(specimen, moved["index"], place)
    _keep("gates", link_of(matrix, transposed=True), moved)


def _keep(name: str, text: str, moved: dict) -> None:
    """Put the new numbers into the link; one drag is one step to undo."""
    before = st.session_state[IN_LINK]
    if not is_dragging():
        st.session_state[UNDO] = [*st.session_state.get(UNDO, []), before]
    st.session_state[DRAGGING] = not moved["done"]
    _put(before | {name: text})
    forget()


def _put(matrices: dict[str, str | None]) -> None:
    """Put these into the link.

    They are kept here, too: a hurried browser asks for the next run with a link that is older.
    """
    st.session_state[IN_LINK] = matrices
    for name, text in matrices.items():
        if text is None:
            st.query_params.pop(name, None)
        else:
            st.query_params[name] = text


def _undo() -> None:
    history = st.session_state.get(UNDO, [])
    if history:
        _put(history[-1])
        st.session_state[UNDO] = history[:-1]


def _reset() -> None:
    before = st.session_state[IN_LINK]
    st.session_state[UNDO] = [*st.session_state.get(UNDO, []), before]
    _put(dict.fromkeys(PARAMETERS))


def value_positions(values: np.ndarray, axes: Axes, pair: tuple[int, int]) -> np.ndarray:
    """(n, 2): the value vectors (n, D) along two of the drawn axes."""
    return axes.project(values)[:, pair]


def moved_value(
    values: np.ndarray, axes: Axes, pair: tuple[int, int], index: int, place: tuple[float, float]
) -> Matrix:
    """``values`` (n, D) with value ``index`` moved within the plane of two drawn axes."""
    moved = values.copy()
    step = np.asarray(place) - value_positions(values, axes, pair)[index]
    moved[index] += axes.basis[:, pair] @ step
    return link_digits(moved)
