"""The verdict on a surface: curved, bent, flat or undetermined; how it is known; types of points.

A surface is *curved* if |K| exceeds its error at any point. It has no curvature if a theorem says
so, or if K is within its error at all points and that error is small: then it is *bent, not curved*
if |II| exceeds its error at any point, and *flat*, a piece of a plane, if at none. Any other is
*undetermined*. The area is divided by the sign of K: K > 0, K < 0, K = 0, and the rest.

There are three kinds of knowledge, and every page says which one it has. *Proved*: a theorem,
algebra, or enclosures hold on the whole chart. *Established at the sample points*: a bound is
exceeded at some of them, which is enough for *curved*, and for the bending of a surface that is
proved not to curve. *Seen at points*: all else, with the number of points measured.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gating_core.geometry.curvature import CurvatureField, FundamentalForm
from gating_core.geometry.grid import Grid
from gating_core.numerals import UNKNOWN

CURVED, BENT, FLAT, _ = VERDICT_WORDS = ("curved", "bent, not curved", "flat", UNKNOWN)
PROVED, AT_POINTS, SEEN = KNOWLEDGE = (
    "proved",
    "established at the sample points",
    "seen at points",
)


def knowledge_text(
    kind: str, points: int, where: str = "on the whole chart", between: bool = False
) -> str:
    """Say how something is known: one of `KNOWLEDGE`; ``where`` if proved, else at which points.

    ``between``: at points that enclosures prove to exist, none of them a measured one.
    """
    if kind == PROVED:
        return f"proved {where}"
    if kind == AT_POINTS:
        place = "points between" if between else "some of"
        return f"established at {place} the {points:,} sample points"
    return f"seen at {points:,} points, not proved"


@dataclass(frozen=True, eq=False)
class AreaShares:
    """Shares of the surface's area, (T,) each, that add up to one.

    ``flat``: K is known to be zero. ``undetermined``: |K| is within an error that is not small, or
    the tangent plane is unresolved.
    """

    positive: np.ndarray
    negative: np.ndarray
    flat: np.ndarray
    undetermined: np.ndarray


@dataclass(frozen=True)
class Verdict:
    """The verdict on one surface: the ``word`` is one of `VERDICT_WORDS`; the numbers behind it.

    ``positive``, ``negative``, ``flat`` and ``undetermined`` are shares of the area and add up to
    one; ``unresolved`` is a share of the points. ``typical_error`` is the median error of K
    (1 / length^2), of the ``bound_kind`` "rigorous" or "estimate". ``proof`` is a
    clause that says why the surface must be flat, or ``None``. ``points`` were looked at.
    ``one_sign`` is a clause that says why K has one sign or is 0 everywhere, as on all of the area.
    """

    word: str
    positive: float
    negative: float
    flat: float
    undetermined: float
    unresolved: float
    typical_error: float
    bound_kind: str
    proof: str | None
    points: int
    one_sign: str | None = None

    @property
    def knowledge(self) -> str | None:
        """The evidence for the verdict, one of `KNOWLEDGE`; ``None`` for *undetermined*."""
        rigorous = self.bound_kind == "rigorous"
        if self.word == CURVED:
            return PROVED if self.one_sign is not None else AT_POINTS if rigorous else SEEN
        if self.word == BENT:  # proved is K = 0; II is not 0 at a point, which a bound decides
            return PROVED if self.one_sign is not None and rigorous else SEEN
        return None if self.word == UNKNOWN else SEEN if self.proof is None else PROVED

    @property
    def without_curvature(self) -> bool:
        """True where K = 0 everywhere, proved or seen: *flat*, or *bent, not curved*."""
        return self.word in (FLAT, BENT)

    @property
    def curved(self) -> float:
        """The share of the area on which K is known not to be zero."""
        return self.positive + self.negative


def area_shares(area: np.ndarray, sign: np.ndarray) -> AreaShares:
    """Divide the area into four parts by the ``sign`` of K, NaN where unknown; both (T, ...).

    ``area`` is that of each point. A surface without area counts as flat if K is 0 at all of its
    points, and as undetermined otherwise.
    """
    points = tuple(range(1, area.ndim))
    area = np.nan_to_num(area, nan=0.0, posinf=0.0)
    whole, flat = area.sum(points), np.asarray((sign == 0).all(points))

    def share(where: np.ndarray, empty: np.ndarray) -> np.ndarray:
        part = (area * where).sum(points)
        return np.divide(part, whole, out=empty.astype(float), where=whole > 0)

    return AreaShares(
        positive=share(sign == 1, np.zeros_like(flat)),
        negative=share(sign == -1, np.zeros_like(flat)),
        flat=share(sign == 0, flat),
        undetermined=share(np.isnan(sign), ~flat),
    )


def word_for(planar: bool, curves: bool, zero: bool, bends: bool) -> str:
    """Return one of `VERDICT_WORDS`.

    From a proof that the surface lies in a plane, a curved point, K = 0 everywhere, a bent point.
    """
    if planar:
        return FLAT
    if curves:
        return CURVED
    return UNKNOWN if not zero else BENT if bends else FLAT


# --- Jittered verification points -----------------------------------------------------------------


SEED = 1


@dataclass(frozen=True, eq=False)
class Verification:
    """Curvature of T surfaces at N jittered points, which lie on no grid.

    They show curvature that repeats with the grid's step and vanishes at its points. Every verdict
    on a whole chart without a proof uses them. Arrays are (T, N).
    """

    sign: np.ndarray  # of K beyond its error; 0 within it, or if left out; NaN if unresolved
    gaussian_error: np.ndarray
    area_element: np.ndarray
    bends: np.ndarray  # |II| beyond its error

    @property
    def points(self) -> int:
        """The number of points."""
        return self.sign.shape[1]

    def frame(self, here: slice) -> Verification:
        """Return the verification of the surfaces ``here``."""
        return Verification(**{name: array[here] for name, array in vars(self).items()})


def jittered_points(grid: Grid) -> torch.Tensor:
    """Return the points (N, 2) of ``grid``, each moved by up to half a step along either axis.

    They stay within the chart. The offsets are the same for every call.
    """
    generator = torch.Generator().manual_seed(SEED)
    step = grid.axis[1] - grid.axis[0]
    moved = torch.rand(grid.points.shape, dtype=torch.float64, generator=generator) - 0.5
    points, (low, high) = grid.points + moved * step, grid.axis[[0, -1]]
    points = torch.where(points < low, 2 * low - points, points)  # mirrored at the chart's border
    return torch.where(points > high, 2 * high - points, points)


def verify(field: CurvatureField, lost: torch.Tensor | None = None) -> Verification:
    """Return what a ``field`` (..., N) of curvatures says, except at ``lost`` points (N,)."""
    count = field.gaussian.shape[-1]
    lost = torch.zeros(count, dtype=torch.bool) if lost is None else lost
    parts = {
        "sign": torch.where(lost, 0.0, field.sign),
        "gaussian_error": field.gaussian_error,
        "area_element": torch.where(lost, 0.0, field.area_element),
        "bends": field.bends & ~lost,
    }
    return Verification(**{name: x.reshape(-1, count).numpy() for name, x in parts.items()})


# --- Types of points ------------------------------------------------------------------------------


POINT_TYPES = ("elliptic", "hyperbolic", "parabolic", "planar", "undetermined")
PLANAR = 1e-3  # of 1 / diagonal: largest error of |II| at a planar point
PARABOLIC = 1e-6  # of |II|^2: largest error of K at a parabolic point


def point_types(
    field: CurvatureField, form: FundamentalForm, diagonal: float | None = None
) -> torch.Tensor:
    """(..., N) int64: indices into `POINT_TYPES`; a type only where the bounds allow it.

    Elliptic and hyperbolic: |K| exceeds its error. Planar: |K| and |II| are within their errors,
    and that of |II| is below 1e-3 of 1 / ``diagonal`` (of the box around the surface, where that
    is given). Parabolic: K is within its error, that error is below 1e-6 |II|^2, and |II| exceeds
    its own error. Undetermined: all else, and wherever the tangent plane is unresolved.

    In codimension above one the sign of K replaces that of the determinant of the second
    fundamental form. Source: do Carmo, *Differential Geometry of Curves and Surfaces*, section 3-2.
    """
    size, error = form.norm, form.norm_error
    bends = size > error
    sharp = error * diagonal < PLANAR if diagonal is not None else torch.ones_like(bends)
    slight = field.gaussian_error <= PARABOLIC * size.square()
    codes = torch.full(field.gaussian.shape, POINT_TYPES.index("undetermined"))
    for name, where in (
        ("elliptic", field.decided & (field.gaussian > 0)),
        ("hyperbolic", field.decided & (field.gaussian < 0)),
        ("planar", field.flat & field.resolved & ~bends & sharp),
        ("parabolic", field.flat & field.resolved & bends & slight),
    ):
        codes[where] = POINT_TYPES.index(name)
    return codes
