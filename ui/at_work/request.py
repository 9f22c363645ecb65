"""What is selected on the page At work: a model that is shipped, and a text that it reads."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.at_work import ToyRequest, WriteRequest
from gating_core.language import without_others
from ui.common.language_models import UNGATED
from ui.language.selection import TextSelection

SINKS, RANK, SPARSE, CONFIDENCE, WIRING, WRITE = (
    "Sinks", "Rank", "Sparse gates", "Confidence", "Wiring", "Write")  # fmt: skip
LANGUAGE_MODEL, TOY = "language models", "a toy"
ALL_HEADS = "all"
BEGINNINGS = {"english": "In the beginning ", "spanish": "En el principio "}
TOY_SEED_COUNT = 8


@dataclass(frozen=True)
class WriteSelection:
    """The controls of the tab Write, beside those that tabs share."""

    temperature: float = 0.7
    strength: float = 1.0  # λ of the gates
    draw: int = 0  # the seed of the text

    def request(self, selection: TextSelection) -> WriteRequest:
        """The request to continue the text of ``selection``."""
        text = without_others(selection.typed) or BEGINNINGS[selection.language]
        strength = self.strength if selection.name != UNGATED else 1.0
        return WriteRequest(*selection.model, text, self.temperature, strength, self.draw)


def toy_request(first: int) -> ToyRequest:
    """The toys that are trained: ``first`` is the first of their seeds."""
    return ToyRequest(seeds=tuple(range(first, first + TOY_SEED_COUNT)))
