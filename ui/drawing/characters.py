"""Characters of a language model as they are drawn."""

from __future__ import annotations

from gating_core.characters import CHARACTERS
from ui.foreign import in_plot

BREAK_SIGN, SPACE_SIGN, END_SIGN = "¶", "␣", "end"


def sign(character: str) -> str:
    """Return a character as it is drawn."""
    return {"\n": BREAK_SIGN, " ": SPACE_SIGN}.get(character, in_plot(character))


def named(number: int) -> str:
    """Return a character that may come next, by its number; the break ends a text."""
    return sign(CHARACTERS[number]) if number else END_SIGN
