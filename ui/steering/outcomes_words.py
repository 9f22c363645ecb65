"""Sentences of the tab Measured that are built from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.at_work import PairedDifference
from gating_core.language import LANGUAGES
from gating_core.steering import DIRECTIONS, MODES, RELEASED_AFTER, STRENGTHS
from ui.common.language_models import TITLES
from ui.common.words import figures, percent
from ui.steering.outcomes import (
    BACK,
    BAYES,
    FEATURE,
    FLUENT,
    NATS,
    PROMPTED,
    SHOWN,
    SUCCESS,
    UNSTEERED,
    WORDLESS,
    WORDS,
    Calibration,
    Outcome,
    best,
    derived,
)
from ui.steering.request import HELD, RELEASED

WORKS = 0.8  # success from which on steering is said to work
FOOLED = 0.5  # share of texts within the range of unsteered ones, below which success is none
COMES_BACK = 0.1  # share of names and numbers from which on they are said to come back
FEWEST_SEEDS = 3
HOW = {RELEASED: f"Released after {RELEASED_AFTER} characters", HELD: "Held"}


def around(mean: float, half_width: float) -> str:
    """Format a share with its interval, in percent."""
    return f"{percent(mean)} ± {100 * half_width:.0f}"


def share_of_texts(outcome: Outcome, name: str, at: tuple[int, int, int]) -> str:
    """Format a share of texts; where all texts agree, a bootstrap knows no interval."""
    mean, half_width = float(outcome.means[name][at]), float(outcome.widths[name][at])
    if half_width > 0:
        return f"{around(mean, half_width)} of texts"
    return f"{percent(mean)} of texts ({'all' if mean else 'none'} of {outcome.texts})"


def best_text(outcome: Outcome, mode: str) -> str:
    """Say where the feature succeeds most, and what the texts are like there."""
    cell = best(outcome)
    at = cell[0], FEATURE, cell[1]
    means, widths = ({name: float(of[name][at]) for name in SHOWN}
                     for of in (outcome.means, outcome.widths))  # fmt: skip
    plain, prompted = (outcome.references[name] for name in (UNSTEERED, PROMPTED))
    others = ", ".join(f"{name} {percent(float(outcome.means[SUCCESS][cell[0], kind, cell[1]]))}"
                       for kind, name in enumerate(DIRECTIONS) if kind != FEATURE)  # fmt: skip
    return (
        f"{HOW[mode]}, the feature succeeds most after **layer {cell[0] + 1}** at strength"
        f" {STRENGTHS[cell[1]]:g}. The other language is seen in"
        f" {share_of_texts(outcome, SUCCESS, at)} ({others}), by naive Bayes in"
        f" {percent(means[BAYES])}. They have"
        f" {figures(means[NATS])} ± {widths[NATS]:.2f} nats per character (unsteered"
        f" {figures(plain[NATS])}) and {words_text(means[WORDS], widths[WORDS], means[WORDLESS])}"
        f" (prompted {percent(prompted[WORDS])}). In the other language and within the range of"
        f" unsteered texts are {share_of_texts(outcome, FLUENT, at)} (prompted"
        f" {percent(prompted[FLUENT])}):"
        f" **{verdict(means[SUCCESS], means[BAYES], means[FLUENT], widths[FLUENT])}**."
    )


def words_text(words: float, half_width: float, wordless: float) -> str:
    """Say the share of real words; texts without a whole word are counted apart."""
    if np.isnan(words):
        return "no whole word"
    share = f"{around(words, half_width)} real words"
    return share if not wordless else (
        f"{share} in the {percent(1 - wordless)} of texts that have a whole word"
    )  # fmt: skip


def verdict(success: float, bayes: float, fluent: float, half_width: float) -> str:
    """Say what texts are, from the shares that are seen as the other language by each classifier.

    And from the interval of the share ``fluent`` that is within the range of unsteered texts, too.
    """
    if success < WORKS:
        return "it does not work reliably"
    if bayes < WORKS:
        return "the classifiers disagree"
    if fluent + half_width < FOOLED:
        return "the classifiers are fooled"
    if fluent + half_width < WORKS:
        return "the language changes, the fluency suffers"
    if fluent - half_width >= WORKS:
        return "the language changes, the fluency stays"
    return "the language changes; it is inconclusive whether the fluency suffers"


def classifiers_text(released: Outcome, held: Outcome) -> str:
    """Say where the two classifiers part, and how many texts they both take for a language."""
    parts = []
    for mode, outcome in ((RELEASED, released), (HELD, held)):
        first, second, fluent = (outcome.means[name][:, FEATURE]
                                 for name in (SUCCESS, BAYES, FLUENT))  # fmt: skip
        layer, strength = np.unravel_index(np.abs(second - first).argmax(), first.shape)
        parts.append(
            f"{HOW[mode]}, they part by {100 * abs(second - first).max():.1f} points at most"
            f" (layer {layer + 1}, strength {STRENGTHS[strength]:g}:"
            f" {percent(float(first[layer, strength]))} and"
            f" {percent(float(second[layer, strength]))}); up to"
            f" {percent(float((np.minimum(first, second) - fluent).max()))} of texts pass both"
            " and lie beyond the range of unsteered ones."
        )
    return f"Logistic regression and naive Bayes judge the feature's success. {' '.join(parts)}"


def layers_text(released: Outcome, first: int, second: int, difference: PairedDifference) -> str:
    """Compare the best layers of both halves, ``first`` and ``second``, with the paper's."""
    layers = released.means[SUCCESS].shape[0]
    by_layer = released.means[SUCCESS][:, FEATURE].max(-1)
    listed = ", ".join(percent(float(share)) for share in by_layer)
    says = (
        "It is so here, too" if difference.high < 0
        else "Here early layers succeed more" if difference.low > 0
        else "Here it is inconclusive"
    )  # fmt: skip
    interval = f"{100 * difference.mean:+.0f} ± {100 * difference.half_width:.0f}"
    return (
        f"Chou et al. steer a large model in mid-to-late layers. {says} (layer {first + 1} minus"
        f" layer {second + 1}: {interval.replace('-', '−')} points; success of layers 1 to"
        f" {layers} at their best strengths, released: {listed})."
    )


