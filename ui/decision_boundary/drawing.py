"""How does a drawing stand in the link, so that a reload or a friend finds it again?

Three bytes a point, in the letters of base64: 500 points are 2,000 letters.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gating_core.tasks import OwnData, drawn_data
from ui.common.controls import Control, Where
from ui.components.draw import DIGITS, Point
from ui.limits import CACHED_DRAWINGS, DRAWN_POINTS_IN_LINK

NAMES = ("blue", "orange", "green", "purple")
UNITS = 10**DIGITS  # from the middle of the square to its edge
PLACES = 2 * UNITS + 1  # along an edge
LETTERS, BYTES = 4, 3  # of a point

Points = tuple[tuple[Point, ...], tuple[int, ...]]  # and their labels


def encoded(points: Sequence[Point], labels: Sequence[int]) -> str:
    """Points of [-1, 1]^2, to three digits, and labels from 0 to 3, as text for a link."""
    numbers = (
        (label * PLACES + round((x + 1) * UNITS)) * PLACES + round((y + 1) * UNITS)
        for (x, y), label in zip(points, labels, strict=True)
    )
    return base64.urlsafe_b64encode(b"".join(n.to_bytes(BYTES) for n in numbers)).decode()


def decoded(text: str) -> Points | None:
    """Points and labels of an `encoded` drawing; ``None`` if it is none, or too large."""
    try:
        data = base64.b64decode(text, altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    if (
        not 0 < len(data) <= DRAWN_POINTS_IN_LINK * BYTES
        or len(text) * BYTES != len(data) * LETTERS
    ):
        return None
    numbers = [int.from_bytes(data[i : i + BYTES]) for i in range(0, len(data), BYTES)]
    if max(numbers) >= len(NAMES) * PLACES**2:
        return None
    places = [divmod(number % PLACES**2, PLACES) for number in numbers]
    points = tuple((_coordinate(x), _coordinate(y)) for x, y in places)
    return points, tuple(number // PLACES**2 for number in numbers)


def _coordinate(place: int) -> float:
    return round(place / UNITS - 1, DIGITS) + 0.0  # no -0


@lru_cache(maxsize=CACHED_DRAWINGS)
def own_of(drawing: Points) -> OwnData:
    """The drawing as data to learn; `OwnDataError` where it cannot be.

    One object for one drawing, so that its run is known wherever it is opened again.
    """
    points, labels = drawing
    return drawn_data(np.array(points).reshape(-1, 2), labels, NAMES)


@dataclass(frozen=True, kw_only=True)
class Drawing(Control):
    """Drawn points and their classes, in the link alone."""

    shown_instead: str = "none"

    @property
    def wanted(self) -> str:
        return f"a drawing of at most {DRAWN_POINTS_IN_LINK} points, as this page writes it"

    def parse(self, text: str) -> Points | None:
        return decoded(text)

    def widget(self, where: Where, **more: Any) -> Any:
        raise NotImplementedError("a drawing is made in a square of its own")
