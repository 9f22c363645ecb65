"""The tab Rank, sparsity, calibration: what a gate changes inside heads, and in predictions.

Shapes: S seeds, Q quantities, R resamples of texts, L layers, H heads, T characters of a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.characters import BREAK
from gating_core.lm.measurements import QUANTITIES, SHUT
from gating_core.lm.resampling import PairedDifference, family_p, paired_difference
from gating_core.training import mean_interval
from ui.common import charts as c
from ui.common.formatting import effect, figures, percent, short
from ui.common.language_models import GATES, choose_text, head_name, head_names, sign
from ui.common.lessons import section
from ui.common.page import draw_finding
from ui.drawing import palette
from ui.language_models import shared
from ui.language_models.shared import (
    EQUIVALENT,
    HIGHER,
    INCONCLUSIVE,
    LOWER,
    MARGINS,
    NO_GATE,
    interval_text,
    layer_axis,
    signs,
    word,
)

HEIGHT = 290  # pixels
LEAD = (
    "What a gate changes inside heads, how sparse it is, and how well predictions are calibrated."
)
MANY, FEW = 0.5, 0.1  # shares of gates below `SHUT` from which on gates are sparse, and are not


def draw() -> None:
    """Draw the tab."""
    row = st.container(horizontal=True, vertical_alignment="bottom")
    chosen, text = shared.choose_model(row), choose_text(row, "lm")
    charts = c.Charts("details")
    left, right = st.columns(2, gap="medium")
    ungated, gated = chosen.pair("ranks.outputs")
    rows = shared.architectures()
    told = signs(rows, "rank").get(GATES[chosen.title], 0) != 0
    ranks, about = against_ungated(gated, ungated, told)
    draw_finding(ranks, lead=LEAD)
    left.markdown(about)
    charts.draw("rank", left, rank_chart(ungated, gated), ranks)

    values = chosen.pair("confidence.values")
    finding = compared(differences(values, chosen.pair("confidence.resamples")), *values)
    lines = []
    for title, style in ((NO_GATE, c.UNGATED), (chosen.title, c.GATED)):
        x = shared.table()[GATES[title], chosen.seed]
        confidence, frequency, *_ = x["confidence.bins"]
        low, high = x["confidence.range"]
        errors = frequency - low, high - frequency
        lines.append(c.line(title, confidence, frequency, errors, **style | {"width": 1}))
    axis = {"range": [0, 1], "tickvals": [0, 0.25, 0.5, 0.75, 1], "tickformat": ".0%"}
    figure = c.chart(
        "Reliability diagram, 15 bins", lines, "confidence", "frequency",
        height=HEIGHT, x_axis=axis, y_axis=axis,
        shapes=[{"type": "line", "x0": 0, "x1": 1, "y0": 0, "y1": 1, "layer": "below",
                 "line": {"dash": "dash", "width": 1, "color": palette.PLANE}}],
    )  # fmt: skip
    right.markdown(finding)
    charts.draw("reliability", right, figure, finding)

    opened = shared.reading(chosen.model, text, 1.0).opened
    assert opened is not None  # the model has a gate
    shut = chosen.over_seeds(chosen.title, "gates.shut")
    sparse = sparsity(shut, chosen.seed, chosen.title)
    st.markdown(sparse)
    charts.draw("gates", st, gate_map(opened, BREAK + text), sparse)
    charts.draw_footer(
        section(
            "language_models",
            "details",
            d=rows[0].config.width // rows[0].config.heads,
            texts=len(shared.table()[chosen.model]["strengths.counts"]),
            shut=f"{SHUT:g}",
            many=percent(MANY),
            few=percent(FEW),
            margins=", ".join(f"{x.title} ± {short(x.margin)}{x.unit}" for x in MARGINS.values()),
        )
    )


# --- Effective rank -------------------------------------------------------------------------------


def rank_chart(ungated: np.ndarray, gated: np.ndarray) -> go.Figure:
    """Draw mean effective ranks (S, 3, L, H) by layer, before and after W_O, gated and ungated."""
    traces = []
    for name, ranks, style in ((NO_GATE, ungated, c.UNGATED), ("gate", gated, c.GATED)):
        for stage, where, dash, symbol in (
            (1, "", "solid", "circle"),
            (2, ", after W<sub>O</sub>", "dash", "diamond"),
        ):
            means = ranks[:, stage].mean(-1)
            traces.append(
                c.line(
                    f"{name}{where}",
                    np.arange(1, means.shape[1] + 1),
                    means.mean(0),
                    shared.half_widths(means),
                    colour=style["colour"],
                    dash=dash,
                    symbol=symbol,
                )
            )
    return c.chart(
        "Effective rank, mean of heads", traces, "layer", "effective rank", height=HEIGHT,
        x_axis=layer_axis(ungated.shape[2], 0.3), y_axis={"rangemode": "tozero"},
    )  # fmt: skip


def against_ungated(
    gated: np.ndarray, ungated: np.ndarray, significant: bool = True
) -> tuple[str, str]:
    """Say how ranks (S, 3, L, H) of gated models differ from those of models without a gate.

    A gate has acted on the second and third of the three; without a gate the first two are equal.
    ``significant``: by the test of the table of gates.
    """
    # Heads of two models do not correspond, so means over heads are compared, paired by seed.
    mixed, projected = map(mean_interval, (gated.mean((2, 3)) / ungated.mean((2, 3))).T[1:])
    says = effect(mixed, "the gate", "the effective rank of head outputs", 1, significant)
    return f"{says}: {figures(mixed.mean)} times that without a gate.", (
        f"{interval_text(mixed)} times that of models without a gate, and"
        f" {interval_text(projected)} times after $W_O$ (mean of heads; {len(gated)} seeds, paired,"
        " 95 % intervals)."
    )


# --- Calibration ----------------------------------------------------------------------------------


def differences(
    values: Sequence[np.ndarray], resamples: Sequence[np.ndarray]
) -> dict[str, PairedDifference]:
    """Return gated minus ungated by quantity, from values (S, Q) and resamples (S, Q, R).

    Two of each, the ungated models first.
    """
    return {
        name: paired_difference(
            values[1][:, q], values[0][:, q], resamples[1][:, q], resamples[0][:, q]
        )
        for q, name in enumerate(QUANTITIES)
    }


def compared(paired: Mapping[str, PairedDifference], ungated: np.ndarray, gated: np.ndarray) -> str:
    """Say of every quantity how the gate changes it; values (S, Q)."""
    first, *phrases = [
        f"{figures(ungated[:, q].mean())} → {figures(gated[:, q].mean())}{MARGINS[name].unit}"
        f" ({interval_text(of)})"
        for q, (name, of) in enumerate(paired.items())
    ]
    adjusted = family_p([*paired.values()])
    calibration, *words = [
        word(of, MARGINS[name].margin, p)
        for (name, of), p in zip(paired.items(), adjusted, strict=True)
    ]
    verdict = {
        LOWER: "The gate reduces the calibration error",
        HIGHER: "The gate increases the calibration error",
        EQUIVALENT: "The calibration errors are equivalent",
        INCONCLUSIVE: "The effect of the gate on the calibration error is inconclusive",
    }[calibration]
    others = [
        f"{row.title} {word}, {phrase}"
        for row, word, phrase in zip([*MARGINS.values()][1:], words, phrases, strict=True)
    ]
    return f"**{verdict}**: ECE {first}, paired over {len(gated)} seeds; {'; '.join(others)}."


# --- Gate sparsity --------------------------------------------------------------------------------


def gate_map(opened: np.ndarray, text: str) -> go.Figure:
    """Draw the gate of every head, ``opened`` (L, H, T), at the characters of ``text``."""
    layers, heads, length = opened.shape
    trace = c.heatmap(
        opened.reshape(-1, length),
        0.0,
        1.0,
        palette.SEQUENTIAL_SCALE,
        y=head_names(layers, heads),
        name="gate",
        showscale=True,
        text=[[*map(sign, text)]] * (layers * heads),
        colorbar={"thickness": 12, "title": {"text": "gate"}},
        hovertemplate="head %{y} at “%{text}”: %{z:.3f}<extra></extra>",
    )
    figure = c.chart("Gate at every character, by head", [trace], height=260,
        margin={"l": 44, "r": 8, "t": 46, "b": 4},
        x_axis={**c.ticks([*range(length)], [*map(sign, text)]), "side": "top", "tickangle": 0,
                "ticks": "", "tickfont": {"size": 12, "family": "monospace"}, "showgrid": False},
        y_axis={"autorange": "reversed", "type": "category", "ticks": "", "showgrid": False,
                "tickfont": {"size": 12}, "dtick": 1})  # fmt: skip
    for y in np.arange(1, layers) * heads - 0.5:
        figure.add_hline(y, line={"width": 1, "color": palette.NEUTRAL})
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
    mean = mean_interval(means)
    verdict = degree(max(mean.mean - mean.half_width, 0.0), mean.mean + mean.half_width)
    return (
        f"**{verdict}**: {interval_text(mean, 100)} % of their values are below {SHUT:g} ({title},"
        f" {len(means)} seeds, 95 % interval), most in head"
        f" {head_name(sparsest)} ({percent(float(shown.max()))}), fewest in head"
        f" {head_name(openest)} ({percent(float(shown.min()))})."
    )
