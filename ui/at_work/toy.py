"""The toy of the tab Sinks: Bigram–Backcopy, shipped and trained while one watches.

Shapes: n measurements in training, K kinds of layer, S seeds, T letters of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.at_work import EPSILON, SERIES, ToyRun
from gating_core.training import mean_interval
from ui.at_work import measured
from ui.at_work.controls import SINK_CONTROLS, toy_request
from ui.at_work.maps_picture import map_chart
from ui.at_work.parts import LEGEND, STYLES, draw_csv, draw_explanation, draw_figure
from ui.common.lessons import section
from ui.common.words import plus_minus, short
from ui.drawing import palette
from ui.drawing.characters import BREAK_SIGN
from ui.drawing.panels import QUIET
from ui.work import jobs

WHAT = "Training 32 toys"
HEIGHT_PIXELS = 400
HALF_PIXELS = 195
LETTERS = (BREAK_SIGN, *"abcdefghijklmnopqrstuvwxyzαβγδεζ")
TITLES = {"none": "no gate", "elementwise": "per channel", "headwise": "per head",
          "relu": "ReLU attention"}  # fmt: skip
STYLE_OF = dict(zip(TITLES, (
    *STYLES,
    (palette.CLASS_COLOURS[0], "dash", "square"),
    (palette.CLASS_COLOURS[1], "dashdot", "diamond"),
), strict=True))  # fmt: skip


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
            draw_csv("Toy", lambda: toy_csv(run))


def _draw_newest(runs: list[ToyRun]) -> None:
    if runs:
        _draw(runs[-1], False)
    else:
        st.caption(section("at_work", "toy_begins"))


def _draw(run: ToyRun, cached: bool) -> None:
    """Draw a run; figures of one that goes on are not ``cached`` for others."""
    text = summary(run)
    key = run.request, float(run.sink.sum())
    left, middle, right = st.columns([5, 5, 4])
    with left:
        draw_figure(("toy_training", *key), lambda: training_chart(run), text, cached)
    with middle:
        maps, letters = toy_maps(run)
        draw_figure(("toy_maps", *key), lambda: map_chart(maps, letters, height=HEIGHT_PIXELS),
                    text, cached)  # fmt: skip
    with right:
        draw_figure(("toy_gates", *key), lambda: gate_chart(run), text, cached)
        draw_figure(("toy_values", *key), lambda: value_chart(run), text, cached)
    st.markdown(text)


def interval(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and half-widths (Student t, 95 %) over the last axis; 0 for a single seed."""
    if values.shape[-1] < 2:
        return values[..., 0], np.zeros(values.shape[:-1])
    widths = np.apply_along_axis(lambda row: mean_interval(row).half_width, -1, values)
    return values.mean(-1, dtype=float), widths


# --- Charts ---------------------------------------------------------------------------------------


def training_chart(run: ToyRun) -> go.Figure:
    """Draw the first letter's share of the weight at letters that are no triggers, by step."""
    means, widths = interval(100 * run.sink)
    traces: list[dict[str, Any]] = []
    for k, kind in enumerate(run.request.kinds):
        colour, dash, _ = STYLE_OF[kind]
        low, high = means[:, k] - widths[:, k], means[:, k] + widths[:, k]
        traces += [{
            "type": "scatter", "mode": "lines", "x": np.concatenate([run.steps, run.steps[::-1]]),
            "y": np.clip(np.concatenate([low, high[::-1]]), 0, 100), "fill": "toself",
            "fillcolor": f"{colour}22", "line": {"width": 0}, **QUIET,
        }, {
            "type": "scatter", "mode": "lines", "x": run.steps, "y": means[:, k],
            "name": TITLES[kind], "line": {"color": colour, "dash": dash, "width": 2.5},
            "hovertemplate": f"{TITLES[kind]}, step %{{x}}: %{{y:.1f}} %<extra></extra>",
        }]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 50, "r": 8, "t": 30, "b": 40}, "legend": LEGEND,
        "xaxis": {"range": [0, run.request.steps], "title": {"text": "step", "standoff": 4}},
        "yaxis": {"range": [0, 100], "title": {"text": "weight on the first letter, %",
                                               "standoff": 4}},
    }})  # fmt: skip


