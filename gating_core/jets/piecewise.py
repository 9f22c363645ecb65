"""Functions that are put together from two: ReLU and its relatives, clamps, maxima.

Where rounding, or the width of a cell, leaves open which of the two it is, the value is one or the
other, and nothing is known of derivatives in which they differ.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from gating_core.jets import rules as rules  # which has softplus and gelu
from gating_core.jets.bounded import Bounded, value_of
from gating_core.jets.jet import (
    RULES,
    Jet,
    apply,
    call,
    filled,
    grow,
    promote,
    rounded,
    rule,
)


def switched(z: Any, above: Any, below: Any, smooth: int = 0) -> Jet:
    """Return ``above`` where ``z`` > 0, else ``below``.

    The two agree at ``z`` = 0 in their derivatives up to order ``smooth``, -1 if not even in value.
    """
    values = value_of(z.value)
    above, below = promote(above, z), promote(below, z)
    jet = RULES["where"](values > 0, above, below)
    if not isinstance(z.value, Bounded):
        return jet
    doubt = ~(values.abs() > z.value.bound)
    if not doubt.any():
        return jet
    doubt = doubt.expand(jet.shape)
    gaps = above - below
    parts: list[Any] = []
    for i, order in enumerate(("value", "first", "second")):
        lost: Any = torch.inf
        if i <= max(smooth, 0):  # it is one or the other
            gap = grow(gaps, tuple(jet.shape))
            difference: Any = gap.value if i == 0 else filled(gap, order)
            lost = difference.value.abs() + difference.bound
        part: Any = jet.value if i == 0 else filled(jet, order)
        unknown = torch.where(doubt, lost, 0.0).expand(part.shape)
        parts.append(part + Bounded(torch.zeros_like(unknown), unknown))
    return Jet(*parts, k=jet.k)


@rule("relu")
def _relu(z: Any) -> Jet:
    return switched(z, z, 0 * z if _not_a_number(z) else 0.0)


def _not_a_number(z: Jet) -> bool:
    """Return whether some values are NaN, which torch's functions keep."""
    return bool(value_of(z.value).isnan().any())


@rule("leaky_relu", "prelu")
def _leaky_relu(z: Any, negative_slope: Any = 0.01) -> Jet:
    if isinstance(negative_slope, torch.Tensor | Jet) and math.prod(negative_slope.shape) > 1:
        axes = (1,) * (z.ndim - 2)  # PReLU has a slope for each channel, which are on axis 1
        negative_slope = apply("reshape", (promote(negative_slope, z), -1, *axes), {})
    return switched(z, z, z * negative_slope)


@rule("elu")
def _elu(z: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Jet:
    slope = scale * alpha * input_scale
    below = ((z * input_scale).exp() - 1) * (scale * alpha)
    return switched(z, z * scale, below, 1 if slope == scale else 0)


@rule("celu")
def _celu(z: Any, alpha: float = 1.0) -> Jet:
    below = ((z / alpha).exp() - 1) * alpha
    return switched(z, z, below, 1)


@rule("maximum")
def _maximum(a: Any, b: Any) -> Jet:
    return _extreme(a, b, 1)


@rule("minimum")
def _minimum(a: Any, b: Any) -> Jet:
    return _extreme(a, b, -1)


def _extreme(a: Any, b: Any, sign: int) -> Jet:
    model = a if isinstance(a, Jet) else b
    a, b = promote(a, model), promote(b, model)
    return switched(a - b if sign > 0 else b - a, a, b)


@rule("clamp", "clip")
def _clamp(z: Any, min: Any = None, max: Any = None) -> Jet:
    if min is not None:
        z = _extreme(z, min, 1)
    return z if max is None else _extreme(z, max, -1)


RULES["hardtanh"] = lambda z, min_val=-1.0, max_val=1.0: _clamp(z, min_val, max_val)
RULES["clamp_min"] = lambda z, min: _clamp(z, min)
RULES["clamp_max"] = lambda z, max: _clamp(z, None, max)


usual_softplus, usual_gelu = RULES["softplus"], RULES["gelu"]


@rule("softplus")
def _softplus(z: Any, beta: float = 1.0, threshold: float = 20.0) -> Jet:
    """log(1 + exp(beta z)) / beta; from ``threshold`` on z, where torch's own takes that for it.

    With the usual threshold the two differ by 2e-9 at most, and the first is what is meant.
    """
    smooth = usual_softplus(z) if beta == 1 else usual_softplus(z * beta) / beta
    return smooth if threshold >= 20 else switched(z * beta - threshold, z, smooth, -1)


@rule("gelu")
def _gelu(z: Any, approximate: str = "none") -> Jet:
    """GELU; its "tanh" form has 2 sigmoid(2 y) for 1 + tanh(y), which does not cancel."""
    if approximate != "tanh":
        return usual_gelu(z, approximate)
    y = (z + 0.044715 * z * z * z) * rounded(math.sqrt(8 / math.pi), z)
    return z * apply("sigmoid", (y,), {})


@rule("sign")
def _sign(z: Any) -> Jet:
    return switched(z, 1.0, -1.0, -1)


class Extremes(NamedTuple):
    """The largest, or the smallest, along an axis, and where they are."""

    values: Jet
    indices: torch.Tensor | Jet


def _largest(z: Jet, dim: int, keepdim: bool) -> Extremes:
    """Derivatives and index are not known where another may be the largest."""
    values = value_of(z.value)
    index = values.max(dim, keepdim=True).indices
    top = apply("gather", (z, dim, index), {})
    where: torch.Tensor | Jet = index
    if isinstance(z.value, Bounded):
        reach = (values + z.value.bound).scatter(dim, index, -torch.inf).amax(dim, keepdim=True)
        low = value_of(top.value) - top.value.bound
        doubt = ~(reach < low)
        if doubt.any():
            lost = [torch.where(doubt, reach - low, 0.0), *[torch.where(doubt, torch.inf, 0.0)] * 2]
            whole = (top.value, filled(top, "first"), filled(top, "second"))
            parts: list[Any] = [
                part + Bounded(torch.zeros_like(part.value), unknown.expand(part.shape))
                for part, unknown in zip(whole, lost, strict=True)
            ]
            top = Jet(*parts, k=z.k)
            where = Jet(Bounded(index.double(), torch.where(doubt, torch.inf, 0.0)), k=z.k)
    if keepdim:
        return Extremes(top, where)
    return Extremes(call("squeeze", top, dim), call("squeeze", where, dim))


@rule("amax")
def _amax(z: Any, dim: Any = (), keepdim: bool = False) -> Jet:
    dims = (dim,) if isinstance(dim, int) else dim or tuple(range(z.ndim))
    for axis in sorted((d % z.ndim for d in dims), reverse=True):
        z = _largest(z, axis, keepdim).values
    return z


@rule("amin")
def _amin(z: Any, dim: Any = (), keepdim: bool = False) -> Jet:
    return -_amax(-z, dim, keepdim)


@rule("max")
def _max(z: Any, dim: Any = None, keepdim: bool = False) -> Jet | Extremes:
    if dim is None:
        return _amax(z)
    return _largest(z, dim, keepdim) if isinstance(dim, int) else _maximum(z, dim)


@rule("min")
def _min(z: Any, dim: Any = None, keepdim: bool = False) -> Jet | Extremes:
    if dim is None:
        return _amin(z)
    if not isinstance(dim, int):
        return _minimum(z, dim)
    values, indices = _largest(-z, dim, keepdim)
    return Extremes(call("neg", values), indices)
