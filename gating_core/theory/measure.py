"""Measure a gated sheet: curvature, bending, and errors, and the verdict over its whole chart.

Measured twice: by the geometry of the map (u, v) -> g (u, v, 1), which knows nothing of gates, and
by the curvature formula; where K is known in closed form it is compared with that, too.

The verdict uses a grid, jittered points, and cells. Parts of the chart where the gate is not smooth
are left out. On the rest the sign of K is *proved* by cells on which it is certain (`enclosure`),
or by algebra; curvature beyond its bound is *established at the sample points*; no curvature is
*seen at points*.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import Grid, grid_points_near
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult, measure_surface
from gating_core.geometry.verdict import (
    AT_POINTS,
    BENT,
    FLAT,
    PROVED,
    SEEN,
    UNKNOWN,
    jittered_points,
    verify,
)
from gating_core.jets.bounded import Bounded
from gating_core.jets.second_order import SecondOrderJet, second_order_jet
from gating_core.theory.algebra import Algebra, algebra_of
from gating_core.theory.curvature_formula import (
    Gate,
    GatedSheet,
    curvature_terms,
    gate_fails,
    gate_values,
    sheet,
)
from gating_core.theory.enclosure import (
    Breaks,
    GateJudge,
    GateSigns,
    breaks_of,
    parts_count,
    sign_steps,
)
from gating_core.theory.formula import Formula
from gating_core.theory.gallery import SHAPES, DesignedGate, Exact, GateCase

# --- The verdict on the whole chart ---------------------------------------------------------------


POSITIVE, NEGATIVE, MIXED = SIGNS = ("positively curved", "negatively curved", "mixed")
VERDICTS = (FLAT, BENT, *SIGNS, UNKNOWN)
# Numbers, names and signs of a formula times the cells that are judged, in all and before algebra
# is tried: half a second, and a tenth of that.
MOST_WORK, QUICK_WORK = 200_000, 25_000
ALGEBRA, ENCLOSURES = "algebra", "enclosures"


@dataclass(frozen=True)
class GateVerdict:
    """The verdict on a gated sheet: one of `VERDICTS`, and how that is known.

    ``knowledge`` is one of `KNOWLEDGE`, or ``None`` where nothing is known; ``by`` names the proof;
    ``weak``: whether K may be zero at some points; ``between``: whether a sign of K follows from
    enclosures alone. ``points`` is the number of points measured. ``broken`` is the share of the
    chart on which the gate has, or may have, no derivatives, whose ``causes`` are named; ``rough``
    is the share on which that is undetermined.
    """

    word: str
    knowledge: str | None
    points: int
    by: str = ""
    weak: bool = False
    between: bool = False
    broken: float = 0.0
    causes: tuple[str, ...] = ()
    rough: float = 0.0


@dataclass(frozen=True, eq=False)
class Looked:
    """Measurements of a gated sheet at the points of a grid and at as many jittered ones.

    ``surface`` has one frame; ``lost`` is the share of the grid without a gate.
    """

    surface: SurfaceResult
    lost: float

    @property
    def bends(self) -> bool:
        """True where |II| exceeds its error at any point."""
        verification = self.surface.verification
        return bool(self.surface.bends[0] or (verification and verification.bends.any()))

    @property
    def points(self) -> int:
        """The number of points measured."""
        return self.surface.verdicts[0].points

    def has(self, sign: int) -> bool:
        """Return whether K has this ``sign``, 1 or -1, beyond its error at any point."""
        verification = self.surface.verification
        return bool((self.surface.sign == sign).any()) or bool(
            verification and (verification.sign == sign).any()
        )

    def verdict(self, up: bool, down: bool) -> GateVerdict:
        """The verdict without proof, where K > 0 (``up``) and K < 0 (``down``) are known, or not.

        One sign: K has it at every point whose sign is decided, K is known on at least half of the
        area, and there is a gate on at least half of the chart.
        """
        (verdict,) = self.surface.verdicts
        if up and down:
            return GateVerdict(MIXED, AT_POINTS, self.points)
        if up or down:
            enough = max(verdict.undetermined, self.lost) <= 0.5
            word = POSITIVE if up else NEGATIVE
            return GateVerdict(word, AT_POINTS, self.points) if enough else self.undetermined
        if not verdict.without_curvature:
            return self.undetermined
        return GateVerdict(BENT if self.bends else FLAT, SEEN, self.points)

    @property
    def undetermined(self) -> GateVerdict:
        """The verdict of measurements that decide nothing."""
        return GateVerdict(UNKNOWN, None, self.points)


def gate_verdict(
    looked: Looked, gate: Gate, strength: float, breaks: Breaks, formulas: Sequence[Formula] = ()
) -> GateVerdict:
    """Judge a gated sheet over its whole chart, of which ``breaks`` says where it is smooth.

    ``formulas`` are those of the ``gate``, if it is made of any. A proof holds wherever
    the gate is defined, and counts however small that part is.
    """
    verdict = (
        looked.undetermined
        if looked.lost == 1
        else _verdict(looked, gate, strength, breaks, formulas)
    )
    if not strength:
        return verdict
    return replace(verdict, broken=breaks.broken.share, causes=breaks.causes, rough=breaks.rough)


def _verdict(
    looked: Looked, gate: Gate, strength: float, breaks: Breaks, formulas: Sequence[Formula]
) -> GateVerdict:
    up, down = looked.has(1), looked.has(-1)
    expressions = tuple(each.expression for each in formulas)
    proof = Algebra() if up or down else algebra_of(expressions, strength)
    steps = sign_steps(GateJudge(gate, strength, formulas, breaks.edged), breaks.smooth)
    signs: GateSigns | None = None
    for work in () if proof.flat else (QUICK_WORK, MOST_WORK):
        if up and down:
            break
        signs = _proved_until(steps, work // parts_count(formulas), signs)
        up, down = up or signs.positive > 0, down or signs.negative > 0
        if signs.one_sign and up != down and not breaks.rough:
            return GateVerdict(POSITIVE if up else NEGATIVE, PROVED, looked.points, ENCLOSURES)
        proof = algebra_of(expressions, strength)  # it takes longer, where SymPy is not there yet
        if proof.sign and (up or down):
            word = POSITIVE if up else NEGATIVE
            return GateVerdict(word, PROVED, looked.points, ALGEBRA, weak=True)
    if proof.flat and (looked.bends or proof.plane):
        return GateVerdict(BENT if looked.bends else FLAT, PROVED, looked.points, ALGEBRA)
    verdict = looked.verdict(up, down)
    between = (up, down) != (looked.has(1), looked.has(-1))
    return replace(verdict, between=between and verdict.knowledge == AT_POINTS)


@dataclass(frozen=True)
class SignShares:
    """Shares of the chart: K > 0 proved, K < 0 proved, no smooth gate, and what is ``open``."""

    positive: float
    negative: float
    lost: float
    open: float


def sign_shares(gate: Gate, strength: float, formulas: Sequence[Formula] = ()) -> SignShares:
    """Prove the sign of K on as much of the chart as `MOST_WORK` allows: a part of a second.

    As in `gate_verdict`, which stops as soon as it has a verdict.
    """
    breaks = breaks_of(gate, tuple(formulas))
    steps = sign_steps(GateJudge(gate, strength, formulas, breaks.edged), breaks.smooth)
    signs = _proved_until(steps, MOST_WORK // parts_count(formulas), None)
    outside = breaks.outside + signs[signs.outside].cells.share
    lost = breaks.broken.share + outside
    decided = signs.positive + signs.negative
    return SignShares(signs.positive, signs.negative, lost, max(1 - decided - lost, 0.0))


def _proved_until(
    steps: Iterator[tuple[GateSigns, int]], most: int, signs: GateSigns | None
) -> GateSigns:
    """Continue ``steps`` until that much work is done; ``signs`` where there are no more steps."""
    for now, work in steps:
        signs = now
        if work >= most:
            break
    assert signs is not None
    return signs


# --- Measurements ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reference:
    """K by another way, on the grid; both (R, C), 1 / length^2."""

    gaussian: np.ndarray
    error: np.ndarray


@dataclass(frozen=True, eq=False)
class MeasuredGate:
    """A gated sheet on an R x C grid, in one version (T = 1 in ``surface``).

    ``gate`` (R, C, 1 or 3) is the gate at full strength; ``fails`` (R, C) says where it is not
    positive or not finite, ``breaks`` (R, C) next to which points it is not smooth: the surface is
    unresolved at both. ``mean_norm`` |H| is in 1 / length. ``whole`` is the verdict
    on the whole chart.
    """

    strength: float
    gate: np.ndarray
    fails: np.ndarray
    breaks: np.ndarray
    surface: SurfaceResult
    mean_norm: np.ndarray  # (R, C)
    terms: Reference | None  # by the curvature formula, for scalar gates
    exact: Reference | None  # where K is known in closed form
    looked: Looked
    whole: GateVerdict

    @property
    def lost(self) -> np.ndarray:
        """(R, C): where there is no gate, or none that is smooth."""
        return self.fails | self.breaks

    @property
    def verdict(self) -> str:
        """The verdict, one of `VERDICTS`; `whole` has the evidence."""
        return self.whole.word

    @property
    def curvature_range(self) -> tuple[float, float] | None:
        """The smallest and the largest known K, zero where it is that; ``None`` without any."""
        known = self.surface.known
        known = known[np.isfinite(known)]
        return (float(known.min()), float(known.max())) if known.size else None

    def agrees(self, reference: Reference) -> bool:
        """Return whether every resolved point is within both errors of the ``reference``."""
        surface = self.surface
        gap = np.abs(surface.gaussian[0] - reference.gaussian)
        within = gap <= surface.gaussian_error[0] + reference.error
        return bool(within[surface.resolved[0]].all() and surface.resolved.any())


def measure_gate(case: GateCase, strength: float, grid: Grid) -> MeasuredGate:
    """Measure the sheet under the gate of ``case`` at a ``strength`` from 0 to 1, on ``grid``."""
    return measure_any_gate(
        case.gate, grid, strength, case.scalar, case.exact_at(strength), case.formulas
    )


def measure_any_gate(
    gate: Gate,
    grid: Grid,
    strength: float = 1.0,
    scalar: bool = True,
    exact: Exact | None = None,
    formulas: tuple[Formula, ...] = (),
) -> MeasuredGate:
    """Measure any gate, such as a fitted one.

    ``exact`` is K in closed form, if known, and ``formulas`` are those that the gate is made of, if
    any. ``ValueError`` as `curvature_terms` for a ``scalar`` one.
    """
    image = GatedSheet(gate, strength)
    values = gate_values(gate, grid.points).reshape(*grid.weights.shape, -1)
    fails = gate_fails(values)
    terms = curvature_terms(gate, grid.points, strength) if scalar else None
    breaks = breaks_of(gate, formulas)
    breaking = grid_points_near(breaks.broken, grid.axis.numpy())
    lost = (fails | breaking) & (strength > 0)
    jet = _without(second_order_jet(image, grid.points, "rigorous", check=False), lost)
    again = jittered_points(grid)
    gone = gate_fails(gate_values(gate, again)) if strength else np.zeros(len(again), dtype=bool)
    other = curvature(_without(second_order_jet(image, again, "rigorous", check=False), gone))
    found = MeasuredSurface(image, grid, jet=jet, verification=verify(other, torch.tensor(gone)))
    shape = fails.shape

    def reference(k: Bounded) -> Reference:
        return Reference(k.value.reshape(shape).numpy(), k.bound.reshape(shape).numpy())

    coordinates = (Bounded(x) for x in grid.points.unbind(-1))
    looked = Looked(found.surface, lost=float(lost.mean()))
    return MeasuredGate(
        strength=strength,
        gate=values,
        fails=fails,
        breaks=breaking,
        surface=found.surface,
        mean_norm=found.field.mean_norm.reshape(shape).numpy(),
        terms=None if terms is None else reference(terms["gaussian"]),
        exact=None if exact is None else reference(exact(*coordinates)),
        looked=looked,
        whole=gate_verdict(looked, gate, strength, breaks, formulas),
    )


def _without(jet: SecondOrderJet, lost: np.ndarray) -> SecondOrderJet:
    """Set the jet to NaN at the ``lost`` points, N in all."""
    gone = torch.tensor(lost).flatten()
    return replace(jet, stack=jet.stack.masked_fill(gone, torch.nan)) if gone.any() else jet


# --- Gates for a shape ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GateDesign:
    """A shape, the gate that makes it on a grid, and whether a sigmoid gate can."""

    gate: DesignedGate
    values: np.ndarray  # (R, C)
    target: SurfaceResult  # the shape itself
    image: MeasuredGate  # the sheet under the gate

    @property
    def lowest(self) -> float:
        """The gate's smallest value."""
        return float(self.values.min())

    @property
    def highest(self) -> float:
        """The gate's largest value."""
        return float(self.values.max())

    @property
    def sigmoid_reaches(self) -> bool:
        """True if all values are in (0, 1)."""
        return self.lowest > 0 and self.highest < 1

    @property
    def size_limit(self) -> float:
        """The size of the shape at which the gate's largest value is 1."""
        return self.gate.size / self.highest

    @property
    def agrees(self) -> bool:
        """True if K of shape and image agree within both errors, wherever both are resolved."""
        target, image = self.target, self.image.surface
        both = target.resolved & image.resolved
        gap = np.abs(target.gaussian - image.gaussian)
        allowed = target.gaussian_error + image.gaussian_error
        return bool((gap <= allowed)[both].all() and both.any())


def design(name: str, size: float, grid: Grid) -> GateDesign:
    """Compute and measure the gate for ``size`` times the shape ``name`` of `SHAPES`."""
    gate = DesignedGate(name, size)
    image = measure_any_gate(gate, grid)

    def shape(points: torch.Tensor) -> torch.Tensor:
        """(N, 3): the shape itself in the directions of the sheet, without a gate."""
        direction = sheet(points)
        direction = direction / (direction * direction).sum(-1, keepdim=True).sqrt()
        return size * (SHAPES[name].radius(*direction.split(1, -1)) * direction)

    return GateDesign(gate, image.gate[..., 0], measure_surface(shape, grid), image)
