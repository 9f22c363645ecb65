"""Arithmetic and functions of jets, by the Leibniz rule and the chain rule.

Some functions are put together from two: ReLU and its relatives, clamps, maxima. Where rounding, or
the width of a cell, leaves open which of the two it is, the value is one or the other, and nothing
is known of derivatives in which they differ.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

from gating_core.jets.bounded import Bounded, exactly_infinite, value_of
from gating_core.jets.elementary import FUNCTIONS, Array, join, matmul, products, squares
from gating_core.jets.jet import (
    RULES,
    Jet,
    MissingRule,
    axes_of,
    call,
    components,
    doubted,
    each,
    exact_number,
    grow,
    lift,
    pairs,
    promote,
    rounded,
    rule,
)
from gating_core.jets.layout import either

# --- Arithmetic -----------------------------------------------------------------------------------


def _combine(a: Any, b: Any, sign: int = 1) -> Jet:
    """The sum or the difference; what is ``None`` is zero."""
    model = a if isinstance(a, Jet) else b
    a, b = promote(a, model), promote(b, model)
    shape = np.broadcast_shapes(a.shape, b.shape)  # torch's own imports SymPy
    a, b = grow(a, shape), grow(b, shape)
    parts: list[Any] = []
    for x, y in zip(components(a), components(b), strict=True):
        if x is None or y is None:
            parts.append(x if y is None else y if sign > 0 else -y)
        else:
            parts.append(x + y if sign > 0 else x - y)
    for constant, other in ((a, b), (b, a)):
        if constant.first is None and isinstance(parts[0], Bounded):
            _keep_infinities(parts[0], constant.value, other.value)
    return Jet(*parts, k=model.k)


def _keep_infinities(total: Bounded, constant: Bounded, other: Bounded) -> None:
    """A mask's -inf plus a known finite number, or another -inf, is -inf exactly."""
    if not constant.value.isfinite().all():
        known = exactly_infinite(other) | other.bound.isfinite()
        known = known & exactly_infinite(constant) & total.value.isinf()
        total.error = torch.where(known, 0.0, total._error_or_zero())


def _bilinear(product: Callable, two: Callable) -> Callable:
    """The Leibniz rule for a product linear in each factor; ``two(a, b, c, d)`` adds up two."""

    def both(a: Any, b: Any, c: Any, d: Any) -> Array | None:
        """Return a b + c d, in which ``None`` stands for zero."""
        if a is None or d is None:
            return None if a is d else product(c, d) if a is None else product(a, b)
        return two(a, b, c, d)

    def multiplied(a: Any, b: Any) -> Jet:
        model = a if isinstance(a, Jet) else b
        if isinstance(a, int | float):
            a, b = b, a
        if isinstance(b, int | float):
            number = exact_number(b)
            return each(a, lambda c, lead: product(c, number))
        a, b = promote(a, model), promote(b, model)
        k, ndim = model.k, max(a.ndim, b.ndim)
        a0, a1, a2 = components(each(a, lambda c, lead: lift(c, ndim, lead)))
        b0, b1, b2 = components(each(b, lambda c, lead: lift(c, ndim, lead)))
        first = both(a1, b0, a0, b1)
        second = both(a2, b0, a0, b2)
        if a1 is not None and b1 is not None:
            along_a, along_b = ([x[i] for i in range(k)] for x in (a1, b1))
            cross: Any = [
                2 * product(along_a[i], along_b[i])
                if i == j
                else two(along_a[i], along_b[j], along_a[j], along_b[i])
                for i, j in pairs(k)
            ]
            cross = join(cross, 0, torch.stack)
            second = cross if second is None else second + cross
        return Jet(product(a0, b0), first, second, k=k)

    return multiplied


_times = _bilinear(operator.mul, products)
_product = _bilinear(matmul, lambda a, b, c, d: matmul(a, b) + matmul(c, d))


