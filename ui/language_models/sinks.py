"""The tab Attention sinks: attention maps without and with a gate, and the first token's share.

Shapes: S seeds, N texts, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.characters import BREAK
from gating_core.lm.measurements.overview import BASE, OverviewRow
from gating_core.lm.measurements.sinks import EPSILON
from ui.common import charts as c
from ui.common.formatting import effect, rough
from ui.common.language_models import GATES, HEADS, TITLES, choose_text, head_name, head_of
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.language_models import backcopy, shared
from ui.language_models.maps import map_chart
from ui.language_models.shared import NO_GATE, difference_text, layer_axis, layer_lines, signs

TASK, MODELS = "Bigram–Backcopy task", "language models"
MOST, ALL_HEADS = "most on the first token", "all"
TALL = 420  # pixels of the maps, and of the chart beside them
LARGE_MODEL = (46.7, 4.8)  # percent on the first token, without and with a gate: Qiu et al.
LEAD = "Attention maps of small models that read English and Spanish, without a gate and with one."


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
        backcopy.draw(row)
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
            f"{title}, head {head_name(heads[title])}": weights[heads[title]][None, None]
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
            chosen.seeds,
        )
        for title in (NO_GATE, chosen.title)
    )
    st.markdown(
        f"{detail} Sinks (first keys with a mean weight above {EPSILON:g}, Gu et al.): {sinks}."
    )
    charts.draw_footer(
        section("language_models", "sinks", texts=shares[0].shape[1], epsilon=f"{EPSILON:g}")
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
        figure = c.mark_y(figure, percent, f"large model, {name} [Q]")
    return c.mark_y(figure, uniform, "uniform attention")


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


def most_on_first(weights: np.ndarray) -> tuple[int, int]:
    """The head that attends most to the first token, of weights (L, H, T, T)."""
    share = weights[..., 1:, 0].mean(-1)
    layer, head = np.unravel_index(share.argmax(), share.shape)
    return int(layer), int(head)
