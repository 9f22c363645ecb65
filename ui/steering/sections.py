"""The sections of the page Steering by the name of their tab; one tab is open at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.steering import (
    BEYOND,
    RELEASED_AFTER,
    WINDOW,
    WRITTEN,
    SteerRequest,
    Step,
    prompt_verses,
)
from ui.common import parts
from ui.common.lessons import section
from ui.common.parts import chart_columns
from ui.common.words import percent
from ui.drawing.reliability import reliability_chart
from ui.drawing.titled import titled
from ui.steering import measured, outcomes, outcomes_words, picture, words
from ui.steering.controls import (
    ALL,
    DRAW,
    FEATURE_ROWS,
    STEER_ROWS,
    read_outcome_selection,
    read_selection,
)
from ui.steering.request import (
    FEATURES,
    HELD,
    MEASURED,
    RELEASED,
    STEER,
    Model,
    OutcomeSelection,
)
from ui.steering.words import LEGEND
from ui.work import jobs

STYLE = Path(__file__).with_name("steering.css")
draw_figure = partial(parts.draw_figure, "steering")
draw_explanation = partial(parts.draw_explanation, "steering")
draw_csv = parts.draw_csv
BEYOND_TEXT = f"{100 * BEYOND:g}\u00a0%"
WRITING, MEASURING = "Writing", "Measuring a model"


def draw_steer() -> None:
    """Draw both texts as they are written, and the chart above them."""
    st.html(STYLE)
    request = read_selection(STEER_ROWS, steers=True).steer_request()
    job = measured.written(request)
    with jobs.dock(measured.WRITING, request):
        jobs.draw_end(job, WRITING, job.items)
    jobs.watch(job, lambda steps: _draw_texts(request, steps), what=WRITING,
               share=lambda steps: len(steps) / WRITTEN)  # fmt: skip
    with st.container(horizontal=True):
        st.button("Write another", icon=":material/refresh:", key="steer_another",
                  on_click=DRAW.move_on)  # fmt: skip
        if job.needs_click:
            jobs.draw_again(measured.WRITING, "Write again", "play_arrow", "steer_again")
        draw_explanation("steering", "steering", window=WINDOW, released=RELEASED_AFTER,
                         strength=f"{request.push:g}".replace("-", "−"),
                         beyond=BEYOND_TEXT,
                         calibration=outcomes_words.calibration_text(outcomes.calibrations())
                         )  # fmt: skip
        draw_csv("Steered", lambda: words.steps_csv(job.items))


def _draw_texts(request: SteerRequest, steps: Sequence[Step]) -> None:
    sentence = words.result_text(request, steps, measured.endings(request, steps))
    released = request.mode == RELEASED
    draw_figure(("curve", request), lambda: picture.curve_chart(steps, released), sentence,
                len(steps) == WRITTEN)  # fmt: skip
    titles = ("Unsteered", "Steered, by the same random numbers")
    for column, title, steered in zip(st.columns(2), titles, (False, True), strict=True):
        _draw_coloured(column, words.steered_text(request, steps, title, steered=steered))
    st.html(LEGEND)
    st.markdown(sentence)


def draw_features() -> None:
    """Draw all features of a layer, the passages of one, who writes along it, what it does."""
    st.html(STYLE)
    selection = read_selection(FEATURE_ROWS, steers=False)
    kinds = measured.dictionaries(selection.model, selection.layer)
    of, request = kinds[selection.shown_kind], selection.feature_request()
    passages = measured.strongest(request)
    sentence = words.feature_text(of, request.feature, passages)
    left, right = st.columns([6, 7])
    _draw_titled(left, ("order", request), lambda: picture.order_chart(of, request.feature),
                 sentence, on_select=_choose, selection_mode="points")  # fmt: skip
    head = f'<p class="gc-head">{section("steering", "head_passages")}</p>'
    _draw_coloured(right, head + words.passage_html(passages))
    right.markdown(sentence)
    written, change = measured.along(request), measured.effect(request, selection.push)
    along, effect = words.along_text(written), words.effect_text(change, selection.push)
    left, right = st.columns([6, 7])
    _draw_titled(left, ("along", request), lambda: picture.along_chart(written), along)
    _draw_titled(right, ("effect", request, selection.push),
                 lambda: picture.effect_chart(change), effect)  # fmt: skip
    st.markdown(f"{along} {effect}")
    with st.container(key="steering_kinds"):
        st.markdown(words.kinds_table(kinds))
    st.markdown(words.kinds_text(kinds))
    with st.container(horizontal=True):
        for name, feature in (("Most Spanish", of.difference.argmax()),
                            ("Most English", of.difference.argmin())):  # fmt: skip
            st.button(name, icon=":material/target:", key=name.lower().replace(" ", "_"),
                      on_click=ALL["feature"].set, args=(int(feature) + 1,))  # fmt: skip
        draw_explanation("features", "features", letters=words.LETTERS,
                         pattern=f"{words.PATTERN:.0%}".replace("%", "\u00a0%"),
                         rest=words.error_text(written.rest))  # fmt: skip
        draw_csv("Features", lambda: words.features_csv(kinds))
        draw_csv("Written along", lambda: words.along_csv(written, change))


def _choose() -> None:
    """Choose the feature whose mark was clicked."""
    points = st.session_state["steering_order"].selection.points
    if points and "customdata" in points[0]:
        ALL["feature"].set(int(points[0]["customdata"][0]))


def draw_measured() -> None:
    """Draw outcomes of released and of held pushes, what a gate changes, and the classifier's."""
    st.html(STYLE)
    selection, column = read_outcome_selection()
    source, arrays = _fetch(selection, column)
    both = {mode: outcomes.outcome(source, mode, selection.target, tuple(arrays.values()))
            for mode in (RELEASED, HELD)}  # fmt: skip
    most = max(float(of.means[outcomes.NATS].max()) for of in both.values()) + 0.5
    for half, (mode, of) in zip(st.columns(2), both.items(), strict=True):
        sentence = outcomes_words.best_text(of, mode)
        _draw_titled(half, (mode, source, selection.target),
                     partial(picture.outcome_chart, of, most), sentence)  # fmt: skip
        half.markdown(sentence)
    released = both[RELEASED]
    _draw_gate_and_classifier(selection.target)
    st.markdown(outcomes_words.classifiers_text(released, both[HELD]))
    layers = outcomes.depth_difference(source, selection.target, tuple(arrays.values()))
    st.markdown(f"{outcomes_words.layers_text(released, *layers)}"
                f" {outcomes_words.back_text(released)}")  # fmt: skip
    with st.container(horizontal=True):
        draw_explanation(
            "outcomes", "outcomes", works=percent(outcomes_words.WORKS),
            fooled=percent(outcomes_words.FOOLED), beyond=BEYOND_TEXT,
            prompts=len(prompt_verses()), hidden=percent(3 / len(prompt_verses())),
        )  # fmt: skip
        draw_csv("Outcomes", lambda: outcomes_words.outcomes_csv(outcomes.shipped()))
        if source.here:
            draw_csv("Measured here", lambda: outcomes_words.outcomes_csv(arrays))


