"""Characters as they are drawn beside a picture."""

from __future__ import annotations

from ui.foreign import in_plot

BREAK_SIGN, SPACE_SIGN = "¶", "␣"


def sign(character: str) -> str:
    """Return a character as it is drawn."""
    return {"\n": BREAK_SIGN, " ": SPACE_SIGN}.get(character, in_plot(character))
