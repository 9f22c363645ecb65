"""What stands round attention in a stack? Residual, normalisation, both, or nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Arrangement:
    """What a stack has beside attention and its gate, and how one says so after a comma."""

    residual: bool
    normalised: bool
    words: str


ARRANGEMENTS: dict[str, Arrangement] = {
    "plain": Arrangement(False, False, "nothing else"),
    "norm": Arrangement(False, True, "normalisation"),
    "residual": Arrangement(True, False, "residual"),
    "both": Arrangement(True, True, "residual and normalisation"),
}