def toy_maps(run: ToyRun) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the maps (1, 1, T, T) of each kind for the first seed, and its text.

    Letters after which one is copied stand in capitals. Maps of ReLU attention are shares of each
    query's weights, as the others are.
    """
    weights = run.weights[:, 0]
    shares = weights / np.maximum(weights.sum(-1, keepdims=True), 1e-9)
    maps = {TITLES[kind]: shares[k][None, None] for k, kind in enumerate(run.request.kinds)}
    triggers = run.triggers[0]
    return maps, [LETTERS[n].upper() if triggers[n] else LETTERS[n] for n in run.letters[0]]


def gate_chart(run: ToyRun) -> go.Figure:
    """Draw how far gates are open at triggers and elsewhere."""
    kinds = [kind for kind in run.request.kinds if kind in ("elementwise", "headwise")]
    rows = [run.request.kinds.index(kind) for kind in kinds]
    traces = [
        _dots(values[-1, rows], kinds, f"%{{y}}, {name}: %{{x:.3f}}", symbol) | {"name": name}
        for name, values, symbol in (("at triggers", run.gate_at_triggers, "triangle-up"),
                                     ("elsewhere", run.gate_elsewhere, "circle-open"))
    ]  # fmt: skip
    return _by_kind(traces, "mean gate", [-0.03, 1.03])


def value_chart(run: ToyRun) -> go.Figure:
    """Draw how long the first letter's value is against the others'."""
    values, kinds = run.value_ratio[-1], run.request.kinds
    trace = _dots(values, kinds, "%{y}: %{x:.3f}", [STYLE_OF[kind][2] for kind in kinds])
    most = float(np.add(*interval(values)).max())
    return _by_kind([trace | {"showlegend": False}], "|v₁| / others", [0, max(1.0, most) * 1.05])


def _dots(
    values: np.ndarray, kinds: Sequence[str], shown: str, symbols: str | list[str]
) -> dict[str, Any]:
    """A dot with its interval over seeds for values (K, S) of each of ``kinds``."""
    means, widths = interval(values)
    return {
        "type": "scatter", "mode": "markers", "x": means, "y": [TITLES[kind] for kind in kinds],
        "error_x": {"type": "data", "array": widths, "thickness": 1.5, "color": palette.PLANE},
        "marker": {"size": 10, "symbol": symbols, "color": [STYLE_OF[kind][0] for kind in kinds]},
        "hovertemplate": f"{shown}<extra></extra>",
    }  # fmt: skip


def _by_kind(traces: list[dict[str, Any]], name: str, ends: list[float]) -> go.Figure:
    return go.Figure({"data": traces, "layout": {
        "height": HALF_PIXELS, "margin": {"l": 96, "r": 8, "t": 26, "b": 40}, "legend": LEGEND,
        "xaxis": {"range": ends, "title": {"text": name, "standoff": 4}},
        "yaxis": {"autorange": "reversed"}, "hovermode": "closest",
    }})  # fmt: skip


# --- Sentences ------------------------------------------------------------------------------------


def summary(run: ToyRun) -> str:
    """Say how large the sink is in each kind of layer, and what the gate does."""
    by_kind = {kind: (float(mean), float(width)) for kind, mean, width in
               zip(run.request.kinds, *interval(run.sink[-1]), strict=True)}  # fmt: skip
    texts = [f"{plus_minus(mean, width, 0.0)} ({TITLES[kind]})"
             for kind, (mean, width) in by_kind.items()]  # fmt: skip
    seeds = len(run.request.seeds)
    sunk = [f"{round(seeds * float(share))} ({TITLES[kind]})"
            for kind, share in zip(run.request.kinds, run.sink_shares, strict=True)]  # fmt: skip
    row = run.request.kinds.index("elementwise")
    at, elsewhere = (short(float(x[-1, row].mean(dtype=float)))
                     for x in (run.gate_at_triggers, run.gate_elsewhere))  # fmt: skip
    return (
        f"**The first letter is a sink** (mean weight above {EPSILON:g} in one text) **in this"
        f" many of {seeds} seeds**: {', '.join(sunk)}. Where there is nothing to copy it gets"
        f" {', '.join(texts)} of the weight, after {run.steps[-1]} steps. {_change(by_kind)} The"
        f" mean of the gate per channel is {at} at triggers and {elsewhere} elsewhere."
    )


def _change(by_kind: dict[str, tuple[float, float]]) -> str:
    """Say which gates make the sink smaller beyond the intervals, and by which factor."""
    mean, width = by_kind["none"]
    parts = []
    for kind in ("elementwise", "headwise"):
        own, half = by_kind[kind]
        if own + half < mean - width:
            parts.append(f"the gate {TITLES[kind]} leaves {short(own / mean)} of that")
        elif own - half > mean + width:
            parts.append(f"the gate {TITLES[kind]} makes it larger")
        else:
            parts.append(f"the gate {TITLES[kind]} does not change it beyond the intervals")
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def toy_csv(run: ToyRun) -> Iterator[Sequence[object]]:
    """Yield a row for every kind, seed and measurement."""
    yield "step", "attention", "seed", *SERIES
    for n, k, s in np.ndindex(*run.sink.shape):
        numbers = (float(getattr(run, name)[n, k, s]) for name in SERIES)
        yield int(run.steps[n]), TITLES[run.request.kinds[k]], run.request.seeds[s], *numbers
