"""Rules for operations that move, join, compare or add up numbers, and compute nothing else.

Operations in place: who else sees the change? A view and what it is a view of share their memory in
torch. Jets do not; so those that would are kept track of. A change of a part (an index, a slice, a
piece) is written into the whole, too. All others that may share its memory, which are views by
another layout, can no longer be used: the function is then differentiated by `torch.func` instead.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, NoReturn

import numpy as np
import torch

from gating_core.jets.bounded import Bounded, value_of
from gating_core.jets.elementary import join, put, where
from gating_core.jets.jet import (
    RULES,
    Jet,
    MissingRule,
    apply,
    axes_of,
    components,
    doubted,
    each,
    filled,
    grow,
    joint,
    promote,
    rule,
)
from gating_core.jets.taylor import TaylorModel


def view_of(move: Callable) -> Callable:
    """Let the result of a layout operation be known as a view of its first argument."""

    @wraps(move)
    def moved(jet: Jet, *args: Any, **kwargs: Any) -> Jet:
        return _share(jet, move(jet, *args, **kwargs))

    return moved


def _share(jet: Jet, view: Jet) -> Jet:
    if view is not jet:
        if jet.views is None:
            jet.views = [weakref.ref(jet)]
        jet.views.append(weakref.ref(view))
        view.views = jet.views
    return view


# --- Views ----------------------------------------------------------------------------------------


def _axis(dim: int, lead: int) -> int:
    """An axis of the tensor as an axis of a component."""
    return dim + lead if dim >= 0 else dim


def _sizes(args: tuple) -> tuple[int, ...]:
    return tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args


def _same(jet: Jet, *args: Any, **options: Any) -> Jet:
    return each(jet, lambda c, lead: c)


VIEWS: dict[str, Callable] = {
    "reshape": lambda jet, *shape: each(
        jet, lambda c, lead: c.reshape(*c.shape[:lead], *_sizes(shape))
    ),
    "expand": lambda jet, *shape: grow(jet, tuple(_sizes(shape))),
    "permute": lambda jet, *dims: each(
        jet,
        lambda c, lead: c.permute(*range(lead), *(d + lead for d in axes_of(jet, _sizes(dims)))),
    ),
    "transpose": lambda jet, dim0, dim1: each(
        jet, lambda c, lead: c.transpose(_axis(dim0, lead), _axis(dim1, lead))
    ),
    "flatten": lambda jet, start_dim=0, end_dim=-1: each(
        jet, lambda c, lead: c.flatten(_axis(start_dim, lead), _axis(end_dim, lead))
    ),
    "unflatten": lambda jet, dim, sizes: each(
        jet, lambda c, lead: c.unflatten(_axis(dim, lead), sizes)
    ),
    "unsqueeze": lambda jet, dim: each(jet, lambda c, lead: c.unsqueeze(_axis(dim, lead))),
    "squeeze": lambda jet, dim=None: each(
        jet, lambda c, lead: c.squeeze(tuple(d + lead for d in axes_of(jet, dim)))
    ),
    "contiguous": _same,  # torch may or may not copy
}
RULES.update({name: view_of(move) for name, move in VIEWS.items()})


# --- Parts ----------------------------------------------------------------------------------------


def _indices(index: Any) -> tuple:
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, Jet) for i in index):
        raise MissingRule("an index that varies")
    return index


@rule("getitem")
def _getitem(jet: Jet, index: Any) -> Jet:
    index = _indices(index)
    arrays = [i for i in index if isinstance(i, torch.Tensor | list)]
    if len(arrays) > 1:  # where their axes go depends on what stands before them
        return each(
            jet,
            lambda c, lead: (
                join([x[index] for x in c.unbind(0)], 0, torch.stack) if lead else c[index]
            ),
        )
    out = each(jet, lambda c, lead: c[(slice(None),) * lead + index])
    if arrays:
        return out
    out.origin = jet, index
    return _share(jet, out)


@rule("setitem")
def _setitem(jet: Jet, index: Any, new: Any) -> Jet:
    """The jet after an assignment to ``jet[index]``."""
    index = _indices(index)
    region, new = value_of(jet.value)[index].shape, promote(new, jet)
    while new.ndim > len(region) and new.shape[0] == 1:
        new = each(new, lambda c, lead: c.select(lead, 0))

    def written(parts: list, lead: int) -> Any:
        if not lead:
            return put(parts[0], index, parts[1])
        rows = zip(*(part.unbind(0) for part in parts), strict=True)
        return join([put(x, index, y) for x, y in rows], 0, torch.stack)

    return joint([jet, grow(new, tuple(region))], written)


def _along(jet: Jet, dim: int, index: Any) -> Jet:
    return _getitem(jet, (slice(None),) * (dim % jet.ndim) + (index,))


@rule("split")
def _split(jet: Jet, split_size: Any, dim: int = 0) -> tuple[Jet, ...]:
    count = jet.shape[dim]
    if isinstance(split_size, int):
        split_size = [min(split_size, count - at) for at in range(0, count, split_size)]
    if sum(split_size) != count:
        raise MissingRule(f"split of {count} into {split_size}")
    ends = np.cumsum(split_size).tolist()
    return tuple(
        _along(jet, dim, slice(end - size, end)) for size, end in zip(split_size, ends, strict=True)
    )


RULES |= {
    "select": _along,
    "narrow": lambda jet, dim, start, length: _along(jet, dim, slice(start, start + length)),
    "unbind": lambda jet, dim=0: tuple(_along(jet, dim, i) for i in range(jet.shape[dim])),
    "flip": lambda jet, *dims: each(
        jet, lambda c, lead: c.flip([d + lead for d in axes_of(jet, _sizes(dims))])
    ),
    "gather": lambda jet, dim, index: each(
        jet,
        lambda c, lead: c.gather(_axis(dim, lead), index.expand(*c.shape[:lead], *index.shape)),
    ),
    "clone": _same,
    "double": lambda jet: jet,
    "is_floating_point": lambda jet: True,
    "is_contiguous": lambda jet: True,
    "is_complex": lambda jet: False,
    "numel": lambda jet: jet.shape.numel(),
    "size": lambda jet, dim=None: jet.shape if dim is None else jet.shape[dim],
    "dim": lambda jet: jet.ndim,
}


# --- Changes in place -----------------------------------------------------------------------------


class _Changed:
    """Stands for the components of a jet whose memory was written to through another one."""

    def __getattr__(self, name: str) -> NoReturn:
        raise MissingRule("a view of what has been changed in place")


CHANGED: Any = _Changed()


@rule("change")
def _change(jet: Jet, new: Jet) -> Jet:
    """Give ``jet`` the components of ``new``, as an operation in place does."""
    _write(jet, new)
    current, at = [jet], jet
    while at.origin is not None:
        whole, index = at.origin
        _write(whole, _setitem(whole, index, at))
        current.append(whole)
        at = whole
    for reference in jet.views or ():
        other = reference()
        if other is not None and all(other is not x for x in current):
            other.value = other.first = other.second = CHANGED
    return jet


def _write(jet: Jet, new: Jet) -> None:
    if tuple(new.shape) != tuple(jet.shape):
        raise MissingRule(f"{tuple(new.shape)} in place of {tuple(jet.shape)}")
    jet.value, jet.first, jet.second = components(new)


RULES["copy"] = RULES["fill"] = lambda jet, new, non_blocking=False: _setitem(jet, ..., new)
RULES["zero"] = lambda jet: _setitem(jet, ..., 0.0)


# --- Types ----------------------------------------------------------------------------------------


@rule("to", "type", "type_as")
def _converted(jet: Jet, *args: Any, **kwargs: Any) -> Jet:
    """A jet is in float64 on the processor: nothing is done where that is what is requested."""
    for x in (*args, *kwargs.values()):
        dtype = x.dtype if isinstance(x, torch.Tensor | Jet) else x
        word = str(dtype).rpartition(".")[2]
        if isinstance(dtype, torch.dtype | str | type) and word not in SAME_TYPE:
            raise MissingRule(f"conversion to {dtype}")
    return jet


SAME_TYPE = ("float64", "double", "DoubleTensor", "cpu")


@rule("detach")
def _detach(jet: Jet) -> torch.Tensor | Jet:
    value: Any = jet.value
    return Jet(value, k=jet.k) if isinstance(value, Bounded) else value.detach()


@rule("argmax")
def _argmax(jet: Jet, dim: int | None = None, keepdim: bool = False) -> torch.Tensor:
    if isinstance(jet.value, Bounded) and jet.value.error is not None:
        raise MissingRule("argmax may be decided by rounding")
    return value_of(jet.value).argmax(dim, keepdim=keepdim)


@rule("full_like")
def _full_like(jet: Jet, number: float, dtype: torch.dtype | None = None, **options: Any) -> Any:
    made = torch.full(jet.shape, number, dtype=dtype or jet.dtype)
    return promote(made, jet) if made.dtype == jet.dtype else made


# --- Joins and sums -------------------------------------------------------------------------------


def _joining(how: Callable) -> Callable:
    def joined(parts: list, dim: int = 0) -> Jet:
        model = next(part for part in parts if isinstance(part, Jet))
        jets = [promote(part, model) for part in parts]
        return joint(jets, lambda parts, lead: join(parts, _axis(dim, lead), how))

    return joined


def _reducing(name: str) -> Callable:
    def reduced(jet: Jet, dim: Any = None, keepdim: bool = False, axis: Any = None) -> Jet:
        dim = axis if dim is None else dim
        axes = axes_of(jet, None if dim in ((), []) else dim)  # none are all
        if not axes:  # a number
            return _same(jet)
        return each(
            jet, lambda c, lead: getattr(c, name)([a + lead for a in axes], keepdim=keepdim)
        )

    return reduced


RULES |= {name: _joining(getattr(torch, name)) for name in ("cat", "stack")}
RULES |= {name: _reducing(name) for name in ("sum", "mean")}


# --- Conditions -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Undecided:
    """A ``condition`` that rounding decides, or cells that lie on both sides of it: in ``doubt``.

    Only ``where`` takes it. Where the condition is ``fixed``, for it is of weights alone, the
    result is one of the two at all points. Otherwise nothing is known of it: it may jump.
    """

    condition: torch.Tensor
    doubt: torch.Tensor
    fixed: bool

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return apply(func.__name__, args, kwargs or {})

    def __bool__(self) -> NoReturn:
        raise MissingRule("a branch is decided by rounding")

    def any(self, dim: int, keepdim: bool = False) -> Undecided:
        """Reduce as `torch.any`; in doubt where no element is surely true."""
        sure = (self.condition & ~self.doubt).any(dim, keepdim)
        found, doubt = (x.any(dim, keepdim) for x in (self.condition, self.doubt))
        return Undecided(found, doubt & ~sure, self.fixed)

    def expand(self, *shape: Any) -> Undecided:
        """Expand as `torch.Tensor.expand`."""
        return Undecided(self.condition.expand(*shape), self.doubt.expand(*shape), self.fixed)


def _comparing(name: str) -> Callable:
    def compared(a: Any, b: Any) -> torch.Tensor | Undecided:
        fixed = all(x.first is None for x in (a, b) if isinstance(x, Jet))
        a, b = (x.value if isinstance(x, Jet) else x for x in (a, b))
        on_cells = isinstance(a, TaylorModel) or isinstance(b, TaylorModel)
        doubt = sum(
            x.bound
            for x in (a, b)
            if isinstance(x, TaylorModel) or (isinstance(x, Bounded) and x.error is not None)
        )
        a, b = value_of(a), value_of(b)
        result = getattr(torch, name)(a, b)
        if not isinstance(doubt, torch.Tensor) or not ((a - b).abs() <= doubt).any():
            return result
        if on_cells or fixed:
            return Undecided(result, (a - b).abs() <= doubt, fixed)
        raise MissingRule(f"{name} is decided by rounding")

    return compared


RULES |= {name: _comparing(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}


def either(jet: Any, other: Jet, doubt: torch.Tensor, smooth: int = 2) -> Jet:
    """Return ``jet``, which may be the ``other`` one where there is ``doubt``.

    Nothing is known there of derivatives of an order above ``smooth``.
    """
    gaps, unknown = grow(jet - other, tuple(jet.shape)), []
    for i, order in enumerate(("value", "first", "second")):
        lost: Any = torch.inf
        if i <= smooth:
            difference: Any = gaps.value if i == 0 else filled(gaps, order)
            lost = difference.value.abs() + difference.bound
        unknown.append(torch.where(doubt, lost, 0.0))
    return doubted(jet, *unknown)


@rule("where")
def _where(condition: torch.Tensor | Undecided, a: Any, b: Any) -> Jet:
    if isinstance(condition, Jet):  # the method of a tensor
        condition, a = a, condition
    if isinstance(condition, Undecided):
        chosen = _where(condition.condition, a, b)
        if condition.fixed:
            return either(chosen, _where(~condition.condition, a, b), condition.doubt)
        return doubted(chosen, torch.where(condition.doubt, torch.inf, 0.0))
    model = a if isinstance(a, Jet) else b
    a, b = promote(a, model), promote(b, model)
    shape = np.broadcast_shapes(condition.shape, a.shape, b.shape)  # torch's imports SymPy
    return joint([grow(a, shape), grow(b, shape)], lambda parts, lead: where(condition, *parts))


RULES["masked_fill"] = lambda jet, mask, value: _where(mask, value, jet)
