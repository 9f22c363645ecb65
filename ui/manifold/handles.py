"""Handles to drag: value vectors and the arrows of gates. Surface and curvature follow.

What was dragged stands in the link, so that it can be shared; every drag can be undone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import numpy as np
import streamlit as st

from gating_core.experiments.instance import (
    MeasuredInstance,
    ModelInstance,
    draggable_gates,
    draggable_values,
    gate_arrows,
    link_digits,
    moved_gate,
    own_values,
)
from gating_core.geometry import Matrix
from ui.common.explanations import draw_explanation
from ui.common.formatting import vector_text
from ui.common.lessons import section
from ui.common.links import LINK
from ui.components.pad import Handle, pad
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.manifold.shared import UNDO, Result, put_in_link

VALUES, GATES = "handles_values", "handles_gates"  # the pads
CURRENT, IN_LINK, DRAGGING = "handles_current", "handles_in_link", "handles_dragging"
PARAMETERS = ("values", "gates")
PAIRS = {"1-2": (0, 1), "1-3": (0, 2), "2-3": (1, 2)}  # drawn axes, by their numbers
BESIDE = "gc-beside"  # the pads stand beside the view as pad.css says
SUBSCRIPTS = "₁₂₃"
PAD_WIDTH = 320  # pixels, where there is room
SMALLEST_EXTENT = 2.0  # doubled until all handles fit
GATE_COLOURS = ("#0f766e", "#b45309", "#4338ca", "#be185d", "#4d7c0f", "#475569")


def draw_beside(result: Result, draw_view: Callable[[], None]) -> None:
    """Draw the picture, and beside it both pads, the way back, and an explanation."""
    variant = result.variants[-1]  # the gated one, or the only one there is
    if not can_drag(variant):
        draw_view()
        st.caption("Dragging needs learned slots and n = 3 values.")
        return
    with st.container(horizontal=True, wrap=False, key=BESIDE):
        with st.container():
            draw_view()
            _explain(variant.instance)
        with st.container():
            st.session_state[IN_LINK] = {name: st.query_params.get(name) for name in PARAMETERS}
            with st.container(horizontal=True):
                with st.container(width=PAD_WIDTH, gap="xsmall"):
                    _draw_values(variant, result.resolved.axes)
                with st.container(width=PAD_WIDTH, gap="xsmall"):
                    if draggable_gates(variant.instance.config):
                        arrows = gate_arrows(variant.instance)
                        _draw_pad(
                            GATES,
                            "Gates of the first layer",
                            "g",
                            arrows,
                            GATE_COLOURS,
                            ("x1", "x2"),
                            _on_gate,
                        )
                    else:
                        st.caption(section("manifold", "no_arrows"))
                    _draw_way_back()


def can_drag(variant: MeasuredInstance) -> bool:
    """Return whether there are handles: values that can be dragged."""
    return draggable_values(variant.instance.config) and variant.values is not None


def is_dragging() -> bool:
    """Return whether a handle is being dragged."""
    return bool(st.session_state.get("handles") and st.session_state.get(DRAGGING))


def _explain(instance: ModelInstance) -> None:
    vectors = map(vector_text, own_values(instance))
    values = ", ".join(f"U{SUBSCRIPTS[i]} = {vector}" for i, vector in enumerate(vectors))
    arrows = weights = ""
    gate, config = instance.config.gate, instance.config
    if gate is not None and draggable_gates(config):
        per = "channel" if gate.granularity == "elementwise" else "head"
        first = vector_text(gate_arrows(instance)[0])
        arrows = f" {section('manifold', 'handles_arrows', one=per)}"
        weights = f" {section('manifold', 'handles_weights', gate=first)}"
    plain = config.weights_on_simplex and config.heads == 1
    plain = plain and not config.residual and config.norm != "post"
    stays = " and stays in their plane" if plain else ""
    draw_explanation(
        "manifold",
        "the handles",
        "handles",
        values=values,
        arrows=arrows,
        weights=weights,
        stays=stays,
    )


def _draw_way_back() -> None:
    with st.container(horizontal=True, gap="xsmall"):
        st.button(
            "Undo",
            key="handles_undo",
            icon=":material/undo:",
            on_click=_undo,
            disabled=not st.session_state.get(UNDO),
        )
        st.button(
            "Reset",
            key="handles_reset",
            on_click=_reset,
            help="Back to the seed's own",
            disabled=not any(name in st.query_params for name in PARAMETERS),
        )


def _draw_values(variant: MeasuredInstance, axes: Axes) -> None:
    drawn = axes.basis.shape[1]
    pairs = {name: pair for name, pair in PAIRS.items() if max(pair) < drawn}
    pair = pairs[
        st.radio(
            "Values of the last layer, along axes",
            [*pairs],
            key="pair",
            horizontal=True,
            label_visibility="collapsed",
            **LINK,
        )
    ]
    own = own_values(variant.instance)  # before a gate at G2 scales them
    st.session_state[CURRENT] = (own, axes, pair, variant.instance)
    x_name, y_name = (axes.names[i].replace("<sub>", "").replace("</sub>", "") for i in pair)
    _draw_pad(
        VALUES,
        "Values of the last layer",
        "U",
        value_positions(own, axes, pair),
        (palette.ACCENT,),
        (x_name, y_name),
        _on_value,
        polygon=True,
    )


def _draw_pad(
    key: str,
    label: str,
    letter: str,
    positions: np.ndarray,
    colours: tuple[str, ...],
    names: tuple[str, str],
    on_move: Callable[[], None],
    polygon: bool = False,
) -> None:
    """A pad with a handle at each of ``positions`` (M, 2); arrows, or the corners of a polygon."""
    # While a handle is in the hand the scale stays: at the rim it would double with every answer.
    extent = st.session_state.get(f"{key}_extent") if is_dragging() else None
    if extent is None:
        extent = SMALLEST_EXTENT
        while abs(positions).max() > 0.9 * extent:
            extent *= 2
    st.session_state[f"{key}_extent"] = extent
    handles = [
        Handle(f"{letter}{i}", float(x), float(y), colour, not polygon)
        for i, ((x, y), colour) in enumerate(zip(positions, cycle(colours), strict=False), 1)
    ]
    pad(
        key=key,
        handles=handles,
        extent=extent,
        label=label,
        x_name=names[0],
        y_name=names[1],
        polygon=polygon,
        on_move=on_move,
    )


def _on_value() -> None:
    moved = st.session_state[VALUES]["moved"]
    own, axes, pair, _ = st.session_state[CURRENT]
    matrix = moved_value(own, axes, pair, moved["index"], _position(moved))
    _put_dragged("values", _link_text(matrix), moved)


def _on_gate() -> None:
    moved = st.session_state[GATES]["moved"]
    instance: ModelInstance = st.session_state[CURRENT][3]
    matrix = moved_gate(instance, moved["index"], _position(moved))
    _put_dragged("gates", _link_text(tuple(zip(*matrix, strict=True))), moved)


def _position(moved: dict) -> tuple[float, float]:
    return float(moved["x"]), float(moved["y"])


def _put_dragged(name: str, text: str, moved: dict) -> None:
    """Put the new numbers into the link; one drag is one step to undo."""
    before = st.session_state[IN_LINK]
    if not is_dragging():
        st.session_state[UNDO] = [*st.session_state.get(UNDO, []), before]
    st.session_state[DRAGGING] = not moved["done"]
    _put(before | {name: text})


def _put(matrices: dict[str, str | None]) -> None:
    """Put these into the link.

    The session has them, too: a hurried browser asks for the next run with a link that is older.
    """
    st.session_state[IN_LINK] = matrices
    put_in_link(matrices)


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
    values: np.ndarray, axes: Axes, pair: tuple[int, int], index: int, target: tuple[float, float]
) -> Matrix:
    """``values`` (n, D) with value ``index`` moved within the plane of two drawn axes."""
    moved = values.copy()
    step = np.asarray(target) - value_positions(values, axes, pair)[index]
    moved[index] += axes.basis[:, pair] @ step
    return link_digits(moved)


def _link_text(matrix: Matrix) -> str:
    """Return a matrix as the link holds it, row by row."""
    return ",".join(f"{x:g}" for row in matrix for x in row)