def back_text(outcome: Outcome) -> str:
    """Say how many of the verses' names and numbers come back, and whether steering does that."""
    cell = best(outcome)
    at = cell[0], FEATURE, cell[1]
    share, width = float(outcome.means[BACK][at]), float(outcome.widths[BACK][at])
    plain, prompted = (outcome.references[name][BACK] for name in (UNSTEERED, PROMPTED))
    if share >= COMES_BACK and share - width > plain:
        verdict_text = "**Names and numbers come back**"
    elif prompted < COMES_BACK:
        verdict_text = ("It is **not known** whether the meaning is carried over, because even a"
                        " prompt in that language hardly brings them back")  # fmt: skip
    elif share + width < COMES_BACK:
        verdict_text = "**Names and numbers hardly come back**"
    else:
        verdict_text = "It is **not known** whether steering brings them back"
    return (
        f"Of the names and numbers of each verse, {_share(share)} ±"
        f" {100 * width:.1f} come back at that layer and strength"
        " (unsteered"
        f" {_share(plain)}, prompted {_share(prompted)}). {verdict_text}."
    )


def gate_text(differences: Sequence[PairedDifference]) -> str:
    """Say of every layer whether a gate changes how often the feature succeeds."""
    return (
        "Does the feature succeed more often with a gate, over all strengths? Differences in"
        f" points: {_by_layer(differences, 'more', 'less')}."
    )


def apart_text(differences: Sequence[PairedDifference]) -> str:
    """Say of every layer whether a gate makes its best feature tell the languages apart better."""
    return (
        "Does the best feature of a layer tell the languages apart better with a gate? Differences"
        f" of AUC × 100: {_by_layer(differences, 'better', 'worse')}."
    )


def _by_layer(differences: Sequence[PairedDifference], more: str, less: str) -> str:
    few = min(len(of.by_seed) for of in differences) < FEWEST_SEEDS
    parts = []
    for layer, of in enumerate(differences, 1):
        known = not few and not of.low <= 0 <= of.high
        word = (f"**{more}**" if of.mean > 0 else f"**{less}**") if known else "not known"
        interval = f"{100 * of.mean:+.0f} ± {100 * of.half_width:.0f}".replace("-", "−")
        parts.append(f"layer {layer} {word} ({interval})")
    return ", ".join(parts)


def calibration_text(calibrations: Sequence[Calibration]) -> str:
    """Say how good the classifier is on texts of verses that it has not seen, by their length."""
    parts = [
        f"With {one.characters} characters it is right on {_share(one.right)} of the texts, and"
        f" its mean confidence is {100 * abs(one.gap):.1f} points"
        f" {'lower' if one.gap > 0 else 'higher'}."
        for one in calibrations
    ]  # fmt: skip
    return (
        f"The classifier was tried on {calibrations[0].count} texts from verses that it has not"
        f" seen. {' '.join(parts)}"
    )


def _share(share: float) -> str:
    return f"{100 * share:.1f}\u00a0%"


def outcomes_csv(
    measured: Mapping[tuple[str, int], Mapping[str, np.ndarray]],
) -> Iterator[Sequence[object]]:
    """Yield a row for every cell of the experiment and every reference: means over prompts.

    The share of real words is that of the texts that have a whole word.
    """
    yield ("model", "seed", "layer", "direction", "strength", "push", "to", *SHOWN)
    for (name, seed), outcomes in measured.items():
        arrays = derived(outcomes, name)
        start = TITLES.get(name, name), seed
        for what in (UNSTEERED, PROMPTED):
            for to, language in enumerate(LANGUAGES):
                values = (_mean(arrays[f"{what}.{key}"][to]) for key in SHOWN)
                yield *start, "", what, "", "", language, *map(float, values)
        shape = arrays[SUCCESS].shape[:-1]
        means = [_mean(arrays[key]) for key in SHOWN]
        for at in np.ndindex(*shape):
            layer, kind, strength, mode, to = at
            yield (*start, layer + 1, DIRECTIONS[kind], STRENGTHS[strength], [*MODES][mode],
                   LANGUAGES[to], *(float(of[at]) for of in means))  # fmt: skip


def _mean(values: np.ndarray) -> np.ndarray:
    """Means over the last axis, NaN left out."""
    counted = np.isfinite(values)
    with np.errstate(invalid="ignore"):  # 0 / 0: no text has a whole word
        return np.where(counted, values, 0.0).sum(-1, dtype=float) / counted.sum(-1)
