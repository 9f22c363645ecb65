"""Outcomes of steering without and with a gate: the sentences and the chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.resampling import PairedDifference
from gating_core.lm.shipped import SEEDS
from gating_core.lm.steering import summary
from gating_core.lm.steering.experiment import DIRECTIONS, STRENGTHS, load_steering
from gating_core.lm.steering.shipped import STEERED
from gating_core.lm.steering.summary import SUMMARISED, Outcome, summarise
from ui.common import charts as c
from ui.common.formatting import by_interval, figures, percent
from ui.common.language_models import TITLES, TONGUES
from ui.steering.shared import signed
from ui.work.cache import NUMBERS_CACHE, cached

SUCCESS, BAYES, NATS, WORDS, BACK, FLUENT, WORDLESS = SUMMARISED
FEATURE, RANDOM = (DIRECTIONS.index(name) for name in ("feature", "random direction"))
TARGETS = {"both": slice(None)} | {
    tongue: slice(number, number + 1) for number, tongue in enumerate(TONGUES)
}
WORKS = 0.8  # share of texts from which on steering is said to change the language
FOOLED = 0.5  # share of texts in the language and as fluent as unsteered ones, below which: fooled
CHARTS = {SUCCESS: "The language changes", FLUENT: "It changes, and the text is fluent"}


@cached("Adding up …", on=NUMBERS_CACHE)
def outcomes(mode: str, target: str) -> dict[str, Outcome]:
    """Return the outcomes of the models without and with a gate, means over their seeds."""
    tables = load_steering()
    return {
        gate: summarise([tables[gate, seed] for seed in SEEDS], gate, mode, TARGETS[target])
        for gate in STEERED
    }


@cached("Adding up …", on=NUMBERS_CACHE)
def gate_effects(mode: str, target: str) -> list[PairedDifference]:
    """Return by how much more often steering succeeds with a gate, by layer."""
    return summary.gate_difference(TARGETS[target], mode)


# What the feature does: the answer to the page's question, and what it means for the texts.
ANSWERS = {
    "unreliable": ("Not reliably", ""),
    "divided": ("Inconclusive", ", and the classifiers disagree"),
    "fooled": ("No", ", but few are fluent: the classifiers are fooled"),
    "less fluent": ("Yes", "; they are less fluent"),
    "fluent": ("Yes", "; they stay fluent"),
    "inconclusive": ("Yes", "; whether they stay fluent is inconclusive"),
}


def verdict(outcome: Outcome, layer: int) -> str:
    """Return which of `ANSWERS` holds after ``layer``, where the feature succeeds most often."""
    at = outcome.best(layer)
    success, bayes, fluent = (outcome.means[name][at] for name in (SUCCESS, BAYES, FLUENT))
    half_width = outcome.half_widths[FLUENT][at]
    if success < WORKS:
        return "unreliable"
    if bayes < WORKS:
        return "divided"
    if fluent + half_width < FOOLED:
        return "fooled"
    if fluent + half_width < WORKS:
        return "less fluent"
    return "fluent" if fluent - half_width >= WORKS else "inconclusive"


def finding_text(both: Mapping[str, Outcome], layer: int) -> tuple[str, str]:
    """Answer the page's question, without and with a gate; and say by which numbers."""
    plain, gated = (ANSWERS[verdict(outcome, layer)] for outcome in both.values())
    best = [outcome.best(layer) for outcome in both.values()]
    strengths = " and ".join(dict.fromkeys(f"{STRENGTHS[at[2]]:g}" for at in best))
    shares = [float(of.means[SUCCESS][at]) for of, at in zip(both.values(), best, strict=True)]
    says = f"{plain[0]}: at strength {strengths}, "
    if plain == gated:
        says += f"{percent(min(shares))} of texts change language, with or without a gate"
    else:
        says += f"{percent(shares[0])} of texts change language without a gate{plain[1]}"
        says += f". With one: {gated[0].lower()}"
    success, fluent = (
        [share_of_texts(of, name, at) for of, at in zip(both.values(), best, strict=True)]
        for name in (SUCCESS, FLUENT)
    )
    return f"{says}{gated[1]}.", (
        f"Of {next(iter(both.values())).texts} texts, {success[0]} change language without a gate"
        f" and {success[1]} with one, {fluent[0]} and {fluent[1]} fluently. Charts: over strength,"
        " with 95 % intervals over seeds and prompts; thin: a random direction."
    )


def share_of_texts(outcome: Outcome, name: str, at: tuple[int, int, int]) -> str:
    """Format a share of texts; where all texts agree, a bootstrap knows no interval."""
    mean, half_width = float(outcome.means[name][at]), float(outcome.half_widths[name][at])
    if half_width > 0:
        return around(mean, half_width)
    return f"{percent(mean)} ({'all' if mean else 'none'} of {outcome.texts})"


