"""The tab Attention sinks: attention maps without and with a gate, and the first token's share.

Shapes: S seeds, N texts, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from gating_core.characters import BREAK
from gating_core.lm.measurements.reading import Reading
from gating_core.lm.measurements.sinks import EPSILON
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import effect, rough
from ui.common.language_models import GATES, HEADS, choose_text, head_name, head_of
from ui.common.lessons import section
from ui.common.links import LINK
from ui.language_models import backcopy, shared
from ui.language_models.maps import map_chart
from ui.language_models.shared import LEAST_SEEDS, NO_GATE, layer_axis, layer_lines

MODELS, TASK = "language models", "Bigram–Backcopy task"
ALL_HEADS = "all"
TALL = 420  # pixels of the maps, and of the three charts beside them
PANEL: c.Style = {"height": 134, "margin": {"l": 50, "r": 8, "t": 26, "b": 32}}
LARGE_MODEL = (46.7, 4.8)  # percent on the first token, without and with a gate: Qiu et al.


def draw() -> None:
    """Draw the tab."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    kind = row.selectbox(
        "Model",
        (MODELS, TASK),
        key="lm_sinks_of",
        width=190,
        **LINK,
        help="*Language models*: small models that read English and Spanish. *Bigram–Backcopy"
        " task*: one attention layer that learns one task, and a sink with it.",
    )
    if kind == TASK:
        backcopy.draw(row)
        return
    chosen, text = shared.choose_model(row), choose_text(row, "lm")
    head = row.selectbox("Head", (ALL_HEADS, *HEADS), key="lm_map_head", width=80, **LINK)
    charts = c.Charts("sinks")
    readings = {
        title: shared.reading((GATES[title], chosen.seed), text, 1.0)
        for title in (NO_GATE, chosen.title)
    }
    shares = chosen.pair("sinks.by_text")
    finding = change(chosen.title, *shares)
    st.markdown(finding)

    left, right = st.columns([9, 4])
    maps = {title: reading.weights for title, reading in readings.items()}
    if head != ALL_HEADS:
        maps = {title: weights[head_of(head)][None, None] for title, weights in maps.items()}
    charts.draw("maps", left, map_chart(maps, BREAK + text, TALL), in_text(readings))
    uniform = 100 * float((1 / np.arange(2, len(text) + 2)).mean())
    layers = shares[0].shape[-1]
    traces = [
        *lines(chosen.title, *(100 * x for x in shares)),
        c.line(
            "uniform attention",
            [0.7, layers + 0.5],
            [uniform] * 2,
            width=1,
            mode="lines",
            colour=c.FAINT,
            dash="dash",
            legend=False,
        ),
    ]
    share = c.chart(
        "First-token share",
        traces,
        "",
        "%",
        height=150,
        margin={**PANEL["margin"], "t": 46},
        x_axis=layer_axis(layers),
        y_axis=c.log_axis(0.4, 200) | c.ticks((1, 10, 100), ("1", "10", "100")),
    )
    for percent, name in zip(LARGE_MODEL, ("no gate", "gate"), strict=True):
        share = c.mark_y(share, percent, f"large model, {name} [Q]")
    charts.draw("share", right, share, finding)
    sinks = [
        sink_text(
            title,
            chosen.over_seeds(title, "sinks.metric"),
            chosen.over_seeds(title, "sinks.value_ratio"),
            chosen.over_seeds(title, "ranks.outputs")[:, 0],
            chosen.seeds,
        )
        for title in readings
    ]
    norms, ranks = chosen.pair("sinks.value_ratio"), chosen.pair("ranks.outputs")
    for name, heading, axis, values in (
        ("value_norm", "Norm of the first value", "‖v₁‖ / others", norms),
        ("output_rank", "Effective rank before a gate", "effective rank", [x[:, 0] for x in ranks]),
    ):
        by_head = [of.swapaxes(1, 2) for of in values]
        figure = c.chart(
            heading,
            lines(chosen.title, *by_head),
            "layer",
            axis,
            **PANEL,
            showlegend=False,
            x_axis=layer_axis(by_head[0].shape[-1]),
            y_axis={"rangemode": "tozero"},
        )
        charts.draw(name, right, figure, "; ".join(sinks))
    st.markdown(
        f"Sinks (first keys with a mean weight above {EPSILON:g}, Gu et al.): {'; '.join(sinks)}."
        f" {in_text(readings)}"
    )
    without, with_gate = LARGE_MODEL
    st.caption(section("language_models", "large_model", without=without, gated=with_gate))
    charts.draw_footer(
        section("language_models", "sinks", texts=shares[0].shape[1], epsilon=f"{EPSILON:g}")
    )


def lines(title: str, without: np.ndarray, gated: np.ndarray) -> list[c.Trace]:
    """Return lines over layers of values (S, N, L) without a gate and with the one of ``title``."""
    return [*layer_lines(NO_GATE, without, **c.UNGATED), *layer_lines(title, gated, **c.GATED)]


def share_text(share: float) -> str:
    """Format a share as percent, to one decimal."""
    return f"{100 * share:.1f}\u00a0%"


def change(title: str, before: np.ndarray, after: np.ndarray) -> str:
    """Say how a gate changes the first token's shares (S, N, L), paired by seed."""
    means = [x.mean((1, 2)) for x in (before, after)]
    values = f"{share_text(means[0].mean())} ({NO_GATE}), {share_text(means[1].mean())} ({title})"
    what = "the first token's share of the attention weight"
    if len(before) < LEAST_SEEDS:
        return f"Mean of {what}: {values}; too few seeds for a verdict."
    points = mean_interval(100 * (means[1] - means[0]))
    by = f"{points.mean:+z.1f} ± {points.half_width:.1f} points".replace("-", "−")
    return (
        f"{effect(points, 'the gate', what)}: {values}, difference {by} ({len(before)} seeds,"
        " paired, 95 % interval)."
    )


def sink_text(
    title: str, metric: np.ndarray, ratio: np.ndarray, rank: np.ndarray, seeds: Sequence[int]
) -> str:
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
        f" of {metric.size} heads, most often in head {head_name(head)} of seed {seeds[seed]}, in"
        f" {share_text(float(metric[position]))} of texts (value norm"
        f" {rough(float(ratio[position]))} of the others' mean, effective rank before a gate"
        f" {rough(float(rank[position]))})"
    )


def in_text(readings: dict[str, Reading]) -> str:
    """Say which head attends most to the first token of this text."""
    phrases = []
    for title, reading in readings.items():
        share = reading.weights[..., 1:, 0].mean(-1)
        head = head_name(np.unravel_index(share.argmax(), share.shape))
        phrases.append(f"{share_text(float(share.max()))} (head {head}, {title})")
    return f"In this text the first token gets at most {' and '.join(phrases)}."
