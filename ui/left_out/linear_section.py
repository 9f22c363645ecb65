"""The tab Linear: the softmax left out, with a window beside or without; and what a state holds."""

from __future__ import annotations

from functools import partial

import numpy as np
import streamlit as st

from gating_core.left_out_at_work import (
    CONVERTED_WINDOWS,
    Cheaper,
    LinearRequest,
    RecallCurves,
    cheaper,
    converted_head,
    converted_losses,
    load_attention_times,
    recall_curves,
)
from ui.common.control_table import read
from ui.common.lessons import section
from ui.common.parts import chart_columns, draw_csv
from ui.left_out import linear_picture, linear_words, measured
from ui.left_out.controls import OF_HEAD, draw_front, resolved
from ui.left_out.linear_controls import (
    CHEAPER_CONTROLS,
    LEARNED,
    LINEAR_CONTROLS,
    SHOWN_CONTROLS,
    LinearSelection,
)
from ui.left_out.parts import draw_explanation, draw_titled
from ui.left_out.request import HEAD, LeftOutSelection
from ui.work.cache import NUMBERS_CACHE, cached

WIDTHS = (3.2, 2.2, 2, 2.2, 2.2, 2.6, 2.4, 2.2)


@cached()
def of_head(selection: LeftOutSelection, request: LinearRequest) -> Cheaper:
    """The selected head over its text, in all ways: some hundredths of a second."""
    return cheaper(measured.specimen(selection), request)


@cached()
def of_converted(selection: LeftOutSelection, window: int) -> Cheaper | None:
    """The same head of converted models; ``None`` where these are not shipped."""
    try:
        return converted_head(selection.text, *selection.place, window)
    except ValueError:
        return None


@cached(on=NUMBERS_CACHE)
def recalled(channels: int, overlap: float, request: LinearRequest) -> RecallCurves:
    """The toy: some tenths of a second."""
    return recall_curves(channels, overlap, request)


@st.cache_resource(show_spinner=False)
def conversions() -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Return the shipped losses of conversions by seed and text, and characters of texts."""
    return converted_losses()


def draw_linear() -> None:
    """Draw the head in all ways, the state, the losses of conversions, the toy and the costs."""
    (columns,) = draw_front([*OF_HEAD.values()], [WIDTHS])
    for control, column in zip(LINEAR_CONTROLS.values(), columns, strict=True):
        control.draw(column)
    selection = resolved(read(OF_HEAD, LeftOutSelection, kind=HEAD))
    request = read(CHEAPER_CONTROLS, LinearRequest)
    shown = read(SHOWN_CONTROLS, LinearSelection)
    head, learned = of_head(selection, request), None
    if shown.features == LEARNED:
        window = min(CONVERTED_WINDOWS, key=lambda size: abs(size - request.window))
        learned = of_converted(selection, window)
        note = "not_converted" if learned is None else "converted"
        st.caption(f":material/info: {section('left_out', note, window=window)}")
        head = learned or head
    at = min(shown.at, len(head.states) - 1)
    curves = recalled(shown.channels, shown.overlap, request)
    losses, counts = conversions()
    times = load_attention_times()
    channels = head.states.shape[-1]
    gate = linear_words.gate_text(losses, counts)
    texts = {
        "bypass": linear_words.bypass_text(losses, counts),
        "head": linear_words.head_text(selection.head, head, learned is not None),
        "recall": linear_words.recall_text(curves, shown.channels),
        "cost": linear_words.cost_text(channels, request.window, times),
    }
    text = selection.text_with_break
    key = selection, request, learned is not None
    st.markdown(gate)
    left, right = st.columns([5, 2])
    with left:
        draw_titled(("linear_maps", *key), partial(linear_picture.map_chart, head, text),
                    texts["head"])  # fmt: skip
    with right:
        draw_titled(("linear_state", *key, at), partial(linear_picture.state_chart, head, at),
                    linear_words.state_text(head, text, at), at=at)  # fmt: skip
    below = chart_columns("below", [5, 4, 4, 4] if times else [5, 4, 4])
    with below[0]:
        rows = linear_words.above_softmax(losses, counts)
        if rows:
            draw_titled(("linear_losses",),
                        partial(linear_picture.conversion_chart, rows),
                        f"{texts['bypass']} {gate}")  # fmt: skip
        else:
            st.info(section("left_out", "no_conversions"))
    with below[1]:
        draw_titled(("linear_recall", shown.channels, shown.overlap, request),
                    partial(linear_picture.recall_chart, curves, shown.channels), texts["recall"],
                    d=shown.channels)  # fmt: skip
    with below[2]:
        draw_titled(
            ("linear_cost", channels, request.window),
            partial(linear_picture.cost_chart, channels, request.window),
            texts["cost"],
        )
    if times:
        with below[3]:
            draw_titled(("linear_time",), partial(linear_picture.time_chart, times), texts["cost"])
    st.markdown(" ".join(filter(None, texts.values())))
    with st.container(horizontal=True):
        draw_explanation("linear attention", "linear", window=request.window,
                         share=f"{request.share:g}", memory=f"{request.memory:g}",
                         step=f"{request.step:g}", d=channels,
                         small=f"{linear_words.SMALL:g}")  # fmt: skip
        draw_csv("Linear", lambda: linear_words.linear_csv(losses, counts, curves))
