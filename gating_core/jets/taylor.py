"""Taylor models: tensors known everywhere in a cell as a polynomial, within an error.

A model is ``value`` plus ``terms`` times the monomials x, y, x^2, x y, y^2, ... up to a degree,
within ``error``, for all (x, y) in the cell [-1, 1]^2. A `Bounded` is one without terms. Where two
models depend on the cell's coordinates in the same way, that cancels: a difference, a quotient or a
determinant has little more than its true range, and the excess falls with the cell's width to the
power of the degree plus one. ``error`` includes rounding. Source: Makino & Berz, *Taylor
models and other validated functional inclusion methods*, 2003.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch

from gating_core.jets import polynomials
from gating_core.jets.bounded import INFLATION, LAYOUT, TINY, Bounded, bounded, value_of
from gating_core.jets.intervals import ETA, U
from gating_core.jets.polynomials import (
    Term,
    Terms,
    degree_of,
    mapped,
    monomials,
    padded,
    pairs_of,
    size_of,
    sum_of,
)
from gating_core.points_last import product


def _by(rule: polynomials.Rule) -> Callable[[TaylorModel], TaylorModel]:
    """A method: the function of one variable that ``rule`` expands."""
    return lambda model: model._expanded(rule)


class TaylorModel(Bounded):
    """``value``, ``error`` and ``terms`` of one shape; without terms it is a ball."""

    __slots__ = ("_norms", "terms")

    def __init__(
        self, value: torch.Tensor, error: torch.Tensor | None = None, terms: Terms = ()
    ) -> None:
        super().__init__(value, error)
        self.terms = terms
        self._norms: list[Term] | None = None

    @property
    def degree(self) -> int:
        """The largest degree of a monomial; 0 for a ball."""
        return degree_of(len(self.terms))

    @property
    def parts(self) -> tuple[Term, ...]:
        """All coefficients, the constant one first."""
        return (self.value, *self.terms)

    @property
    def norms(self) -> list[Term]:
        """A bound of the terms of each degree from 1; computed once."""
        if self._norms is None:
            ends = [len(monomials(n)) - 1 for n in range(self.degree + 1)]
            sizes = mapped(self.terms, torch.abs)
            self._norms = [sum_of(sizes[a:b]) for a, b in pairwise(ends)]
        return self._norms

    @property
    def reach(self) -> torch.Tensor:
        """The largest distance of the model from ``value`` anywhere in the cell."""
        total = sum_of([*self.norms, self.error])
        return torch.zeros_like(self.value) if total is None else total

    @property
    def upper(self) -> torch.Tensor:
        """|value| + reach, computed once: no exact value is larger."""
        if self._upper is None:
            self._upper = self.magnitude + self.reach
        return self._upper

    def _loosened(self, rounding: float) -> torch.Tensor:
        """Return error + rounding |model|: the error after one more rounding of all parts."""
        return self._error_or_zero().add(self.upper, alpha=rounding)

    @property
    def bound(self) -> torch.Tensor:
        """The error bound of a ball about ``value``, the terms included."""
        return _inflated(self.reach)

    @property
    def remainder(self) -> torch.Tensor:
        """The error bound beside the polynomial, inflated for its own rounding; never NaN."""
        return torch.where(self.bound.isfinite(), _inflated(self._error_or_zero()), torch.inf)

    def ball(self) -> Bounded:
        """Return a ball around all values of the model; even monomials are between 0 and 1."""
        middle, error = self.value, self._loosened(len(self.terms) * U)
        for exponents, term in zip(monomials(self.degree)[1:], self.terms, strict=False):
            if term is not None and all(n % 2 == 0 for n in exponents):
                middle, error = middle + term / 2, error + term.abs() / 2
            elif term is not None:
                error = error + term.abs()
        return Bounded(middle, error)

    def cell_mean(self) -> Bounded:
        """The mean over the cell: 1 / (n + 1) for each even power, 0 for odd ones."""
        middle, error = self.value, self._loosened(len(self.terms) * U)
        for (a, b), term in zip(monomials(self.degree)[1:], self.terms, strict=False):
            if term is not None and a % 2 == b % 2 == 0:
                middle = middle + term / ((a + 1) * (b + 1))
        return Bounded(middle, error)

    def __neg__(self) -> TaylorModel:
        return TaylorModel(-self.value, self.error, mapped(self.terms, torch.neg))

    def __add__(self, other: Any) -> TaylorModel:
        return self._plus(other, 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> TaylorModel:
        return self._plus(other, -1)

    def __rsub__(self, other: Any) -> TaylorModel:
        return -self._plus(other, -1)  # not inherited: Python would ask the ball first

    def _plus(self, other: Any, sign: int) -> TaylorModel:
        value = torch.add(self.value, value_of(other), alpha=sign)
        mine, theirs = self.terms, terms_of(other)
        depth = max(len(mine), len(theirs))
        terms = []
        for a, b in zip(padded(mine, depth), padded(theirs, depth), strict=True):
            if a is None:
                a = None if b is None else (b if sign > 0 else -b)
            elif b is not None:
                a = torch.add(a, b, alpha=sign)
            terms.append(None if a is None else a.expand(value.shape))
        error = size_of(terms, value.abs()) * U
        for term in (self, other):
            if isinstance(term, Bounded) and term.error is not None:
                error = error + term.error
        return TaylorModel(value, error, tuple(terms))

    def __mul__(self, other: Any) -> TaylorModel:
        if isinstance(other, int | float):
            scaled = Bounded(self.value, self.error)._scaled(other)
            terms = mapped(self.terms, lambda x: x * other)
            error = scaled.error
            if error is not None:
                error = size_of(terms, 0.0) * U + error
            return TaylorModel(scaled.value, error, terms)
        other = bounded(other, self)
        error = self.upper * other._loosened(self._roundings(other) * U) + ETA
        return self._bilinear(other, torch.mul, torch.addcmul, error)

    __rmul__ = __mul__

    def __matmul__(self, other: Any) -> TaylorModel:
        other, count = bounded(other, self), self.shape[-1]
        rough = other._loosened((count + self._roundings(other)) * U)
        start = product(self.upper, rough) + count * ETA
        return self._bilinear(other, product, lambda s, a, b: s + product(a, b), start)

    def __rmatmul__(self, other: Any) -> TaylorModel:
        other = bounded(other, self)
        return TaylorModel(other.value, other.error) @ self

    def _roundings(self, other: Any) -> int:
        """The roundings of a product: of its coefficients, and of the terms of its error."""
        return 8 + 2 * max(len(self.terms), len(terms_of(other)))

    def _bilinear(
        self, other: Bounded, times: Callable, add_times: Callable, error: torch.Tensor
    ) -> TaylorModel:
        """A product linear in each factor; ``error`` has the other's error and all rounding."""
        if self.error is not None:
            error = add_times(error, self.error, other.upper)
        mine, theirs = self.parts, (other.value, *terms_of(other))
        degree = degree_of(max(len(mine), len(theirs)) - 1)
        value = times(self.value, other.value)
        terms: list[Term] = []
        for pairs in pairs_of(degree)[1:]:
            total: Term = None
            for i, j in pairs:
                a = mine[i] if i < len(mine) else None
                b = theirs[j] if j < len(theirs) else None
                if a is not None and b is not None:
                    total = times(a, b) if total is None else add_times(total, a, b)
            terms.append(None if total is None else total.expand(value.shape))
        if self.terms and terms_of(other):
            assert isinstance(other, TaylorModel)
            tail: Term = None  # of the other's terms, those that a degree of mine lifts too high
            for i in range(1, degree + 1):
                tail, mine_at = sum_of([tail, other.norms[degree - i]]), self.norms[i - 1]
                if tail is not None and mine_at is not None:
                    error = add_times(error, mine_at, tail)
        return TaylorModel(value, error, tuple(terms))

    def sum(self, dim: Any, keepdim: bool = False) -> TaylorModel:
        """Return the sum along ``dim``, an axis or several, term by term."""
        error = self._loosened(self._added(dim) * U).sum(dim, keepdim=keepdim)
        terms = mapped(self.terms, lambda x: x.sum(dim, keepdim=keepdim))
        return TaylorModel(self.value.sum(dim, keepdim=keepdim), error, terms)

    def absolute(self) -> TaylorModel:
        """Return |x|: the model or its negative; a ball on cells where x may change its sign."""
        known, sign = self.magnitude > self.bound, self.value.sign()
        terms = mapped(self.terms, lambda x: torch.where(known, sign * x, 0.0))
        error = torch.where(known, self._error_or_zero(), self.reach)
        return TaylorModel(self.magnitude, error, terms)

    def _expanded(self, rule: polynomials.Rule) -> TaylorModel:
        """A polynomial of the model, by powers of its distance h from the centre of its range."""
        degree = max(self.degree, 1)
        reach = self.reach * (1 + 64 * U)  # sums of many terms are rounded
        at = rule(self.value, reach, degree)
        count = len(at.coefficients)
        high = reach**count
        if count % 2:
            size = torch.maximum(at.low.abs(), at.high.abs()) * high
            middle, error = torch.zeros_like(size), size
        else:  # an even power is not negative
            low, high = at.low.clamp(max=0) * high, at.high.clamp(min=0) * high
            middle, error = (low + high) / 2, (high - low) / 2
        size = torch.zeros_like(reach)
        for coefficient in reversed(at.coefficients):
            size = size * reach + coefficient.abs()
        error = error + (size + middle.abs() + error) * polynomials.ROUNDING
        error = error + (1 + reach) ** degree * ETA
        h = TaylorModel(torch.zeros_like(self.value), self.error, self.terms)
        power, out = h, at.coefficients[0] + middle
        result = TaylorModel(out, torch.where(reach.isfinite(), error, torch.inf))
        for coefficient in at.coefficients[1:]:
            result = result + power * coefficient
            power = power * h
        return result

    square = _by(polynomials.square)
    reciprocal = _by(polynomials.reciprocal)
    sqrt = _by(polynomials.root)
    exp = _by(polynomials.exp)
    log = _by(polynomials.log)
    sin = _by(lambda c, r, d: polynomials.wave([c.sin(), c.cos(), -c.sin(), -c.cos()], r, d))
    cos = _by(lambda c, r, d: polynomials.wave([c.cos(), -c.sin(), -c.cos(), c.sin()], r, d))
    sinh = _by(lambda c, r, d: polynomials.hyperbolic([c.sinh(), c.cosh()], c, r, d))
    cosh = _by(lambda c, r, d: polynomials.hyperbolic([c.cosh(), c.sinh()], c, r, d))
    atan = _by(polynomials.atan)
    tanh = _by(polynomials.tanh)
    sigmoid = _by(polynomials.sigmoid)
    erfc = _by(polynomials.erfc)
    softplus = _by(polynomials.softplus)

    def __getitem__(self, index: Any) -> TaylorModel:
        return self._layout("__getitem__", (index,), {})

    def _layout(self, name: str, args: tuple, kwargs: dict) -> Any:
        """Move all parts alike."""
        assert name in LAYOUT

        def moved(x: Term) -> Any:
            return None if x is None else getattr(x, name)(*args, **kwargs)

        value, error, terms = moved(self.value), moved(self.error), tuple(map(moved, self.terms))
        if not isinstance(value, tuple | list):
            return TaylorModel(value, error, terms)
        return tuple(
            TaylorModel(
                piece, None if error is None else error[i], mapped(terms, lambda x, i=i: x[i])
            )
            for i, piece in enumerate(value)
        )


def terms_of(x: Any) -> Terms:
    """The terms of ``x``, which only a Taylor model has."""
    return x.terms if isinstance(x, TaylorModel) else ()


def combined(
    models: list[Bounded], how: Callable[[list[torch.Tensor]], torch.Tensor]
) -> TaylorModel:
    """Apply ``how``, which moves numbers, to each part of ``models``."""
    depth = max(len(terms_of(x)) for x in models)
    zeros = [torch.zeros_like(x.value) for x in models]
    terms: list[Term] = []
    for row in zip(*(padded(terms_of(x), depth) for x in models), strict=True):
        if all(x is None for x in row):
            terms.append(None)
        else:
            terms.append(how([z if x is None else x for x, z in zip(row, zeros, strict=True)]))
    error = how([x._error_or_zero() for x in models])
    return TaylorModel(how([x.value for x in models]), error, tuple(terms))


def _inflated(error: torch.Tensor) -> torch.Tensor:
    return torch.nan_to_num(error * INFLATION + TINY, nan=torch.inf, posinf=torch.inf)
