"""Interval extensions of functions, for errors that are not small, such as half a cell's width.

Where an error is small, a function's error is its slope times that, which `Bounded` adds up. Over a
wide ball the function's values at both ends say more. Every function here takes a ball, as a
tensor of centres and one of radii, and returns another, with its rounding in it. Radii that are
infinite or NaN mean that the argument may be anything, or undefined, and so does the result.
Source: Tucker, *Validated Numerics*, 2011, section 2.2.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

U = 2.0**-53 * (1 + 2.0**-10)
LIBRARY = 4 * U  # relative error of exp, log, sin, ...: four times their documented one
ETA = torch.finfo(torch.float64).tiny  # the largest error of a result near underflow
WIDE = 2.0**-10  # a radius above it, relative where the function's scale is its argument, is wide
Ball = tuple[torch.Tensor, torch.Tensor]


def _ends(centre: torch.Tensor, radius: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The ends of a ball, rounded outwards."""
    slack = 2 * U * centre.abs() + 2 * U * radius  # their sum may overflow
    return centre - radius - slack, centre + radius + slack


def _between(low: torch.Tensor, high: torch.Tensor, radius: torch.Tensor) -> Ball:
    """The ball between two values of a library function; ``radius`` is that of its argument."""
    rounding = (low.abs() + high.abs()) * (2 * LIBRARY) + ETA
    spread = (high - low).abs() / 2 + rounding
    return (low + high) / 2, torch.where(radius.isfinite(), spread, torch.inf)


def monotone(
    f: Callable[[torch.Tensor], torch.Tensor], centre: torch.Tensor, radius: torch.Tensor
) -> Ball:
    """A function that only rises or only falls."""
    low, high = _ends(centre, radius)
    return _between(f(low), f(high), radius)


def valley(
    f: Callable[[torch.Tensor], torch.Tensor], centre: torch.Tensor, radius: torch.Tensor
) -> Ball:
    """An even function that only rises, or only falls, away from 0."""
    low, high = _ends(centre.abs(), radius)
    return _between(f(low.clamp(min=0)), f(high), radius)


def positive(
    f: Callable[[torch.Tensor], torch.Tensor], centre: torch.Tensor, radius: torch.Tensor
) -> Ball:
    """A function that only rises or only falls, defined above 0 alone: no ball where 0 is near."""
    low, high = _ends(centre, radius)
    inside = low > 0
    values = _between(f(torch.where(inside, low, 1.0)), f(torch.where(inside, high, 1.0)), radius)
    return torch.where(inside, values[0], 0.0), torch.where(inside, values[1], torch.inf)


def root(centre: torch.Tensor, radius: torch.Tensor) -> Ball:
    """The square root, for arguments >= 0; the range starts at 0 where 0 may be an argument."""
    low, high = _ends(centre, radius)
    value, error = _between(low.clamp(min=0).sqrt(), high.sqrt(), radius)
    return value, torch.where(low <= 0, error * (1 + 4 * U), error)  # so that 0 is in it


def reciprocal(centre: torch.Tensor, radius: torch.Tensor) -> Ball:
    """1 / x: no ball where 0 is in it."""
    value, error = positive(torch.reciprocal, centre.abs(), radius)
    return torch.copysign(value, centre), error


def wave(
    f: Callable[[torch.Tensor], torch.Tensor],
    slope: Callable[[torch.Tensor], torch.Tensor],
    centre: torch.Tensor,
    radius: torch.Tensor,
) -> Ball:
    """Sine or cosine: within |slope| r + r^2 / 2 of its value at the centre, and within [-1, 1]."""
    at = f(centre)
    reach = radius * (slope(centre).abs() + LIBRARY) + radius.square() / 2
    reach = torch.minimum(reach, radius) * (1 + 4 * U) + LIBRARY
    low, high = (at - reach).clamp(min=-1.0), (at + reach).clamp(max=1.0)
    return _between(low, high, torch.where(centre.isfinite(), radius, torch.inf))


def square(centre: torch.Tensor, radius: torch.Tensor) -> Ball:
    """x^2, which is nowhere negative."""
    return valley(torch.square, centre, radius)


def growth(error: torch.Tensor) -> torch.Tensor:
    """Return a bound of exp(error) - 1 for errors up to a half; infinite beyond."""
    return torch.where(error <= 0.5, error + error.square(), torch.inf)
