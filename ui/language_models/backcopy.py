"""Bigram–Backcopy in the tab Attention sinks: a layer that learns a sink, bundled and live.

Shapes: n measurements in training, K kinds of layer, S seeds, T letters of a text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.lm.measurements.backcopy import ToyRequest, ToyRun, joined, load_toy, train_toy
from gating_core.lm.measurements.sinks import EPSILON
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import effect, plus_minus
from ui.common.language_models import BREAK_SIGN
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.language_models.maps import map_chart
from ui.limits import TOY_SEEDS
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE
from ui.work.jobs import Job, Jobs
from ui.work.pool import WAITING

WHAT = "Training 32 layers"
LEAD = (
    "One attention layer learns the Bigram–Backcopy task, in which most letters copy nothing, and"
    " parks their attention on the first letter: a sink."
)
SEEDS = 8
TALL = 420  # pixels
MAPPED = ("none", "elementwise")  # whose attention maps are drawn
LETTERS = (BREAK_SIGN, *"abcdefghijklmnopqrstuvwxyzαβγδεζ")
TITLES = {
    "none": "no gate",
    "elementwise": "per channel",
    "headwise": "per head",
    "relu": "ReLU attention",
}
STYLES: Mapping[str, c.Style] = {
    "none": {"colour": c.GREY, "dash": "dot"}, "elementwise": c.GATED,
    "headwise": {"colour": c.BLUE, "dash": "dash"}, "relu": {"colour": c.ORANGE, "dash": "dashdot"},
}  # fmt: skip


@st.cache_resource(show_spinner=False)
def shipped() -> ToyRun:
    """Load the training that comes with the app."""
    return load_toy()


def draw(row: DeltaGenerator) -> None:
    """Draw the sink while it is learned, attention maps, gates and values; controls in ``row``."""
    first = row.number_input(
        "First seed",
        *TOY_SEEDS,
        0,
        key="lm_task_seed",
        width=140,
        **LINK,
        help=f"The first of {SEEDS} seeds, trained as one batch. The shipped layers have seeds 0 to"
        f" {SEEDS - 1}.",
    )
    request = ToyRequest(seeds=tuple(range(first, first + SEEDS)))
    row.button(
        "Train live",
        icon=":material/play_arrow:",
        key="lm_train",
        on_click=start,
        args=(request,),
    )
    run, job = newest(request)
    charts = c.Charts("backcopy")
    if job is not None:
        with jobs.dock(RUNS.name, request):
            jobs.draw_end(job, WHAT)
        jobs.watch(job, WHAT, lambda: draw_newest(job, charts))
    elif run is not None:
        draw_finding(finding(run)[0], lead=LEAD)
        draw_run(run, charts)
    charts.draw_footer(section("language_models", "backcopy", seeds=SEEDS, steps=request.steps))


def newest(request: ToyRequest) -> tuple[ToyRun | None, Job | None]:
    """Return the layers that were trained live or are shipped, and the job that trains them.

    Without any, the job is started, unless the visitor has cancelled it.
    """
    job = jobs.current(RUNS.name)
    own = job if job and job.requests == (request,) else None
    if request == shipped().request and not (own or RUNS.cached((request,))):
        return shipped(), None
    if own and not own.over:  # also one that trains again
        return None, own
    return RUNS.fetch(request)


def start(request: ToyRequest) -> None:
    """Train layers in a job; a callback."""
    RUNS.start(request)


def train(request: ToyRequest) -> Generator[Any]:
    """Train some of the kinds on each worker, and yield the run of all, step by step."""
    size = min(pool.POOL.size, len(request.kinds))
    parts = [replace(request, kinds=request.kinds[i::size]) for i in range(size)]
    # Runs of each part that are ahead of the part that is furthest behind.
    ahead: list[deque[ToyRun]] = [deque() for _ in parts]
    for event in pool.POOL.together(train_toy, [(part,) for part in parts]):
        if event is None or event is WAITING:
            yield event
            continue
        number, run = event
        ahead[number].append(run)
        if all(ahead):
            run = joined(request, [runs.popleft() for runs in ahead])
            yield float(run.share)
            yield run


RUNS: Jobs[ToyRequest, ToyRun] = Jobs("toy_training", train, NUMBERS_CACHE)


def draw_newest(job: Job, charts: c.Charts) -> None:
    """Draw the run of a job as far as it got."""
    for run in job.so_far.values():
        draw_run(run, charts)


def draw_run(run: ToyRun, charts: c.Charts) -> None:
    """Draw a run, and what it says."""
    text = " ".join(finding(run))
    left, right = st.container(key="first").columns([9, 4])
    maps, letters = example_maps(run)
    charts.draw("maps", left, map_chart(maps, letters, height=TALL), text)
    charts.draw("training", right, training_chart(run), text)
    st.markdown(finding(run)[1])


def intervals(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and half-widths (Student t, 95 %) over the last axis; 0 for a single seed."""
    if values.shape[-1] < 2:
        return values[..., 0], np.zeros(values.shape[:-1])
    widths = np.apply_along_axis(lambda row: mean_interval(row).half_width, -1, values)
    return values.mean(-1, dtype=float), widths


