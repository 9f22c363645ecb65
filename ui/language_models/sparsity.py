"""The tab Gate sparsity: gates at every character of a text, and over all held-out texts.

Shapes: S seeds, L layers, H heads, T characters of a text, V characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.characters import BREAK, CHARACTERS
from gating_core.lm.measurements.gate_sparsity import SHUT
from gating_core.lm.measurements.overview import LEAST_SEEDS
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import percent
from ui.common.language_models import choose_text, head_name, head_names
from ui.common.lessons import section
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.drawing.panels import subplot
from ui.foreign import as_code
from ui.language_models import shared
from ui.language_models.shared import interval_text

LEAST_COUNT = 100  # times that a character must be read to be drawn
COLOURS = (c.BLUE, c.ORANGE, c.GREEN, c.PURPLE)  # of heads
DASHES = ("solid", "dash", "dot", "dashdot")
MANY, FEW = 0.5, 0.1  # shares of gates below `SHUT` from which on gates are sparse, and are not


def draw() -> None:
    """Draw the tab."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen, text = shared.choose_model(row), choose_text(row, "lm")
    charts, arrays = c.Charts("sparsity"), shared.table()[chosen.model]
    opened = shared.reading(chosen.model, text, 1.0).opened
    assert opened is not None  # the model has a gate
    shut = chosen.over_seeds(chosen.title, "gates.shut")
    finding = sparsity(shut, chosen.seeds.index(chosen.seed), chosen.title)
    st.markdown(finding)
    here, above = in_text(opened, BREAK + text), openers(arrays)
    figure = head_map(
        "Gate at every character, by head",
        opened,
        BREAK + text,
        0.0,
        1.0,
        palette.SEQUENTIAL_SCALE,
        "gate",
        230,
        11,
    )
    layers, heads, _ = opened.shape
    for y in np.arange(1, layers) * heads - 0.5:
        figure.add_hline(y, line={"width": 1, "color": palette.NEUTRAL})
    charts.draw("text", st, figure, here)
    left, right = st.columns([5, 8])
    charts.draw("histogram", left, histogram_chart(arrays["gates.histogram"]), finding)
    chars = np.flatnonzero(np.isfinite(above).all((1, 2)))
    low, high = palette.symmetric_range(float(np.abs(above[chars]).max(initial=0)))
    text_above = opener_text(above)
    charts.draw(
        "openers",
        right,
        head_map(
            "Gate above its mean, by character",
            np.moveaxis(above[chars], 0, -1),
            "".join(CHARACTERS[number] for number in chars),
            low,
            high,
            palette.SIGNED_SCALE,
            "above<br>mean",
            230,
            10,
        ),
        text_above,
    )
    st.markdown(f"{here} {text_above}")
    charts.draw_footer(
        section(
            "language_models",
            "sparsity",
            seen=LEAST_COUNT,
            shut=f"{SHUT:g}",
            many=percent(MANY),
            few=percent(FEW),
        )
    )


