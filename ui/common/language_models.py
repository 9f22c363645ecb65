"""Names of language models, and the message about characters that models do not know."""

from __future__ import annotations

from gating_core.language import LANGUAGES, left_out
from ui.foreign import as_code

UNGATED = "none"
GATES = {"no gate": UNGATED, "G1, per channel": "g1_channel", "G1, per head": "g1_head",
         "G2, per channel": "g2"}  # fmt: skip
TITLES = {name: title for title, name in GATES.items()}
TONGUES = {language.title(): language for language in LANGUAGES}


def unknown_characters(text: str) -> list[str]:
    """Return a sentence that names the characters that models do not know, if there are any."""
    others = left_out(text)
    message = f"The models do not know {as_code(others)}. They read the text without."
    return [message] if others else []