def training_chart(run: ToyRun) -> go.Figure:
    """Draw the first letter's weight at letters that are no triggers, by step, with bands."""
    means, widths = intervals(100 * run.sink)
    traces: list[c.Trace] = []
    for k, kind in enumerate(run.request.kinds):
        style = STYLES[kind]
        ends = np.concatenate([means[:, k] - widths[:, k], (means[:, k] + widths[:, k])[::-1]])
        steps = np.concatenate([run.steps, run.steps[::-1]])
        band = c.line(
            f"{TITLES[kind]}, 95 % band",
            steps,
            np.clip(ends, 0, 100),
            width=0,
            mode="lines",
            legend=False,
        )
        traces += [
            band | {"fill": "toself", "fillcolor": f"{style['colour']}22", "hoverinfo": "skip"},
            c.line(TITLES[kind], run.steps, means[:, k], mode="lines", **style),
        ]
    return c.chart(
        "Weight on the first letter",
        traces,
        "step",
        "%",
        height=TALL,
        margin={"l": 50, "r": 8, "t": 66, "b": 40},
        x_axis={"range": [0, run.request.steps]},
        y_axis={"range": [0, 100]},
    )


def example_maps(run: ToyRun) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return maps (1, 1, T, T) without and with a gate for the first seed, and its text.

    Triggers, after which the letter before is copied, are capitals.
    """
    shares = run.weights[:, 0]
    maps = {TITLES[kind]: shares[run.request.kinds.index(kind)][None, None] for kind in MAPPED}
    triggers = run.triggers[0]
    return maps, [LETTERS[n].upper() if triggers[n] else LETTERS[n] for n in run.letters[0]]


def finding(run: ToyRun) -> tuple[str, str]:
    """Say how a gate per channel changes the first letter's weight, and where it is a sink."""
    kinds, last, seeds = run.request.kinds, run.sink[-1].astype(float), len(run.request.seeds)
    plain, gated = (last[kinds.index(kind)] for kind in MAPPED)
    means = ", ".join(
        f"{plus_minus(float(mean), float(width), 0.0)} ({TITLES[kind]})"
        for kind, mean, width in zip(kinds, *intervals(last), strict=True)
    )
    sunk = ", ".join(str(round(seeds * float(share))) for share in run.sink_shares)
    says = ""
    if seeds > 1:
        change = mean_interval(gated - plain)
        points = f"{100 * change.mean:+.0f} points".replace("-", "−")
        says = f"{effect(change, 'a gate per channel', 'the sink that a task makes')}: {points}."
    return says, (
        f"Weight on the first letter, where nothing is to be copied: {means}. It is a sink (mean"
        f" weight above {EPSILON:g} in one text) in {sunk} of {seeds} seeds, after {run.steps[-1]}"
        " steps."
    )
