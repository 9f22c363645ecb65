"""The tab Attention sinks: a layer that learns a sink, and the first token's share in models.

The Bigram–Backcopy task is trained live, or bundled. Shapes: S seeds, N texts, L layers, H heads, K
kinds of layer, n measurements in training, T letters of a text.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.characters import BREAK
from gating_core.lm.backcopy import ToyRequest, ToyRun, joined, load_toy, train_toy
from gating_core.lm.measurements import SINK
from gating_core.lm.overview import BASE, OverviewRow
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import effect, plus_minus, rough
from ui.common.language_models import (
    BREAK_SIGN,
    GATES,
    HEADS,
    TITLES,
    choose_text,
    head_name,
    head_of,
)
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.language_models import shared
from ui.language_models.maps import map_chart
from ui.language_models.shared import NO_GATE, difference_text, layer_axis, layer_lines, signs
from ui.limits import TOY_SEEDS
from ui.work import jobs, pool
from ui.work.cache import NUMBERS_CACHE
from ui.work.jobs import Job, Jobs
from ui.work.pool import WAITING

TASK, MODELS = "Bigram–Backcopy task", "language models"
MOST, ALL_HEADS = "most on the first token", "all"
TALL = 420  # pixels of the maps, and of the chart beside them
LARGE_MODEL = (46.7, 4.8)  # percent on the first token, without and with a gate: Qiu et al.
LEAD = "Attention maps of small models that read English and Spanish, without a gate and with one."
TASK_LEAD = (
    "One attention layer learns the Bigram–Backcopy task, in which most letters copy nothing, and"
    " parks their attention on the first letter: a sink."
)
WHAT = "Training 32 layers"
TASK_SEEDS = 8
MAPPED = ("none", "elementwise")  # whose attention maps are drawn
LETTERS = (BREAK_SIGN, *"abcdefghijklmnopqrstuvwxyzαβγδεζ")
KINDS: Mapping[str, tuple[str, c.Style]] = {  # of layers: the name on the page, and the style
    "none": ("no gate", {"colour": c.GREY, "dash": "dot"}),
    "elementwise": ("per channel", c.GATED),
    "headwise": ("per head", {"colour": c.BLUE, "dash": "dash"}),
    "relu": ("ReLU attention", {"colour": c.ORANGE, "dash": "dashdot"}),
}


def draw() -> None:
    """Draw the maps without and with a gate, of the task or of the language models."""
    row = st.container(horizontal=True, vertical_alignment="bottom", key="sinks-row")
    kind = row.selectbox(
        "Model",
        (TASK, MODELS),
        key="lm_sinks_of",
        width=190,
        **LINK,
        help="*Bigram–Backcopy task*: one attention layer that learns one task, and a sink with it."
        " *Language models*: small models that read English and Spanish.",
    )
    if kind == TASK:
        draw_task(row)
    else:
        draw_models(row)


def draw_models(row: DeltaGenerator) -> None:
    """Draw maps and shares of language models; controls in ``row``."""
    chosen, text = shared.choose_model(row), choose_text(row, "lm")
    head = row.selectbox("Head", (MOST, ALL_HEADS, *HEADS), key="lm_map_head", width=190, **LINK)
    charts = c.Charts("sinks")
    maps = {
        title: shared.reading((GATES[title], chosen.seed), text, 1.0).weights
        for title in (NO_GATE, chosen.title)
    }
    heads = {title: most_on_first(weights) for title, weights in maps.items()}
    shares = chosen.pair("sinks.by_text")
    finding, detail = change(chosen.title, shared.architectures())
    draw_finding(finding, lead=LEAD)
    left, right = st.container(key="first").columns([9, 4])
    if head != ALL_HEADS:
        heads = heads if head == MOST else dict.fromkeys(maps, head_of(head))
        maps = {
            f"{title}<br>head {head_name(heads[title])}": weights[heads[title]][None, None]
            for title, weights in maps.items()
        }
    charts.draw("maps", left, map_chart(maps, BREAK + text, TALL), finding)
    charts.draw("share", right, share_chart(chosen.title, shares, len(text)), finding)
    sinks = "; ".join(
        sink_text(
            title,
            chosen.over_seeds(title, "sinks.metric"),
            chosen.over_seeds(title, "sinks.value_ratio"),
            chosen.over_seeds(title, "ranks.outputs")[:, 0],
        )
        for title in (NO_GATE, chosen.title)
    )
    st.markdown(
        f"{detail} Sinks (first keys with a mean weight above {SINK:g}, Gu et al.): {sinks}."
    )
    charts.draw_footer(
        section("language_models", "sinks", texts=shares[0].shape[1], epsilon=f"{SINK:g}")
    )


def share_chart(title: str, shares: Sequence[np.ndarray], characters: int) -> go.Figure:
    """Draw the first token's share (S, N, L) by layer, without a gate and with one."""
    without, gated = (100 * x for x in shares)
    uniform = 100 * float((1 / np.arange(2, characters + 2)).mean())
    traces = [
        *layer_lines(NO_GATE, without, **c.UNGATED),
        *layer_lines(title, gated, **c.GATED),
    ]
    figure = c.chart(
        "First-token share, mean of heads",
        traces,
        "layer",
        "%",
        height=TALL,
        x_axis=layer_axis(without.shape[-1]),
        y_axis=c.log_axis(0.4, 200) | c.ticks((1, 10, 100), ("1", "10", "100")),
    )
    for percent, name in zip(LARGE_MODEL, ("no gate", "gate"), strict=True):
        c.mark_y(figure, percent, f"large model, {name} [Q]")
    c.mark_y(figure, uniform, "uniform attention")
    figure.layout.shapes[-1].label.yanchor = "top"  # below its line: another's is just above
    return figure


