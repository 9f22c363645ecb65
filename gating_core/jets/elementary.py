"""Operations that act alike on plain tensors and on `Bounded` ones, and elementary functions.

The rules consist of them. A function of one variable comes with its first two derivatives, in a
form that is accurate where it saturates, without avoidable cancellation (sigmoid' is s(z) s(-z)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch

from gating_core.jets.bounded import (
    Bounded,
    bounded,
    two_products,
    value_of,
)
from gating_core.jets.intervals import ETA, LIBRARY, growth, monotone
from gating_core.jets.taylor import TaylorModel, combined
from gating_core.points_last import product

Array = torch.Tensor | Bounded


def sigmoids(z: Array) -> tuple[Array, Array]:
    """sigmoid(z) and sigmoid(-z), each accurate to its own size.

    The logarithm of sigmoid(z) has the slope sigmoid(-z), which over an error e varies by at
    most the factor exp(e) <= 1 + 2 e.
    """
    if not isinstance(z, Bounded):
        return torch.sigmoid(z), torch.sigmoid(-z)
    if isinstance(z, TaylorModel):
        return z.sigmoid(), (-z).sigmoid()
    s, t = torch.sigmoid(z.value), torch.sigmoid(-z.value)
    if z.error is None:
        return Bounded(s, s * (2 * LIBRARY) + ETA), Bounded(t, t * (2 * LIBRARY) + ETA)
    slack = torch.where(z.error <= 1, z.error * (1 + 2 * z.error), torch.inf)
    up = Bounded(s, (s + ETA) * (growth(slack * t) + 2 * LIBRARY) + ETA)
    down = Bounded(t, (t + ETA) * (growth(slack * s) + 2 * LIBRARY) + ETA)
    over = partial(monotone, torch.sigmoid)
    return z.or_interval(up, over), (-z).or_interval(down, over)


def matmul(a: Any, b: Any) -> Array:
    """``a @ b`` for tensors and bounded tensors."""
    if isinstance(a, Bounded) or isinstance(b, Bounded):
        return a @ b if isinstance(a, Bounded) else b.__rmatmul__(a)
    return product(a, b)


def where(condition: torch.Tensor, a: Array, b: Array) -> Array:
    """``torch.where`` for tensors and bounded tensors."""
    if not isinstance(a, Bounded) and not isinstance(b, Bounded):
        return torch.where(condition, a, b)
    values = torch.where(condition, value_of(a), value_of(b))
    a, b = (x if isinstance(x, Bounded) else Bounded(x) for x in (a, b))
    if isinstance(a, TaylorModel) or isinstance(b, TaylorModel):
        return combined([a, b], lambda parts: torch.where(condition, parts[0], parts[1]))
    return Bounded(values, torch.where(condition, a._error_or_zero(), b._error_or_zero()))


def put(x: Array, index: Any, y: Array) -> Array:
    """A copy of ``x`` with ``y`` in the place of ``x[index]``."""

    def written(parts: list[torch.Tensor]) -> torch.Tensor:
        out = parts[0].clone()
        out[index] = parts[1]
        return out

    if isinstance(x, TaylorModel) or isinstance(y, TaylorModel):
        return combined([z if isinstance(z, Bounded) else Bounded(z) for z in (x, y)], written)
    value = written([value_of(x), value_of(y)])
    if not isinstance(x, Bounded):
        return value
    y = bounded(y, x)
    if x.error is None and y.error is None:
        return Bounded(value)
    return Bounded(value, written([x._error_or_zero(), y._error_or_zero()]))


def join(parts: list, dim: int, how: Callable = torch.cat) -> Array:
    """``torch.cat`` or ``torch.stack`` for tensors and bounded tensors."""
    if any(isinstance(part, TaylorModel) for part in parts):
        forms = [part if isinstance(part, Bounded) else Bounded(part) for part in parts]
        return combined(forms, lambda tensors: _joined(tensors, dim, how))
    values = _joined([value_of(part) for part in parts], dim, how)
    if not any(isinstance(part, Bounded) and part.error is not None for part in parts):
        return Bounded(values) if isinstance(parts[0], Bounded) else values
    errors = [
        part._error_or_zero() if isinstance(part, Bounded) else torch.zeros_like(part)
        for part in parts
    ]
    return Bounded(values, _joined(errors, dim, how))


def _joined(parts: list[torch.Tensor], dim: int, how: Callable) -> torch.Tensor:
    """Join along the first axis and stay "points last", which ``how`` alone does not."""
    least = 2 if how is torch.stack else 3  # `cat` must not see its own axis transposed
    if dim == 0 and all(p.ndim >= least and p.stride(-2) == 1 for p in parts):
        return how([part.mT for part in parts], 0).mT
    return how(parts, dim)


def products(a: Array, b: Array, c: Array, d: Array) -> Array:
    """``a * b + c * d``."""
    some = next((x for x in (a, b, c, d) if isinstance(x, Bounded)), None)
    if any(isinstance(x, TaylorModel) for x in (a, b, c, d)):
        return a * b + c * d
    if some is not None:
        return two_products(*(bounded(x, some) for x in (a, b, c, d)))
    return torch.addcmul(cast(torch.Tensor, a * b), *cast(tuple[torch.Tensor, ...], (c, d)))


def squares(a: Array) -> Array:
    """All a_i a_j with i <= j along the first axis, in lexicographic order."""
    if isinstance(a, Bounded) and not isinstance(a, TaylorModel):
        _ = a.magnitude, a.upper, a.loose  # computed once for all slices
    return join([a[i : i + 1] * a[i:] for i in range(a.shape[0])], 0)


def relative_to(x: Array, dim: int, index: torch.Tensor) -> Array:
    """``x`` minus its entries at ``index`` along ``dim``; those entries become exactly zero."""
    moved = x - x.gather(dim, index)
    if isinstance(moved, Bounded) and moved.error is not None:
        moved.error.scatter_(dim, index, 0.0)
    return moved


# --- Functions of one variable: value, first and second derivative --------------------------------


def _sigmoid(z: Array) -> tuple[Array, ...]:
    s, t = sigmoids(z)
    slope = s * t
    return s, slope, slope * (t - s)


def _silu(z: Array) -> tuple[Array, ...]:
    s, s1, s2 = _sigmoid(z)
    return z * s, s + z * s1, 2 * s1 + z * s2


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


FUNCTIONS: dict[str, Callable[[Array], tuple[Array, ...]]] = {
    "exp": lambda z: (z.exp(),) * 3,
    "log": lambda z: (z.log(), r := z.reciprocal(), -(r * r)),
    "sqrt": lambda z: (root := z.sqrt(), slope := 0.5 / root, -0.5 * slope / z),
    "rsqrt": lambda z: (r := z.rsqrt(), slope := -0.5 * r / z, -1.5 * slope / z),
    "reciprocal": lambda z: (r := z.reciprocal(), -(r * r), 2 * r * r * r),
    "square": lambda z: (z.square(), 2 * z, 0 * z + 2),
    "sin": lambda z: (f := z.sin(), z.cos(), -f),
    "cos": lambda z: (f := z.cos(), -z.sin(), -f),
    "sinh": lambda z: (f := z.sinh(), z.cosh(), f),
    "cosh": lambda z: (f := z.cosh(), z.sinh(), f),
    "tan": lambda z: (
        t := z.sin() * (over := z.cos().reciprocal()),
        slope := over * over,
        2 * t * slope,
    ),
    "atan": lambda z: (z.atan(), slope := (1 + z * z).reciprocal(), -2 * z * slope * slope),
    "abs": _abs,
    "tanh": lambda z: (
        t := z.tanh(),
        slope := z.cosh().reciprocal().square(),
        -2 * t * slope,
    ),
    "sigmoid": _sigmoid,
    "silu": _silu,
    "softplus": _softplus,
    "gelu": _gelu,
}
