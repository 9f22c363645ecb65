"""The tab Calibration: reliability, and paired differences between models with and without a gate.

Shapes: S seeds, Q quantities, R resamples of texts, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.measurements.calibration import QUANTITIES
from gating_core.lm.measurements.overview import LEAST_SEEDS
from gating_core.lm.measurements.resampling import (
    LEVEL,
    PairedDifference,
    family_p,
    paired_difference,
)
from ui.common import charts as c
from ui.common.formatting import figures, short
from ui.common.language_models import GATES
from ui.common.lessons import section
from ui.drawing.reliability import reliability_chart
from ui.language_models import shared
from ui.language_models.shared import NO_GATE, interval_text, layer_axis

HIGH, LOW = 400, 195  # pixels
LOWER, HIGHER, EQUIVALENT = "lower", "higher", "equivalent"
INCONCLUSIVE, TOO_FEW = "inconclusive", "too few seeds"


@dataclass(frozen=True)
class Quantity:
    """A compared number: its name, and the margin within which models are equivalent."""

    title: str
    margin: float
    unit: str = ""


TABLE = dict(zip(QUANTITIES, (
    Quantity("ECE", 0.003),
    Quantity("classwise ECE", 0.0001),
    Quantity("loss", 0.01, " nats"),
    Quantity("entropy of predictions", 0.02, " nats"),
    Quantity("entropy of attention", 0.1, " nats"),
), strict=True))  # fmt: skip


def draw() -> None:
    """Draw the tab."""
    chosen = shared.choose_model(st.container(horizontal=True, vertical_alignment="bottom"))
    charts, diagrams = c.Charts("calibration"), []
    for title in (NO_GATE, chosen.title):
        arrays = shared.table()[GATES[title], chosen.seed]
        diagrams.append((title, arrays["confidence.bins"], arrays["confidence.range"]))
    alt = "; ".join(f"{title}: {off_diagonal(bins, ends)}" for title, bins, ends in diagrams)
    values = chosen.pair("confidence.values")
    paired = differences(values, chosen.pair("confidence.resamples"))
    finding = compared(paired, *values)
    st.markdown(finding)
    left, right = st.columns([6, 7])
    reliability = reliability_chart(diagrams, HIGH).update_layout(
        title=c.title("Reliability diagram, 15 bins"),
        margin_t=60,
        xaxis_title_text="confidence",
        yaxis_title_text="frequency",
    )
    charts.draw("reliability", left, reliability, alt)
    charts.draw("differences", right, difference_chart(paired), finding)
    charts.draw("entropy", right, entropy_chart(chosen), finding)
    st.markdown(f"Seed {chosen.seed}, {alt}.")
    margins = ", ".join(f"{x.title} ± {short(x.margin)}{x.unit}" for x in TABLE.values())
    charts.draw_footer(
        section("language_models", "calibration", margins=margins, least=LEAST_SEEDS)
    )


def difference_chart(paired: Mapping[str, PairedDifference]) -> go.Figure:
    """Draw each difference with its interval in margins, and every seed; the band: equivalent."""
    rows = [(TABLE[name], of) for name, of in paired.items()]
    reach = max([2.0, *(1.05 * (abs(of.mean) + of.half_width) / row.margin for row, of in rows)])
    names = [row.title for row, _ in rows]
    seeds = c.line(
        "a seed",
        [x / row.margin for row, of in rows for x in of.by_seed],
        np.zeros(sum(len(of.by_seed) for _, of in rows)),
        mode="markers",
        colour=c.MAGENTA,
        symbol="circle-open",
    )
    seeds |= {"y": [row.title for row, of in rows for _ in of.by_seed], "hoverinfo": "skip"}
    means = c.line(
        "mean, 95 % interval",
        [of.mean / row.margin for row, of in rows],
        np.zeros(len(rows)),
        mode="markers",
        colour=c.MAGENTA,
        symbol="line-ns",
        labels=[f"{interval_text(of)}{row.unit}" for row, of in rows],
    )
    means |= {
        "y": names,
        "hovertemplate": "%{y}: %{text}<extra></extra>",
        "error_x": {
            "type": "data",
            "thickness": 2,
            "array": [of.half_width / row.margin for row, of in rows],
        },
    }
    means["marker"] |= {"size": 9, "line": {"width": 3, "color": c.MAGENTA}}
    figure = c.chart(
        "Gate minus no gate, in margins",
        [seeds, means],
        "difference / margin",
        height=LOW + 15,
        margin={"l": 130, "r": 8, "t": 48, "b": 38},
        x_axis={"range": [-reach, reach], "zeroline": False},
        y_axis={"type": "category", "autorange": "reversed"},
    )
    figure.add_vrect(x0=-1, x1=1, fillcolor=f"{c.FAINT}44", line_width=0, layer="below")
    return figure.add_vline(x=0, line={"width": 1, "color": c.FAINT})


def entropy_chart(chosen: shared.Comparison) -> go.Figure:
    """Draw the mean entropy of attention by layer: seeds, means and intervals."""
    traces = []
    for title, style in ((NO_GATE, c.UNGATED), (chosen.title, c.GATED)):
        means = chosen.over_seeds(title, "confidence.entropy").mean(-1)
        seeds, layers = means.shape
        dots = c.line(
            f"{title}, a seed",
            np.tile(np.arange(layers) + 1.06, seeds),
            means.ravel(),
            mode="markers",
            legend=False,
            **style,
        )
        traces += [
            dots | {"opacity": 0.6},
            c.line(
                title, np.arange(1, layers + 1), means.mean(0), shared.half_widths(means), **style
            ),
        ]
    return c.chart(
        "Entropy of attention, mean of heads",
        traces,
        "layer",
        "nats",
        height=LOW,
        x_axis=layer_axis(layers, 0.4),
    )


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


def word(difference: PairedDifference, margin: float, p: float) -> str:
    """Return the verdict on a difference, from its p-value adjusted over all that are told with it.

    *equivalent*: the whole 95 % interval lies within the margin. *lower*, *higher*: ``p`` is below
    5 %. Otherwise *inconclusive*. No verdict with fewer than `LEAST_SEEDS`.
    """
    if len(difference.by_seed) < LEAST_SEEDS:
        return TOO_FEW
    if -margin <= difference.low and difference.high <= margin:
        return EQUIVALENT
    if not p < LEVEL:
        return INCONCLUSIVE
    return HIGHER if difference.mean > 0 else LOWER


def compared(paired: Mapping[str, PairedDifference], ungated: np.ndarray, gated: np.ndarray) -> str:
    """Say of every quantity how the gate changes it; values (S, Q)."""
    first, *phrases = [
        f"{figures(ungated[:, q].mean())} → {figures(gated[:, q].mean())}{TABLE[name].unit}"
        f" ({interval_text(of)})"
        for q, (name, of) in enumerate(paired.items())
    ]
    adjusted = family_p([*paired.values()])
    calibration, *words = [
        word(of, TABLE[name].margin, p)
        for (name, of), p in zip(paired.items(), adjusted, strict=True)
    ]
    verdict = {
        LOWER: "The gate reduces the calibration error",
        HIGHER: "The gate increases the calibration error",
        EQUIVALENT: "The calibration errors are equivalent",
        INCONCLUSIVE: "The effect of the gate on the calibration error is inconclusive",
        TOO_FEW: "Too few seeds for a verdict on the calibration error",
    }[calibration]
    others = [
        f"{row.title} {word}, {phrase}"
        for row, word, phrase in zip([*TABLE.values()][1:], words, phrases, strict=True)
    ]
    return f"**{verdict}**: ECE {first}, paired over {len(gated)} seeds; {'; '.join(others)}."


def off_diagonal(bins: np.ndarray, ends: np.ndarray) -> str:
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
