"""The characters that models read, and texts as rows of their numbers.

The line break stands for no character of a verse: it begins every text, and ends every verse.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch

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
    return "".join(dict.fromkeys(one for one in text if one not in NUMBERS or one == BREAK))


def without_others(text: str) -> str:
    """``text`` without the characters that models do not know."""
    return "".join(one for one in text if one in NUMBERS and one != BREAK)


def encode(text: str) -> torch.Tensor:
    """(T + 1,) int64: the break and the T characters of ``text``; ``ValueError`` for others."""
    if others := left_out(text):
        raise ValueError(f"text contains {others!r}; models know only {CHARACTERS[1:]!r}")
    return torch.tensor([NUMBERS[one] for one in BREAK + text])


def decode(numbers: Iterable[int] | torch.Tensor) -> str:
    """The text that ``numbers`` stand for, breaks included."""
    return "".join(CHARACTERS[int(number)] for number in numbers)
