"""Parts of Taylor models: expansions of functions, and coefficients of polynomials.

An expansion is that of a function of one variable, with bounds of the remainder over a ball. It
takes centres c, radii r and a degree d and gives the coefficients f(c), f'(c), f''(c) / 2, ...
up to that of h^d, or fewer, and bounds between which the next coefficient, f^(m)(x) / m!, lies for
all |x - c| <= r. Coefficients are right to `ROUNDING` of themselves or to `ETA`, which the caller
adds. Infinite or NaN where f may be undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import torch

from gating_core.jets.intervals import ETA, LIBRARY, U

ROUNDING = 16 * LIBRARY
OUTWARDS = 1 + 2 * ROUNDING


class Expansion(NamedTuple):
    """``coefficients`` of h^0, h^1, ..., and the ends of the next one over the ball."""

    coefficients: list[torch.Tensor]
    low: torch.Tensor
    high: torch.Tensor


Rule = Callable[[torch.Tensor, torch.Tensor, int], Expansion]


def _within(coefficients: list[torch.Tensor], size: torch.Tensor) -> Expansion:
    """The next coefficient is no larger than ``size``."""
    return Expansion(coefficients, -size * OUTWARDS, size * OUTWARDS)


def _signed(
    coefficients: list[torch.Tensor], least: torch.Tensor, most: torch.Tensor, sign: int
) -> Expansion:
    """The size of the next coefficient is between two positive numbers; ``sign`` is its sign."""
    least, most = least / OUTWARDS, most * OUTWARDS
    return Expansion(coefficients, *((least, most) if sign > 0 else (-most, -least)))


def _sizes(c: torch.Tensor, r: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The smallest and the largest |x| in a ball, rounded outwards."""
    size = c.abs()
    slack = 4 * U * (size + r)
    return (size - r - slack).clamp(min=0), size + r + slack


