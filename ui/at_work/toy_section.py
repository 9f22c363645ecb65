"""The toy of the tab Sinks: Bigram–Backcopy, shipped and trained while one watches."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.at_work import ToyRun
from ui.at_work import measured, toy_picture, toy_words
from ui.at_work.controls import SINK_CONTROLS
from ui.at_work.maps_picture import map_chart
from ui.at_work.parts import draw_csv, draw_explanation, draw_figure
from ui.at_work.request import toy_request
from ui.common.lessons import section
from ui.work import jobs

WHAT = "Training 32 toys"


def draw_toy(seed: DeltaGenerator, button: DeltaGenerator) -> None:
    """Draw the sink of the toy while it is learned, its maps, gates and values.

    The controls stand in the columns ``seed`` and ``button``.
    """
    request = toy_request(SINK_CONTROLS["toy_seed"].draw(seed))
    button.button("Train them here", icon=":material/play_arrow:", key="train_toy",
                  on_click=measured.train, args=(request,))  # fmt: skip
    run, job = measured.toy(request)
    if job is not None:
        with jobs.dock(measured.TOY, request):
            jobs.draw_end(job, WHAT, job.items)
        jobs.watch(job, _draw_newest, what=WHAT, share=lambda items: items[-1].share)
    elif run is not None:
        _draw(run, True)
    with st.container(horizontal=True):
        draw_explanation("the toy", "toy", seeds=len(request.seeds), steps=request.steps)
        if run is not None:
            draw_csv("Toy", lambda: toy_words.toy_csv(run))


def _draw_newest(runs: list[ToyRun]) -> None:
    if runs:
        _draw(runs[-1], False)
    else:
        st.caption(section("at_work", "toy_begins"))


def _draw(run: ToyRun, cached: bool) -> None:
    """Draw a run; figures of one that goes on are not ``cached`` for others."""
    summary = toy_words.summary(run)
    key = run.request, float(run.sink.sum())
    left, middle, right = st.columns([5, 5, 4])
    with left:
        draw_figure(
            ("toy_training", *key), lambda: toy_picture.training_chart(run), summary, cached
        )
    with middle:
        maps, text = toy_picture.toy_maps(run)
        height = toy_picture.HEIGHT_PIXELS
        draw_figure(("toy_maps", *key), lambda: map_chart(maps, text, across=2, height=height),
                    summary, cached)  # fmt: skip
    with right:
        draw_figure(("toy_gates", *key), lambda: toy_picture.gate_chart(run), summary, cached)
        draw_figure(("toy_values", *key), lambda: toy_picture.value_chart(run), summary, cached)
    st.markdown(summary)
