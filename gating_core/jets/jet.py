"""A tensor with its derivatives, and the table of rules for torch operations.

A jet has a value, k first derivatives and k (k + 1) / 2 second derivatives; the derivatives'
axis comes first, the tensor's own axes after it. ``second`` is ``None`` while the jet is affine
in the coordinates, ``first`` while it is constant: then nothing is computed for them. Components
are plain tensors, or `Bounded` ones that carry rounding errors; the rules do not know which.

A rule is found by the operation's name (``exp`` serves ``torch.exp`` and ``Tensor.exp``).
Source: Griewank & Walther, *Evaluating Derivatives*, 2nd ed., chapter 13 (Taylor arithmetic).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from gating_core.jets.bounded import Bounded
from gating_core.jets.carrier import Carrier
from gating_core.jets.elementary import Array


class MissingRule(TypeError):
    """An operation was applied to a jet that has no rule for it."""


@cache
def pairs(k: int) -> tuple[tuple[int, int], ...]:
    """The pairs i <= j of k coordinates, in the order of the second derivatives."""
    return tuple((i, j) for i in range(k) for j in range(i, k))


def pair_index(k: int, i: int, j: int) -> int:
    """Return the index of the second derivative (i, j) among the second derivatives."""
    return pairs(k).index((min(i, j), max(i, j)))


class Jet(Carrier):
    """A tensor with its derivatives; behaves like a tensor in the operations that have rules.

    In-place operators have no rules: other references to the jet would not see the change.
    """

    __array_ufunc__ = None  # NumPy leaves `array * jet` to the jet

    def __init__(
        self, value: Array, first: Array | None = None, second: Array | None = None, *, k: int
    ) -> None:
        self.value = value
        self.first = first
        self.second = second
        self.k = k

    @staticmethod
    def coordinates(
        points: torch.Tensor, bounded: bool = False, radius: torch.Tensor | None = None
    ) -> Jet:
        """The identity map at points (N, k), points neighbours in memory.

        With ``radius`` (N, k) on the boxes about them.
        """
        count, k = points.shape
        value = points.T.contiguous().T
        first = torch.eye(k, dtype=points.dtype)[:, :, None].expand(k, k, count).contiguous()
        first = first.transpose(-1, -2)
        if bounded:
            return Jet(Bounded(value, radius), Bounded(first), k=k)
        return Jet(value, first, k=k)

    @property
    def requires_grad(self) -> bool:
        return False

    def __iter__(self):  # noqa: ANN204
        return iter(apply("unbind", (self,), {}))

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return apply(func.__name__, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name in ("T", "mT"):
            return apply("transpose", (self, -1, -2), {})
        if name.startswith("__") or not callable(getattr(torch.Tensor, name, None)):
            raise AttributeError(f"a jet has no {name}")
        return lambda *args, **kwargs: apply(name, (self, *args), kwargs)


def _operator(name: str) -> Callable:
    return lambda self, *args: apply(name, (self, *args), {})


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv matmul rmatmul pow rpow neg abs mod floordiv"
    " getitem setitem eq ne lt le gt ge iadd isub imul itruediv imatmul ipow"
)


for _name in _OPERATORS.split():
    setattr(Jet, f"__{_name}__", _operator(f"__{_name}__"))


ALIASES = {
    "radd": "add",
    "rmul": "mul",
    "multiply": "mul",
    "truediv": "div",
    "true_divide": "div",
    "divide": "div",
    "rdiv": "rtruediv",
    "subtract": "sub",
    "mm": "matmul",
    "bmm": "matmul",
    "negative": "neg",
    "swapaxes": "transpose",
    "concat": "cat",
    "concatenate": "cat",
    "arctan": "atan",
    "view": "reshape",
}

RULES: dict[str, Callable] = {}


def rule_name(function_name: str) -> str:
    """Return the name of an operation in the table of rules."""
    name = function_name.strip("_") if function_name.startswith("__") else function_name
    return ALIASES.get(name, name)


def apply(name: str, args: tuple, kwargs: dict) -> Any:
    """Apply the operation called ``name`` to arguments of which at least one is a jet."""
    name = rule_name(name)
    if name not in RULES:
        raise MissingRule(f"no jet rule for {name}")
    with torch._C.DisableTorchFunction():  # not to follow a rule's own torch calls
        return RULES[name](*args, **kwargs)


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Enter a function into the table under ``names``."""

    def enter(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


# --- Parts of rules -------------------------------------------------------------------------------


def each(jet: Jet, move: Callable[[Array, int], Any]) -> Jet:
    """Apply ``move(component, lead)``; ``lead`` axes stand before the tensor's own."""
    parts: list[Any] = [
        None if c is None else move(c, int(i > 0)) for i, c in enumerate(components(jet))
    ]
    return Jet(*parts, k=jet.k)


def components(jet: Jet) -> tuple[Array, Array | None, Array | None]:
    return jet.value, jet.first, jet.second


def filled(jet: Jet, order: str) -> Array:
    """Return the derivatives of one order, zeros where they are known to vanish."""
    derivatives = getattr(jet, order)
    if derivatives is not None:
        return derivatives
    count = jet.k if order == "first" else len(pairs(jet.k))
    zeros = torch.zeros(count, *jet.shape, dtype=jet.dtype)
    return Bounded(zeros) if isinstance(jet.value, Bounded) else zeros


def lift(component: Array, ndim: int, lead: int) -> Array:
    """Insert axes of size one after the ``lead`` leading ones, until the others are ``ndim``."""
    missing = ndim - (component.ndim - lead)
    if missing <= 0:
        return component
    shape = component.shape
    return component.reshape(*shape[:lead], *(1,) * missing, *shape[lead:])


def grow(jet: Jet, shape: tuple[int, ...]) -> Jet:
    """Broadcast ``jet`` to ``shape`` without copying."""
    if tuple(jet.shape) == tuple(shape):
        return jet
    target = tuple(
        own if size == -1 else size
        for size, own in zip(shape, (1,) * (len(shape) - jet.ndim) + tuple(jet.shape), strict=True)
    )
    return each(jet, lambda c, lead: lift(c, len(target), lead).expand(*c.shape[:lead], *target))


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that ``shapes`` broadcast to; ``ValueError`` if there is none.

    `torch.broadcast_shapes` imports SymPy, which takes half a second.
    """
    return np.broadcast_shapes(*shapes)


def promote(x: Any, model: Jet) -> Jet:
    """Return ``x`` as a jet, constant unless it is one."""
    if isinstance(x, Jet):
        return x
    value = torch.as_tensor(exact_number(x), dtype=model.dtype)
    return Jet(Bounded(value) if isinstance(model.value, Bounded) else value, k=model.k)


def exact_number(x: Any) -> Any:
    """Return ``x``; `MissingRule` for a whole number that float64 cannot hold exactly."""
    if isinstance(x, int) and not isinstance(x, bool) and abs(x) > 2**53:
        raise MissingRule(f"{x} is too large for float64 to hold exactly")
    return x
