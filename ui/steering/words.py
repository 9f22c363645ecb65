"""Sentences of the tabs Steer and Features that are built from their numbers, and texts in colours.

P is the classifier's probability of Spanish for the last characters of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import groupby
from math import isnan

import numpy as np

from gating_core.language import CHARACTERS
from gating_core.steering import (
    JUDGED_FROM,
    LETTERS,
    RELEASED_AFTER,
    WINDOW,
    WRITTEN,
    Ending,
    Passage,
    SteerRequest,
    Step,
    WrittenAlong,
    verdict,
)
from ui.common.words import error_text, figures, percent, short
from ui.drawing.characters import named
from ui.foreign import as_code, printable
from ui.steering.measured import Fired
from ui.steering.request import DICTIONARIES, NESTED, PLAIN, RELEASED, SINGLE, SIZE

SHADES = 5  # of each language
SPANISH, ENGLISH = "Spanish", "English"


def shade(spanish: float) -> str:
    """Return the class of the style sheet for a character: its language, and how sure that is."""
    side = "es" if spanish >= 0.5 else "en"
    return f"gc-{side}-{min(int(2 * abs(spanish - 0.5) * SHADES), SHADES - 1)}"


def coloured(text: str, shades: Sequence[str], marked: int | None = None, bold: str = "") -> str:
    """Return ``text`` as HTML, every character in its shade, after a ``bold`` beginning.

    A line stands before the character ``marked``.
    """
    parts = [f"<b>{escape(printable(bold))}</b>"] if bold else []
    for name, run in groupby(enumerate(zip(text, shades, strict=True)), lambda item: item[1][1]):
        letters = ""
        for index, (letter, _) in run:
            mark = '<i class="gc-release"></i>' if index == marked else ""
            letters += mark + escape(printable(letter))
        parts.append(f'<span class="{name}">{letters}</span>')
    return f'<p class="gc-text">{"".join(parts)}</p>'


def steered_text(request: SteerRequest, steps: Sequence[Step], title: str, *, steered: bool) -> str:
    """Return one of the two texts as HTML, below its ``title``."""
    text = "".join(step.steered if steered else step.plain for step in steps)
    shades = [shade(step.spanish[steered]) for step in steps]
    released = RELEASED_AFTER if steered and request.mode == RELEASED else None
    head = f'<p class="gc-head">{title}</p>'
    return head + coloured(text, shades, released, request.text)


def _legend() -> str:
    keys = [
        f'<span class="gc-{side}-{level}">{name}</span>'
        for side, name, level in (("en", ENGLISH, SHADES - 1), ("en", "perhaps", 1),
                                  ("es", "perhaps", 1), ("es", SPANISH, SHADES - 1))
    ]  # fmt: skip
    return f'<p class="gc-key">The last {WINDOW} characters look like {" ".join(keys)}</p>'


LEGEND = _legend()  # the key to the colours, as HTML


def seen_as(ending: Ending) -> str:
    """Say which language the classifiers see."""
    if (ending.spanish > 0.5) != (ending.bayes > 0.5):
        first, second = (SPANISH if p > 0.5 else ENGLISH for p in (ending.spanish, ending.bayes))
        return f"{first} by one classifier and {second} by the other"
    if ending.language is None:
        return f"neither for sure ({percent(ending.spanish)} {SPANISH})"
    return f"{SPANISH if ending.language else ENGLISH} by both classifiers"


SAYS = {  # by `gating_core.steering.VERDICTS`
    "changed": "**the language has changed**",
    "unchanged": "**the language is the same**",
    "fooled": "**the classifiers are fooled**: they see another language in a text that is less"
    " fluent than unsteered ones",
    "degenerate": "**the text degenerates**, and its language does not change",
    "inconclusive": "**it is inconclusive** whether the language has changed",
}


def result_text(
    request: SteerRequest, steps: Sequence[Step], endings: Sequence[Ending] | None
) -> str:
    """Say what both texts are seen as at their end, with what loss and how many real words.

    ``endings``: of a whole text, without and with steering.
    """
    if endings is None:
        return f"Written: {len(steps)} of {WRITTEN} characters."
    plain, steered = endings
    says = SAYS[verdict(plain, steered)]
    if all(step.plain == step.steered for step in steps):
        says = "the text is the same, letter by letter"
    how = f"released after {RELEASED_AFTER}" if request.mode == RELEASED else f"held for {WRITTEN}"
    return (
        f"With the push, {how} characters, {says}. At the end it is seen as {seen_as(steered)};"
        f" without the push, as {seen_as(plain)}. The last {WRITTEN - JUDGED_FROM} characters have"
        f" {_fluency(steered)} (unsteered {_fluency(plain)})."
    )


def _fluency(ending: Ending) -> str:
    words = "no whole word" if isnan(ending.words) else f"{percent(ending.words)} real words"
    return f"{figures(ending.nats)} nats per character and {words}"


def steps_csv(steps: Sequence[Step]) -> Iterator[Sequence[object]]:
    """Yield a row for every character that was written."""
    yield "character", "unsteered", "steered", "P(Spanish), unsteered", "P(Spanish), steered"
    for number, step in enumerate(steps, 1):
        yield number, step.plain, step.steered, *step.spanish


TELLS, BLIND = 0.9, 0.7  # AUC from which on a feature tells languages apart; below which not
PATTERN = 0.8  # share of the strongest places with the same letters from which on it is a pattern
BEFORE, AFTER = 64, 20  # characters shown around the strongest place
KINDS = {kind: title for title, kind in DICTIONARIES.items()}


def strongest_place(passage: Passage) -> int:
    """Return the character where the feature is strongest."""
    return int(passage.values.argmax())


def passage_html(passages: Sequence[Passage]) -> str:
    """Return passages as HTML: the stronger a feature, the darker; a line after the strongest."""
    if not passages:
        return '<p class="gc-text">This feature never fires on the held-out verses.</p>'
    most = max(float(passage.values.max()) for passage in passages)
    lines = []
    for passage in passages:
        peak = strongest_place(passage)
        part = slice(max(0, peak + 1 - BEFORE), peak + 1 + AFTER)
        levels = np.ceil(SHADES * passage.values[part] / most).astype(int)
        shades = [f"gc-fires-{level}" for level in levels]
        lines.append(coloured(passage.text[part], shades, peak + 1 - part.start))
    return f'<div class="gc-passages">{"".join(lines)}</div>'


def apart(auc: float) -> str:
    """Say whether a feature with this AUC tells the languages apart."""
    if auc >= TELLS:
        return "tells the languages apart"
    return "does not tell them apart" if auc < BLIND else "tells them apart in part"


def feature_text(features: Fired, feature: int, passages: Sequence[Passage]) -> str:
    """Say how a feature fires, where, and along what it points; ``feature`` counts from 0."""
    english, spanish = features.fires[:, feature]
    ends = [passage.text[: strongest_place(passage) + 1][-LETTERS:] for passage in passages]
    listed = ", ".join(as_code(end.replace(" ", "␣")) for end in ends)
    where = f" It is strongest after {listed}." if ends else ""
    return (
        f"**Feature {feature + 1} {apart(features.auc[feature])}**: AUC"
        f" {features.auc[feature]:.3f}. It fires"
        f" at {percent(english)} of English and {percent(spanish)} of Spanish characters. Its"
        f" cosine with the difference of means is {_signed(features.cosine[feature])}.{where}"
    )


def kinds_text(kinds: Mapping[str, Fired]) -> str:
    """Say of every dictionary whether one of its features tells the languages apart, and why."""
    parts = []
    for kind, of in kinds.items():
        best = int(of.auc.argmax())
        pattern = float((of.letters >= PATTERN).mean())
        parts.append(f"That of *{KINDS[kind]}* {apart(of.auc[best])} (feature {best + 1}, AUC"
                     f" {of.auc[best]:.3f}); {percent(pattern)} of the features"
                     " are letter patterns.")  # fmt: skip
    single = [kinds[kind].auc.max() for kind in (SINGLE, PLAIN) if kind in kinds]
    alone = (" Nesting alone does not help: neither dictionary of single characters tells the"
             " languages apart."
             if len(single) > 1 and max(single) < BLIND <= kinds[NESTED].auc.max()
             else "")  # fmt: skip
    return f"Compare the best features of the dictionaries. {' '.join(parts)}{alone}"


def kinds_table(kinds: Mapping[str, Fired]) -> str:
    """Return a table of the dictionaries as Markdown."""
    names = ("dictionary", "variance explained", "features on", "never on", "best AUC",
             "letter patterns")  # fmt: skip
    rows = [names, ["---"] * len(names)]
    for kind, of in kinds.items():
        rows.append([f"**{KINDS[kind]}**", percent(of.card.explained),
                     f"{short(of.card.active)} of {SIZE}", str(of.card.dead),
                     f"{of.auc.max():.3f}",
                     percent(float((of.letters >= PATTERN).mean()))])  # fmt: skip
    return "\n".join("|" + "|".join(row) + "|" for row in rows)


def along_text(parts: WrittenAlong) -> str:
    """Say which parts write most along a direction, and that all add up."""
    named_parts = {"the embedding": parts.embedding}
    for layer, (heads, mlp) in enumerate(zip(parts.heads, parts.mlps, strict=True), 1):
        named_parts |= {f"head {layer}.{head}": value for head, value in enumerate(heads, 1)}
        named_parts[f"the MLP of layer {layer}"] = mlp
    most = sorted(named_parts, key=lambda name: -abs(named_parts[name]))[:2]
    listed = " and ".join(f"{name} ({_signed(named_parts[name])})" for name in most)
    total = sum(map(float, named_parts.values()))
    return (
        f"Along it the stream changes by {_signed(parts.total)} from English to Spanish. The"
        f" largest parts are {listed}. All parts add up to {_signed(total)}, at every character up"
        f" to {error_text(parts.rest)}."
    )


def effect_text(change: np.ndarray, push: float) -> str:
    """Say which next characters a push makes likelier and less likely (V,)."""
    up, down = int(change.argmax()), int(change.argmin())
    return (
        f"A push of {f'{push:g}'.replace('-', '−')} makes {as_code(named(up))} likelier by"
        f" {100 * change[up]:.1f} points and {as_code(named(down))} less likely by"
        f" {-100 * change[down]:.1f}."
    )


def _signed(number: float) -> str:
    return f"{'+' if number > 0 else ''}{figures(float(number))}".replace("-", "−")


def features_csv(kinds: Mapping[str, Fired]) -> Iterator[Sequence[object]]:
    """Yield a row for every feature of every dictionary of a layer."""
    yield ("dictionary", "feature", "fires in English", "fires in Spanish",
           "mean in Spanish less English", "AUC", "cosine with the difference of means",
           "same letters at the strongest places")  # fmt: skip
    for kind, of in kinds.items():
        columns = (*of.fires, of.difference, of.auc, of.cosine, of.letters)
        for number, row in enumerate(zip(*columns, strict=True), 1):
            yield KINDS[kind], number, *map(float, row)


def along_csv(parts: WrittenAlong, change: np.ndarray) -> Iterator[Sequence[object]]:
    """Yield a row for every part that writes along a direction, then one for every character."""
    yield "what", "layer", "which", "value"
    yield "writes", "", "embedding", parts.embedding
    for layer, (heads, mlp) in enumerate(zip(parts.heads, parts.mlps, strict=True), 1):
        for head, value in enumerate(heads, 1):
            yield "writes", layer, f"head {head}", float(value)
        yield "writes", layer, "MLP", float(mlp)
    yield "is", "", "stream", parts.total
    for number, value in enumerate(change):
        name = named(number) if number == 0 else CHARACTERS[number]
        yield "change of probability", "", name, float(value)
