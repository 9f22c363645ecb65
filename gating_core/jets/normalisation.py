"""Norms of vectors, and the layers that normalise, as compositions of simpler operations.

torch's own second forward derivatives of some of them are wrong (layer_norm, instance_norm).
"""

from __future__ import annotations

import math
from typing import Any

import torch

from gating_core.jets.bounded import value_of
from gating_core.jets.jet import Jet, MissingRule, call, composed, rounded


@composed("layer_norm")
def layer_norm(
    x: Any,
    shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Deviations from the mean over the last axes, by their standard deviation."""
    return _scaled(_standardised(x, len(shape), eps), weight, bias)


def _standardised(x: Any, axes: int, eps: float) -> Any:
    over = tuple(range(-axes, 0))
    centred = x - x.mean(over, keepdim=True)
    return centred * (centred.square().mean(over, keepdim=True) + eps).rsqrt()


def _scaled(x: Any, weight: Any, bias: Any) -> Any:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@composed("var")
def var(
    x: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: int | None = None,
) -> Any:
    """The variance over an axis, or several."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    axes = _axes(x, dim)
    less = int(unbiased) if correction is None else correction
    count = math.prod(x.shape[axis] for axis in axes)
    deviations = (x - x.mean(axes, keepdim=True)).square()
    if count <= less:
        raise MissingRule(f"variance of {count} numbers")
    return deviations.sum(axes, keepdim=keepdim) / (count - less)


@composed("std")
def std(x: Any, *args: Any, **options: Any) -> Any:
    """The standard deviation over an axis, or several."""
    return var(x, *args, **options).sqrt()


def _axes(x: Any, dim: Any) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(x.ndim))
    return (dim % x.ndim,) if isinstance(dim, int) else tuple(d % x.ndim for d in dim)


# --- Norms ----------------------------------------------------------------------------------------


@composed("linalg_vector_norm")
def vector_norm(
    x: Any,
    ord: float = 2,
    dim: Any = None,
    keepdim: bool = False,
    **options: Any,
) -> Any:
    """The norm of order 2, 1 or infinity; squares neither overflow nor underflow."""
    if options.get("dtype") not in (None, torch.float64):
        raise MissingRule("a norm in a lower precision")
    axes = _axes(x, dim)
    if ord == 1:
        return x.abs().sum(axes, keepdim=keepdim)
    if ord == math.inf and len(axes) == 1:
        return x.abs().amax(axes[0], keepdim=keepdim)
    if ord != 2:
        raise MissingRule(f"a norm of order {ord}")
    scale = _power_of_two(x, axes)
    root = (x / scale).square().sum(axes, keepdim=True).sqrt() * scale
    for axis in () if keepdim else sorted(axes, reverse=True):
        root = root.squeeze(axis)
    return root


def _power_of_two(x: Any, axes: tuple[int, ...]) -> torch.Tensor:
    """A constant of the size of the largest entry, by which a division is exact."""
    value = value_of(x.value) if isinstance(x, Jet) else x.detach()
    largest = value.abs().amax(axes, keepdim=True)
    exponent = torch.frexp(torch.where(largest.isfinite(), largest, 1.0)).exponent
    return torch.ldexp(torch.ones_like(largest), exponent.clamp(-1000, 1000))


@composed("cdist")
def cdist(x1: Any, x2: Any, p: float = 2.0, compute_mode: Any = None) -> Any:
    """The distance of every row of ``x1`` from every row of ``x2``."""
    return vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)


@composed("hypot", for_tensors=False)
def hypot(a: Any, b: Any) -> Any:
    """sqrt(a^2 + b^2), without overflow or underflow."""
    return vector_norm(call("stack", call("broadcast_tensors", a, b), -1), 2, -1)


@composed("atan2", "arctan2", for_tensors=False)
def atan2(y: Any, x: Any) -> Any:
    """The angle of (x, y): an arc tangent of the smaller by the larger, and a constant."""
    y, x = call("broadcast_tensors", y, x)
    b, a = value_of(y.value), value_of(x.value)
    wide = a.abs() >= b.abs()
    side = call("sign", y)  # not known on the branch cut, where the angle jumps
    turn = (side / 2).where(~wide, side.where(a < 0, 0.0))
    return (y.where(wide, -x) / x.where(wide, y)).atan() + turn * rounded(math.pi, x)
