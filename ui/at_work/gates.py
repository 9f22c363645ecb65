"""The tab Sparse gates: how far gates are open, at every character and over all verses.

Shapes: S seeds, L layers, H heads, T characters of a text, V characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.at_work import SHUT
from gating_core.language import CHARACTERS
from gating_core.training import mean_interval
from ui.at_work import measured, parts
from ui.at_work.confidence import LEAST_SEEDS
from ui.at_work.controls import read_selection
from ui.common.language_models import TITLES
from ui.common.lessons import section
from ui.common.words import percent, plus_minus
from ui.drawing import palette
from ui.drawing.characters import sign
from ui.drawing.panels import subplot
from ui.drawing.titled import TITLE
from ui.foreign import as_code
from ui.language.selection import head_name, head_names

STRIP_PIXELS = 205
HALF_PIXELS = 195
LEAST_COUNT = 100  # times that a character must be read to be drawn
DASHES = ("solid", "dash", "dot", "dashdot")
MANY, FEW = 0.5, 0.1  # shares of shut gates from which on gates are sparse, and are not


def draw_gates() -> None:
    """Draw the gates above a text, their values over all verses, and what opens them."""
    selection = read_selection()
    model, text = selection.model, selection.text_with_break
    arrays = measured.table()[model]
    opened = measured.reading(model, selection.text, 1.0).opened
    assert opened is not None  # the model has a gate
    here, above = in_text(opened, text), openers(arrays)
    seeds = measured.seeds(selection.name)
    shut = measured.over_seeds(selection.name, "gates.shut", seeds)
    shares = summary(shut, seeds.index(selection.seed), selection.name)
    strip, histogram, head_openers = (
        section("at_work", f"head_{name}") for name in ("strip", "histogram", "openers")
    )
    parts.draw_figure(("strip", model, text), lambda: strip_chart(opened, text, strip), here)
    left, right = st.columns([5, 8])
    with left:
        counts = arrays["gates.histogram"]
        parts.draw_figure(("histogram", model), lambda: histogram_chart(counts, histogram), shares)
    with right:
        parts.draw_figure(("openers", model), lambda: opener_chart(above, head_openers),
                    opener_text(above))  # fmt: skip
    st.markdown(f"{shares} {here} {opener_text(above)}")
    with st.container(horizontal=True):
        parts.draw_explanation(
            "gates", "gates", seen=LEAST_COUNT, many=percent(MANY), few=percent(FEW)
        )
        parts.draw_csv("Gates", lambda: gates_csv(measured.table()))
        parts.draw_csv("Gates of the text", lambda: text_csv(opened, text))


def openers(arrays: parts.Arrays) -> np.ndarray:
    """Return the mean gate of each head at each character minus its mean at all, (V, L, H).

    NaN for characters that were read too rarely, and for the break.
    """
    means, counts = arrays["gates.by_character"], arrays["gates.counts"]
    average = (np.nan_to_num(means) * (counts / counts.sum())[:, None, None]).sum(0)
    often = counts >= LEAST_COUNT
    often[0] = False
    return np.where(often[:, None, None], means - average, np.nan)


# --- Charts ---------------------------------------------------------------------------------------


def strip_chart(opened: np.ndarray, text: str, title: str) -> go.Figure:
    """Draw how far every head (L, H, T) is open at every character of ``text``."""
    layers, heads, _ = opened.shape
    chart = _head_map(opened, text, title, STRIP_PIXELS, 11, {
        "zmin": 0, "zmax": 1, "colorscale": palette.SEQUENTIAL_SCALE,
        "colorbar": {"thickness": 12, "title": {"text": "gate"}, "tickvals": [0, 0.5, 1]},
        "hovertemplate": "head %{y} at “%{x}”: %{z:.3f}<extra></extra>",
    })  # fmt: skip
    return chart.update_layout(shapes=[
        parts.level(y, line={"width": 1, "color": palette.NEUTRAL})
        for y in np.arange(1, layers) * heads - 0.5
    ])  # fmt: skip


def opener_chart(above: np.ndarray, title: str) -> go.Figure:
    """Draw `openers` (V, L, H) as a map of heads and characters."""
    shown = np.flatnonzero(np.isfinite(above).all((1, 2)))
    text = "".join(CHARACTERS[number] for number in shown)
    z = np.moveaxis(above[shown], 0, -1)
    low, high = palette.symmetric_range(float(np.abs(z).max(initial=0)))
    return _head_map(z, text, title, HALF_PIXELS, 10, {
        "zmin": low, "zmax": high, "colorscale": palette.SIGNED_SCALE,
        "colorbar": {"thickness": 12, "title": {"text": "above<br>mean"}},
        "hovertemplate": "head %{y} at “%{x}”: %{z:+.3f}<extra></extra>",
    })  # fmt: skip


def _head_map(
    values: np.ndarray, text: str, title: str, height: int, size: int, trace: dict[str, Any]
) -> go.Figure:
    """Draw values of heads (L, H, n) at the n characters of ``text``, of ``size`` pixels."""
    layers, heads, n = values.shape
    return go.Figure({"data": [{
        "type": "heatmap", "z": values.reshape(-1, n), "y": head_names(layers, heads), **trace,
    }], "layout": {
        "height": height, "margin": {"l": 44, "r": 8, "t": 46, "b": 4},
        "title": {"text": title, **TITLE},
        "xaxis": {"tickvals": [*range(n)], "ticktext": [*map(sign, text)], "side": "top",
                  "tickangle": 0, "ticks": "", "tickfont": {"size": size, "family": "monospace"},
                  "showgrid": False},
        "yaxis": {"autorange": "reversed", "type": "category", "ticks": "", "showgrid": False,
                  "tickfont": {"size": 9}, "dtick": 1},
    }})  # fmt: skip


def histogram_chart(counts: np.ndarray, title: str) -> go.Figure:
    """Draw how often every gate value occurs (L, H, bins), a panel a layer, a line a head."""
    layers, heads, bins = counts.shape
    shares = 100 * counts / counts.sum(-1, keepdims=True)
    closed = np.concatenate([shares, shares[..., -1:]], -1)  # to the last edge
    across = {"range": [0, 1], "tickvals": [0, 0.5], "ticktext": ["0", "½"]}
    layout = parts.panels_by_layer(layers, across, float(shares.max()), "% of values", 0.86)
    traces = [{
        "type": "scatter", "mode": "lines", "x": np.arange(bins + 1) / bins, **subplot(layer),
        "y": closed[layer, head], "name": str(head + 1),
        "line": {"shape": "hv", "width": 1.5, "dash": DASHES[head % len(DASHES)],
                 "color": palette.CLASS_COLOURS[head % len(palette.CLASS_COLOURS)]},
        "showlegend": not layer, "legendgroup": str(head),
        "hovertemplate": f"head {layer + 1}.{head + 1}: %{{y:.1f}} % from %{{x:.2f}}"
        "<extra></extra>",
    } for layer, head in np.ndindex(layers, heads)]  # fmt: skip
    shut = [{"type": "rect", "xref": subplot(layer)["xaxis"], "x0": 0, "x1": SHUT,
             "yref": "paper", "y0": 0, "y1": 1, "line": {"width": 0},
             "fillcolor": f"{palette.PLANE}33"} for layer in range(layers)]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": HALF_PIXELS, "margin": {"l": 40, "r": 8, "t": 46, "b": 24},
        "title": {"text": title, **TITLE}, "shapes": shut, **layout,
        "legend": {**parts.LEGEND, "title": {"text": "head", "side": "left"}},
    }})  # fmt: skip


# --- Sentences ------------------------------------------------------------------------------------


def word(low: float, high: float) -> str:
    """Say whether gates are sparse, from the interval of the share that is shut."""
    if low >= MANY:
        return "sparse"
    if high <= FEW:
        return "not sparse"
    return "partly sparse" if low > FEW and high < MANY else "too uncertain to call sparse or not"


def summary(shut: np.ndarray, seed: int, name: str) -> str:
    """Say how many gate values are nearly 0: by seed, layer and head (S, L, H)."""
    seeds = shut.mean((1, 2))
    shown = shut[seed]
    sparsest, openest = (np.unravel_index(k, shown.shape) for k in (shown.argmax(), shown.argmin()))
    verdict, share = "Too few seeds for a verdict", percent(float(seeds.mean()))
    over = f"mean of {parts.seeds_text(len(seeds))}"
    if len(seeds) >= LEAST_SEEDS:
        mean = mean_interval(seeds)
        low, high = max(mean.mean - mean.half_width, 0.0), mean.mean + mean.half_width
        share = f"{plus_minus(100 * mean.mean, 100 * mean.half_width, 0.0)} %"
        verdict, over = f"**The gates are {word(low, high)}**", f"{over}, 95 % interval"
    return (
        f"{verdict}: {share} of their values are below {SHUT:g}"
        f" ({TITLES[name]}, {over}). Head {head_name(sparsest)} has most of them"
        f" ({percent(float(shown.max()))} of its values), head {head_name(openest)} fewest"
        f" ({percent(float(shown.min()))})."
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
    """Say which character opens which head most, over all verses: `openers` (V, L, H)."""
    if not np.isfinite(above).any():
        return "No character was read often enough."
    number, layer, head = np.unravel_index(np.nanargmax(above), above.shape)
    return (
        f"Over all verses head {head_name((layer, head))} opens most at"
        f" {as_code(sign(CHARACTERS[number]))}: {above[number, layer, head]:.2f} above its mean."
    )


def gates_csv(models: parts.Models) -> Iterator[Sequence[object]]:
    """Yield a row for every head of every gated model: the share shut, and all bins."""
    yield "model", "seed", "layer", "head", f"share below {SHUT:g}", "bins from 0 to 1"
    for (name, seed), arrays in models.items():
        if "gates.shut" not in arrays:
            continue
        for (layer, head), share in np.ndenumerate(arrays["gates.shut"]):
            bins = arrays["gates.histogram"][layer, head].tolist()
            yield TITLES.get(name, name), seed, layer + 1, head + 1, float(share), *bins


def text_csv(opened: np.ndarray, text: str) -> Iterator[Sequence[object]]:
    """Yield a row for every character: how far each head (L, H, T) is open."""
    layers, heads, _ = opened.shape
    yield "place", "character", *head_names(layers, heads)
    for position, character in enumerate(text):
        yield position, sign(character), *opened[..., position].ravel().tolist()