def _matmul(a: Any, b: Any) -> Jet:
    if b.ndim == 1:
        return call("squeeze", _matmul(a, call("unsqueeze", b, -1)), -1)
    if a.ndim == 1:
        return call("squeeze", _matmul(call("unsqueeze", a, 0), b), -2)
    return _product(a, b)


@rule("linear")
def _linear(x: Jet, weight: Any, bias: Any = None) -> Jet:
    out = _matmul(x, weight.transpose(-1, -2))
    return out if bias is None else _combine(out, bias)


@rule("div")
def _div(a: Any, b: Any) -> Jet:
    if isinstance(b, int | float):
        number = exact_number(b)
        return each(a, lambda c, lead: c / number)
    return _times(a, RULES["reciprocal"](promote(b, a if isinstance(a, Jet) else b)))


RULES |= {
    "add": lambda a, b, *, alpha=1: _combine(a, b if alpha == 1 else _times(b, alpha)),
    "sub": lambda a, b, *, alpha=1: _combine(a, b if alpha == 1 else _times(b, alpha), -1),
    "rsub": lambda a, b: _combine(b, a, -1),
    "neg": lambda a: each(a, lambda c, lead: -c),
    "mul": _times,
    "rtruediv": lambda a, b: _times(b, RULES["reciprocal"](a)),
    "matmul": _matmul,
    "rmatmul": lambda a, b: _matmul(b, a),
}


# --- Functions of one variable: value, first and second derivative --------------------------------


def _chained(function: Callable) -> Callable:
    """The chain rule for a function applied element by element."""

    def applied(jet: Jet) -> Jet:
        f, f1, f2 = function(jet.value)
        if jet.first is None:
            return Jet(f, k=jet.k)
        bend = squares(jet.first)
        bend = bend * f2 if jet.second is None else products(bend, f2, jet.second, f1)
        return Jet(f, jet.first * f1, bend, k=jet.k)

    return applied


RULES |= {name: _chained(function) for name, function in FUNCTIONS.items()}
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
        return usual_gelu(z)
    y = (z + 0.044715 * z * z * z) * rounded(math.sqrt(8 / math.pi), z)
    return z * call("sigmoid", y)


LARGEST_POWER = 1024


@rule("pow")
def _pow(jet: Jet, exponent: float) -> Jet:
    if not isinstance(jet, Jet) or not isinstance(exponent, int | float):
        raise MissingRule("pow with a varying exponent")
    if exponent == 1:
        return call("clone", jet)
    if name := {2: "square", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}.get(exponent):
        return RULES[name](jet)
    if float(exponent).is_integer() and abs(exponent) <= LARGEST_POWER:
        power = _whole_power(jet, abs(int(exponent)))
        return power if exponent >= 0 else RULES["reciprocal"](power)
    return RULES["exp"](_times(RULES["log"](jet), float(exponent)))


