"""The verdict on a surface: curved, flat, or cannot tell.

A surface is *curved* where |K| exceeds its error at any point; *flat* where a theorem says so, or
where K is within its error at all points and that is small; of any other nobody can tell. Its area
falls into four parts by the same rule for points: K > 0, K < 0, K = 0, and the rest.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

CURVED, FLAT, UNKNOWN = VERDICT_WORDS = ("curved", "flat", "cannot tell")


@dataclass(frozen=True, eq=False)
class AreaShares:
    """Shares of the surface's area, (T,) each, that add up to one.

    Flat: K is known to be zero. Undecided: |K| is within an error that is not small, or the
    tangent plane is unresolved.
    """

    positive: np.ndarray
    negative: np.ndarray
    flat: np.ndarray
    undecided: np.ndarray


@dataclass(frozen=True)
class Verdict:
    """What is known of one surface: one of `VERDICT_WORDS`, and the numbers that it is said from.

    ``positive``, ``negative``, ``flat`` and ``undecided`` are shares of the area and add up to
    one; ``unresolved`` is a share of the points. ``typical_error`` is the median error of K
    (1 / length^2), of the ``bound_kind`` "rigorous" or "estimate". ``proof`` says why the surface
    is flat whatever the numbers say, as the end of a sentence; ``None`` where nothing proves it.
    """

    word: str
    positive: float
    negative: float
    flat: float
    undecided: float
    unresolved: float
    typical_error: float
    bound_kind: str
    proof: str | None

    @property
    def curved(self) -> float:
        """The share of the area on which K is known not to be zero."""
        return self.positive + self.negative


def area_shares(
    area: np.ndarray, gaussian: np.ndarray, decided: np.ndarray, zero: np.ndarray
) -> AreaShares:
    """How the area falls into four parts; arguments are (T, R, C), ``area`` that of each point.

    Where there is no area at all, all of it is flat if all points are, and undecided otherwise.
    """
    area = np.nan_to_num(area, nan=0.0, posinf=0.0)
    whole = area.sum((1, 2))

    def share(where: np.ndarray, empty: np.ndarray) -> np.ndarray:
        part = (area * where).sum((1, 2))
        return np.divide(part, whole, out=empty.astype(float), where=whole > 0)

    none, flat = np.zeros(len(area)), np.asarray(zero.all((1, 2)))
    return AreaShares(
        positive=share(decided & (gaussian > 0), none),
        negative=share(decided & (gaussian < 0), none),
        flat=share(zero & ~decided, flat),
        undecided=share(~zero & ~decided, ~flat),
    )


def word_for(proved: bool, curves: bool, zero: bool) -> str:
    """Return one of `VERDICT_WORDS`, from a proof, a curved point, and K = 0 everywhere."""
    if proved:
        return FLAT
    if curves:
        return CURVED
    return FLAT if zero else UNKNOWN
