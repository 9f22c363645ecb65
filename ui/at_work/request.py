"""What is selected on the page At work: a model that is shipped, and a text that it reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache

from gating_core.at_work import ToyRequest, WriteRequest
from gating_core.language import BREAK, LANGUAGES, read_excerpt, without_others
from ui.common.language_models import TITLES, UNGATED, unknown_characters
from ui.limits import READ_CHARACTERS

SINKS, RANK, SPARSE, CONFIDENCE, WIRING, WRITE = (
    "Sinks", "Rank", "Sparse gates", "Confidence", "Wiring", "Write")  # fmt: skip
LANGUAGE_MODEL, TOY = "language models", "a toy"
ALL_HEADS = "all"
BEGINNINGS = {"english": "In the beginning ", "spanish": "En el principio "}
TOY_SEED_COUNT = 8
Model = tuple[str, int]  # name and seed


@cache
def verses() -> dict[str, dict[str, str]]:
    """The shipped verses by reference, in each language, as far as a model reads."""
    return {verse.reference: {language: getattr(verse, language)[:READ_CHARACTERS].rstrip()
                              for language in LANGUAGES} for verse in read_excerpt()}  # fmt: skip


@dataclass(frozen=True)
class AtWorkSelection:
    """The controls that tabs share."""

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
        known = without_others(self.typed)
        return known or verses()[self.verse][self.language]


@dataclass(frozen=True)
class WriteSelection:
    """The controls of the tab Write, beside those that tabs share."""

    temperature: float = 0.7
    strength: float = 1.0  # λ of the gates
    draw: int = 0  # the seed of the text

    def request(self, selection: AtWorkSelection) -> WriteRequest:
        """What is written after the beginning of ``selection``."""
        text = without_others(selection.typed) or BEGINNINGS[selection.language]
        strength = self.strength if selection.name != UNGATED else 1.0
        return WriteRequest(*selection.model, text, self.temperature, strength, self.draw)


def toy_request(first: int) -> ToyRequest:
    """The toys that are trained: ``first`` is the first of their seeds."""
    return ToyRequest(seeds=tuple(range(first, first + TOY_SEED_COUNT)))


def resolve(
    selection: AtWorkSelection, models: Collection[Model], *, gated: bool = False
) -> tuple[AtWorkSelection, list[str]]:
    """Return the nearest selection that is shipped, and a sentence for each thing that is another.

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
