"""Functions of one variable as their tangent at the centre of a ball, with what that leaves out.

Each rule takes centres c and radii r and returns f(c), f'(c) and two numbers between which
f(x) - f(c) - f'(c) (x - c) lies for all |x - c| <= r, up to `ROUNDING` of all these, which the
caller adds. Where f is convex the tangent is below it, so that one of the two is zero. Infinite or
NaN where f may be undefined.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from gating_core.jets.hulls import ETA, LIBRARY, U, wave

ROUNDING = 8 * LIBRARY
SLACK = 1e-9  # by which a ball is widened before it is asked for a function's extremes


class Tangent(NamedTuple):
    """f(c), f'(c), and the ends of the remainder."""

    value: torch.Tensor
    slope: torch.Tensor
    low: torch.Tensor
    high: torch.Tensor


def square(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    return Tangent(c.square(), 2 * c, torch.zeros_like(c), r.square())


def exp(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    """e^c (e^x - 1 - x); where e^c underflows, the exact one is still less than `ETA`."""
    e, lost = c.exp(), ETA * r.exp()
    return Tangent(e, e, -lost, e * (torch.expm1(r) - r).clamp(min=0) + lost)


def reciprocal(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    """1/x - 1/c + (x - c)/c^2 = (x - c)^2 / (c^2 x)."""
    size = c.abs()
    gap = size - r - 2 * U * size
    over = size.reciprocal()
    most = torch.where(gap > 0, (r * over).square() / gap, torch.inf)
    zero, positive = torch.zeros_like(c), c > 0
    low, high = torch.where(positive, zero, -most), torch.where(positive, most, zero)
    return Tangent(torch.copysign(over, c), -over.square(), low, high)


def root(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    """sqrt x - its tangent = -(sqrt x - sqrt c)^2 / (2 sqrt c); from 0 where 0 is near."""
    start = c - r - 2 * U * (c.abs() + r)
    at, end = c.clamp(min=0).sqrt(), (c + r).clamp(min=0).sqrt() * (1 + 4 * U)
    least = -(at - start.clamp(min=0).sqrt()).square() / (2 * at)
    inside, zero = start > 0, torch.zeros_like(c)
    return Tangent(
        torch.where(inside, at, end / 2),
        torch.where(inside, 0.5 / at, zero),
        torch.where(inside, least, -end / 2),
        torch.where(inside, zero, end / 2),
    )


def log(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    share = (r / c).abs()
    inside = (c > 0) & (share < 1 - 4 * U)
    least = torch.where(inside, torch.log1p(-share * (1 + 4 * U)) + share, -torch.inf)
    return Tangent(c.log(), c.reciprocal(), least.clamp(max=0), torch.zeros_like(c))


def sinh(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    """sinh(c + x) = sinh c + cosh c x + sinh c (cosh x - 1) + cosh c (sinh x - x)."""
    value, slope = c.sinh(), c.cosh()
    even, odd = _cosh_rest(r), _sinh_rest(r)
    return Tangent(
        value, slope,
        value.clamp(max=0) * even - slope * odd, value.clamp(min=0) * even + slope * odd,
    )  # fmt: skip


def cosh(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    value, slope = c.cosh(), c.sinh()
    return Tangent(
        value, slope, torch.zeros_like(c), value * _cosh_rest(r) + slope.abs() * _sinh_rest(r)
    )


def _cosh_rest(r: torch.Tensor) -> torch.Tensor:
    """At least cosh r - 1."""
    return 2 * (r / 2).sinh().square() * (1 + ROUNDING)


def _sinh_rest(r: torch.Tensor) -> torch.Tensor:
    """At least sinh r - r: r^3 / 6 cosh r."""
    return r * r.square() / 6 * r.cosh() * (1 + ROUNDING)


def _by_second(
    value: torch.Tensor, slope: torch.Tensor, r: torch.Tensor, low: torch.Tensor, high: torch.Tensor
) -> Tangent:
    """From bounds of the second derivative: half of it times (x - c)^2, which may be zero."""
    half = r.square() / 2 * (1 + 1e-9)
    return Tangent(value, slope, half * low.clamp(max=0), half * high.clamp(min=0))


def _extremes(
    f: Callable[[torch.Tensor], torch.Tensor], c: torch.Tensor, r: torch.Tensor,
    critical: tuple[float, ...],
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Bounds of f on a ball, from its ends and those of its ``critical`` points that are in it."""
    a, b = c - r - SLACK, c + r + SLACK
    ends = f(a), f(b)
    low, high = torch.minimum(*ends), torch.maximum(*ends)
    for point in critical:
        at = f(torch.tensor(point, dtype=c.dtype))
        within = (a <= point) & (b >= point)
        low = torch.where(within, low.clamp(max=float(at)), low)
        high = torch.where(within, high.clamp(min=float(at)), high)
    return low - SLACK * low.abs(), high + SLACK * high.abs()


def sin(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    value = c.sin()
    middle, reach = wave(torch.sin, torch.cos, c, r)
    return _by_second(value, c.cos(), r, -middle - reach, reach - middle)


def cos(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    value = c.cos()
    middle, reach = wave(torch.cos, torch.sin, c, r)
    return _by_second(value, -c.sin(), r, -middle - reach, reach - middle)


def _atan_second(x: torch.Tensor) -> torch.Tensor:
    return -2 * x / (1 + x.square()).square()


def atan(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    bend = _extremes(_atan_second, c, r, (-(3**-0.5), 3**-0.5))
    return _by_second(c.atan(), (1 + c.square()).reciprocal(), r, *bend)


def _sigmoid_second(x: torch.Tensor) -> torch.Tensor:
    s, t = torch.sigmoid(x), torch.sigmoid(-x)
    return s * t * (t - s)


SIGMOID_BEND = math.log(2 + 3**0.5)  # where |sigmoid''| is largest


def sigmoid(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    value = torch.sigmoid(c)
    bend = _extremes(_sigmoid_second, c, r, (-SIGMOID_BEND, SIGMOID_BEND))
    return _by_second(value, value * torch.sigmoid(-c), r, *bend)


def _tanh_second(x: torch.Tensor) -> torch.Tensor:
    return -2 * x.tanh() / x.cosh().square()


TANH_BEND = math.atanh(3**-0.5)


def tanh(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    bend = _extremes(_tanh_second, c, r, (-TANH_BEND, TANH_BEND))
    return _by_second(c.tanh(), c.cosh().square().reciprocal(), r, *bend)


def _erfc_second(x: torch.Tensor) -> torch.Tensor:
    return 4 / math.sqrt(math.pi) * x * torch.exp(-x.square())


def erfc(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    slope = -2 / math.sqrt(math.pi) * torch.exp(-c.square())
    bend = _extremes(_erfc_second, c, r, (-(0.5**0.5), 0.5**0.5))
    return _by_second(torch.special.erfc(c), slope, r, *bend)


def _sigmoid_slope(x: torch.Tensor) -> torch.Tensor:
    return torch.sigmoid(x) * torch.sigmoid(-x)


def softplus(c: torch.Tensor, r: torch.Tensor) -> Tangent:
    value = torch.nn.functional.softplus(c, threshold=700.0)
    bend = _extremes(_sigmoid_slope, c, r, (0.0,))
    return _by_second(value, torch.sigmoid(c), r, torch.zeros_like(c), bend[1])