def share_text(share: float) -> str:
    """Format a share as percent, to one decimal."""
    return f"{100 * share:.1f}\u00a0%"


def change(title: str, rows: Sequence[OverviewRow]) -> tuple[str, str]:
    """Say how the gate called ``title`` changes the first token's share, as the table does."""
    found = {row.name: row for row in rows}
    before, after = found[BASE], found[GATES[title]]
    values = " and ".join(
        f"{share_text(row.values['first_share'].mean)} ({TITLES[row.name]})"
        for row in (before, after)
    )
    difference = after.changes["first_share"]
    sign = signs(rows, "first_share").get(after.name, 0)
    says = effect(difference, "the gate", "attention to the first token", significant=sign != 0)
    return f"{says}: {100 * difference.mean:+.1f} points.".replace(": -", ": −"), (
        f"The first token's share is {values}, difference {difference_text(difference, 1, 100)}"
        f" points ({len(difference.by_seed)} seeds, paired, 95 % interval; tests adjusted by Holm"
        " over the gates)."
    )


def sink_text(title: str, metric: np.ndarray, ratio: np.ndarray, rank: np.ndarray) -> str:
    """Say in which share of texts heads have a sink, with what tells its kind.

    ``metric`` (S, L, H): the share of texts with a sink. ``ratio``: the first value's norm over the
    others' mean. ``rank``: the effective rank of outputs before a gate.
    """
    count = int((metric > 0).sum())
    if not count:
        return f"*{title}*: in none of {metric.size} heads in any text"
    seed, *head = map(int, np.unravel_index(metric.argmax(), metric.shape))
    position = seed, *head
    return (
        f"*{title}*: in {rough(100 * float(metric.mean()))}\u00a0% of texts and heads, in {count}"
        f" of {metric.size} heads, most often in head {head_name(head)} of seed {seed}, in"
        f" {share_text(float(metric[position]))} of texts (value norm"
        f" {rough(float(ratio[position]))} of the others' mean, effective rank before a gate"
        f" {rough(float(rank[position]))})"
    )


def most_on_first(weights: np.ndarray) -> tuple[int, int]:
    """The head that attends most to the first token, of weights (L, H, T, T)."""
    share = weights[..., 1:, 0].mean(-1)
    layer, head = np.unravel_index(share.argmax(), share.shape)
    return int(layer), int(head)