def openers(arrays: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the mean gate of each head at each character minus its mean at all, (V, L, H).

    NaN for characters that were read too rarely, and for the break.
    """
    means, counts = arrays["gates.by_character"], arrays["gates.counts"]
    average = (np.nan_to_num(means) * (counts / counts.sum())[:, None, None]).sum(0)
    often = counts >= LEAST_COUNT
    often[0] = False
    return np.where(often[:, None, None], means - average, np.nan)


def head_map(
    heading: str,
    values: np.ndarray,
    text: str,
    low: float,
    high: float,
    scale: object,
    quantity: str,
    height: int,
    size: int,
) -> go.Figure:
    """Draw values of heads (L, H, n) at the n characters of ``text``, of ``size`` pixels."""
    layers, heads, n = values.shape
    trace = c.heatmap(
        values.reshape(-1, n),
        low,
        high,
        scale,
        y=head_names(layers, heads),
        name=quantity.replace("<br>", " "),
        showscale=True,
        text=[[*map(sign, text)]] * (layers * heads),
        colorbar={"thickness": 12, "title": {"text": quantity}},
        hovertemplate="head %{y} at “%{text}”: %{z:.3f}<extra></extra>",
    )
    return c.chart(heading, [trace], height=height, margin={"l": 44, "r": 8, "t": 46, "b": 4},
        x_axis={**c.ticks([*range(n)], [*map(sign, text)]), "side": "top", "tickangle": 0,
                "ticks": "", "tickfont": {"size": size, "family": "monospace"}, "showgrid": False},
        y_axis={"autorange": "reversed", "type": "category", "ticks": "", "showgrid": False,
                "tickfont": {"size": 12}, "dtick": 1})  # fmt: skip


def histogram_chart(counts: np.ndarray) -> go.Figure:
    """Draw how often every gate value occurs (L, H, bins), a panel a layer, a line a head."""
    layers, _, bins = counts.shape
    shares = 100 * counts / counts.sum(-1, keepdims=True)
    closed = np.concatenate([shares, shares[..., -1:]], -1)  # to the last edge
    traces = []
    for layer, head in np.ndindex(counts.shape[:2]):
        trace = c.line(
            str(head + 1),
            np.arange(bins + 1) / bins,
            closed[layer, head],
            width=1.5,
            colour=COLOURS[head % 4],
            dash=DASHES[head % 4],
            mode="lines",
            legend=not layer,
        )
        trace["line"]["shape"] = "hv"
        hover = f"head {layer + 1}.{head + 1}: %{{y:.1f}} % from %{{x:.2f}}<extra></extra>"
        traces.append(trace | subplot(layer) | {"legendgroup": str(head), "hovertemplate": hover})
    axis = {"range": [0, 1], **c.ticks((0, 0.5), ("0", "½"))}
    panels = shared.layer_panels(layers, axis, "gate", "% of values", float(shares.max()))
    figure = c.chart(
        "Distribution of gate values, by layer",
        traces,
        height=230,
        legend={
            "orientation": "h",
            "y": 1,
            "yanchor": "bottom",
            "title": {"text": "head", "side": "left"},
        },
        **panels,
    )
    for layer in range(layers):
        figure.add_shape({"type": "rect", "xref": subplot(layer)["xaxis"], "x0": 0, "x1": SHUT,
            "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0},
            "fillcolor": f"{c.FAINT}33"})  # fmt: skip
    return figure


def degree(low: float, high: float) -> str:
    """Say how sparse gates are, from the interval of the share below `SHUT`."""
    if low >= MANY:
        return "The gates are sparse"
    if high <= FEW:
        return "The gates are not sparse"
    if low > FEW and high < MANY:
        return "The gates are partly sparse"
    return "The sparsity of the gates is inconclusive"


def sparsity(shut: np.ndarray, seed: int, title: str) -> str:
    """Say how many gate values are nearly 0: by seed, layer and head (S, L, H)."""
    means, shown = shut.mean((1, 2)), shut[seed]
    sparsest, openest = (np.unravel_index(k, shown.shape) for k in (shown.argmax(), shown.argmin()))
    verdict, share = "Too few seeds for a verdict", percent(float(means.mean()))
    over = f"{title}, {len(means)} seeds"
    if len(means) >= LEAST_SEEDS:
        mean = mean_interval(means)
        share, over = f"{interval_text(mean, 100)} %", f"{over}, 95 % interval"
        low = max(mean.mean - mean.half_width, 0.0)
        verdict = f"**{degree(low, mean.mean + mean.half_width)}**"
    return (
        f"{verdict}: {share} of their values are below {SHUT:g} ({over}), most in head"
        f" {head_name(sparsest)} ({percent(float(shown.max()))}), fewest in head"
        f" {head_name(openest)} ({percent(float(shown.min()))})."
    )


def in_text(opened: np.ndarray, text: str) -> str:
    """Say where in ``text`` a head is widest open, against its own mean, of (L, H, T).

    The break before the text does not count.
    """
    above = (opened - opened.mean(-1, keepdims=True))[..., 1:]
    layer, head, before = np.unravel_index(above.argmax(), above.shape)
    position = int(before) + 1
    return (
        f"In this text head {head_name((layer, head))} opens most at"
        f" {as_code(sign(text[position]))} (character {position}):"
        f" {opened[layer, head, position]:.2f} against {opened[layer, head].mean():.2f} on average."
    )


def opener_text(above: np.ndarray) -> str:
    """Say which character opens which head most, over all texts: `openers` (V, L, H)."""
    if not np.isfinite(above).any():
        return "No character was read often enough."
    number, layer, head = np.unravel_index(np.nanargmax(above), above.shape)
    return (
        f"Over all texts head {head_name((layer, head))} opens most at"
        f" {as_code(sign(CHARACTERS[number]))}: {above[number, layer, head]:.2f} above its mean."
    )
