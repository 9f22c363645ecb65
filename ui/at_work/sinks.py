"""The tab Sinks: attention maps without and with a gate, and the first character's share.

Shapes: S seeds, N texts, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.at_work import EPSILON, Reading
from gating_core.training import mean_interval
from ui.at_work import measured, parts
from ui.at_work.confidence import LEAST_SEEDS
from ui.at_work.controls import ALL_HEADS, COMMON, SINK_CONTROLS, TOY, front, resolved
from ui.at_work.maps_picture import map_chart
from ui.at_work.toy import draw_toy
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.common.words import rough
from ui.drawing import palette
from ui.language.selection import TextSelection, head_name, head_of

HEIGHT_PIXELS = 186
SHARE_TICKS = (0.1, 1.0, 10.0, 100.0)  # percent
LARGE_MODEL = (46.7, 4.8)  # percent on the first token, without and with a gate: Qiu et al., [Q]


def draw_sinks() -> None:
    """Draw the maps of the selected model beside those of the one without a gate, or the toy."""
    # One row for both: a control that is drawn elsewhere would be another to Streamlit.
    specimen, *others = SINK_CONTROLS["specimen"], *COMMON.values(), SINK_CONTROLS["seen_head"]
    first, *columns = front([specimen, *others])
    if specimen.draw(first) == TOY:
        draw_toy(columns[0], columns[2])
        return
    for control, column in zip(others, columns, strict=True):
        control.draw(column)
    _draw_models(resolved(COMMON))


def _draw_models(selection: TextSelection) -> None:
    names = {TITLES[name]: name for name in (UNGATED, selection.name)}
    readings = {title: measured.reading((name, selection.seed), selection.text, 1.0)
                for title, name in names.items()}  # fmt: skip
    seeds = measured.seeds(selection.name)
    shares, metrics, ratios, ranks = (
        {title: measured.over_seeds(name, key, seeds) for title, name in names.items()}
        for key in ("sinks.by_text", "sinks.metric", "sinks.value_ratio", "ranks.outputs")
    )
    found = [sink_text(title, metrics[title], ratios[title], ranks[title][:, 0], seeds)
             for title in names]  # fmt: skip
    here, over_texts = in_text(readings), summary(shares, found)
    left, right = st.columns([9, 4])
    head = SINK_CONTROLS["seen_head"].value
    with left:
        maps = {title: _shown(x.weights, head) for title, x in readings.items()}
        parts.draw_figure(("maps", selection.model, selection.text, head),
                    lambda: map_chart(maps, selection.text_with_break), here)  # fmt: skip
    with right:
        # The first character's share for a text of this length if all weights were equal.
        uniform = float((1 / np.arange(2, len(selection.text) + 2)).mean())
        parts.draw_figure(("share", selection.name, uniform),
                    lambda: share_chart(shares, uniform), over_texts)  # fmt: skip
        parts.draw_figure(("value", selection.name), lambda: value_chart(ratios), over_texts)
    st.markdown(f"{over_texts} {here}")
    without, with_gate = LARGE_MODEL
    st.caption(section("at_work", "beside", without=without, gated=with_gate))
    with st.container(horizontal=True):
        parts.draw_explanation("sinks", "sinks", texts=shares[TITLES[UNGATED]].shape[1],
                               epsilon=f"{EPSILON:g}")  # fmt: skip
        parts.draw_csv("Sinks", lambda: shares_csv(measured.table()))


def _shown(weights: np.ndarray, name: str) -> np.ndarray:
    """The maps (L, H, T, T) of all heads, or of the one called ``name``."""
    if name == ALL_HEADS:
        return weights
    return weights[head_of(name)][None, None]


# --- Charts ---------------------------------------------------------------------------------------


def share_chart(shares: Mapping[str, np.ndarray], uniform: float) -> go.Figure:
    """Draw the first character's share (S, N, L) of each model by layer, in percent.

    Dots are seeds with 95 % intervals over texts, lines their means with intervals over seeds.
    ``uniform`` is the share that equal weights would give.
    """
    percents = {title: 100 * share for title, share in shares.items()}
    lines = [(LARGE_MODEL[0], "a large model, no gate [Q]", "end", "bottom"),
             (LARGE_MODEL[1], "a large model, gate [Q]", "end", "top"),
             (100 * uniform, "equal weights", "start", "bottom")]  # fmt: skip
    return _by_layer(percents, "%{y:.2f} %", lines, {
        "title": {"text": "share, %", "standoff": 4}, "type": "log", "range": [-0.4, 2],
        "tickvals": SHARE_TICKS, "ticktext": [f"{tick:g}" for tick in SHARE_TICKS],
    })  # fmt: skip


def value_chart(ratios: Mapping[str, np.ndarray]) -> go.Figure:
    """Draw the first value's length over the others' mean (S, L, H), by layer."""
    by_head = {title: ratio.swapaxes(1, 2) for title, ratio in ratios.items()}
    return _by_layer(by_head, "%{y:.3f}", [(1.0, "", "end", "bottom")], {
        "title": {"text": "|v₁| / others", "standoff": 4}, "rangemode": "tozero",
    })  # fmt: skip


def _by_layer(
    values: Mapping[str, np.ndarray], shown: str, lines: list[tuple[float, str, str, str]],
    axis: dict[str, Any],
) -> go.Figure:  # fmt: skip
    """Draw values (S, N, L) of both models on one vertical ``axis``, and horizontal ``lines``."""
    traces: list[dict[str, Any]] = []
    for (title, of), style in zip(values.items(), parts.STYLES, strict=False):
        traces += parts.series(title, of, style, shown)
    shapes = [parts.level(y, line={"dash": "dash", "width": 1, "color": palette.PLANE},
                    label={"text": text, "textposition": end, "yanchor": side,
                           "font": {"size": 10}}) for y, text, end, side in lines]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": HEIGHT_PIXELS, "margin": {"l": 52, "r": 8, "t": 24, "b": 34}, "shapes": shapes,
        "legend": parts.LEGEND, "hovermode": "closest", "yaxis": axis,
        "xaxis": parts.layer_axis(next(iter(values.values())).shape[-1]),
    }})  # fmt: skip


# --- Sentences ------------------------------------------------------------------------------------


def share_text(share: float) -> str:
    """Format a share as percent, to one decimal."""
    return f"{100 * share:.1f}\u00a0%"


def summary(shares: Mapping[str, np.ndarray], sinks: Sequence[str]) -> str:
    """Compare the first character's shares (S, N, L) by title, then give `sink_text` of models."""
    rule = f"Sinks (first keys with a mean weight above {EPSILON:g}, Gu et al.)"
    return f"{change(shares)} {rule}: {'; '.join(sinks)}."


