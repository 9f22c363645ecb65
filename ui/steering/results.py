"""Outcomes of steering without and with a gate: the sentences and the chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from gating_core.lm.measurements.resampling import PairedDifference
from gating_core.lm.shipped import SEEDS
from gating_core.lm.steering import summary
from gating_core.lm.steering.experiment import DIRECTIONS, STRENGTHS, load_steering
from gating_core.lm.steering.shipped import STEERED
from gating_core.lm.steering.summary import SUMMARISED, Calibration, Outcome, summarise
from ui.common import charts as c
from ui.common.formatting import by_interval, figures, percent
from ui.common.language_models import TONGUES
from ui.steering.shared import FIRST_TOKENS, signed
from ui.work.cache import NUMBERS_CACHE, cached

SUCCESS, BAYES, NATS, WORDS, BACK, FLUENT, WORDLESS = SUMMARISED
FEATURE, RANDOM = (DIRECTIONS.index(name) for name in ("feature", "random direction"))
TARGETS = {"both": slice(None)} | {
    tongue: slice(number, number + 1) for number, tongue in enumerate(TONGUES)
}
WORKS = 0.8  # share of texts from which on steering is said to change the language
FOOLED = 0.5  # share of texts in the language and as fluent as unsteered ones, below which: fooled
COMES_BACK = 0.1  # share of names and numbers from which on they are said to recur


@cached("Adding up …", on=NUMBERS_CACHE)
def outcomes(mode: str, target: str) -> dict[str, Outcome]:
    """Return the outcomes of the models without and with a gate, means over their seeds."""
    tables = load_steering()
    return {
        gate: summarise([tables[gate, seed] for seed in SEEDS], gate, mode, TARGETS[target])
        for gate in STEERED
    }


@cached("Adding up …", on=NUMBERS_CACHE)
def comparisons(
    mode: str, target: str
) -> tuple[list[PairedDifference], tuple[int, int, PairedDifference], list[Calibration]]:
    """Return the effect of a gate by layer, early against late layers, and the classifier's."""
    tables = [load_steering()["none", seed] for seed in SEEDS]
    return (
        summary.gate_difference(TARGETS[target], mode),
        summary.depth_difference(tables, TARGETS[target]),
        summary.calibrations(),
    )


def verdict(outcome: Outcome, layer: int) -> str:
    """Return what the feature does after ``layer``, where it succeeds most often."""
    at = outcome.best(layer)
    success, bayes, fluent = (outcome.means[name][at] for name in (SUCCESS, BAYES, FLUENT))
    half_width = outcome.half_widths[FLUENT][at]
    if success < WORKS:
        return "does not change the language reliably"
    if bayes < WORKS:
        return "divides the classifiers"
    if fluent + half_width < FOOLED:
        return "only fools both classifiers"
    if fluent + half_width < WORKS:
        return "changes the language and reduces the fluency"
    if fluent - half_width >= WORKS:
        return "changes the language and keeps the fluency"
    return "changes the language, with an inconclusive effect on the fluency"


