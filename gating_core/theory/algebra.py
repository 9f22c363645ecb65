"""Algebra with formulas: is K zero identically, or nowhere of one sign?

K times a positive function is a polynomial in u, v and the functions of the formula, see
`differential_ring`. If all of its coefficients are zero, K is zero wherever the formula is smooth.
If it is a product of even powers and of factors whose monomials are all squares with coefficients
of one sign, K is nowhere of the other sign. For polynomials that are too large nothing is proved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from gating_core.theory.differential_ring import DifferentialRing, PolynomialTooLarge
from gating_core.theory.expression import Constant, Coordinate, Expression, Operation


@dataclass(frozen=True)
class Algebra:
    """What algebra proves of a gated sheet wherever its formulas are smooth.

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
        return _scalar(expressions[0], strength) if len(expressions) == 1 else _channels(
            expressions, strength
        )  # fmt: skip
    except (PolynomialTooLarge, ZeroDivisionError, OverflowError):
        return Algebra()


def _scalar(expression: Expression, strength: float) -> Algebra:
    """By the law: K has the sign of det Hess(1/g)."""
    field = DifferentialRing(_mixed(expression, strength))
    rho = field.reciprocal(_mixed(expression, strength))
    _, _, uu, uv, vv = field.derivatives(rho)
    if all(not field.reduced(x) for x in (uu, uv, vv)):
        return Algebra(flat=True, plane=True)
    hessian = field.reduced(field.product(uu, vv) - field.product(uv, uv))
    return Algebra(flat=True) if not hessian else Algebra(sign=field.definite(hessian))


def _channels(expressions: Sequence[Expression], strength: float) -> Algebra:
    """By the second fundamental form of (g_1 u, g_2 v, g_3)."""
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
