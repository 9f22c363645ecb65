"""The tab Measured: how often steering succeeds, at what cost, against which controls."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.steering import prompt_verses
from ui.common.language_models import UNGATED
from ui.common.lessons import section
from ui.common.parts import chart_columns
from ui.common.words import percent
from ui.drawing.reliability import reliability_chart
from ui.drawing.titled import titled
from ui.steering import grid, outcomes, outcomes_picture, outcomes_words
from ui.steering.controls import read_outcome_selection
from ui.steering.parts import draw_csv, draw_explanation, draw_figure
from ui.steering.request import GATES, HELD, RELEASED, Model, OutcomeSelection
from ui.work import jobs

WHAT = "Measuring a model"


def draw_measured() -> None:
    """Draw outcomes of released and of held pushes, what a gate changes, and the classifier's."""
    selection, column = read_outcome_selection()
    source, arrays = _fetch(selection, column)
    both = {mode: outcomes.outcome(source, mode, selection.target, tuple(arrays.values()))
            for mode in (RELEASED, HELD)}  # fmt: skip
    most = max(float(of.means[outcomes.NATS].max()) for of in both.values()) + 0.5
    for half, (mode, of) in zip(st.columns(2), both.items(), strict=True):
        with half:
            _draw_outcome(of, mode, (source, selection.target), most)
    released = both[RELEASED]
    _draw_gate_and_classifier(selection.target)
    st.markdown(f"{outcomes_words.layers_text(released)} {outcomes_words.back_text(released)}")
    with st.container(horizontal=True):
        draw_explanation(
            "outcomes", "outcomes", works=percent(outcomes_words.WORKS),
            words=percent(outcomes_words.FEW_WORDS), nats=outcomes_words.DEAREST,
            prompts=len(prompt_verses()), hidden=percent(3 / len(prompt_verses())),
        )  # fmt: skip
        _draw_csvs(source, arrays)


def _fetch(
    selection: OutcomeSelection, column: DeltaGenerator
) -> tuple[outcomes.Source, dict[Model, grid.Arrays]]:
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


def _draw_outcome(
    of: outcomes.Outcome, mode: str, of_what: tuple[Hashable, ...], most_nats: float
) -> None:
    sentence = outcomes_words.best_text(of, mode)
    draw_figure((f"outcomes_{mode}", *of_what), lambda: titled(
        outcomes_picture.outcome_chart(of, most_nats),
        section("steering", f"head_{mode}")), sentence)  # fmt: skip
    st.markdown(sentence)


def _draw_gate_and_classifier(target: str) -> None:
    gated = next(value for value in GATES.values() if value != UNGATED)
    succeeds = outcomes.gate_difference(gated, UNGATED, RELEASED, target)
    apart = outcomes.apart_difference(gated, UNGATED)
    judged = outcomes.calibrations()
    diagrams = [(f"{one.characters} characters", one.bins, one.ends) for one in judged]
    charts = (
        ("gate", (target,), lambda: outcomes_picture.gate_chart(succeeds, "points"),
         outcomes_words.gate_text(succeeds)),
        ("apart", (), lambda: outcomes_picture.gate_chart(apart, "AUC × 100"),
         outcomes_words.apart_text(apart)),
        ("calibration", (), lambda: reliability_chart(diagrams, outcomes_picture.THIRD_PIXELS, 0.5),
         outcomes_words.calibration_text(judged)),
    )  # fmt: skip
    for column, (name, key, make, sentence) in zip(
        chart_columns("steering_gate", 3), charts, strict=True
    ):
        with column:
            draw_figure((name, *key), lambda make=make, name=name: titled(
                make(), section("steering", f"head_{name}")), sentence)  # fmt: skip
            st.markdown(sentence)


def _draw_csvs(source: outcomes.Source, arrays: Mapping[Model, grid.Arrays]) -> None:
    draw_csv("Outcomes", lambda: outcomes_words.outcomes_csv(outcomes.shipped()))
    if source.here:
        draw_csv("Measured here", lambda: outcomes_words.outcomes_csv(arrays))
