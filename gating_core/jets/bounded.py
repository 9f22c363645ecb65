"""Tensors that carry a bound on their rounding error (running error analysis).

A `Bounded` is a computed tensor with an upper bound on its distance from the exact result of the
same operations on exact inputs. Every operation adds its own rounding to what it inherits:
u |c| for +, -, *, /, sqrt with u = 2^-53; m u (sum of |a||b|) for sums of m products in any order,
with or without fused multiply-add; 4 u |c| for exp and its like, which the vector libraries
compute to within one unit in the last place, 16 u for erfc. The bounds are computed in floating
point too: U is slightly larger than u, and `Bounded.bound` inflates the end result, to cover that.
Source: Higham, *Accuracy and Stability of Numerical Algorithms*, 2nd ed., sections 3.1 to 3.3.

Python numbers and given tensors are exact. Products and functions add `ETA` for underflow, and
`TINY` added at the end covers that of the error bounds themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from gating_core.points_last import product

U = 2.0**-53 * (1 + 2.0**-10)
LIBRARY = 4 * U  # relative error of exp, log, sin, ...: four times their documented one
LIBRARY_ERFC = 16 * U
ETA = torch.finfo(torch.float64).tiny  # what a result near underflow may be off, at most
TINY = 1e-290
INFLATION = 1 + 1e-9


# Methods that move numbers without changing them.
LAYOUT = frozenset(
    """
    reshape view expand permute transpose movedim flatten unflatten unsqueeze squeeze select
    unbind chunk split narrow gather flip contiguous clone __getitem__
    """.split()
)


class Bounded:
    """``value`` and ``error``, tensors of one shape; ``error`` None means exact."""

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
        """error + U |value|, computed once: the error after one more rounding."""
        if self._loose is None:
            size = self.magnitude
            self._loose = size * U if self.error is None else self.error.add(size, alpha=U)
        return self._loose

    @property
    def bound(self) -> torch.Tensor:
        """The error bound, inflated for the rounding of the bound itself; never NaN."""
        if self.error is None:
            return torch.zeros_like(self.value)
        return torch.nan_to_num(self.error * INFLATION + TINY, nan=torch.inf, posinf=torch.inf)

    @property
    def shape(self) -> torch.Size:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def dtype(self) -> torch.dtype:
        return self.value.dtype

    @property
    def device(self) -> torch.device:
        return self.value.device

    def __len__(self) -> int:
        return len(self.value)

    def __neg__(self) -> Bounded:
        return Bounded(-self.value, self.error)

    def __add__(self, other: Any) -> Bounded:
        value = self.value + value_of(other)
        return Bounded(value, _gather_errors(value, self, other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Bounded:
        value = self.value - value_of(other)
        return Bounded(value, _gather_errors(value, self, other))

    def __rsub__(self, other: Any) -> Bounded:
        return -(self - other)

    def __mul__(self, other: Any) -> Bounded:
        if isinstance(other, int | float):
            return self._scaled(other)
        other = bounded(other, self)
        # |ab - a'b'| <= |a| (e_b + U |b|) + e_a (|b| + e_b), the product's rounding included.
        value = self.value * other.value
        error = self.magnitude * other.loose
        if self.error is not None:
            error.addcmul_(self.error, other.upper)
        return Bounded(value, error.add_(ETA))

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
        rounding = (self.shape[-1] + 2) * U
        inherited = self.magnitude * rounding
        if self.error is not None:
            inherited += self.error
        error = product(inherited, other.upper)
        if other.error is not None:
            error = error + product(self.upper, other.error)
        error = error + self.shape[-1] * ETA
        return Bounded(product(self.value, other.value), error)

    def __rmatmul__(self, other: Any) -> Bounded:
        return bounded(other, self) @ self

    def sum(self, dim: Any, keepdim: bool = False) -> Bounded:
        axes = (dim,) if isinstance(dim, int) else tuple(dim)
        count = 1
        for axis in axes:
            count *= self.shape[axis]
        inherited = self.magnitude * (count * U)
        if self.error is not None:
            inherited += self.error
        return Bounded(self.value.sum(dim, keepdim=keepdim), inherited.sum(dim, keepdim=keepdim))

    def mean(self, dim: Any, keepdim: bool = False) -> Bounded:
        total = self.sum(dim, keepdim)
        return total / (self.value.numel() // total.value.numel())

    def square(self) -> Bounded:
        return self * self

    def _error_or_zero(self) -> torch.Tensor:
        return torch.zeros_like(self.value) if self.error is None else self.error

    def reciprocal(self) -> Bounded:
        value = self.value.reciprocal()
        error = value.abs().mul_(U).add_(ETA)
        if self.error is not None:
            gap = self.magnitude - self.error
            error = error + torch.where(gap > 0, self.error / self.magnitude / gap, torch.inf)
        return Bounded(value, error)

    def sqrt(self) -> Bounded:
        """|sqrt a - sqrt b| <= |a - b| / sqrt b; a computed zero stands for anything below."""
        value = self.value.sqrt()
        error = value * U
        if self.error is not None:
            error = error + torch.where(value > 0, self.error / value, self.error.sqrt())
        return Bounded(value, error)

    def rsqrt(self) -> Bounded:
        return self.sqrt().reciprocal()

    def _function(
        self, value: torch.Tensor, inherited: torch.Tensor, accuracy: float = LIBRARY
    ) -> Bounded:
        return Bounded(value, torch.add(inherited, value.abs(), alpha=accuracy).add_(ETA))

    def exp(self) -> Bounded:
        value = self.value.exp()
        if self.error is None:
            return Bounded(value, value * LIBRARY + ETA)
        # From the computed value plus ETA: where it underflowed, the exact one is still covered.
        return Bounded(value, (value + ETA) * (_growth(self.error) + LIBRARY) + ETA)

    def log(self) -> Bounded:
        error = self._error_or_zero()
        gap = self.value - error
        return self._function(self.value.log(), torch.where(gap > 0, error / gap, torch.inf))

    def sin(self) -> Bounded:
        return self._function(self.value.sin(), self._error_or_zero())

    def cos(self) -> Bounded:
        return self._function(self.value.cos(), self._error_or_zero())

    def sinh(self) -> Bounded:
        error = self._error_or_zero()
        return self._function(self.value.sinh(), torch.cosh(self.magnitude + error) * error)

    def cosh(self) -> Bounded:
        error = self._error_or_zero()
        return self._function(self.value.cosh(), torch.sinh(self.magnitude + error) * error)

    def atan(self) -> Bounded:
        return self._function(self.value.atan(), self._error_or_zero())

    def tanh(self) -> Bounded:
        error = self._error_or_zero()
        steepest = torch.cosh((self.magnitude - error).clamp(min=0)).reciprocal().square()
        return self._function(self.value.tanh(), steepest * error)

    def erfc(self) -> Bounded:
        error = self._error_or_zero()
        steepest = 1.2 * torch.exp(-((self.magnitude - error).clamp(min=0)).square())
        return self._function(torch.special.erfc(self.value), steepest * error, LIBRARY_ERFC)

    def softplus(self) -> Bounded:
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
        if self.error is None:
            return tuple(map(Bounded, moved)) if isinstance(moved, tuple) else Bounded(moved)
        errors = getattr(self.error, name)(*args, **kwargs)
        if isinstance(moved, tuple):
            return tuple(map(Bounded, moved, errors))
        return Bounded(moved, errors)


Array = torch.Tensor | Bounded


def _growth(error: torch.Tensor) -> torch.Tensor:
    """At least exp(error) - 1 for errors up to a half; infinite beyond, where nothing is known."""
    return torch.where(error <= 0.5, error + error.square(), torch.inf)


def sigmoids(z: Array) -> tuple[Array, Array]:
    """sigmoid(z) and sigmoid(-z), each accurate to its own size.

    The logarithm of sigmoid(z) has the slope sigmoid(-z), which over an error e varies by at
    most the factor exp(e) <= 1 + 2 e.
    """
    if not isinstance(z, Bounded):
        return torch.sigmoid(z), torch.sigmoid(-z)
    s, t = torch.sigmoid(z.value), torch.sigmoid(-z.value)
    if z.error is None:
        return Bounded(s, s * (2 * LIBRARY) + ETA), Bounded(t, t * (2 * LIBRARY) + ETA)
    slack = torch.where(z.error <= 1, z.error * (1 + 2 * z.error), torch.inf)
    return (
        Bounded(s, (s + ETA) * (_growth(slack * t) + 2 * LIBRARY) + ETA),
        Bounded(t, (t + ETA) * (_growth(slack * s) + 2 * LIBRARY) + ETA),
    )


def bounded(x: Any, like: Bounded) -> Bounded:
    """``x`` as a `Bounded`; tensors and numbers are exact."""
    if isinstance(x, Bounded):
        return x
    return Bounded(torch.as_tensor(x, dtype=like.dtype, device=like.device))


def value_of(x: Any) -> Any:
    """The computed value of ``x``: numbers and tensors are their own."""
    return x.value if isinstance(x, Bounded) else x


def _gather_errors(value: torch.Tensor, *terms: Any) -> torch.Tensor:
    errors = [t.error for t in terms if isinstance(t, Bounded) and t.error is not None]
    error = value.abs().mul_(U)
    for inherited in errors:
        error += inherited
    return error


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
    return Bounded(values, torch.where(condition, a._error_or_zero(), b._error_or_zero()))


def join(parts: list, dim: int, how: Callable = torch.cat) -> Array:
    """``torch.cat`` or ``torch.stack`` for tensors and bounded tensors."""
    values = _joined([value_of(part) for part in parts], dim, how)
    if not any(isinstance(part, Bounded) and part.error is not None for part in parts):
        return Bounded(values) if isinstance(parts[0], Bounded) else values
    errors = [
        part._error_or_zero() if isinstance(part, Bounded) else torch.zeros_like(part)
        for part in parts
    ]
    return Bounded(values, _joined(errors, dim, how))


def _joined(parts: list[torch.Tensor], dim: int, how: Callable) -> torch.Tensor:
    """Join along the first axis without losing "points last", which ``how`` alone would."""
    least = 2 if how is torch.stack else 3  # `cat` must not see its own axis transposed
    if dim == 0 and all(p.ndim >= least and p.stride(-2) == 1 for p in parts):
        return how([part.mT for part in parts], 0).mT
    return how(parts, dim)


def add_product(x: Array, a: Array, b: Array) -> Array:
    """``x + a * b``, in one pass where nothing is followed."""
    if isinstance(x, Bounded) or isinstance(a, Bounded) or isinstance(b, Bounded):
        return x + a * b
    return torch.addcmul(x, a, b)


def outer(a: Array, b: Array) -> Array:
    """All a_i b_j with i <= j along the first axis, in lexicographic order."""
    return join([a[i : i + 1] * b[i:] for i in range(a.shape[0])], 0)


def relative_to(x: Array, dim: int, index: torch.Tensor) -> Array:
    """``x`` minus its entries at ``index`` along ``dim``; those entries become exactly zero."""
    moved = x - x.gather(dim, index)
    if isinstance(moved, Bounded) and moved.error is not None:
        moved.error.scatter_(dim, index, 0.0)
    return moved
