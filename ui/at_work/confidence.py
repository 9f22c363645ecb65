"""The tab Confidence: how often a model is right where it is sure, without and with a gate.

Shapes: S seeds, Q quantities, R resamples of texts, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.at_work import QUANTITIES, PairedDifference, paired_difference
from ui.at_work import measured, parts
from ui.at_work.controls import MODEL, read_selection
from ui.common.language_models import TITLES, UNGATED
from ui.common.lessons import section
from ui.common.words import figures, plus_minus, short
from ui.drawing import palette
from ui.drawing.reliability import reliability_chart

DIAGRAM_PIXELS = 345
DIFFERENCES_PIXELS, ENTROPY_PIXELS = 172, 138
LEAST_SEEDS = 3  # with fewer there is no verdict
LOWER, HIGHER, HARDLY = "lower", "higher", "hardly different"
UNDECIDED, TOO_FEW = "undecided", "too few seeds"


@dataclass(frozen=True)
class ComparedQuantity:
    """A compared number: its name, and the margin within which models are hardly different."""

    title: str
    margin: float
    unit: str = ""


TABLE = dict(zip(QUANTITIES, (
    ComparedQuantity("ECE", 0.003),
    ComparedQuantity("classwise ECE", 0.0001),
    ComparedQuantity("loss", 0.01, " nats"),
    ComparedQuantity("entropy of predictions", 0.02, " nats"),
    ComparedQuantity("entropy of attention", 0.1, " nats"),
), strict=True))  # fmt: skip


def draw_confidence() -> None:
    """Draw reliability of the selected model beside the ungated one, and paired differences."""
    selection = read_selection(MODEL)
    names = [UNGATED, selection.name]
    diagrams = []
    for name in names:
        arrays = measured.table()[name, selection.seed]
        diagrams.append((TITLES[name], arrays["confidence.bins"], arrays["confidence.range"]))
    alt = "; ".join(f"{title}: {diagram_text(bins, ends)}" for title, bins, ends in diagrams)
    seeds = measured.seeds(selection.name)
    values, resamples, entropies = (
        [measured.over_seeds(name, f"confidence.{part}", seeds) for name in names]
        for part in ("values", "resamples", "entropy")
    )
    paired = differences(values, resamples)
    text = summary(paired, values[1], values[0])
    left, right = st.columns([6, 7])
    with left:
        parts.draw_titled(("reliability", selection.model),
                    lambda: reliability_chart(diagrams, DIAGRAM_PIXELS),
                    section("at_work", "head_reliability"), alt)  # fmt: skip
    with right:
        parts.draw_titled(("differences", selection.name), lambda: difference_chart(paired),
                    section("at_work", "head_differences"), text)  # fmt: skip
        by_title = {TITLES[name]: of for name, of in zip(names, entropies, strict=True)}
        parts.draw_titled(("entropy", selection.name), lambda: entropy_chart(by_title),
                    section("at_work", "head_entropy"), text)  # fmt: skip
    st.markdown(f"{text} Seed {selection.seed}, {alt}.")
    margins = (f"{x.title} ± {short(x.margin)}{x.unit}" for x in TABLE.values())
    with st.container(horizontal=True):
        parts.draw_explanation(
            "confidence", "confidence", margins=", ".join(margins), least=LEAST_SEEDS
        )
        parts.draw_csv("Confidence", lambda: confidence_csv(measured.table()))


# --- Charts ---------------------------------------------------------------------------------------


def difference_chart(paired: Mapping[str, PairedDifference]) -> go.Figure:
    """Draw each difference with its interval in margins, every seed a dot.

    The band holds the differences that are called hardly different.
    """
    rows = [(TABLE[name], of) for name, of in paired.items()]
    reach = max([2.0, *(1.05 * (abs(of.mean) + of.half_width) / row.margin for row, of in rows)])
    traces = [
        {"type": "scatter", "mode": "markers", "hoverinfo": "skip", "name": "a seed",
         "x": [x / row.margin for row, of in rows for x in of.by_seed],
         "y": [row.title for row, of in rows for _ in of.by_seed],
         "marker": {"size": 6, "color": parts.MAGENTA, "symbol": "circle-open"}},
        {"type": "scatter", "mode": "markers", "name": "mean, 95 % interval",
         "x": [of.mean / row.margin for row, of in rows], "y": [row.title for row, _ in rows],
         "error_x": {"type": "data", "thickness": 2,
                     "array": [of.half_width / row.margin for row, of in rows]},
         "marker": {"size": 9, "color": parts.MAGENTA, "symbol": "line-ns", "line": {"width": 3,
                    "color": parts.MAGENTA}},
         "customdata": [f"{difference_text(of)}{row.unit}" for row, of in rows],
         "hovertemplate": "%{y}: %{customdata}<extra></extra>"},
    ]  # fmt: skip
    return go.Figure({"data": traces, "layout": {
        "height": DIFFERENCES_PIXELS, "margin": {"l": 130, "r": 8, "t": 26, "b": 38},
        "legend": parts.LEGEND,
        "shapes": [
            {"type": "rect", "x0": -1, "x1": 1, "yref": "paper", "y0": 0, "y1": 1,
             "fillcolor": f"{palette.PLANE}44", "line": {"width": 0}, "layer": "below"},
            {"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1,
             "line": {"width": 1, "color": palette.PLANE}},
        ],
        "xaxis": {"range": [-reach, reach], "zeroline": False,
                  "title": {"text": "gate minus no gate, in margins", "standoff": 4}},
        "yaxis": {"type": "category", "autorange": "reversed"},
    }})  # fmt: skip


def entropy_chart(entropies: Mapping[str, np.ndarray]) -> go.Figure:
    """Draw the mean entropy of attention by layer of models (S, L, H): seeds, means, intervals."""
    traces = []
    for (title, entropy), style in zip(entropies.items(), parts.STYLES, strict=True):
        means = entropy.mean(-1)
        seeds, layers = means.shape
        dots = {
            "type": "scatter", "mode": "markers", "x": np.tile(np.arange(layers) + 1.06, seeds),
            "y": means.ravel(), "marker": {"size": 5, "symbol": style[2], "color": style[0]},
            "opacity": 0.6, "showlegend": False, "hoverinfo": "skip",
        }  # fmt: skip
        shown = f"{title}, layer %{{x}}: %{{y:.3f}} nats"
        traces += [dots, parts.mean_line(title, means, style, shown)]
    return go.Figure({"data": traces, "layout": {
        "height": ENTROPY_PIXELS, "margin": {"l": 52, "r": 8, "t": 24, "b": 36},
        "legend": parts.LEGEND, "xaxis": parts.layer_axis(layers, 0.4),
        "yaxis": {"title": {"text": "nats", "standoff": 4}},
    }})  # fmt: skip


# --- Sentences ------------------------------------------------------------------------------------


def differences(
    values: Sequence[np.ndarray], resamples: Sequence[np.ndarray]
) -> dict[str, PairedDifference]:
    """Return gated minus ungated by quantity, from values (S, Q) and resamples (S, Q, R).

    Two of each, the ungated models first.
    """
    return {name: paired_difference(values[1][:, q], values[0][:, q], resamples[1][:, q],
                                    resamples[0][:, q])
            for q, name in enumerate(QUANTITIES)}  # fmt: skip


def word(difference: PairedDifference, margin: float) -> str:
    """Return the verdict on a difference.

    *hardly different*: the whole 95 % interval lies within the margin. *lower*, *higher*: it does
    not hold 0. Otherwise *undecided*. No verdict with fewer than `LEAST_SEEDS`.
    """
    if len(difference.by_seed) < LEAST_SEEDS:
        return TOO_FEW
    if -margin <= difference.low and difference.high <= margin:
        return HARDLY
    return HIGHER if difference.low > 0 else LOWER if difference.high < 0 else UNDECIDED


def summary(paired: Mapping[str, PairedDifference], gated: np.ndarray, ungated: np.ndarray) -> str:
    """Say of every quantity how the gate changes it; values (S, Q)."""
    seeds = len(gated)
    few = "" if seeds >= LEAST_SEEDS else (
        f" **{seeds} {'seed is' if seeds == 1 else 'seeds are'} too few for a verdict**."
    )  # fmt: skip
    phrases = []
    for column, (name, of) in enumerate(paired.items()):
        quantity = TABLE[name]
        values = f"{figures(ungated[:, column].mean())} → {figures(gated[:, column].mean())}"
        verdict = word(of, quantity.margin)
        shown = "" if verdict == TOO_FEW else f"**{verdict}**, "
        phrases.append(f"{quantity.title} {shown}{values}{quantity.unit} ({difference_text(of)})")
    return f"With the gate, paired over {parts.seeds_text(seeds)}: {'; '.join(phrases)}.{few}"


def difference_text(difference: PairedDifference) -> str:
    """Format a difference with its interval and its sign."""
    sign = "+" if difference.mean > 0 else ""
    text = plus_minus(difference.mean, difference.half_width)
    return text if text.startswith("between") else f"{sign}{text}"


def diagram_text(bins: np.ndarray, ends: np.ndarray) -> str:
    """Say in how many bins the frequency differs from the confidence, beyond its interval."""
    low, high = ends
    over, under = int((bins[0] > high).sum()), int((bins[0] < low).sum())
    text = f"{over + under} of {bins.shape[1]} bins lie off the diagonal"
    if not over + under:
        return text
    if over == under:
        return f"{text}, as many overconfident as underconfident"
    side = "overconfident" if over > under else "underconfident"
    return f"{text}, {max(over, under)} of them {side}"


def confidence_csv(models: parts.Models) -> Iterator[Sequence[object]]:
    """Yield a row for every model and quantity, and a row for every bin of its diagram."""
    yield "model", "seed", "what", "bin", "value", "low", "high", "mean confidence", "count"
    for (name, seed), arrays in models.items():
        start = TITLES.get(name, name), seed
        for row, quantity in enumerate(TABLE.values()):
            ends = np.percentile(arrays["confidence.resamples"][row], (2.5, 97.5))
            value = float(arrays["confidence.values"][row])
            yield (*start, quantity.title, "", value, *map(float, ends))
        for number, column in enumerate(
            np.concatenate([arrays["confidence.bins"], arrays["confidence.range"]]).T
        ):
            sure, came, count, low, high = map(float, column)
            yield *start, "share that came", number + 1, came, low, high, sure, int(count)