def _whole_power(jet: Jet, n: int) -> Jet:
    """A power by repeated squaring: right for negative bases, too."""
    if n == 0:
        return promote(torch.ones(jet.shape, dtype=jet.dtype), jet)
    half = _whole_power(jet, n // 2)
    out = jet if n == 1 else _times(half, half)
    return _times(out, jet) if n % 2 and n > 1 else out


# --- Functions put together from two --------------------------------------------------------------


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
    return either(jet, RULES["where"](values > 0, below, above), doubt, max(smooth, 0))


@rule("leaky_relu", "prelu")
def _leaky_relu(z: Any, negative_slope: Any = 0.01) -> Jet:
    if isinstance(negative_slope, torch.Tensor | Jet) and math.prod(negative_slope.shape) > 1:
        axes = (1,) * (z.ndim - 2)  # PReLU has a slope for each channel, which are on axis 1
        negative_slope = call("reshape", promote(negative_slope, z), -1, *axes)
    return switched(z, z, z * negative_slope)


@rule("elu")
def _elu(z: Any, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Jet:
    slope = scale * alpha * input_scale
    below = ((z * input_scale).exp() - 1) * (scale * alpha)
    return switched(z, z * scale, below, 1 if slope == scale else 0)


def _maximum(a: Any, b: Any) -> Jet:
    model = a if isinstance(a, Jet) else b
    a, b = promote(a, model), promote(b, model)
    return switched(a - b, a, b)


def _minimum(a: Any, b: Any) -> Jet:
    model = a if isinstance(a, Jet) else b
    a, b = promote(a, model), promote(b, model)
    return switched(b - a, a, b)


@rule("clamp", "clip")
def _clamp(z: Any, min: Any = None, max: Any = None) -> Jet:
    z = z if min is None else _maximum(z, min)
    return z if max is None else _minimum(z, max)


class Extremes(NamedTuple):
    """The largest, or the smallest, along an axis, and where they are."""

    values: Jet
    indices: torch.Tensor | Jet


def _largest(z: Jet, dim: int, keepdim: bool) -> Extremes:
    """Derivatives and index are not known where another may be the largest.

    Derivatives are where all of these are exactly the same.
    """
    values = value_of(z.value)
    index = values.max(dim, keepdim=True).indices
    top = call("gather", z, dim, index)
    where: torch.Tensor | Jet = index
    if isinstance(z.value, Bounded):
        reach = (values + z.value.bound).scatter(dim, index, -torch.inf)
        low = value_of(top.value) - top.value.bound
        doubt = ~(reach < low)
        if doubt.any():
            lost = torch.where(doubt.any(dim, True), torch.inf, 0.0)
            where = Jet(Bounded(index.double(), lost), k=z.k)
            gaps: Any = z - top
            same = gaps.value.upper == 0  # exactly, in value and derivatives, as dead units are
            for part in (gaps.first, gaps.second):
                same = same if part is None else same & (part.upper == 0).all(0)
            doubt = (doubt & ~same).any(dim, True)
            lost = torch.where(doubt, torch.inf, 0.0)
            top = doubted(top, torch.where(doubt, reach.amax(dim, True) - low, 0.0), lost)
    if keepdim:
        return Extremes(top, where)
    return Extremes(call("squeeze", top, dim), call("squeeze", where, dim))


@rule("amax")
def _amax(z: Any, dim: Any = (), keepdim: bool = False) -> Jet:
    for axis in sorted(axes_of(z, None if dim == () else dim), reverse=True):
        z = _largest(z, axis, keepdim).values
    return z


@rule("max")
def _max(z: Any, dim: Any = None, keepdim: bool = False) -> Jet | Extremes:
    if dim is None:
        return _amax(z)
    return _largest(z, dim, keepdim) if isinstance(dim, int) else _maximum(z, dim)


@rule("min")
def _min(z: Any, dim: Any = None, keepdim: bool = False) -> Jet | Extremes:
    if dim is not None and not isinstance(dim, int):
        return _minimum(z, dim)
    largest = _max(-z, dim, keepdim)
    if isinstance(largest, Jet):
        return call("neg", largest)
    return Extremes(call("neg", largest.values), largest.indices)


RULES |= {
    "relu": lambda z: switched(  # NaN is kept, as by torch's own
        z, z, 0 * z if value_of(z.value).isnan().any() else 0.0
    ),
    "celu": lambda z, alpha=1.0: switched(z, z, ((z / alpha).exp() - 1) * alpha, 1),
    "maximum": _maximum,
    "minimum": _minimum,
    "hardtanh": lambda z, min_val=-1.0, max_val=1.0: _clamp(z, min_val, max_val),
    "clamp_min": lambda z, min: _clamp(z, min),
    "clamp_max": lambda z, max: _clamp(z, None, max),
    "sign": lambda z: switched(z, 1.0, -1.0, -1),
    "amin": lambda z, dim=(), keepdim=False: -_amax(-z, dim, keepdim),
}
