"""The tab Measured: how often steering succeeds, at what cost, against which controls."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.steering import prompt_verses
from ui.common.language_models import UNGATED
from ui.common.lessons import section
from ui.common.parts import chart_columns
from ui.common.words import percent
from ui.drawing.reliability import reliability_chart
from ui.drawing.titled import titled
from ui.steering import grid, outcomes, outcomes_words
from ui.steering.controls import read_outcome_selection
from ui.steering.outcomes_picture import THIRD_PIXELS, gate_chart, outcome_chart
from ui.steering.parts import STYLE, draw_csv, draw_explanation, draw_figure
from ui.steering.request import GATES, HELD, RELEASED, Model, OutcomeSelection
from ui.steering.words import FEW_WORDS
from ui.work import jobs

WHAT = "Measuring a model"


def draw_measured() -> None:
    """Draw outcomes of released and of held pushes, what a gate changes, and the classifier's."""
    st.html(STYLE)
    selection, column = read_outcome_selection()
    source, arrays = _fetch(selection, column)
    both = {mode: outcomes.outcome(source, mode, selection.target, tuple(arrays.values()))
            for mode in (RELEASED, HELD)}  # fmt: skip
    most = max(float(of.means[outcomes.NATS].max()) for of in both.values()) + 0.5
    for half, (mode, of) in zip(st.columns(2), both.items(), strict=True):
        with half:
            _draw_titled((mode, source, selection.target),
                         partial(outcome_chart, of, most),
                         outcomes_words.best_text(of, mode))  # fmt: skip
    released = both[RELEASED]
    _draw_gate_and_classifier(selection.target)
    st.markdown(f"{outcomes_words.layers_text(released)} {outcomes_words.back_text(released)}")
    with st.container(horizontal=True):
        draw_explanation(
            "outcomes", "outcomes", works=percent(outcomes_words.WORKS),
            words=percent(FEW_WORDS), nats=outcomes_words.DEAREST,
            prompts=len(prompt_verses()), hidden=percent(3 / len(prompt_verses())),
        )  # fmt: skip
        _draw_csvs(source, arrays)


def _fetch(
    selection: OutcomeSelection, column: DeltaGenerator
) -> tuple[outcomes.OutcomeSource, dict[Model, grid.Arrays]]:
    """Return what can be shown; draw the button in a ``column``, or the job that it started."""
    request = selection.grid
    here, job = grid.measured_here(request)
    if job is not None:
        with jobs.dock(grid.GRID.name, job.about):
            grid.GRID.watch(job, WHAT, again=grid.START)
    elif request is not None and here is None:
        with column:
            grid.draw_start()
    source, arrays = outcomes.source_of(selection, here)
    if source.here:
        st.caption(f":material/check: {section('steering', 'measured_here')}")
    elif request is not None and source.draw != request.draw:
        st.caption(f":material/info: {section('steering', 'not_measured', draw=request.draw)}")
    return source, arrays


def _draw_gate_and_classifier(target: str) -> None:
    gated = next(value for value in GATES.values() if value != UNGATED)
    succeeds = outcomes.gate_difference(gated, UNGATED, RELEASED, target)
    apart = outcomes.apart_difference(gated, UNGATED)
    judged = outcomes.calibrations()
    diagrams = [(f"{one.characters} characters", one.bins, one.ends) for one in judged]
    first, second, third = chart_columns("steering_gate", 3)
    with first:
        _draw_titled(("gate", target), lambda: gate_chart(succeeds, "points"),
                     outcomes_words.gate_text(succeeds))  # fmt: skip
    with second:
        _draw_titled(("apart",), lambda: gate_chart(apart, "AUC × 100"),
                     outcomes_words.apart_text(apart))  # fmt: skip
    with third:
        _draw_titled(("calibration",), lambda: reliability_chart(diagrams, THIRD_PIXELS, 0.5),
                     outcomes_words.calibration_text(judged))  # fmt: skip


def _draw_titled(key: tuple[Hashable, ...], make: Callable[[], go.Figure], sentence: str) -> None:
    """Draw a chart with the title of its name, which ``key`` begins with, and a sentence below."""
    title = section("steering", f"head_{key[0]}")
    draw_figure(key, lambda: titled(make(), title), sentence)
    st.markdown(sentence)


def _draw_csvs(source: outcomes.OutcomeSource, arrays: Mapping[Model, grid.Arrays]) -> None:
    draw_csv("Outcomes", lambda: outcomes_words.outcomes_csv(outcomes.shipped()))
    if source.here:
        draw_csv("Measured here", lambda: outcomes_words.outcomes_csv(arrays))
