"""Language models on pages, loaded once: their names, their characters, a text that they read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.characters import CHARACTERS, invisible, name, read_typed
from gating_core.lm.corpus import LANGUAGES, read_excerpt
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import MODELS, load_model
from ui.foreign import as_code, in_plot
from ui.limits import LOADED_MODELS, READ_CHARACTERS

Model = tuple[str, int]  # name and seed
FIRST_VERSE = "Genesis 21:31"
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


@st.cache_resource(max_entries=LOADED_MODELS, show_spinner=False)
def loaded(model: Model) -> LanguageModel:
    """Load a shipped model, once for all visitors."""
    return load_model(*model)[0]


def head_name(head: Sequence[int] | tuple[np.intp, ...]) -> str:
    """Return "layer.head", both counted from 1, of a head counted from 0."""
    return ".".join(str(int(number) + 1) for number in head)


def head_of(name: str) -> tuple[int, int]:
    """Return the head that `head_name` calls ``name``."""
    layer, number = (int(part) - 1 for part in name.split("."))
    return layer, number


def head_names(layers: int, heads: int) -> list[str]:
    """Return the names of all heads."""
    return [head_name(head) for head in np.ndindex(layers, heads)]


HEADS = head_names(MODELS["none"].depth, MODELS["none"].heads)  # of every shipped model


@cache
def verses() -> dict[str, dict[str, str]]:
    """The shipped verses by reference, in each language, as far as a model reads."""
    return {
        verse.reference: {
            language: getattr(verse, language)[:READ_CHARACTERS].rstrip() for language in LANGUAGES
        }
        for verse in read_excerpt()
    }


def text_of(typed: str, verse: str = FIRST_VERSE, language: str = LANGUAGES[0]) -> str:
    """Return what a model can read of what was ``typed``, or the verse if that is nothing."""
    return read_typed(typed)[0] or verses()[verse][language]


def choose_text(row: DeltaGenerator, prefix: str) -> str:
    """Draw the controls of a text in ``row``; return it. ``prefix``: of their keys, in the link."""
    link: Any = {"bind": "query-params"}
    typed = row.text_input(
        "Text",
        max_chars=READ_CHARACTERS,
        placeholder="Type here",
        key=f"{prefix}_text",
        width=225,
        **link,
        help=f"At most {READ_CHARACTERS} characters: letters of English and Spanish, and common"
        " signs.",
    )
    verse = row.selectbox(
        "Or a held-out verse",
        [*verses()],
        [*verses()].index(FIRST_VERSE),
        key=f"{prefix}_verse",
        width=165,
        **link,
    )
    tongue = row.radio("Language", [*TONGUES], key=f"{prefix}_language", horizontal=True, **link)
    for note in unknown_characters(typed):
        st.caption(f":material/info: {note}")
    return text_of(typed, verse, TONGUES[tongue])


def unknown_characters(text: str) -> list[str]:
    """Return a sentence that names the characters that models do not know, if there are any."""
    others = read_typed(text)[1]
    seen = "".join(x for x in others if not invisible(x))
    names = [*([as_code(seen)] if seen else []), *(name(x) for x in others if invisible(x))]
    more = f" and {len(names) - MOST_NAMES} more" * (len(names) > MOST_NAMES)
    message = f"The models do not know {', '.join(names[:MOST_NAMES])}{more}."
    return [f"{message} They read the text without."] if others else []


# --- Characters -----------------------------------------------------------------------------------

BREAK_SIGN, SPACE_SIGN, END_SIGN = "¶", "␣", "end"


def sign(character: str) -> str:
    """Return a character as it is drawn."""
    return {"\n": BREAK_SIGN, " ": SPACE_SIGN}.get(character, in_plot(character))


def named(number: int) -> str:
    """Return a character that may come next, by its number; the break ends a text."""
    return sign(CHARACTERS[number]) if number else END_SIGN
