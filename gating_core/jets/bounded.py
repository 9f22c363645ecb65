"""Tensors that carry a bound on their rounding error (running error analysis).

A `Bounded` is a computed tensor with an upper bound on its distance from the exact result of the
same operations on exact inputs. Every operation adds its own rounding to what it inherits:
u |c| for +, -, *, /, sqrt with u = 2^-53; m u (sum of |a||b|) for sums of m products in any order,
with or without fused multiply-add; 4 u |c| for exp and its like, which the vector libraries
compute to within one unit in the last place, 16 u for erfc. The bounds are computed in floating
point too: U is slightly larger than u, and `Bounded.bound` inflates the end result, to cover that.
Source: Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., sections 3.1 to 3.3.

An error may also be half the width of a cell: then a `Bounded` encloses all values that the
operations take on the cell. Where an error is wide, functions are enclosed by `intervals`.

Python numbers and given tensors are exact. Products and functions add `ETA` for underflow, and
`TINY` added at the end covers that of the error bounds themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from gating_core.jets import intervals
from gating_core.jets.intervals import ETA, LIBRARY, U, growth
from gating_core.points_last import product

LIBRARY_ERFC = 16 * U
TINY = 1e-290
INFLATION = 1 + 1e-9
_ETA = torch.tensor(ETA, dtype=torch.float64)  # the first term of a sum, which saves a pass
_TINY = torch.tensor(TINY, dtype=torch.float64)


# Methods that move numbers without changing them.
LAYOUT = frozenset(
    """
    reshape view expand permute transpose movedim flatten unflatten unsqueeze squeeze select
    unbind chunk split narrow gather flip contiguous clone __getitem__
    """.split()
)


VIEWS = LAYOUT - {"flip", "gather", "contiguous", "clone"}  # these mostly copy nothing
CACHED = ("error", "_magnitude", "_upper", "_loose")  # slots that a view of a `Bounded` copies


def _of_value(name: str) -> Any:
    return property(lambda self: getattr(self.value, name))


class Carrier:
    """Answers for its ``value``, a tensor or another carrier, with shape, type and device."""

    __slots__ = ()

    value: Any
    shape: torch.Size = _of_value("shape")
    ndim: int = _of_value("ndim")
    dtype: torch.dtype = _of_value("dtype")
    device: torch.device = _of_value("device")

    def __len__(self) -> int:
        return self.shape[0]


class Bounded(Carrier):
    """``value`` and ``error``, tensors of one shape; ``error`` None means exact.

    In the methods below x is the exact number, and e its error.
    """

    __slots__ = ("_loose", "_magnitude", "_upper", "error", "value")

    def __init__(self, value: torch.Tensor, error: torch.Tensor | None = None) -> None:
        self.value = value
        self.error = error
        self._magnitude: torch.Tensor | None = None
        self._upper: torch.Tensor | None = None
        self._loose: torch.Tensor | None = None

    @property
    def magnitude(self) -> torch.Tensor:
        """|value|, computed once."""
        if self._magnitude is None:
            self._magnitude = self.value.abs()
        return self._magnitude

    @property
    def upper(self) -> torch.Tensor:
        """|value| + error, computed once: no exact value is larger."""
        if self._upper is None:
            self._upper = self.magnitude if self.error is None else self.magnitude + self.error
        return self._upper

    @property
    def loose(self) -> torch.Tensor:
        """The error after one more rounding, error + U |value|; computed once."""
        if self._loose is None:
            self._loose = self._loosened(U)
        return self._loose

    def _loosened(self, rounding: float) -> torch.Tensor:
        """Return error + rounding |value|."""
        size = self.magnitude
        return size * rounding if self.error is None else self.error.add(size, alpha=rounding)

    @property
    def bound(self) -> torch.Tensor:
        """The error bound, inflated for the rounding of the bound itself; never NaN."""
        if self.error is None:
            return torch.zeros_like(self.value)
        inflated = torch.add(_TINY, self.error, alpha=INFLATION)
        return torch.nan_to_num(inflated, nan=torch.inf, posinf=torch.inf)

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error)

    def __add__(self, other: Any) -> Bounded:
        return _sum(self.value + value_of(other), self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Bounded:
        return _sum(self.value - value_of(other), self, other)

    def __rsub__(self, other: Any) -> Bounded:
        return -(self - other)

    def __mul__(self, other: Any) -> Bounded:
        if isinstance(other, int | float):
            return self._scaled(other)
        a, b = in_order(self, bounded(other, self))
        return Bounded(a.value * b.value, product_error(_ETA, a, b))

    __rmul__ = __mul__

    def _scaled(self, factor: float) -> Bounded:
        value = self.value * factor
        if abs(math.frexp(factor)[0]) in (0.0, 0.5) and abs(factor) >= 1:  # a power of two
            return Bounded(value, None if self.error is None else self.error * abs(factor))
        return Bounded(value, (self.loose * abs(factor)).add_(ETA))

    def __truediv__(self, other: Any) -> Bounded:
        return self * bounded(other, self).reciprocal()

    def __rtruediv__(self, other: Any) -> Bounded:
        return self.reciprocal() * other

    def __matmul__(self, other: Any) -> Bounded:
        other = bounded(other, self)
        error = product(self._loosened((self.shape[-1] + 2) * U), other.upper)
        if other.error is not None:
            error = error + product(self.upper, other.error)
        return Bounded(product(self.value, other.value), error.add_(self.shape[-1] * ETA))

    def __rmatmul__(self, other: Any) -> Bounded:
        return bounded(other, self) @ self

    def _added(self, dim: Any) -> int:
        """The number of terms of a sum along ``dim``, an axis or several."""
        return math.prod(self.shape[axis] for axis in ((dim,) if isinstance(dim, int) else dim))

    def sum(self, dim: Any, keepdim: bool = False) -> Bounded:
        """Return the sum along ``dim``, an axis or several; a sum of m terms rounds by m U each."""
        inherited = self._loosened(self._added(dim) * U)
        return Bounded(self.value.sum(dim, keepdim=keepdim), inherited.sum(dim, keepdim=keepdim))

    def mean(self, dim: Any, keepdim: bool = False) -> Bounded:
        """Return the mean along ``dim``, an axis or several."""
        total = self.sum(dim, keepdim)
        return total / (self.value.numel() // total.value.numel())

    def absolute(self) -> Bounded:
        """Return |x|; its error is that of x."""
        return Bounded(self.magnitude, self.error)

    def square(self) -> Bounded:
        """Return x^2, never below zero where the error is wide."""
        return self.or_interval(self * self, intervals.square, self.magnitude)

    def or_interval(
        self, narrow: Bounded, over: Callable, scale: torch.Tensor | float = 1.0
    ) -> Bounded:
        """Return ``narrow``, or the extension ``over`` where the error is wide by ``scale``."""
        if self.error is None:
            return narrow
        there = self.error > intervals.WIDE * scale
        if not there.any():
            return narrow
        value, error = over(self.value, self.error)
        return Bounded(
            torch.where(there, value, narrow.value),
            torch.where(there, error, narrow._error_or_zero()),
        )

    def _error_or_zero(self) -> torch.Tensor:
        return torch.zeros_like(self.value) if self.error is None else self.error

    def reciprocal(self) -> Bounded:
        """Return 1 / x; the error is infinite where 0 is within that of x."""
        value = self.value.reciprocal()
        error = value.abs().mul_(U).add_(ETA)
        if self.error is not None:
            gap = self.magnitude - self.error
            error = error + torch.where(gap > 0, self.error / self.magnitude / gap, torch.inf)
        return self.or_interval(Bounded(value, error), intervals.reciprocal, self.magnitude)

    def sqrt(self) -> Bounded:
        """|sqrt a - sqrt b| <= |a - b| / sqrt b; a computed zero may be any smaller number."""
        value = self.value.sqrt()
        error = value * U
        if self.error is not None:
            error = error + torch.where(value > 0, self.error / value, self.error.sqrt())
        scale = torch.where(self.value == 0, torch.inf, self.value)
        return self.or_interval(Bounded(value, error), intervals.root, scale)

    def rsqrt(self) -> Bounded:
        """Return 1 / sqrt(x); the error is infinite where 0 is within that of x."""
        return self.sqrt().reciprocal()

    def _function(
        self, value: torch.Tensor, inherited: torch.Tensor, accuracy: float = LIBRARY
    ) -> Bounded:
        return Bounded(value, torch.add(inherited, value.abs(), alpha=accuracy).add_(ETA))

    def exp(self) -> Bounded:
        """Exponential; an error e of x is multiplied as in `growth`."""
        value = self.value.exp()
        if self.error is None:
            return Bounded(value, value * LIBRARY + ETA)
        # From the computed value plus ETA: where it underflowed, the exact one is still covered.
        error = (value + ETA) * (growth(self.error) + LIBRARY) + ETA
        return self.or_interval(Bounded(value, error), partial(intervals.monotone, torch.exp))

    def log(self) -> Bounded:
        """Natural logarithm: the error is infinite where 0 is within that of x."""
        error = self._error_or_zero()
        gap = self.value - error
        out = self._function(self.value.log(), torch.where(gap > 0, error / gap, torch.inf))
        return self.or_interval(out, partial(intervals.positive, torch.log), self.magnitude)

    def sin(self) -> Bounded:
        """Sine, whose slope is at most 1."""
        out = self._function(self.value.sin(), self._error_or_zero())
        return self.or_interval(out, partial(intervals.wave, torch.sin, torch.cos))

    def cos(self) -> Bounded:
        """Cosine, whose slope is at most 1."""
        out = self._function(self.value.cos(), self._error_or_zero())
        return self.or_interval(out, partial(intervals.wave, torch.cos, torch.sin))

    def sinh(self) -> Bounded:
        """Hyperbolic sine, whose slope within the error is at most cosh(|x| + e)."""
        error = self._error_or_zero()
        out = self._function(self.value.sinh(), torch.cosh(self.magnitude + error) * error)
        return self.or_interval(out, partial(intervals.monotone, torch.sinh))

    def cosh(self) -> Bounded:
        """Hyperbolic cosine, whose slope within the error is at most sinh(|x| + e)."""
        error = self._error_or_zero()
        out = self._function(self.value.cosh(), torch.sinh(self.magnitude + error) * error)
        return self.or_interval(out, partial(intervals.valley, torch.cosh))

    def atan(self) -> Bounded:
        """Arctangent, whose slope is at most 1."""
        out = self._function(self.value.atan(), self._error_or_zero())
        return self.or_interval(out, partial(intervals.monotone, torch.atan))

    def tanh(self) -> Bounded:
        """Hyperbolic tangent, whose slope within the error is at most 1 / cosh(|x| - e)^2."""
        error = self._error_or_zero()
        steepest = torch.cosh((self.magnitude - error).clamp(min=0)).reciprocal().square()
        out = self._function(self.value.tanh(), steepest * error)
        return self.or_interval(out, partial(intervals.monotone, torch.tanh))

    def erfc(self) -> Bounded:
        """Complementary error function, of slope at most 1.2 exp(-(|x| - e)^2) within the error."""
        error = self._error_or_zero()
        steepest = 1.2 * torch.exp(-((self.magnitude - error).clamp(min=0)).square())
        return self._function(torch.special.erfc(self.value), steepest * error, LIBRARY_ERFC)

    def softplus(self) -> Bounded:
        """Softplus, whose slope within the error is at most sigmoid(x + e)."""
        error = self._error_or_zero()
        value = torch.nn.functional.softplus(self.value, threshold=700.0)
        steepest = torch.sigmoid(self.value + error)
        # log1p(exp z): the inner exp's error counts relative to the sum, once more for the log.
        return self._function(value, steepest * error, 4 * LIBRARY)

    def __getattr__(self, name: str) -> Callable:
        if name not in LAYOUT:
            raise AttributeError(f"no error rule for {name}")
        return lambda *args, **kwargs: self._layout(name, args, kwargs)

    def __getitem__(self, index: Any) -> Bounded:
        return self._layout("__getitem__", (index,), {})

    def _layout(self, name: str, args: tuple, kwargs: dict) -> Any:
        moved = getattr(self.value, name)(*args, **kwargs)
        if isinstance(moved, tuple):
            if self.error is None:
                return tuple(map(Bounded, moved))
            return tuple(map(Bounded, moved, getattr(self.error, name)(*args, **kwargs)))
        out = Bounded(moved)
        for slot in CACHED if name in VIEWS else ("error",):
            cached = getattr(self, slot)
            if cached is not None:
                setattr(out, slot, getattr(cached, name)(*args, **kwargs))
        return out


def bounded(x: Any, like: Bounded) -> Bounded:
    """``x`` as a `Bounded`; tensors and numbers are exact."""
    if isinstance(x, Bounded):
        return x
    return Bounded(torch.as_tensor(x, dtype=like.dtype, device=like.device))


def value_of(x: Any) -> Any:
    """The computed value of ``x``: numbers and tensors are their own."""
    return x.value if isinstance(x, Bounded) else x


def exactly_infinite(x: Bounded) -> torch.Tensor:
    """Return where ``x`` is infinite without an error, as a mask is: not by overflow."""
    infinite = x.value.isinf()
    return infinite if x.error is None else infinite & (x.error == 0)


def _sum(value: torch.Tensor, *terms: Any) -> Bounded:
    """``value``, the sum or difference of two ``terms``, with its error."""
    out = Bounded(value)
    errors = [t.error for t in terms if isinstance(t, Bounded) and t.error is not None]
    error = errors[0].add(out.magnitude, alpha=U) if errors else out.magnitude * U
    for inherited in errors[1:]:
        error += inherited
    out.error = error
    return out


def in_order(a: Bounded, b: Bounded) -> tuple[Bounded, Bounded]:
    """Return two factors, the larger first: a product computes more of the second."""
    return (b, a) if b.value.numel() > a.value.numel() else (a, b)


def product_error(start: torch.Tensor, a: Bounded, b: Bounded) -> torch.Tensor:
    """``start`` and the error of a b, underflow aside.

    |ab - a'b'| <= |a| (e_b + U |b|) + e_a (|b| + e_b), the product's rounding included.
    """
    error = torch.addcmul(start, a.magnitude, b.loose)
    return error if a.error is None else error.addcmul_(a.error, b.upper)


def two_products(a: Bounded, b: Bounded, c: Bounded, d: Bounded) -> Bounded:
    """Compute ``a * b + c * d`` in few passes."""
    (a, b), (c, d) = in_order(a, b), in_order(c, d)
    out = Bounded(torch.addcmul(a.value * b.value, c.value, d.value))
    error = product_error(product_error(2 * _ETA, a, b), c, d)
    out.error = error.add_(out.magnitude, alpha=U)
    return out