def around(mean: float, half_width: float) -> str:
    """Format a share with its interval, in percent."""
    return f"{percent(mean)}\u00a0±\u00a0{100 * half_width:.0f}"


def best_text(outcome: Outcome, layer: int) -> str:
    """Return at which strength the feature succeeds most often, and what texts are like there."""
    at = outcome.best(layer)
    means, widths = (
        {name: float(of[name][at]) for name in SUMMARISED}
        for of in (outcome.means, outcome.half_widths)
    )
    plain, prompted = (outcome.references[name] for name in summary.REFERENCES)
    others = ", ".join(
        f"{name} {percent(float(outcome.means[SUCCESS][layer, kind, at[2]]))}"
        for kind, name in enumerate(DIRECTIONS)
        if kind != FEATURE
    )
    return (
        f"At strength {STRENGTHS[at[2]]:g}, where the feature succeeds most often:"
        f" {share_of_texts(outcome, SUCCESS, at)} of texts by logistic regression,"
        f" {percent(means[BAYES])} by naive Bayes ({others});"
        f" {figures(means[NATS])} ± {widths[NATS]:.2f} nats per character (unsteered"
        f" {figures(plain[NATS])}); {words_text(means[WORDS], widths[WORDS], means[WORDLESS])}"
        f" (prompted in the language {percent(prompted[WORDS])})."
    )


def words_text(words: float, half_width: float, wordless: float) -> str:
    """Return the share of real words; texts without a whole word are counted apart."""
    if np.isnan(words):
        return "no whole word"
    share = f"{around(words, half_width)} real words"
    if not wordless:
        return share
    return f"{share} in the {percent(1 - wordless)} of texts that have a whole word"


def effect_text(difference: PairedDifference) -> str:
    """Return by how much a gate changes the success of the feature."""
    says = by_interval(difference.low, difference.high, "reduces", "", "increases")
    effect = f"A gate {says} success" if says else "The effect of a gate on success is inconclusive"
    points = f"{signed(100 * difference.mean, 0)} ± {100 * difference.half_width:.0f} points"
    return f"{effect}: {points} over all strengths, paired by seed."


def draw_more(both: Mapping[str, Outcome], layer: int, mode: str, target: str) -> None:
    """Draw what a fold holds: how fluent texts are, and what a gate changes."""
    for title, outcome in zip(("No gate", "With a gate"), both.values(), strict=True):
        st.markdown(f"**{title}.** {best_text(outcome, layer)}")
    st.markdown(effect_text(gate_effects(mode, target)[layer]))


def outcome_table(outcome: Outcome) -> dict[str, Sequence[object]]:
    """Return means and half widths of all layers, directions and strengths as columns."""
    cells = [*np.ndindex(outcome.means[SUCCESS].shape)]
    columns: dict[str, Sequence[object]] = {
        "layer": [layer + 1 for layer, _, _ in cells],
        "direction": [DIRECTIONS[kind] for _, kind, _ in cells],
        "strength": [STRENGTHS[strength] for _, _, strength in cells],
    }
    for name in SUMMARISED:
        columns[name] = [float(outcome.means[name][at]) for at in cells]
        columns[f"{name}, half width"] = [float(outcome.half_widths[name][at]) for at in cells]
    for what, references in outcome.references.items():
        columns |= {f"{name}, {what}": [references[name]] * len(cells) for name in SUMMARISED}
    return columns


def outcome_chart(both: Mapping[str, Outcome], quantity: str, layer: int, at: float) -> go.Figure:
    """Draw a share of texts over strength, without and with a gate, ``at`` one strength a band."""
    traces = []
    for shift, (gate, outcome), style in zip(
        (0, 0.05), both.items(), (c.UNGATED, c.GATED), strict=True
    ):
        random = style | {"width": 1, "legend": gate == next(iter(both))}
        for kind, look in ((FEATURE, style), (RANDOM, random)):
            means = outcome.means[quantity][layer, kind]
            half = outcome.half_widths[quantity][layer, kind]
            reach = np.minimum(half, means), np.minimum(half, 1 - means)  # no share lies beyond
            places = np.array(STRENGTHS) + shift
            name = TITLES[gate] if kind == FEATURE else "thin: random direction"
            traces.append(c.line(name, places, means, np.stack(reach), **look))
    figure = c.chart(
        CHARTS[quantity],
        traces,
        "strength",
        "share of texts",
        height=185,
        margin={"l": 58, "r": 8, "t": 48, "b": 34},
        x_axis={"range": [0.5, max(STRENGTHS) + 0.5], "tickvals": STRENGTHS},
        y_axis={"range": [-0.04, 1.04], "tickformat": ".0%", "tickvals": [0, 0.5, 1]},
    )
    if at > max(STRENGTHS):
        return figure
    band = {"fillcolor": c.ACCENT, "opacity": 0.15, "line_width": 0, "layer": "below"}
    return figure.add_vrect(at - 0.15, at + 0.2, **band)
