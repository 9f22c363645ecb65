"""A shipped language model, and a text that it reads: typed, or a verse in either language."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TypeVar

import numpy as np

from gating_core.language import (
    BREAK,
    LANGUAGES,
    MODELS,
    read_excerpt,
    read_typed,
)
from ui.common.language_models import TITLES, UNGATED, unknown_characters
from ui.limits import READ_CHARACTERS

Model = tuple[str, int]  # name and seed


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
    return {verse.reference: {language: getattr(verse, language)[:READ_CHARACTERS].rstrip()
                              for language in LANGUAGES} for verse in read_excerpt()}  # fmt: skip


@dataclass(frozen=True)
class TextSelection:
    """The controls that choose a model and a text."""

    name: str = "g1_channel"  # a value of GATES
    seed: int = 0
    typed: str = ""  # empty: the verse
    verse: str = "Genesis 21:31"
    language: str = "english"

    @property
    def model(self) -> Model:
        """The model that is shown."""
        return self.name, self.seed

    @property
    def text_with_break(self) -> str:
        """The text as a model reads it: after a break."""
        return BREAK + self.text

    @property
    def text(self) -> str:
        """What the model reads: characters that it knows, and not too many."""
        return read_typed(self.typed)[0] or verses()[self.verse][self.language]


Selection = TypeVar("Selection", bound=TextSelection)


def resolve(
    selection: Selection, models: Collection[Model], *, gated: bool = False
) -> tuple[Selection, list[str]]:
    """Return the nearest selection that is shipped, and a sentence for each field that was changed.

    ``gated``: a model without a gate has nothing to show.
    """
    notes = []
    fitting = [model for model in models if not gated or model[0] != UNGATED]
    if fitting and selection.model not in fitting:
        name, seed = min(fitting, key=lambda model: (model[0] != selection.name,
                                                     model[1] != selection.seed))  # fmt: skip
        notes.append(f"Shown: {TITLES[name]}, seed {seed}.")
        selection = replace(selection, name=name, seed=seed)
    return selection, notes + unknown_characters(selection.typed)