# --- Bigram–Backcopy ------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def shipped() -> ToyRun:
    """Load the training that comes with the app."""
    return load_toy()


def draw_task(row: DeltaGenerator) -> None:
    """Draw the sink while it is learned, attention maps, gates and values; controls in ``row``."""
    first = row.number_input(
        "First seed",
        *TOY_SEEDS,
        0,
        key="lm_task_seed",
        width=140,
        **LINK,
        help=f"The first of {TASK_SEEDS} seeds, trained as one batch. The bundled layers have seeds"
        f" 0 to {TASK_SEEDS - 1}.",
    )
    request = ToyRequest(seeds=tuple(range(first, first + TASK_SEEDS)))
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

        def draw_newest() -> None:
            for so_far in job.so_far.values():
                draw_run(so_far, charts)

        jobs.watch(job, WHAT, draw_newest)
    elif run is not None:
        draw_finding(task_finding(run)[0], lead=TASK_LEAD)
        draw_run(run, charts)
    charts.draw_footer(
        section("language_models", "backcopy", seeds=TASK_SEEDS, steps=request.steps)
    )


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


def draw_run(run: ToyRun, charts: c.Charts) -> None:
    """Draw a run, and what it says."""
    text = " ".join(task_finding(run))
    left, right = st.container(key="first").columns([9, 4])
    shares, triggers = run.weights[:, 0], run.triggers[0]
    maps = {KINDS[x][0]: shares[run.request.kinds.index(x)][None, None] for x in MAPPED}
    # Triggers, after which the letter before is copied, are capitals.
    letters = [LETTERS[n].upper() if triggers[n] else LETTERS[n] for n in run.letters[0]]
    charts.draw("maps", left, map_chart(maps, letters, height=TALL), text)
    charts.draw("training", right, training_chart(run), text)
    st.markdown(task_finding(run)[1])


def intervals(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and half-widths (Student t, 95 %) over the last axis."""
    widths = np.apply_along_axis(lambda row: mean_interval(row).half_width, -1, values)
    return values.mean(-1, dtype=float), widths


def training_chart(run: ToyRun) -> go.Figure:
    """Draw the first letter's weight at letters that are no triggers, by step, with bands."""
    means, widths = intervals(100 * run.sink)
    traces: list[c.Trace] = []
    for k, kind in enumerate(run.request.kinds):
        name, style = KINDS[kind]
        ends = np.concatenate([means[:, k] - widths[:, k], (means[:, k] + widths[:, k])[::-1]])
        steps = np.concatenate([run.steps, run.steps[::-1]])
        band = c.line(
            f"{name}, 95 % band",
            steps,
            np.clip(ends, 0, 100),
            width=0,
            mode="lines",
            legend=False,
        )
        traces += [
            band | {"fill": "toself", "fillcolor": f"{style['colour']}22", "hoverinfo": "skip"},
            c.line(name, run.steps, means[:, k], mode="lines", **style),
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


def task_finding(run: ToyRun) -> tuple[str, str]:
    """Say how a gate per channel changes the first letter's weight, and where it is a sink."""
    kinds, last, seeds = run.request.kinds, run.sink[-1].astype(float), len(run.request.seeds)
    plain, gated = (last[kinds.index(kind)] for kind in MAPPED)
    means = ", ".join(
        f"{plus_minus(float(mean), float(width), 0.0)} ({KINDS[kind][0]})"
        for kind, mean, width in zip(kinds, *intervals(last), strict=True)
    )
    sunk = ", ".join(str(round(seeds * float(share))) for share in run.sink_shares)
    change = mean_interval(gated - plain)
    points = f"{100 * change.mean:+.0f} points".replace("-", "−")
    says = f"{effect(change, 'a gate per channel', 'the sink that a task makes')}: {points}."
    return says, (
        f"Weight on the first letter, where nothing is to be copied: {means}. It is a sink (mean"
        f" weight above {SINK:g} in one text) in {sunk} of {seeds} seeds, after {run.steps[-1]}"
        " steps."
    )