def square(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Square: x^2 = c^2 + 2 c h + h^2, exactly."""
    zero = torch.zeros_like(c)
    if d == 1:
        return Expansion([c.square(), 2 * c], zero + 1, zero + 1)
    return Expansion([c.square(), 2 * c, zero + 1], zero, zero)


def _or_range(e: Expansion, least: torch.Tensor, most: torch.Tensor, r: torch.Tensor) -> Expansion:
    """``e``, or only that f is between ``least`` and ``most``, where that says more."""
    power = r ** len(e.coefficients)
    spread = (most - least) / 2 * OUTWARDS
    wide = ~(torch.maximum(e.low.abs(), e.high.abs()) * power <= spread)
    if not wide.any():
        return e
    size = spread / power
    first = torch.where(wide, (least + most) / 2, e.coefficients[0])
    return Expansion(
        [first, *(torch.where(wide, 0.0, x) for x in e.coefficients[1:])],
        torch.where(wide, -size, e.low),
        torch.where(wide, size, e.high),
    )


def exp(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Exponential; the remainder is e^c h^m / m! times a series, m = d + 1.

    The series is at most 1 / (1 - r / (m + 1)) for r < 1.
    """
    e, m = c.exp(), math.factorial(d + 1)
    few = 1 / (1 - r / (d + 2))
    grown = torch.where(r < 1, torch.minimum(few, r.exp()), r.exp())
    coefficients = [e / math.factorial(k) for k in range(d + 1)]
    # Where e^c underflows, the exact one is still less than `ETA`.
    expansion = _signed(coefficients, e * (-r).exp() / m, (e + ETA) * grown / m, 1)
    slack = 2 * U * c.abs() + 2 * U * r  # the sum may overflow
    return _or_range(expansion, (c - r - slack).exp(), (c + r + slack).exp() + ETA, r)


def reciprocal(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Reciprocal: 1/x - sum (-h)^k / c^(k+1) = (-h)^(d+1) / (c^(d+1) x)."""
    size = c.abs()
    near, far = size - r - 2 * U * size, size + r
    over, side = c.reciprocal(), c.sign()
    coefficients = [over]
    for _ in range(d):
        coefficients.append(-coefficients[-1] * over)
    power = coefficients[-1].abs()
    low, high = far.reciprocal(), torch.where(near > 0, near.reciprocal(), torch.inf)
    least, most = power * low / OUTWARDS, power * high * OUTWARDS
    turn = side if d % 2 else -torch.ones_like(side)
    expansion = Expansion(
        coefficients, torch.where(turn > 0, least, -most), torch.where(turn > 0, most, -least)
    )
    return _or_range(
        expansion, torch.where(side > 0, low, -high), torch.where(side > 0, high, -low), r
    )


def log(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Natural logarithm: coefficients -(-1 / c)^k / k."""
    near, over = c - r - 2 * U * c.abs(), c.reciprocal()
    coefficients = [c.log(), *(-((-over) ** k) / k for k in range(1, d + 1))]
    most = torch.where(near > 0, near ** -(d + 1.0), torch.inf)
    return _signed(coefficients, (c + r) ** -(d + 1.0) / (d + 1), most / (d + 1), (-1) ** d)


def root(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Square root: coefficients binom(1/2, k) c^(1/2 - k); the range starts at 0 near 0."""
    near = (c - r - 2 * U * (c.abs() + r)).clamp(min=0)
    far = torch.where(c + r >= 0, c + r, torch.nan)
    at = c.sqrt()
    coefficients, binomial = [at], 1.0
    for k in range(1, d + 2):
        binomial *= (1.5 - k) / k
        if k <= d:
            coefficients.append(binomial * at / c**k)
    power = 0.5 - (d + 1)
    expansion = _signed(
        coefficients, abs(binomial) * far**power, abs(binomial) * near**power, (-1) ** d
    )
    return _or_range(expansion, near.sqrt(), far.sqrt() * (1 + 4 * U), r)


def wave(cycle: list[torch.Tensor], r: torch.Tensor, d: int) -> Expansion:
    """Sine or cosine, by the ``cycle`` of four derivatives, each within r of its value at c."""
    coefficients = [cycle[k % 4] / math.factorial(k) for k in range(d + 1)]
    size = (cycle[(d + 1) % 4].abs() + r).clamp(max=1.0)
    return _within(coefficients, size / math.factorial(d + 1))


def hyperbolic(pair: list[torch.Tensor], c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Hyperbolic sine or cosine: a ``pair`` whose even derivatives are the first."""
    coefficients = [pair[k % 2] / math.factorial(k) for k in range(d + 1)]
    far = (c.abs() + r) * (1 + 4 * U)
    return _within(coefficients, torch.cosh(far) / math.factorial(d + 1))


HIGHEST = 4  # degree for which the functions below have formulas


def _sigmoid_derivatives(z: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """s, s', ..., s^(d), not yet divided by factorials; p = s(z) s(-z) is largest at 0."""
    s, t = torch.sigmoid(z), torch.sigmoid(-z)
    p, q = s * t, t - s
    derivatives = [s, p, p * q, p * (1 - 6 * p), p * q * (1 - 12 * p)][: d + 1]
    near, far = _sizes(z, r)
    most, least = (torch.sigmoid(x) * torch.sigmoid(-x) for x in (near, far))
    lean = torch.tanh(far / 2)  # |t - s| at most
    if d == 1:
        size = most * lean
    elif d == 2:
        size = most * torch.maximum((1 - 6 * least).abs(), (1 - 6 * most).abs())
    elif d == 4:
        size = most  # times |1 - 30 p + 120 p^2|, which is at most 1
    else:
        size = most * lean * torch.maximum((1 - 12 * least).abs(), (1 - 12 * most).abs())
    return _within(derivatives, size)


def _divided(derivatives: Expansion, first: int, scale: float = 1.0) -> Expansion:
    """Taylor coefficients from derivatives of which the first is of order ``first``."""
    factor = [scale**k / math.factorial(k) for k in range(first, first + HIGHEST + 2)]
    coefficients = [f * x for f, x in zip(factor, derivatives.coefficients, strict=False)]
    last = factor[len(coefficients)]
    return Expansion(coefficients, derivatives.low * last, derivatives.high * last)


def sigmoid(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Sigmoid, from the closed forms of its derivatives up to degree `HIGHEST`."""
    return _divided(_sigmoid_derivatives(c, r, min(d, HIGHEST)), 0)


def tanh(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Hyperbolic tangent, which is 2 sigmoid(2x) - 1."""
    parts = _divided(_sigmoid_derivatives(2 * c, 2 * r, min(d, HIGHEST)), 0, 2.0)
    coefficients = [c.tanh(), *(2 * x for x in parts.coefficients[1:])]
    return Expansion(coefficients, 2 * parts.low, 2 * parts.high)


def softplus(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Softplus, whose derivative is the sigmoid."""
    value = torch.nn.functional.softplus(c, threshold=700.0)
    if d == 1:
        return _within([value, torch.sigmoid(c)], torch.full_like(c, 0.125))
    slopes = _divided(_sigmoid_derivatives(c, r, min(d - 1, HIGHEST)), 1)
    return Expansion([value, *slopes.coefficients], slopes.low, slopes.high)


def atan(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Arctangent, of degree one: |atan''| / 2 = |x| / (1 + x^2)^2, at most 0.325."""
    slope = (1 + c.square()).reciprocal()
    return _within([c.atan(), slope], torch.full_like(c, 0.325))


def erfc(c: torch.Tensor, r: torch.Tensor, d: int) -> Expansion:
    """Complementary error function, of degree one.

    |erfc''| / 2 = 2 |x| exp(-x^2) / sqrt(pi), with |x| exp(-x^2 / 2) < 0.61.
    """
    value, slope = torch.special.erfc(c), -2 / math.sqrt(math.pi) * torch.exp(-c.square())
    near, _ = _sizes(c, r)
    off = slope.abs() * 1e-12 / r.clamp(min=1e-300)  # c^2 is rounded before exp: up to 700 U
    return _within([value, slope], 0.69 * torch.exp(-near.square() / 2) + off)


# --- Coefficients of polynomials in two variables -------------------------------------------------

# One that is ``None`` is zero, and is not computed with.


Term = torch.Tensor | None
Terms = tuple[Term, ...]


@cache
def monomials(degree: int) -> tuple[tuple[int, int], ...]:
    """The exponents of x and y, by degree from 0, powers of x first."""
    return tuple((n - j, j) for n in range(degree + 1) for j in range(n + 1))


@cache
def degree_of(count: int) -> int:
    """The degree of models with ``count`` terms."""
    return next(d for d in range(20) if len(monomials(d)) - 1 >= count)


@cache
def pairs_of(degree: int) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return, for each monomial, the pairs of monomials whose product it is."""
    all_of = monomials(degree)
    place = {exponents: i for i, exponents in enumerate(all_of)}
    pairs: list[list[tuple[int, int]]] = [[] for _ in all_of]
    for i, (a, b) in enumerate(all_of):
        for j, (c, d) in enumerate(all_of):
            if (target := place.get((a + c, b + d))) is not None:
                pairs[target].append((i, j))
    return tuple(map(tuple, pairs))


def padded(terms: Terms, depth: int) -> Terms:
    """Return ``depth`` terms: the given ones, then zeros (``None``)."""
    return terms + (None,) * (depth - len(terms))


def mapped(terms: Terms, how: Callable) -> Terms:
    """Apply ``how`` to every term that is not zero (``None``)."""
    return tuple(None if x is None else how(x) for x in terms)


def sum_of(parts: Iterable[Term]) -> Term:
    """The sum of ``parts``; None is zero."""
    known: list[Any] = [x for x in parts if x is not None]
    return sum(known[1:], known[0]) if known else None


def size_of(parts: Iterable[Term], start: Any) -> Any:
    """``start`` plus the sizes of ``parts``."""
    return sum((x.abs() for x in parts if x is not None), start)