def _fetch(
    selection: OutcomeSelection, column: DeltaGenerator
) -> tuple[outcomes.OutcomeSource, dict[Model, outcomes.Arrays]]:
    """Return what can be shown; draw the button in a ``column``, or the job that it started."""
    request = selection.grid
    here, job = outcomes.measured_here(request)
    if job is not None:
        with jobs.dock(outcomes.GRID.name, job.about):
            outcomes.GRID.watch(job, MEASURING, again=outcomes.START)
    elif request is not None and here is None:
        with column:
            outcomes.draw_start()
    source, arrays = outcomes.source_of(selection, here)
    if source.here:
        st.caption(f":material/check: {section('steering', 'measured_here')}")
    elif request is not None and source.draw != request.draw:
        st.caption(f":material/info: {section('steering', 'not_measured', draw=request.draw)}")
    return source, arrays


def _draw_gate_and_classifier(target: str) -> None:
    succeeds, apart = outcomes.gate_difference(RELEASED, target), outcomes.apart_difference()
    judged = outcomes.calibrations()
    diagrams = [(f"{one.characters} characters", one.bins, one.ends) for one in judged]
    charts: list[tuple[tuple[Hashable, ...], Callable[[], go.Figure], str]] = [
        (("gate", target), lambda: picture.gate_chart(succeeds, "points"),
         outcomes_words.gate_text(succeeds)),
        (("apart",), lambda: picture.gate_chart(apart, "AUC × 100"),
         outcomes_words.apart_text(apart)),
        (("calibration",), lambda: reliability_chart(diagrams, picture.THIRD_PIXELS, 0.5),
         outcomes_words.calibration_text(judged)),
    ]  # fmt: skip
    for column, chart in zip(chart_columns("steering_gate", 3), charts, strict=True):
        _draw_titled(column, *chart)
        column.markdown(chart[-1])


def _draw_coloured(where: DeltaGenerator, text: str) -> None:
    """Draw HTML, in which `ui.steering.words.coloured` has escaped every character."""
    where.html(text)


def _draw_titled(
    where: DeltaGenerator, key: tuple[Hashable, ...], make: Callable[[], go.Figure], alt: str,
    **more: Any,
) -> None:  # fmt: skip
    """Draw a chart in a column, with the title of its name, which ``key`` begins with."""
    title = section("steering", f"head_{key[0]}")
    with where:
        draw_figure(key, lambda: titled(make(), title), alt, **more)


SECTIONS: dict[str, Callable[[], None]] = {
    STEER: draw_steer,
    FEATURES: draw_features,
    MEASURED: draw_measured,
}
