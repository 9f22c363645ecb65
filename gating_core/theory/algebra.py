"""Algebra on a gated sheet: is K zero identically, or nowhere of one sign?

K times a positive function is a polynomial in u, v and the functions of the formula. If all its
coefficients are zero, K is zero wherever the formula is smooth. If it is a product of even powers
and of factors whose monomials are all squares with coefficients of one sign, K is nowhere of the
other sign. For polynomials that are too large nothing is proved.

Every function in an expression becomes a generator of a polynomial ring over the rationals, with
its derivatives by the chain rule and the relation that it satisfies, if any: r a = 1 for a
quotient, t^2 = a for a root, s^2 = 1 for the sign in |a| = s a, s^2 + c^2 = 1 for sine and cosine.
Relations that are not used, such as exp(a) exp(-a) = 1, can only hide that a polynomial is zero.
Numbers are the floats that they are read as, exactly.

The polynomials are SymPy's, which PyTorch brings along; it is imported when first needed. Sizes are
bounded, so that no formula takes long.
Source: Bronstein, *Symbolic Integration I*, 2nd ed., chapter 3 (differential extensions).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

from gating_core.theory.formula import (
    Call,
    Constant,
    Coordinate,
    Expression,
    Negative,
    Operation,
    constant,
    parts_of,
)

# In all products of polynomials together: products of two terms, times the generators of the ring,
# whose exponents are added. A third of a second.
MOST_STEPS = 2_000_000
Polynomial = Any  # SymPy's PolyElement


class PolynomialTooLarge(ArithmeticError):
    """The polynomials became larger than is worth computing with."""


@dataclass(frozen=True)
class _Generator:
    """A generator: its ``kind``, the elements in its defining relation, and its derivatives."""

    kind: str
    of: Polynomial
    slopes: tuple[Polynomial, Polynomial]


class DifferentialRing:
    """Polynomials in u, v and one generator for every function in some expressions."""

    def __init__(self, *expressions: Expression) -> None:
        from sympy.polys.domains import QQ  # here: a third of a second, once a formula needs it
        from sympy.polys.rings import ring

        # Each node brings two generators at most, and its reciprocal one.
        count = 3 * sum(
            not isinstance(x, Constant | Coordinate) for e in expressions for x in parts_of(e)
        )
        self.ring, *gens = ring([f"x{i}" for i in range(count + 3)], QQ)
        self.zero, self.one = self.ring.zero, self.ring.one
        self._free = iter(gens[2:])
        self._index = {gen: i for i, gen in enumerate(gens)}
        self._generators: dict[Polynomial, _Generator] = {}  # in order of their making
        self._known: dict[Any, Polynomial] = {}
        self._left = MOST_STEPS
        self.u, self.v = gens[:2]

    # Arithmetic within bounds.

    def product(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """Return a b; `PolynomialTooLarge` once the ring has multiplied too many terms."""
        self._left -= len(a) * len(b) * self.ring.ngens
        if self._left < 0:
            raise PolynomialTooLarge
        return a * b

    def power(self, a: Polynomial, n: int) -> Polynomial:
        """Return a^n for an integer n >= 0; `PolynomialTooLarge` as `product`."""
        return reduce(self.product, [a] * n, self.one)

    # From expressions to polynomials.

    def polynomial(self, x: Expression) -> Polynomial:
        """The polynomial of an expression."""
        if x not in self._known:
            self._known[x] = self._polynomial(x)
        return self._known[x]

    def _polynomial(self, x: Expression) -> Polynomial:
        if isinstance(x, Constant):
            return self.ring(self.ring.domain(*x.value.as_integer_ratio()))
        if isinstance(x, Coordinate):
            return self.u if x.name == "u" else self.v
        if isinstance(x, Negative):
            return -self.polynomial(x.of)
        if isinstance(x, Operation):
            if x.sign == "^":
                return self._raised(x)
            a = self.polynomial(x.left)
            if x.sign == "/":
                return self.product(a, self.reciprocal(x.right))
            b = self.polynomial(x.right)
            return self.product(a, b) if x.sign == "*" else a + b if x.sign == "+" else a - b
        assert isinstance(x, Call)
        return self._called(x)

    def reciprocal(self, x: Expression) -> Polynomial:
        """The polynomial of 1 / x: of a product or a quotient without a generator of its own."""
        key = "1/", x
        if key not in self._known:
            self._known[key] = self._reciprocal(x)
        return self._known[key]

    def _reciprocal(self, x: Expression) -> Polynomial:
        if isinstance(x, Negative):
            return -self.reciprocal(x.of)
        if isinstance(x, Operation) and x.sign == "/":
            return self.product(self.polynomial(x.right), self.reciprocal(x.left))
        if isinstance(x, Operation) and x.sign == "*":
            return self.product(self.reciprocal(x.left), self.reciprocal(x.right))
        if isinstance(x, Operation) and x.sign == "^" and not x.right.variables:
            return self.polynomial(Operation("^", x.left, Negative(x.right)))
        if isinstance(x, Call) and x.name == "sqrt":
            return self.product(self.polynomial(x), self.reciprocal(x.of))
        if isinstance(x, Call) and x.name == "abs":
            return self.product(self._sign(x.of), self.reciprocal(x.of))
        a = self.polynomial(x)
        if not a:
            raise ZeroDivisionError
        if a.is_ground:
            return self.ring(1 / a.LC)
        r = next(self._free)
        slopes = [self.product(-(r**2), slope) for slope in self.slopes(a)]
        return self._made(r, "reciprocal", a, slopes)

    def _raised(self, x: Operation) -> Polynomial:
        if x.right.variables:
            return self.polynomial(Call("exp", Operation("*", x.right, Call("log", x.left))))
        power = constant(x.right)
        if float(power).is_integer():
            n = int(power)
            return self.power(
                self.polynomial(x.left) if n >= 0 else self.reciprocal(x.left), abs(n)
            )
        if float(2 * power).is_integer():
            root = Call("sqrt", x.left)
            n = int(2 * power)
            return self.power(self.polynomial(root) if n >= 0 else self.reciprocal(root), abs(n))
        a, below = self.polynomial(x.left), self.reciprocal(x.left)
        t = next(self._free)
        factor = self.product(t, below) * self.ring.domain(*power.as_integer_ratio())
        return self._made(t, "positive", a, [self.product(factor, s) for s in self.slopes(a)])

    def _called(self, x: Call) -> Polynomial:
        a = self.polynomial(x.of)
        slopes = self.slopes(a)
        if x.name == "abs":
            return self.product(self._sign(x.of), a)
        if x.name == "sqrt":
            below = self.reciprocal(x.of)
            t = next(self._free)
            half = self.product(t, below) * self.ring.domain(1, 2)
            return self._made(t, "root", a, [self.product(half, s) for s in slopes])
        if x.name in ("sin", "cos"):
            s, c = next(self._free), next(self._free)
            cosine = self._made(c, "free", a, [self.product(-s, d) for d in slopes])
            sine = self._made(s, "sine", self.one - c**2, [self.product(c, d) for d in slopes])
            self._known |= {Call("sin", x.of): sine, Call("cos", x.of): cosine}
            return sine if x.name == "sin" else cosine
        if x.name == "log":
            below = self.reciprocal(x.of)
            t = next(self._free)
            return self._made(t, "free", a, [self.product(below, d) for d in slopes])
        t = next(self._free)
        factor, kind = {
            "exp": (t, "positive"),
            "tan": (self.one + t**2, "free"),
            "tanh": (self.one - t**2, "free"),
            "sigmoid": (t - t**2, "positive"),
        }[x.name]
        return self._made(t, kind, a, [self.product(factor, d) for d in slopes])

    def _sign(self, x: Expression) -> Polynomial:
        key = "sign", x
        if key not in self._known:
            s = next(self._free)
            self._known[key] = self._made(s, "sign", self.one, [self.zero, self.zero])
        return self._known[key]

    def _made(self, t: Polynomial, kind: str, polynomial: Polynomial, slopes: list) -> Polynomial:
        self._generators[t] = _Generator(kind, polynomial, (slopes[0], slopes[1]))
        return t

    # Derivatives.

    def slopes(self, p: Polynomial) -> list[Polynomial]:
        """The derivatives of ``p`` along u and v."""
        derivatives = [p.diff(self.u), p.diff(self.v)]
        for t, made in self._generators.items():
            along = p.diff(t)
            if along:
                derivatives = [
                    x + self.product(along, s)
                    for x, s in zip(derivatives, made.slopes, strict=True)
                ]
        return derivatives

    def derivatives(self, p: Polynomial) -> tuple[Polynomial, ...]:
        """u, v, uu, uv, vv."""
        u, v = (self.reduced(x, cleared=False) for x in self.slopes(p))
        (uu, uv), (_, vv) = self.slopes(u), self.slopes(v)
        return u, v, uu, uv, vv

    # Relations.

    def reduced(self, p: Polynomial, cleared: bool = True) -> Polynomial:
        """``p`` with squares of roots, signs and sines replaced.

        If ``cleared``, times even powers of its denominators: a polynomial without reciprocals that
        has the sign of ``p``, zero if ``p`` is.
        """
        for t, made in reversed(self._generators.items()):
            if made.kind in ("root", "sign", "sine"):
                p = self._squares(p, t, made.of)
            elif cleared and made.kind == "reciprocal":
                p = self._cleared(p, t, made.of)
        return p

    def _squares(self, p: Polynomial, t: Polynomial, polynomial: Polynomial) -> Polynomial:
        """``p`` with t^2 replaced by ``polynomial``."""
        rows = self._by_power(p, t).items()
        halves = ((self.product(row, self.power(polynomial, n // 2)), n % 2) for n, row in rows)
        return sum((self.product(half, t**odd) for half, odd in halves), self.zero)

    def _cleared(self, p: Polynomial, t: Polynomial, polynomial: Polynomial) -> Polynomial:
        """``p`` times the least even power of ``polynomial`` = 1 / t that clears t from it."""
        rows = self._by_power(p, t)
        most = max(rows, default=0)
        most += most % 2
        cleared = (self.product(x, self.power(polynomial, most - n)) for n, x in rows.items())
        return sum(cleared, self.zero)

    def _by_power(self, p: Polynomial, t: Polynomial) -> dict[int, Polynomial]:
        """The coefficients of ``p`` as a polynomial in t."""
        at = self._index[t]
        rows: dict[int, Polynomial] = {}
        for monomial, coefficient in p.terms():
            rest = (*monomial[:at], 0, *monomial[at + 1 :])
            rows.setdefault(monomial[at], self.ring.zero.copy())[rest] = coefficient
        return rows

    def definite(self, p: Polynomial) -> int:
        """1 if ``p`` >= 0 everywhere, -1 if ``p`` <= 0, 0 if neither is shown.

        Shown by its factors: even powers, and polynomials whose monomials are all squares with
        coefficients of one sign. A polynomial beyond the bounds is not factored.
        """
        degrees = [n for n in p.degrees() if n > 0]
        # At most a quarter of a second within these bounds. In 500 formulas no factor decided a
        # sign with more than 3 generators; 24 of them took 1 s, 38 took 30.
        if len(p) > 40 or len(degrees) > 8 or max(degrees, default=0) > 12:
            return self._one_signed(p)
        lead, factors = p.factor_list()
        sign = 1 if lead > 0 else -1
        for factor, n in factors:
            sign *= self._one_signed(factor) if n % 2 else 1
        return sign

    def _one_signed(self, p: Polynomial) -> int:
        positive = {
            self._index[t]
            for t, made in self._generators.items()
            if made.kind in ("positive", "root")
        }
        signs = set()
        for monomial, coefficient in p.terms():
            if any(n % 2 and i not in positive for i, n in enumerate(monomial)):
                return 0
            signs.add(1 if coefficient > 0 else -1)
        return signs.pop() if len(signs) == 1 else 0


# --- What it says of K ----------------------------------------------------------------------------


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
    if not strength:
        return Algebra(flat=True, plane=True)  # the sheet itself
    if not expressions:
        return Algebra()
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
