"""Names of language models, and the message about characters that models do not know."""

from __future__ import annotations

from gating_core.language import LANGUAGES, read_typed
from gating_core.typed import invisible, name
from ui.foreign import as_code

UNGATED = "none"
GATES = {
    "no gate": UNGATED,
    "G1, per channel": "g1_channel",
    "G1, per head": "g1_head",
    "G2, per channel": "g2",
}
TITLES = {name: title for title, name in GATES.items()}
MOST_NAMES = 4  # of characters, in a sentence
TONGUES = {language.title(): language for language in LANGUAGES}


def unknown_characters(text: str) -> list[str]:
    """Return a sentence that names the characters that models do not know, if there are any."""
    others = read_typed(text)[1]
    seen = "".join(x for x in others if not invisible(x))
    names = [*([as_code(seen)] if seen else []), *(name(x) for x in others if invisible(x))]
    more = f" and {len(names) - MOST_NAMES} more" * (len(names) > MOST_NAMES)
    message = f"The models do not know {', '.join(names[:MOST_NAMES])}{more}."
    return [f"{message} They read the text without."] if others else []
