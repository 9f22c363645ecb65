"""The tab Linear: attention without softmax, with or without a window; and what a state holds."""

from __future__ import annotations

from functools import partial

import streamlit as st

import gating_core.left_out_at_work as core
from ui.common.control_table import read
from ui.common.lessons import section
from ui.common.parts import chart_columns, draw_csv
from ui.left_out import conversions, measured
from ui.left_out import linear_results as results
from ui.left_out.controls import (
    HEAD_CONTROLS,
    LINEAR_CONTROLS,
    MORE,
    MORE_CONTROLS,
    draw_specimen,
)
from ui.left_out.parts import draw_explanation, draw_titled
from ui.left_out.request import HEAD, LEARNED, LeftOutSelection, LinearSelection
from ui.work.cache import NUMBERS_CACHE, cached

WIDTHS = (3, 3, 2.4, 2.4, 2.4)
MAPPED = 128  # tokens: of more, the weights would be too many to look at


@cached()
def of_head(selection: LeftOutSelection, request: core.LinearRequest) -> core.Cheaper:
    """The selected head over its text, or tokens, in all ways: some hundredths of a second."""
    return core.cheaper(measured.specimen(selection).beginning(MAPPED), request)


@cached()
def of_converted(selection: LeftOutSelection, window: int) -> core.Cheaper | None:
    """The same head of converted models; ``None`` where these are not shipped."""
    try:
        return core.converted_head(selection.text, *selection.layer_and_head, window)
    except ValueError:
        return None


@cached(on=NUMBERS_CACHE)
def recalled(channels: int, overlap: float, memory: float, step: float) -> core.RecallCurves:
    """Curves of the recall task: some tenths of a second."""
    return core.recall_curves(channels, overlap, core.LinearRequest(memory=memory, step=step))


@cached(on=NUMBERS_CACHE)
def judged_conversions() -> conversions.Conversions:
    """Return the losses of the shipped conversions: a tenth of a second."""
    of = core.converted_losses()  # and the characters
    return conversions.Conversions(*of, conversions.above_softmax(*of),
                                    conversions.bypass_text(*of),
                                    conversions.gate_text(*of))  # fmt: skip


def draw_linear() -> None:
    """Draw the head in all ways, the state, the losses of conversions, the toy and the costs."""
    selection, columns = draw_specimen(WIDTHS, MAPPED)
    for control, column in zip(HEAD_CONTROLS.values(), columns[1:], strict=True):
        control.draw(column)
    above, more = st.container(), st.container()
    with more:
        unfolded = MORE.draw(st)
        for control, column in zip(MORE_CONTROLS.values(), unfolded.columns(4), strict=True):
            control.draw(column)
    request, shown = (
        read(LINEAR_CONTROLS, core.LinearRequest),
        read(LINEAR_CONTROLS, LinearSelection),
    )
    losses = judged_conversions()
    with above:
        head, learned = _shown_head(selection, request, shown.features == LEARNED)
        st.markdown(losses.gate)
        _draw_head(selection, request, head, learned, shown.at)
        description = results.head_text(selection, head, learned)
        st.markdown(" ".join(filter(None, [losses.bypass, description])))
    channels = head.states.shape[-1]
    curves = recalled(shown.channels, shown.overlap, request.memory, request.step)
    _draw_below(losses, curves, channels, request, shown)
    with st.container(horizontal=True):
        lesson = "linear_learned" if learned else "linear"
        by_hand = {} if learned else {"share": f"{request.share:g}", "step": f"{request.step:g}",
                                      "memory": f"{request.memory:g}"}  # fmt: skip
        draw_explanation("linear attention", lesson, d=channels, small=f"{conversions.SMALL:g}",
                         window=learned or request.window, **by_hand)  # fmt: skip
        draw_csv("Linear", lambda: results.linear_csv(losses.losses, losses.counts, curves))


def _shown_head(
    selection: LeftOutSelection, request: core.LinearRequest, learned: bool
) -> tuple[core.Cheaper, int]:
    """Return the head to draw, and the window if it is that of converted models, else 0."""
    if learned and selection.kind == HEAD:
        window = min(core.CONVERTED_WINDOWS, key=lambda size: abs(size - request.window))
        converted = of_converted(selection, window)
        note = "not_converted" if converted is None else "converted"
        st.caption(f":material/info: {section('left_out', note, window=window)}")
        if converted is not None:
            return converted, window
    elif learned:
        st.caption(f":material/info: {section('left_out', 'no_head_to_convert')}")
    return of_head(selection, request), 0


def _draw_head(
    selection: LeftOutSelection,
    request: core.LinearRequest,
    head: core.Cheaper,
    learned: int,
    at: int,
) -> None:
    """Draw the weights of all ways, and the state after token ``at``."""
    text = selection.text_with_break if selection.kind == HEAD else None
    at = min(at, len(head.states) - 1)
    key = (selection, learned) if learned else (selection, request)
    left, right = st.columns([5, 2])
    draw_titled(left, ("linear_maps", *key), partial(results.map_chart, head, text),
                results.head_text(selection, head, learned))  # fmt: skip
    draw_titled(right, ("linear_state", *key, at), partial(results.state_chart, head, at),
                results.state_text(head, at), at=at)  # fmt: skip


def _draw_below(
    losses: conversions.Conversions, curves: core.RecallCurves, channels: int,
    request: core.LinearRequest, shown: LinearSelection,
) -> None:  # fmt: skip
    """Draw the losses of conversions, the toy and the costs; then the sentences of the last two."""
    times = core.load_attention_times()
    recall = results.recall_text(curves, shown.channels)
    cost = results.cost_text(channels, request.window, times)
    below = chart_columns("below", [5, 4, 4, 4] if times else [5, 4, 4])
    if losses.rows:
        draw_titled(below[0], ("linear_losses",),
                    partial(conversions.conversion_chart, losses.rows),
                    f"{losses.bypass} {losses.gate}")  # fmt: skip
    else:
        below[0].info(section("left_out", "no_conversions"))
    draw_titled(
        below[1], ("linear_recall", shown.channels, shown.overlap, request.memory, request.step),
        partial(results.recall_chart, curves, shown.channels), recall, d=shown.channels,
    )  # fmt: skip
    draw_titled(below[2], ("linear_cost", channels, request.window),
                partial(results.cost_chart, channels, request.window), cost)  # fmt: skip
    if times:
        draw_titled(below[3], ("linear_time",), partial(results.time_chart, times), cost)
    st.markdown(f"{recall} {cost}")
