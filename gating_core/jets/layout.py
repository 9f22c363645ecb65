"""Rules for operations that move, join, compare or add up numbers, and compute nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from gating_core.jets.bounded import Bounded, value_of
from gating_core.jets.elementary import join, put, where
from gating_core.jets.in_place import part_of, view_of
from gating_core.jets.jet import (
    RULES,
    Jet,
    MissingRule,
    apply,
    broadcast,
    call,
    components,
    composed,
    each,
    filled,
    grow,
    promote,
    rule,
)
from gating_core.jets.taylor import TaylorModel


def _axis(dim: int, lead: int) -> int:
    """An axis of the tensor as an axis of a component."""
    return dim + lead if dim >= 0 else dim


def _sizes(args: tuple) -> tuple[int, ...]:
    return tuple(args[0]) if len(args) == 1 and not isinstance(args[0], int) else args


@rule("reshape")
@view_of
def _reshape(jet: Jet, *shape: Any) -> Jet:
    return each(jet, lambda c, lead: c.reshape(*c.shape[:lead], *_sizes(shape)))


@rule("expand")
@view_of
def _expand(jet: Jet, *shape: Any) -> Jet:
    return grow(jet, tuple(_sizes(shape)))


@rule("permute")
@view_of
def _permute(jet: Jet, *dims: Any) -> Jet:
    order = [d % jet.ndim for d in _sizes(dims)]
    return each(jet, lambda c, lead: c.permute(*range(lead), *(d + lead for d in order)))


@rule("transpose")
@view_of
def _transpose(jet: Jet, dim0: int, dim1: int) -> Jet:
    return each(jet, lambda c, lead: c.transpose(_axis(dim0, lead), _axis(dim1, lead)))


@rule("flatten")
@view_of
def _flatten(jet: Jet, start_dim: int = 0, end_dim: int = -1) -> Jet:
    return each(jet, lambda c, lead: c.flatten(_axis(start_dim, lead), _axis(end_dim, lead)))


@rule("unflatten")
@view_of
def _unflatten(jet: Jet, dim: int, sizes: tuple[int, ...]) -> Jet:
    return each(jet, lambda c, lead: c.unflatten(_axis(dim, lead), sizes))


@rule("unsqueeze")
@view_of
def _unsqueeze(jet: Jet, dim: int) -> Jet:
    return each(jet, lambda c, lead: c.unsqueeze(_axis(dim, lead)))


@rule("squeeze")
@view_of
def _squeeze(jet: Jet, dim: int) -> Jet:
    return each(jet, lambda c, lead: c.squeeze(_axis(dim, lead)))


@rule("getitem")
def _getitem(jet: Jet, index: Any) -> Jet:
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, Jet) for i in index):
        raise MissingRule("an index that varies")
    arrays = [i for i in index if isinstance(i, torch.Tensor | list)]
    if len(arrays) > 1:  # where their axes go depends on what stands before them
        parts: list[Any] = [
            c if i == 0 or c is None else c.unbind(0) for i, c in enumerate(components(jet))
        ]
        rows: list[Any] = [parts[0][index]]
        rows += [
            None if p is None else join([x[index] for x in p], 0, torch.stack) for p in parts[1:]
        ]
        return Jet(*rows, k=jet.k)
    out = each(jet, lambda c, lead: c[(slice(None),) * lead + index])
    return out if arrays else part_of(jet, index, out)


@rule("setitem")
def _setitem(jet: Jet, index: Any, new: Any) -> Jet:
    """The jet after an assignment to ``jet[index]``."""
    index = index if isinstance(index, tuple) else (index,)
    if any(isinstance(i, Jet) for i in index):
        raise MissingRule("an index that varies")
    region, new = value_of(jet.value)[index].shape, promote(new, jet)
    while new.ndim > len(region) and new.shape[0] == 1:
        new = each(new, lambda c, lead: c.select(lead, 0))
    new = grow(new, tuple(region))
    parts: list[Any] = [put(jet.value, index, new.value)]
    for order in ("first", "second"):
        if getattr(jet, order) is None and getattr(new, order) is None:
            parts.append(None)
            continue
        pairs = zip(filled(jet, order).unbind(0), filled(new, order).unbind(0), strict=True)
        parts.append(join([put(x, index, y) for x, y in pairs], 0, torch.stack))
    return Jet(*parts, k=jet.k)


@rule("select")
def _select(jet: Jet, dim: int, index: int) -> Jet:
    return _getitem(jet, (slice(None),) * (dim % jet.ndim) + (index,))


@rule("narrow")
def _narrow(jet: Jet, dim: int, start: int, length: int) -> Jet:
    return _getitem(jet, (slice(None),) * (dim % jet.ndim) + (slice(start, start + length),))


@rule("flip")
def _flip(jet: Jet, *dims: Any) -> Jet:
    axes = [d % jet.ndim for d in _sizes(dims)]
    return each(jet, lambda c, lead: c.flip([d + lead for d in axes]))


@composed("cumprod")
def cumprod(x: Any, dim: int, **options: Any) -> Any:
    """Partial products along an axis, one after the other: right also where a factor is zero."""
    first, *others = x.unbind(dim)
    products = [first]
    for factor in others:
        products.append(products[-1] * factor)
    return call("stack", products, dim)


@rule("gather")
def _gather(jet: Jet, dim: int, index: torch.Tensor) -> Jet:
    return each(
        jet,
        lambda c, lead: c.gather(_axis(dim, lead), index.expand(*c.shape[:lead], *index.shape)),
    )


@rule("unbind")
def _unbind(jet: Jet, dim: int = 0) -> tuple[Jet, ...]:
    return tuple(_select(jet, dim, i) for i in range(jet.shape[dim]))


@rule("split")
def _split(jet: Jet, split_size: Any, dim: int = 0) -> tuple[Jet, ...]:
    count = jet.shape[dim]
    if isinstance(split_size, int):
        split_size = [min(split_size, count - at) for at in range(0, count, split_size)]
    if sum(split_size) != count:
        raise MissingRule(f"split of {count} into {split_size}")
    starts = [sum(split_size[:i]) for i in range(len(split_size))]
    return tuple(_narrow(jet, dim, at, size) for at, size in zip(starts, split_size, strict=True))


@rule("clone")
def _same(jet: Jet, *args: Any, **options: Any) -> Jet:
    return each(jet, lambda c, lead: c)


RULES["contiguous"] = view_of(_same)  # torch may or may not copy


@rule("double")
def _double(jet: Jet) -> Jet:
    return jet


@rule("is_floating_point", "is_contiguous")
def _is(jet: Jet) -> bool:
    return True


@rule("is_complex")
def _is_not(jet: Jet) -> bool:
    return False


@rule("numel")
def _numel(jet: Jet) -> int:
    return jet.shape.numel()


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


@rule("size")
def _size(jet: Jet, dim: int | None = None) -> Any:
    return jet.shape if dim is None else jet.shape[dim]


@rule("dim")
def _dim(jet: Jet) -> int:
    return jet.ndim


def _joining(how: Callable) -> Callable:
    def joined(parts: list, dim: int = 0) -> Jet:
        model = next(part for part in parts if isinstance(part, Jet))
        jets = [promote(part, model) for part in parts]
        components: list[Any] = [join([p.value for p in jets], dim, how)]
        for order in ("first", "second"):
            if all(getattr(p, order) is None for p in jets):
                components.append(None)
                continue
            whole = [filled(p, order) for p in jets]
            components.append(join(whole, _axis(dim, 1), how))
        return Jet(*components, k=model.k)

    return joined


RULES["cat"] = _joining(torch.cat)
RULES["stack"] = _joining(torch.stack)


def _reducing(name: str) -> None:
    @rule(name)
    def reduced(jet: Jet, dim: Any = None, keepdim: bool = False, axis: Any = None) -> Jet:
        dim = axis if dim is None else dim
        dims = [dim] if isinstance(dim, int) else dim or range(jet.ndim)  # none are all
        axes = [d % jet.ndim for d in dims]
        if not axes:  # a number
            return _same(jet)
        return each(
            jet, lambda c, lead: getattr(c, name)([a + lead for a in axes], keepdim=keepdim)
        )


for _name in ("sum", "mean"):
    _reducing(_name)


@dataclass(frozen=True, eq=False)
class Undecided:
    """A ``condition`` on cells of which some lie on both sides of it: there, in ``doubt``.

    Only ``where`` takes it, and knows nothing of the result there: it may jump.
    """

    condition: torch.Tensor
    doubt: torch.Tensor

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return apply(func.__name__, args, kwargs or {})


def _varies(x: Bounded) -> bool:
    """Return whether any number of ``x`` is not exact."""
    return x.error is not None or isinstance(x, TaylorModel)


def _comparing(name: str) -> None:
    @rule(name)
    def compared(a: Any, b: Any) -> torch.Tensor | Undecided:
        a, b = (x.value if isinstance(x, Jet) else x for x in (a, b))
        on_cells = isinstance(a, TaylorModel) or isinstance(b, TaylorModel)
        doubt = sum(x.bound for x in (a, b) if isinstance(x, Bounded) and _varies(x))
        a, b = value_of(a), value_of(b)
        if not isinstance(doubt, torch.Tensor) or not ((a - b).abs() <= doubt).any():
            return getattr(torch, name)(a, b)
        if on_cells:
            return Undecided(getattr(torch, name)(a, b), (a - b).abs() <= doubt)
        raise MissingRule(f"{name} is decided by rounding")


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparing(_name)


@rule("where")
def _where(condition: torch.Tensor | Undecided, a: Any, b: Any) -> Jet:
    if isinstance(condition, Jet):  # the method of a tensor
        condition, a = a, condition
    if isinstance(condition, Undecided):
        jet, doubt = _where(condition.condition, a, b), condition.doubt
        lost = Bounded(torch.zeros_like(jet.value.value), torch.where(doubt, torch.inf, 0.0))
        whole = (jet.value, filled(jet, "first"), filled(jet, "second"))
        return Jet(*(part + lost for part in whole), k=jet.k)
    model = a if isinstance(a, Jet) else b
    a, b = promote(a, model), promote(b, model)
    shape = broadcast(condition.shape, a.shape, b.shape)
    a, b = grow(a, shape), grow(b, shape)
    parts: list[Any] = [where(condition, a.value, b.value)]
    for order in ("first", "second"):
        if getattr(a, order) is None and getattr(b, order) is None:
            parts.append(None)
        else:
            parts.append(where(condition, filled(a, order), filled(b, order)))
    return Jet(*parts, k=model.k)


@rule("masked_fill")
def _masked_fill(jet: Jet, mask: torch.Tensor, value: Any) -> Jet:
    if isinstance(mask, torch.Tensor) and mask.dtype != torch.bool:
        raise MissingRule("masked_fill with a mask that is not of booleans")
    return _where(mask, value, jet)


def _filled_with(name: str) -> None:
    """A rule for a new tensor of the shape, or of the type, of a jet."""

    @rule(name)
    def new(jet: Jet, *args: Any, dtype: torch.dtype | None = None, **options: Any) -> Any:
        options = {"dtype": dtype or jet.dtype}
        if name.endswith("_like"):
            made = getattr(torch, name)(torch.empty(jet.shape), *args, **options)
        else:
            made = getattr(torch.empty(()), name)(*args, **options)
        return promote(made, jet) if made.dtype == jet.dtype else made


for _name in ("zeros", "ones", "empty", "full"):
    _filled_with(f"{_name}_like")
    _filled_with(f"new_{_name}")
