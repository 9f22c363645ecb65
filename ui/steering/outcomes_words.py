"""Sentences of the tab Measured that are built from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.at_work import PairedDifference
from gating_core.language import LANGUAGES
from gating_core.steering import DIRECTIONS, MODES, QUANTITIES, RELEASED_AFTER, STRENGTHS
from ui.common.language_models import TITLES
from ui.common.words import figures, percent
from ui.steering.outcomes import (
    BACK,
    FEATURE,
    NATS,
    PROMPTED,
    SUCCESS,
    UNSTEERED,
    WORDS,
    Calibration,
    Outcome,
    best,
    filled,
)
from ui.steering.request import HELD, RELEASED
from ui.steering.words import FEW_WORDS

WORKS = 0.8  # success from which on steering is said to work
DEAREST = 0.5  # nats above unsteered text up to which a text is said to be as fluent
COMES_BACK = 0.1  # share of names and numbers from which on they are said to come back
FEWEST_SEEDS = 3
HOW = {RELEASED: f"Released after {RELEASED_AFTER} characters", HELD: "Held"}


def around(mean: float, half_width: float) -> str:
    """Format a share with its interval, in percent."""
    return f"{percent(mean)} ± {100 * half_width:.0f}"


def success_share(outcome: Outcome, at: tuple[int, int, int]) -> str:
    """Format how many texts succeed; where all texts agree, a bootstrap knows no interval."""
    mean, half_width = float(outcome.means[SUCCESS][at]), float(outcome.widths[SUCCESS][at])
    if half_width > 0:
        return f"{around(mean, half_width)} of texts"
    return f"{percent(mean)} of texts ({'all' if mean else 'none'} of {outcome.texts})"


def best_text(outcome: Outcome, mode: str) -> str:
    """Say where the feature succeeds most, and what the texts are like there."""
    cell = best(outcome)
    at = cell[0], FEATURE, cell[1]
    success, nats, words = (float(outcome.means[name][at]) for name in (SUCCESS, NATS, WORDS))
    nats_width, words_width = (float(outcome.widths[name][at]) for name in (NATS, WORDS))
    plain = outcome.references[UNSTEERED][NATS]
    others = ", ".join(f"{name} {percent(float(outcome.means[SUCCESS][cell[0], kind, cell[1]]))}"
                       for kind, name in enumerate(DIRECTIONS) if kind != FEATURE)  # fmt: skip
    return (
        f"{HOW[mode]}, the feature succeeds most after **layer {cell[0] + 1}** at strength"
        f" {STRENGTHS[cell[1]]:g}. {success_share(outcome, at)} are seen as the other language"
        f" ({others}). They have {figures(nats)} ± {nats_width:.2f} nats a character (unsteered"
        f" {figures(plain)}) and {around(words, words_width)} real words (prompted"
        f" {percent(outcome.references[PROMPTED][WORDS])}):"
        f" **{verdict(success, nats - plain, words)}**."
    )


def verdict(success: float, dearer: float, words: float) -> str:
    """Say what texts are, from success, nats above unsteered text, and the share of real words."""
    if success < WORKS:
        return "it does not work reliably"
    if words < FEW_WORDS and dearer > DEAREST:
        return "gibberish that passes the classifier"
    if words < FEW_WORDS or dearer > DEAREST:
        return "the language changes, the fluency suffers"
    return "the language changes, the fluency stays"


def layers_text(released: Outcome) -> str:
    """Compare the best layer with the paper's."""
    layers = released.means[SUCCESS].shape[0]
    layer = best(released)[0] + 1
    by_layer = released.means[SUCCESS][:, FEATURE].max(-1)
    listed = ", ".join(percent(float(share)) for share in by_layer)
    where = (
        "It is so here, too" if layer > layers / 2 else f"Here layer {layer} of {layers} is best"
    )
    return (f"Chou et al. steer a large model in mid-to-late layers. {where} (success of layers 1"
            f" to {layers} at their best strengths, released: {listed}).")  # fmt: skip


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
    """Yield a row for every cell of the experiment and every reference: means over prompts."""
    yield ("model", "seed", "layer", "direction", "strength", "push", "to", *QUANTITIES)
    for (name, seed), arrays in measured.items():
        start = TITLES.get(name, name), seed
        for what in (UNSTEERED, PROMPTED):
            for to, language in enumerate(LANGUAGES):
                values = (np.nanmean(filled(arrays, f"{what}.{key}")[to]) for key in QUANTITIES)
                yield *start, "", what, "", "", language, *map(float, values)
        shape = arrays[SUCCESS].shape[:-1]
        means = [np.nanmean(filled(arrays, key), -1) for key in QUANTITIES]
        for at in np.ndindex(*shape):
            layer, kind, strength, mode, to = at
            yield (*start, layer + 1, DIRECTIONS[kind], STRENGTHS[strength], [*MODES][mode],
                   LANGUAGES[to], *(float(of[at]) for of in means))  # fmt: skip
