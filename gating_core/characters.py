"""Typed and pasted text in one form, and the characters that models read.

What looks the same is the same: text is normalised. The line break is part of no verse: it begins
every text, and ends every verse.

References:
    Unicode Standard Annex 15, *Unicode Normalization Forms*; the property
    ``Default_Ignorable_Code_Point`` of the Unicode Character Database.
"""

import re
import unicodedata
from collections.abc import Iterable

import torch

IGNORABLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def normalise(text: str) -> str:
    """Return ``text`` in NFC, with a plain space for each tab, line break and other blank.

    PDFs and macOS write é as e and an accent. Marks beyond the 30th on one letter are dropped.
    """
    if not text.isascii():
        marks, kept = 0, ""
        for character in text:
            marks = marks + 1 if unicodedata.combining(character) else 0
            # As in UAX 15's stream-safe format: to sort n marks of a letter takes n^2 steps.
            kept += character * (marks <= 30)
        text = kept
    return re.sub(r"\s", " ", unicodedata.normalize("NFC", text))


def without_ignorable(text: str) -> str:
    """Return ``text`` normalised, without characters of no width, such as a soft hyphen."""
    return normalise(IGNORABLE.sub("", text))


def invisible(character: str) -> bool:
    """Return whether ``character`` cannot be seen when it stands alone: a mark, a blank, a sign."""
    return unicodedata.category(character)[0] in "CMZ" or bool(IGNORABLE.match(character))


def name(character: str) -> str:
    """Return ``character`` in quotation marks, or its Unicode name where it is invisible."""
    if not invisible(character):
        return repr(character)
    return unicodedata.name(character, f"U+{ord(character):04X}")


# --- The characters of the models -----------------------------------------------------------------


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