def finding_text(both: Mapping[str, Outcome], layer: int) -> str:
    """Return the finding of the page: what one feature does without and with a gate."""
    plain, gated = (verdict(outcome, layer) for outcome in both.values())
    says = f"Without a gate, one feature {plain}; with a gate, it {gated}"
    if plain == gated:
        says = f"Without and with a gate, one feature {plain}"
    success, fluent = (
        [share_of_texts(of, name, of.best(layer)) for of in both.values()]
        for name in (SUCCESS, FLUENT)
    )
    best = dict.fromkeys(f"{STRENGTHS[of.best(layer)[2]]:g}" for of in both.values())
    return (
        f"{says}: {success[0]} and {success[1]} of texts change, {fluent[0]} and {fluent[1]}"
        f" fluently, at strength {' and '.join(best)}."
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
    return f"{effect}: {interval(difference)} points over all strengths, paired by seed."


def layers_text(first: int, second: int, difference: PairedDifference) -> str:
    """Compare the best layers of both halves with the paper's."""
    says = by_interval(
        difference.low,
        difference.high,
        "here, too, late layers succeed more",
        "here it is inconclusive",
        "here early layers succeed more",
    )
    return (
        f"Chou et al. steer a large model in mid-to-late layers; **{says}** (no gate, applied to"
        f" {FIRST_TOKENS}, layer {first + 1} minus layer {second + 1}: {interval(difference)}"
        " points)."
    )


def interval(difference: PairedDifference) -> str:
    """Format a difference in hundredths."""
    return f"{signed(100 * difference.mean, 0)} ± {100 * difference.half_width:.0f}"


def calibration_text(judged: Sequence[Calibration]) -> str:
    """Return how well the classifier is calibrated, by the length of the texts."""
    parts = [
        f"with {of.characters} characters accuracy {100 * of.accuracy:.1f}\u00a0%, mean confidence"
        f" {100 * abs(of.gap):.1f} points {'lower' if of.gap > 0 else 'higher'}"
        for of in judged
    ]
    return (
        f"The logistic regression on {judged[0].windows} windows of held-out verses:"
        f" {'; '.join(parts)}."
    )


def back_text(outcome: Outcome, layer: int) -> str:
    """Return how many of the verses' names and numbers recur, and whether steering does that."""
    at = outcome.best(layer)
    share, width = (float(of[BACK][at]) for of in (outcome.means, outcome.half_widths))
    plain, prompted = (outcome.references[name][BACK] for name in summary.REFERENCES)
    if share >= COMES_BACK and share - width > plain:
        says = "Names and numbers recur"
    elif share + width < COMES_BACK <= prompted:
        says = "Names and numbers hardly recur"
    else:
        says = "It is inconclusive whether names and numbers recur"
    return (
        f"{says}: {100 * share:.1f} ± {100 * width:.1f}\u00a0% of those of the verse (unsteered"
        f" {100 * plain:.1f}\u00a0%, prompted in the language {100 * prompted:.1f}\u00a0%)."
    )


def draw_more(both: Mapping[str, Outcome], layer: int, mode: str, target: str) -> None:
    """Draw what a fold holds: how fluent texts are, what a gate changes, how texts were judged."""
    differences, depth, judged = comparisons(mode, target)
    for title, outcome in zip(("No gate", "With a gate"), both.values(), strict=True):
        st.markdown(f"**{title}.** {best_text(outcome, layer)} {back_text(outcome, layer)}")
    st.markdown(
        f"{effect_text(differences[layer])} {layers_text(*depth)} {calibration_text(judged)}"
    )


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


def outcome_chart(name: str, outcome: Outcome, layer: int, strength: float) -> go.Figure:
    """Draw after one layer how often the language changes over strength, and how often fluently."""
    styles: dict[str, tuple[str, int, c.Style]] = {
        "changes": (SUCCESS, FEATURE, {"colour": c.MAGENTA}),
        "fluently": (
            FLUENT,
            FEATURE,
            {"colour": c.TEAL, "dash": "dash", "symbol": "square"},
        ),
        "random": (
            SUCCESS,
            RANDOM,
            {"colour": c.GREY, "dash": "dot", "symbol": "x"},
        ),
    }
    traces = [
        c.line(
            title,
            STRENGTHS,
            outcome.means[quantity][layer, kind],
            outcome.half_widths[quantity][layer, kind],
            **style,
        )
        for title, (quantity, kind, style) in styles.items()
    ]
    shares = {"range": [-0.04, 1.04], "tickformat": ".0%", "tickvals": [0, 0.5, 1]}
    figure = c.chart(
        name,
        traces,
        "strength",
        "share of texts",
        height=230,
        x_axis={"range": [0.5, max(STRENGTHS) + 0.5], "tickvals": STRENGTHS},
        y_axis=shares,
    )
    return c.mark_x(figure, strength) if strength <= max(STRENGTHS) else figure
