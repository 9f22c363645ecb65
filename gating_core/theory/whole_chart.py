"""The verdict on a gated sheet over its whole chart, and how it is known.

The verdict uses a grid, jittered points, and cells. Parts of the chart where the gate is not smooth
(`breaks`) are left out. On the rest the sign of K is *proved* by cells on which it is certain
(`enclosure`), or by algebra; curvature beyond its bound is *established at the sample points*; no
curvature is *seen at points*.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from gating_core.geometry.surface import SurfaceResult
from gating_core.geometry.verdict import AT_POINTS, BENT, FLAT, PROVED, SEEN, UNKNOWN
from gating_core.theory.breaks import Breaks, breaks_of, parts_count
from gating_core.theory.curvature_formula import Gate
from gating_core.theory.differential_ring import DifferentialRing, PolynomialTooLarge
from gating_core.theory.enclosure import GateJudge, GateSigns, sign_steps
from gating_core.theory.expression import Constant, Coordinate, Expression, Operation
from gating_core.theory.formula import Formula

POSITIVE, NEGATIVE, MIXED = SIGNS = ("positively curved", "negatively curved", "mixed")
VERDICTS = (FLAT, BENT, *SIGNS, UNKNOWN)
LEAST_KNOWN = 0.5  # share of the area: below it, no verdict of one sign
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
            enough = max(verdict.undetermined, self.lost) <= 1 - LEAST_KNOWN
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
    proof = Algebra() if up or down else _algebra(formulas, strength)
    steps = sign_steps(GateJudge(gate, strength, formulas, breaks.edged), breaks.smooth)
    signs: GateSigns | None = None
    for work in () if proof.flat else (QUICK_WORK, MOST_WORK):
        if up and down:
            break
        signs = _proved_until(steps, work // parts_count(formulas), signs)
        up, down = up or signs.positive > 0, down or signs.negative > 0
        if signs.one_sign and up != down and not breaks.rough:
            return GateVerdict(POSITIVE if up else NEGATIVE, PROVED, looked.points, ENCLOSURES)
        proof = _algebra(formulas, strength)  # it takes longer, where SymPy is not there yet
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
    breaks = breaks_of(gate, formulas)
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


def _algebra(formulas: Sequence[Formula], strength: float) -> Algebra:
    if strength == 0:
        return Algebra(flat=True, plane=True)  # the sheet itself
    if not formulas:
        return Algebra()
    return algebra_of(tuple(each.expression for each in formulas), strength)


# --- Algebra: is K zero identically, or nowhere of one sign? --------------------------------------

# K times a positive function is a polynomial in u, v and the functions of the formula, see
# `differential_ring`. If all its coefficients are zero, K is zero wherever the formula is smooth.
# If it is a product of even powers and of factors whose monomials are all squares with coefficients
# of one sign, K is nowhere of the other sign. For polynomials that are too large nothing is proved.


@dataclass(frozen=True)
class Algebra:
    """The facts that algebra proves of a gated sheet wherever its formulas are smooth.

    ``flat``: K = 0. ``plane``: it does not bend either, so that it lies in a plane. ``sign``: 1 if
    K >= 0, -1 if K <= 0, 0 if neither is proved.
    """

    flat: bool = False
    plane: bool = False
    sign: int = 0


@lru_cache(maxsize=256)
def algebra_of(expressions: tuple[Expression, ...], strength: float) -> Algebra:
    """Examine the sheet under one gate, or one for each of three channels, at a ``strength``."""
    try:
        return (
            _scalar(expressions[0], strength)
            if len(expressions) == 1
            else _channels(expressions, strength)
        )
    except (PolynomialTooLarge, ZeroDivisionError, OverflowError):
        return Algebra()


def _scalar(expression: Expression, strength: float) -> Algebra:
    """Algebra by the curvature formula: K has the sign of det Hess(1/g)."""
    field = DifferentialRing(_mixed(expression, strength))
    rho = field.reciprocal(_mixed(expression, strength))
    _, _, uu, uv, vv = field.derivatives(rho)
    if all(not field.reduced(x) for x in (uu, uv, vv)):
        return Algebra(flat=True, plane=True)
    hessian = field.reduced(field.product(uu, vv) - field.product(uv, uv))
    return Algebra(flat=True) if not hessian else Algebra(sign=field.definite(hessian))


def _channels(expressions: Sequence[Expression], strength: float) -> Algebra:
    """Algebra by the second fundamental form of (g_1 u, g_2 v, g_3)."""
    axes: tuple[Expression, ...] = Coordinate("u"), Coordinate("v"), Constant(1.0, "1")
    sheet = [Operation("*", _mixed(g, strength), x) for g, x in zip(expressions, axes, strict=True)]
    field = DifferentialRing(*sheet)
    rows = list(zip(*(field.derivatives(field.polynomial(y)) for y in sheet), strict=True))
    a, b = rows[0], rows[1]
    times = field.product
    normal = [times(a[i - 2], b[i - 1]) - times(a[i - 1], b[i - 2]) for i in range(3)]
    uu, uv, vv = (
        sum((times(n, y) for n, y in zip(normal, row, strict=True)), field.zero) for row in rows[2:]
    )
    if all(not field.reduced(x) for x in (uu, uv, vv)):
        return Algebra(flat=True, plane=True)
    form = field.reduced(times(uu, vv) - times(uv, uv))
    return Algebra(flat=True) if not form else Algebra(sign=field.definite(form))


def _mixed(gate: Expression, strength: float) -> Expression:
    """(1 - strength) + strength g, rounded as on the grid; a quotient stays one."""
    if strength == 1:
        return gate
    rest, share = Constant(1 - strength, "1 - s"), Constant(strength, "s")
    if isinstance(gate, Operation) and gate.sign == "/":
        over = Operation("+", Operation("*", rest, gate.right), Operation("*", share, gate.left))
        return Operation("/", over, gate.right)
    return Operation("+", rest, Operation("*", share, gate))
