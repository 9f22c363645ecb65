"""Sentences of the tab Steer that are built from its numbers, and texts in two colours.

P is the classifier's probability of Spanish for the last characters of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from math import isnan

from gating_core.steering import RELEASED_AFTER, WINDOW, WRITTEN, SteerRequest, Step, real_words
from ui.common.words import percent
from ui.foreign import printable
from ui.steering.request import RELEASED

SHADES = 5  # of each language
FEW_WORDS = 0.5  # share of real words below which a text is called gibberish
SURE = 0.9  # from which on a text is said to be seen as a language
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


def seen_as(spanish: float) -> str:
    """Say which language the classifier sees."""
    if SURE > spanish > 1 - SURE:
        return f"neither for sure ({percent(spanish)} {SPANISH})"
    side = SPANISH if spanish > 0.5 else ENGLISH
    return f"{side} ({percent(max(spanish, 1 - spanish))})"


def result_text(request: SteerRequest, steps: Sequence[Step]) -> str:
    """Say what both texts are seen as at their end, and how many of their words are words."""
    if len(steps) < WRITTEN:
        return f"Written: {len(steps)} of {WRITTEN} characters."
    first, last = steps[-1].spanish
    plain, steered = ("".join(getattr(step, side) for step in steps)
                      for side in ("plain", "steered"))  # fmt: skip
    words = _real(steered, last)
    verdict = "**the language is the same**"
    if (first > 0.5) != (last > 0.5):
        # Also where there is no whole word.
        verdict = ("**the language has changed**" if words >= FEW_WORDS else
                   "**another language is seen, in what is hardly words**")  # fmt: skip
    if plain == steered:
        verdict = "the text is the same, letter by letter"
    how = f"released after {RELEASED_AFTER}" if request.mode == RELEASED else f"held for {WRITTEN}"
    return (
        f"With the push, {how} characters, {verdict}: at the end the classifier sees"
        f" {seen_as(last)}. Without the push it sees {seen_as(first)}. Real words (those of the"
        f" verses that models read): steered {_share(words)}, unsteered"
        f" {_share(_real(plain, first))}."
    )


def _real(text: str, spanish: float) -> float:
    return real_words(text, (SPANISH if spanish > 0.5 else ENGLISH).lower())


def _share(words: float) -> str:
    return "none, because there is no whole word" if isnan(words) else percent(words)


def steps_csv(steps: Sequence[Step]) -> Iterator[Sequence[object]]:
    """Yield a row for every character that was written."""
    yield "character", "unsteered", "steered", "P(Spanish), unsteered", "P(Spanish), steered"
    for number, step in enumerate(steps, 1):
        yield number, step.plain, step.steered, *step.spanish