def sink_text(title: str, metric: np.ndarray, ratio: np.ndarray, rank: np.ndarray,
              seeds: Sequence[int]) -> str:  # fmt: skip
    """Say in which share of texts heads have a sink, with what tells its kind.

    ``metric`` (S, L, H): the share of texts with a sink. ``ratio``: the first value's norm over the
    others' mean. ``rank``: the effective rank of outputs.
    """
    count = int((metric > 0).sum())
    if not count:
        return f"*{title}*, in none of {metric.size} heads in any text"
    seed, *head = map(int, np.unravel_index(metric.argmax(), metric.shape))
    at = seed, *head
    return (
        f"*{title}*, in {rough(100 * float(metric.mean()))}\u00a0% of texts and heads. They are in"
        f" {count} of {metric.size} heads, most often in {head_name(head)} of seed"
        f" {seeds[seed]}, in {share_text(float(metric[at]))} of texts (value norm"
        f" {rough(float(ratio[at]))} of the others' mean, effective rank {rough(float(rank[at]))})"
    )


def change(shares: Mapping[str, np.ndarray]) -> str:
    """Say how the share (S, N, L) changes from the first model to the second, paired by seed."""
    (name, before), (other, after) = shares.items()
    means = [x.mean((1, 2)) for x in (before, after)]
    values = f"{share_text(means[0].mean())} ({name}), {share_text(means[1].mean())} ({other})"
    what = "the first character's share of the attention weight"
    if len(means[0]) < LEAST_SEEDS:
        return f"Mean of {what}: {values}; too few seeds for a verdict."
    points = mean_interval(100 * (means[1] - means[0]))
    by = f"{points.mean:+.1f} ± {points.half_width:.1f} points".replace("-", "−")
    verdict = f"It is inconclusive whether the gate changes {what}"
    if abs(points.mean) > points.half_width:
        verdict = f"The gate {'reduces' if points.mean < 0 else 'increases'} {what}"
    return f"**{verdict}**: {values}, difference {by} ({len(means[0])} seeds, paired)."


def in_text(readings: Mapping[str, Reading]) -> str:
    """Say which head looks most at the first character of this text."""
    phrases = []
    for title, reading in readings.items():
        share = reading.weights[..., 1:, 0].mean(-1)
        head = head_name(np.unravel_index(share.argmax(), share.shape))
        phrases.append(f"{share_text(float(share.max()))} (head {head}, {title})")
    return f"In this text the first character gets at most {' and '.join(phrases)}."


def shares_csv(models: parts.Models) -> Iterator[Sequence[object]]:
    """Yield a row for every head of every model."""
    yield "model", "seed", "layer", "head", "share on first", "texts with a sink", "|v1| / others"
    for (name, seed), arrays in models.items():
        for layer, head in np.ndindex(*arrays["sinks.by_head"].shape):
            numbers = (float(arrays[f"sinks.{key}"][layer, head])
                       for key in ("by_head", "metric", "value_ratio"))  # fmt: skip
            yield TITLES.get(name, name), seed, layer + 1, head + 1, *numbers
