"""Softmax, its logarithm, and the logarithm of a sum of exponentials.

Logits and their derivatives are taken relative to the largest logit: derivatives then stay accurate
to rounding, relative to each weight, where the softmax saturates. A logit that is exactly -inf, as
under a mask, has a weight and derivatives of exactly zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from gating_core.jets.bounded import Bounded, exactly_infinite, value_of
from gating_core.jets.elementary import Array, relative_to, squares, where
from gating_core.jets.jet import COMPOSED, RULES, Jet, MissingRule, each, rule

FAR = -1e300  # a logit below it is that of a mask


def shifted_softmax(z: torch.Tensor, dim: int = -1, *args: Any, **kwargs: Any) -> torch.Tensor:
    """Softmax with the largest logit subtracted differentiably (its index is not differentiated).

    The derivatives then stay accurate to rounding, relative to each weight, when it saturates.
    """
    for dtype in (*args, *kwargs.values()):
        z = z.to(dtype) if isinstance(dtype, torch.dtype) else z
    top = z.detach().argmax(dim, keepdim=True)
    powers = (z - z.gather(dim, top)).exp()
    return powers / powers.sum(dim, keepdim=True)


COMPOSED["softmax"] = shifted_softmax


class _Moments(NamedTuple):
    """Weights p of logits z, and what derivatives of p and of log p consist of.

    ``slopes`` are first derivatives minus their mean <p, z_i>, and ``bends`` are slopes_i slopes_j
    + z_ij minus their mean; the means are relative to the largest logit.
    """

    logits: Array
    weights: Array
    total: Array
    masked: torch.Tensor | None
    largest: Jet
    slopes: Array | None = None
    mean_slope: Array | None = None
    second: Array | None = None
    bends: Array | None = None
    mean_bend: Array | None = None


def _moments(z: Jet, dim: int) -> _Moments:
    values = value_of(z.value)
    masked = _hidden(z.value, dim)
    if masked is not None:
        z = RULES["where"](masked, 0.0, z)
        values = torch.where(masked, -torch.inf, values)
    top = values.max(dim, keepdim=True).indices  # ten times faster than argmax

    def index(component: Array) -> torch.Tensor:
        return top.expand(*component.shape[: component.ndim - top.ndim], *top.shape)

    def shifted(component: Array) -> Array:
        return relative_to(component, dim, index(component))

    largest = each(z, lambda c, lead: c.gather(dim, index(c)))
    logits = shifted(z.value)
    powers = logits.exp()
    if masked is not None:
        powers = where(masked, _zeros(powers), powers)
    total = powers.sum(dim, keepdim=True)
    p = powers * total.reciprocal()
    if z.first is None:
        return _Moments(logits, p, total, masked, largest)
    slopes = shifted(z.first)
    mean_slope = (p * slopes).sum(dim, keepdim=True)
    centred = slopes - mean_slope
    bend = squares(centred)
    second = None if z.second is None else shifted(z.second)
    if second is not None:
        bend = bend + second
    mean_bend = (p * bend).sum(dim, keepdim=True)
    return _Moments(
        logits, p, total, masked, largest, centred, mean_slope, second, bend - mean_bend, mean_bend
    )


def _hidden(logits: Array, dim: int) -> torch.Tensor | None:
    """A mask of the entries that have no weight; ``None`` if there are none.

    A logit is -inf exactly, or like the smallest number while others are not: its weight and all
    derivatives are then less than any number.
    """
    value = value_of(logits)
    if not isinstance(logits, Bounded) or not value.numel() or value.amin() > FAR:
        return None
    low = (value < FAR) & (logits.bound < -value / 2) & (value.amax(dim, keepdim=True) > FAR / 10)
    return low | (exactly_infinite(logits) & (value < 0))


def _zeros(like: Array) -> Bounded:
    return Bounded(torch.zeros_like(value_of(like)))


@rule("softmax")
def _softmax(z: Jet, dim: int = -1, *args: Any, **kwargs: Any) -> Jet:
    """Derivatives of the weights p: p_i = p (z_i - m_i), m_i = <p, z_i>, and so once more."""
    _check_type(*args, *kwargs.values())
    m = _moments(z, dim % z.ndim - z.ndim)
    if m.slopes is None or m.bends is None:
        return Jet(m.weights, k=z.k)
    return Jet(m.weights, m.weights * m.slopes, m.weights * m.bends, k=z.k)


@rule("log_softmax")
def _log_softmax(z: Jet, dim: int = -1, *args: Any, **kwargs: Any) -> Jet:
    _check_type(*args, *kwargs.values())
    m = _moments(z, dim % z.ndim - z.ndim)
    value = m.logits - m.total.log()
    if m.masked is not None:
        value = where(m.masked, _zeros(value) - torch.inf, value)
    if m.slopes is None or m.mean_bend is None:
        return Jet(value, k=z.k)
    second = -m.mean_bend if m.second is None else m.second - m.mean_bend
    return Jet(value, m.slopes, second.expand(*second.shape[:1], *z.shape), k=z.k)


def _check_type(*dtypes: Any) -> None:
    if any(isinstance(x, torch.dtype) and x != torch.float64 for x in dtypes):
        raise MissingRule("a lower precision")


@rule("logsumexp")
def _logsumexp(z: Jet, dim: int | tuple[int, ...], keepdim: bool = False) -> Jet:
    """The largest logit plus the logarithm of the sum of the others relative to it."""
    if not isinstance(dim, int):  # from the last axis, so that the others keep their places
        for axis in sorted((d % z.ndim for d in dim), reverse=True):
            z = _logsumexp(z, axis, keepdim)
        return z
    dim = dim % z.ndim - z.ndim
    m = _moments(z, dim)
    out = RULES["add"](m.largest, Jet(m.total.log(), m.mean_slope, m.mean_bend, k=z.k))
    return out if keepdim else RULES["squeeze"](out, dim)
