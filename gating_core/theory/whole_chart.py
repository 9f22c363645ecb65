"""The verdict on a gated sheet over its whole chart, and how it is known.

Looked at are a grid, jittered points, and cells (`enclosure`), which also find where the gate is not
smooth: no gate there. Of the rest, the sign of K is *proved* by cells that have it everywhere, or
by algebra; curvature beyond its bound is *known at points*; no curvature is *seen* at them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch

from gating_core.geometry.cells import Examined, chart_cells, examine, grid_points_near
from gating_core.geometry.surface import SurfaceResult
from gating_core.geometry.verdict import AT_POINTS, FLAT, PROVED, SEEN
from gating_core.theory.algebra import Algebra, algebra_of
from gating_core.theory.enclosure import GateJudge
from gating_core.theory.expression import parts_of
from gating_core.theory.formula import Formula
from gating_core.theory.law import Gate

PLANE, BENT, POSITIVE, NEGATIVE, MIXED, UNDECIDED = VERDICTS = (
    "flat", "bent, not curved", "positively curved", "negatively curved", "mixed", "undecided",
)  # fmt: skip
LEAST_KNOWN = 0.5  # share of the area: below it, no verdict of one sign
# Numbers, names and signs of a formula times the cells that are judged, in all and before algebra
# is tried: most of a second, and a tenth of that.
MOST_WORK, QUICK_WORK = 1_200_000, 150_000
FEWEST_PARTS = 8  # a shorter formula takes as long a cell
ALGEBRA, ENCLOSURES = "algebra", "enclosures"


@dataclass(frozen=True)
class GateVerdict:
    """What is said of a gated sheet: one of `VERDICTS`, and how that is known.

    ``knowledge`` is one of `KNOWLEDGE`, or ``None`` where nothing is known; ``by`` what it is proved
    by; ``weak`` whether K may be zero in places. ``points`` were looked at. ``broken`` is the share of
    the chart on which the gate has no derivatives, or may have none, for the ``causes`` named;
    ``rough`` is the share on which it is not known whether it has any.
    """

    word: str
    knowledge: str | None
    points: int
    by: str = ""
    weak: bool = False
    broken: float = 0.0
    causes: tuple[str, ...] = ()
    rough: float = 0.0


@dataclass(frozen=True, eq=False)
class Breaks:
    """Where a gate is not smooth: a share of the chart, grid points (R, C), and possible causes."""

    share: float
    points: np.ndarray
    causes: tuple[str, ...]
    rough: float


@lru_cache(maxsize=64)
def _examined_breaks(formulas: tuple[Formula, ...]) -> tuple[Examined, tuple[str, ...]]:
    """The cells in which the gate of ``formulas`` may break: the same at every strength."""
    judge = GateJudge(_gate(formulas), 0.0, formulas)
    examined = examine(judge, _cells(MOST_WORK, formulas), signs=False)
    return examined, judge.causes(examined.broken_cells) if len(examined.broken_cells) else ()


def _gate(formulas: tuple[Formula, ...]) -> Gate:
    return lambda points: torch.cat([formula(points) for formula in formulas], -1)


def breaks_of(formulas: Sequence[Formula], axis: np.ndarray) -> Breaks:
    """Find where the gate of ``formulas`` is not smooth, on a grid with that ``axis`` (R,)."""
    examined, causes = _examined_breaks(tuple(formulas))
    points = grid_points_near(examined.broken_cells, axis)
    return Breaks(examined.broken, points, causes, examined.rough)


def gate_verdict(
    surface: SurfaceResult,
    bends: bool,
    planar: bool,
    lost: float,
    gate: Gate,
    strength: float,
    formulas: Sequence[Formula] = (),
) -> GateVerdict:
    """Judge a ``surface`` of one frame, which has been looked at twice, over its whole chart.

    ``bends`` and ``planar``: whether |H| exceeds its error at any point, and whether all errors of
    bending are small; ``lost`` is the share of the grid without a gate. ``formulas`` are those of
    the ``gate``, if it is made of any.

    One sign without proof: K has it at every point whose sign is decided, K is known on at least
    half of the area, and there is a gate on at least half of the chart.
    """
    second = surface.second
    assert second is not None
    points = surface.quadrature.size + second.points
    (said,) = surface.verdicts
    decided, gaussian = surface.decided, surface.gaussian
    up = bool((decided & (gaussian > 0)).any() or second.positive[0])
    down = bool((decided & (gaussian < 0)).any() or second.negative[0])
    if lost == 1:
        return GateVerdict(UNDECIDED, None, points)
    enough = max(said.undecided, lost) <= 1 - LEAST_KNOWN
    judge = GateJudge(gate, strength, formulas)
    proof = _algebra(formulas, strength) if not (up or down) else Algebra()
    for work in () if proof.flat else (QUICK_WORK, MOST_WORK):
        if up and down:
            break
        examined = examine(judge, _cells(work, formulas))
        up, down = up or examined.positive > 0, down or examined.negative > 0
        if examined.one_sign and not (up and down):
            return GateVerdict(POSITIVE if up else NEGATIVE, PROVED, points, ENCLOSURES)
        proof = _algebra(formulas, strength)  # it takes longer, where SymPy is not there yet
        if proof.sign and (up or down):
            return GateVerdict(POSITIVE if up else NEGATIVE, PROVED, points, ALGEBRA, weak=True)
    if up and down:
        return GateVerdict(MIXED, AT_POINTS, points)
    if up or down:
        word = POSITIVE if up else NEGATIVE
        return GateVerdict(word, AT_POINTS, points) if enough else _undecided(points)
    if proof.flat:
        if bends:
            return GateVerdict(BENT, PROVED, points, ALGEBRA)
        if proof.plane:
            return GateVerdict(PLANE, PROVED, points, ALGEBRA)
    elif said.word != FLAT:
        return _undecided(points)
    word = BENT if bends else PLANE if planar else UNDECIDED
    return GateVerdict(word, SEEN, points) if word != UNDECIDED else _undecided(points)


def _cells(work: int, formulas: Sequence[Formula]) -> int:
    parts = sum(1 for each in formulas for _ in parts_of(each.expression))
    return max(work // max(parts, FEWEST_PARTS), len(chart_cells()))


def _undecided(points: int) -> GateVerdict:
    return GateVerdict(UNDECIDED, None, points)


def _algebra(formulas: Sequence[Formula], strength: float) -> Algebra:
    if strength == 0:
        return Algebra(flat=True, plane=True)  # the sheet itself
    if not formulas:
        return Algebra()
    return algebra_of(tuple(each.expression for each in formulas), strength)
