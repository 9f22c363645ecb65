"""The characters that models read, and texts as rows of their numbers.

The line break is part of no verse: it begins every text, and ends every verse.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

from gating_core.typed import normalise

BREAK = "\n"
CHARACTERS = (
    BREAK
    + " abcdefghijklmnopqrstuvwxyz"
    + "ABCDEFGHIJKLMNOPQRSTUVWYZ"  # X is as rare in both texts as digits are
    + "áéíóúüñâêîôûÁÉÍÓÚ"
    + ".,:;?!¿¡-—()‘’“”"
)
NUMBERS = {character: number for number, character in enumerate(CHARACTERS)}


def left_out(text: str) -> str:
    """The characters of ``text`` that models do not know, each once, in order."""
    return "".join(dict.fromkeys(x for x in text if x not in NUMBERS or x == BREAK))


def without_others(text: str) -> str:
    """``text`` without the characters that models do not know."""
    return "".join(x for x in text if x in NUMBERS and x != BREAK)


def read_typed(text: str) -> tuple[str, str]:
    """Split what somebody typed: the text as models read it, and the characters they do not know.

    It is normalised first: accents are part of their letters, and every blank is a space.
    """
    text = normalise(text)
    return without_others(text), left_out(text)


def encode(text: str) -> torch.Tensor:
    """(T + 1,) int64: the break and the T characters of ``text``.

    ``ValueError`` for characters that models do not know.
    """
    if unknown := left_out(text):
        raise ValueError(f"text contains {unknown!r}; models know only {CHARACTERS[1:]!r}")
    return torch.tensor([NUMBERS[character] for character in BREAK + text])


def decode(numbers: Iterable[int] | torch.Tensor) -> str:
    """The text that ``numbers`` stand for, breaks included."""
    return "".join(CHARACTERS[int(number)] for number in numbers)
