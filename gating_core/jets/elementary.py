"""Functions of one variable with their first two derivatives, accurate where they saturate.

Each takes a tensor, plain or bounded, and returns (value, first derivative, second derivative)
of the same kind, in a form without avoidable cancellation (sigmoid' is s(z) s(-z)).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from gating_core.jets.arrays import Array, sigmoids
from gating_core.jets.bounded import Bounded


def _sigmoid(z: Array) -> tuple[Array, ...]:
    s, t = sigmoids(z)
    slope = s * t
    return s, slope, slope * (t - s)


def _silu(z: Array) -> tuple[Array, ...]:
    s, s1, s2 = _sigmoid(z)
    return z * s, s + z * s1, 2 * s1 + z * s2


def _tanh(z: Array) -> tuple[Array, ...]:
    t = z.tanh()
    slope = z.cosh().reciprocal().square()
    return t, slope, -2 * t * slope


def _tan(z: Array) -> tuple[Array, ...]:
    over = z.cos().reciprocal()
    t, slope = z.sin() * over, over * over
    return t, slope, 2 * t * slope


def _abs(z: Array) -> tuple[Array, ...]:
    """The slopes have infinite errors where the sign of z is not known, and at the kink."""
    if not isinstance(z, Bounded):
        return z.abs(), z.sign(), 0 * z
    lost = torch.where(z.magnitude > z.bound, 0.0, torch.inf)
    return z.absolute(), Bounded(z.value.sign(), lost), Bounded(torch.zeros_like(lost), lost)


def _softplus(z: Array) -> tuple[Array, ...]:
    s, s1, _ = _sigmoid(z)
    value = z.softplus() if isinstance(z, Bounded) else torch.nn.functional.softplus(z, 1, 700.0)
    return value, s, s1


def _gelu(z: Array) -> tuple[Array, ...]:
    density = (z * z * -0.5).exp() / math.sqrt(2 * math.pi)
    below = 0.5 * (z * -math.sqrt(0.5)).erfc()
    return z * below, below + z * density, density * (2 - z * z)


def _exp(z: Array) -> tuple[Array, ...]:
    e = z.exp()
    return e, e, e


def _log(z: Array) -> tuple[Array, ...]:
    r = z.reciprocal()
    return z.log(), r, -(r * r)


def _sqrt(z: Array) -> tuple[Array, ...]:
    root = z.sqrt()
    slope = 0.5 / root
    return root, slope, -0.5 * slope / z


def _rsqrt(z: Array) -> tuple[Array, ...]:
    r = z.rsqrt()
    slope = -0.5 * r / z
    return r, slope, -1.5 * slope / z


def _reciprocal_parts(z: Array) -> tuple[Array, ...]:
    r = z.reciprocal()
    return r, -(r * r), 2 * r * r * r


def _square(z: Array) -> tuple[Array, ...]:
    return z.square(), 2 * z, 0 * z + 2


def _atan(z: Array) -> tuple[Array, ...]:
    slope = (1 + z * z).reciprocal()
    return z.atan(), slope, -2 * z * slope * slope


def _swing(name: str, other: str, sign: int) -> Callable:
    """sin, cos, sinh and cosh: the derivative is the other one, the second is plus or minus."""

    def parts(z: Array) -> tuple[Array, ...]:
        f, g = getattr(z, name)(), getattr(z, other)()
        return f, -g if name == "cos" else g, f if sign > 0 else -f

    return parts


FUNCTIONS: dict[str, Callable[[Array], tuple[Array, ...]]] = {
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "rsqrt": _rsqrt,
    "reciprocal": _reciprocal_parts,
    "square": _square,
    "sin": _swing("sin", "cos", -1),
    "cos": _swing("cos", "sin", -1),
    "sinh": _swing("sinh", "cosh", 1),
    "cosh": _swing("cosh", "sinh", 1),
    "tan": _tan,
    "atan": _atan,
    "abs": _abs,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
    "silu": _silu,
    "softplus": _softplus,
    "gelu": _gelu,
}
