"""Affine forms: tensors that are known on a whole cell but for an error of second order.

A form is ``value + slopes[0] x_0 + slopes[1] x_1 + ...`` within ``error``, for all x in the cell
[-1, 1]^k. A `Bounded` is one without slopes. Where two forms depend on the cell's coordinates in
the same way, that cancels: of a difference, a quotient or a determinant little more than the true
range is left, and what is lost falls with the square of the cell's width. Rounding is in ``error``.
Source: Stolfi & de Figueiredo, *Self-Validated Numerical Methods*, 1997, chapter 4; forms over the
fixed coordinates of a cell are Taylor models of degree one (Makino & Berz, 2003).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from gating_core.jets import linearised
from gating_core.jets.bounded import INFLATION, LAYOUT, TINY, Bounded, bounded, value_of
from gating_core.jets.hulls import ETA, U
from gating_core.jets.linearised import Tangent
from gating_core.points_last import product

ROUNDINGS = 8 * U  # of a product: its value, its slopes and the terms of its error
Tensors = tuple[torch.Tensor, ...]


class AffineForm(Bounded):
    """``value``, ``error`` and ``slopes`` of one shape; without slopes it is a ball."""

    __slots__ = ("_reach", "slopes")

    def __init__(
        self, value: torch.Tensor, error: torch.Tensor | None = None, slopes: Tensors = ()
    ) -> None:
        super().__init__(value, error)
        self.slopes = slopes
        self._reach: torch.Tensor | None = None

    @property
    def reach(self) -> torch.Tensor:
        """How far from ``value`` the form may be anywhere in the cell, computed once."""
        if self._reach is None:
            self._reach = _total(self.slopes, self._error_or_zero())
        return self._reach

    @property
    def upper(self) -> torch.Tensor:
        """|value| + reach, computed once: no exact value is larger."""
        if self._upper is None:
            self._upper = self.magnitude + self.reach
        return self._upper

    def _loosened(self, rounding: float) -> torch.Tensor:
        """error + rounding |form|: the error after one more rounding of all parts."""
        return self._error_or_zero().add(self.upper, alpha=rounding)

    @property
    def bound(self) -> torch.Tensor:
        """As that of a ball about ``value``: with the slopes in it."""
        return _inflated(self.reach)

    @property
    def remainder(self) -> torch.Tensor:
        """The error bound beside value and slopes, inflated for its own rounding; never NaN."""
        return torch.where(self.bound.isfinite(), _inflated(self._error_or_zero()), torch.inf)

    def __neg__(self) -> AffineForm:
        return AffineForm(-self.value, self.error, tuple(-x for x in self.slopes))

    def __add__(self, other: Any) -> AffineForm:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> AffineForm:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> AffineForm:
        return -self._plus(other, -1)  # not inherited: Python would ask the ball first

    def _plus(self, other: Any, sign: int) -> AffineForm:
        value = torch.add(self.value, value_of(other), alpha=sign)
        theirs = slopes_of(other)
        if self.slopes and theirs:
            pairs = zip(self.slopes, theirs, strict=True)
            slopes = tuple(torch.add(a, b, alpha=sign) for a, b in pairs)
        else:
            alone = self.slopes or (theirs if sign > 0 else tuple(-x for x in theirs))
            slopes = tuple(x.expand(value.shape) for x in alone)
        error = _total(slopes, value.abs()) * U
        for term in (self, other):
            if isinstance(term, Bounded) and term.error is not None:
                error = error + term.error
        return AffineForm(value, error, slopes)

    def __mul__(self, other: Any) -> AffineForm:
        if isinstance(other, int | float):
            scaled = Bounded(self.value, self.error)._scaled(other)
            slopes = tuple(x * other for x in self.slopes)
            error = scaled.error if scaled.error is None else _total(slopes, 0.0) * U + scaled.error
            return AffineForm(scaled.value, error, slopes)
        other = bounded(other, self)
        return self._bilinear(other, torch.mul, self.upper * other._loosened(ROUNDINGS) + ETA)

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> AffineForm:
        other, count = bounded(other, self), self.shape[-1]
        start = product(self.upper, other._loosened((count + 8) * U)) + count * ETA
        return self._bilinear(other, product, start)

    def __rmatmul__(self, other: Any) -> AffineForm:
        return AffineForm(bounded(other, self).value, bounded(other, self).error) @ self

    def _bilinear(self, other: Bounded, times: Callable, error: torch.Tensor) -> AffineForm:
        """A product linear in each factor; ``error`` has the other's error and all rounding.

        The products of slopes are quadratic: x_i^2 is 1/2 within 1/2, x_i x_j is 0 within 1.
        """
        value = times(self.value, other.value)
        mine, theirs = self.slopes, slopes_of(other)
        if self.error is not None:
            error = error + times(self.error, other.upper)
        if not mine or not theirs:
            slopes = tuple(times(x, other.value) for x in mine)
            return AffineForm(value, error, slopes or tuple(times(self.value, x) for x in theirs))
        slopes = tuple(
            times(a, other.value) + times(self.value, b) for a, b in zip(mine, theirs, strict=True)
        )
        for i, a in enumerate(mine):
            square = times(a, theirs[i]) / 2
            value, error = value + square, error + square.abs()
            for j in range(i):
                error = error + (times(a, theirs[j]) + times(mine[j], theirs[i])).abs()
        return AffineForm(value, error, slopes)

    def sum(self, dim: Any, keepdim: bool = False) -> AffineForm:
        axes = (dim,) if isinstance(dim, int) else tuple(dim)
        count = 1
        for axis in axes:
            count *= self.shape[axis]
        summed = [x.sum(dim, keepdim=keepdim) for x in (self._loosened(count * U), *self.slopes)]
        return AffineForm(self.value.sum(dim, keepdim=keepdim), summed[0], tuple(summed[1:]))

    def square(self) -> AffineForm:
        """(c + s)^2 with |s| <= r: c^2 + 2 c s + r^2 / 2, within r^2 / 2."""
        return self._function(linearised.square)

    def absolute(self) -> AffineForm:
        known, sign = self.magnitude > self.bound, self.value.sign()
        slopes = tuple(torch.where(known, sign * x, 0.0) for x in self.slopes)
        return AffineForm(self.magnitude, torch.where(known, self._error_or_zero(), self.reach), slopes)

    def _function(self, rule: Callable[[torch.Tensor, torch.Tensor], Tangent]) -> AffineForm:
        """The tangent at the centre; its remainder is a ball."""
        reach = self.reach * (1 + 4 * U)
        at = rule(self.value, reach)
        steep = at.slope.abs()
        error = (at.high - at.low) / 2 + (at.value.abs() + steep * reach) * linearised.ROUNDING
        error = error + (at.high.abs() + at.low.abs()) * linearised.ROUNDING
        error = error + (1 + reach) * ETA  # of value and slope, where they underflow
        if self.error is not None:
            error = error + steep * self.error
        error = torch.where(reach.isfinite(), error, torch.inf)
        middle = at.value + (at.high + at.low) / 2
        return AffineForm(middle, error, tuple(at.slope * x for x in self.slopes))

    def reciprocal(self) -> AffineForm:
        return self._function(linearised.reciprocal)

    def sqrt(self) -> AffineForm:
        return self._function(linearised.root)

    def exp(self) -> AffineForm:
        return self._function(linearised.exp)

    def log(self) -> AffineForm:
        return self._function(linearised.log)

    def sin(self) -> AffineForm:
        return self._function(linearised.sin)

    def cos(self) -> AffineForm:
        return self._function(linearised.cos)

    def sinh(self) -> AffineForm:
        return self._function(linearised.sinh)

    def cosh(self) -> AffineForm:
        return self._function(linearised.cosh)

    def atan(self) -> AffineForm:
        return self._function(linearised.atan)

    def tanh(self) -> AffineForm:
        return self._function(linearised.tanh)

    def sigmoid(self) -> AffineForm:
        return self._function(linearised.sigmoid)

    def erfc(self) -> AffineForm:
        return self._function(linearised.erfc)

    def softplus(self) -> AffineForm:
        return self._function(linearised.softplus)

    def _layout(self, name: str, args: tuple, kwargs: dict) -> Any:
        """Move all parts alike."""
        assert name in LAYOUT
        parts = [getattr(x, name)(*args, **kwargs) for x in (self.value, *self.slopes)]
        error = None if self.error is None else getattr(self.error, name)(*args, **kwargs)
        if not isinstance(parts[0], tuple | list):
            return AffineForm(parts[0], error, tuple(parts[1:]))
        return tuple(
            AffineForm(piece, None if error is None else error[i], tuple(x[i] for x in parts[1:]))
            for i, piece in enumerate(parts[0])
        )


def slopes_of(x: Any) -> Tensors:
    """The slopes of ``x``, which only an affine form has."""
    return x.slopes if isinstance(x, AffineForm) else ()


def combined(forms: list[Bounded], how: Callable[[list[torch.Tensor]], torch.Tensor]) -> AffineForm:
    """Apply ``how``, which moves numbers, to each part of ``forms``."""
    depth = max(len(slopes_of(x)) for x in forms)
    zeros = [torch.zeros_like(x.value) for x in forms]
    slopes = [slopes_of(x) or (zero,) * depth for x, zero in zip(forms, zeros, strict=True)]
    error = how([x._error_or_zero() for x in forms])
    rows = zip(*slopes, strict=True)
    return AffineForm(how([x.value for x in forms]), error, tuple(how(list(row)) for row in rows))


def _total(parts: Tensors, start: Any) -> torch.Tensor:
    for part in parts:
        start = start + part.abs()
    return start


def _inflated(error: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(error * INFLATION + TINY, nan=torch.inf, posinf=torch.inf)
