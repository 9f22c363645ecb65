"""The tab Steer: a text without and with a push, and which language is seen as it appears."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from gating_core.steering import RELEASED_AFTER, WINDOW, WRITTEN, SteerRequest, Step
from ui.steering import measured, outcomes, outcomes_words, picture, words
from ui.steering.controls import DRAW, STEER_ROWS, read_selection
from ui.steering.parts import STYLE, draw_csv, draw_explanation, draw_figure
from ui.steering.request import RELEASED
from ui.steering.words import LEGEND
from ui.work import jobs

WHAT = "Writing"


def draw_steer() -> None:
    """Draw both texts as they are written, and the chart above them."""
    st.html(STYLE)
    request = read_selection(STEER_ROWS, steers=True).steer_request()
    job = measured.written(request)
    with jobs.dock(measured.WRITING, request):
        jobs.draw_end(job, WHAT, job.items)
    jobs.watch(job, lambda steps: _draw_texts(request, steps), what=WHAT,
               share=lambda steps: len(steps) / WRITTEN)  # fmt: skip
    with st.container(horizontal=True):
        st.button("Write another", icon=":material/refresh:", key="steer_another",
                  on_click=DRAW.move_on)  # fmt: skip
        if job.needs_click:
            jobs.draw_again(measured.WRITING, "Write again", "play_arrow", "steer_again")
        draw_explanation("steering", "steering", window=WINDOW, released=RELEASED_AFTER,
                         strength=f"{request.push:g}".replace("-", "−"),
                         calibration=outcomes_words.calibration_text(outcomes.calibrations())
                         )  # fmt: skip
        draw_csv("Steered", lambda: words.steps_csv(job.items))


def _draw_texts(request: SteerRequest, steps: Sequence[Step]) -> None:
    sentence = words.result_text(request, steps)
    released = request.mode == RELEASED
    draw_figure(("curve", request), lambda: picture.curve_chart(steps, released), sentence,
                len(steps) == WRITTEN)  # fmt: skip
    titles = ("Unsteered", "Steered, by the same random numbers")
    for column, title, steered in zip(st.columns(2), titles, (False, True), strict=True):
        column.html(words.steered_text(request, steps, title, steered=steered))
    st.html(LEGEND)
    st.markdown(sentence)
