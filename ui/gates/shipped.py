"""Bundled files of the gallery's cases: a small picture of each, its verdict, its range of K.

``python -m ui.gates`` makes both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gating_core.records import load_record
from gating_core.theory import GateVerdict

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "gates"
NUMBERS = FOLDER / "gallery.safetensors"


@dataclass(frozen=True)
class TileNumbers:
    """The numbers of a tile: a verdict, how it is known, the least and the largest known K.

    K in 1 / length^2.
    """

    verdict: str
    knowledge: str | None
    least: float | None
    largest: float | None


def numbers_of(whole: GateVerdict, ends: tuple[float, float] | None) -> TileNumbers:
    """Return what a tile says of a gate with this verdict and range of K."""
    return TileNumbers(whole.word, whole.knowledge, *(ends or (None, None)))


def picture_file(name: str) -> Path:
    """Return the path of the picture of the case called ``name``."""
    return FOLDER / f"{name.replace(' ', '_')}.png"


@cache
def shipped() -> dict[str, TileNumbers]:
    """Return what all tiles say, by case."""
    return load_record(dict[str, TileNumbers], NUMBERS, "holds no numbers of gates")
