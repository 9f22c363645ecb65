"""Rules for operations that move, join, compare or add up numbers, and compute nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from gating_core.jets.bounded import Bounded, value_of
from gating_core.jets.elementary import join, where
from gating_core.jets.jet import (
    RULES,
    Jet,
    MissingRule,
    apply,
    broadcast,
    components,
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
def _reshape(jet: Jet, *shape: Any) -> Jet:
    return each(jet, lambda c, lead: c.reshape(*c.shape[:lead], *_sizes(shape)))


@rule("expand")
def _expand(jet: Jet, *shape: Any) -> Jet:
    return grow(jet, tuple(_sizes(shape)))


@rule("permute")
def _permute(jet: Jet, *dims: Any) -> Jet:
    order = [d % jet.ndim for d in _sizes(dims)]
    return each(jet, lambda c, lead: c.permute(*range(lead), *(d + lead for d in order)))


@rule("transpose")
def _transpose(jet: Jet, dim0: int, dim1: int) -> Jet:
    return each(jet, lambda c, lead: c.transpose(_axis(dim0, lead), _axis(dim1, lead)))


@rule("movedim")
def _movedim(jet: Jet, source: int, destination: int) -> Jet:
    return each(jet, lambda c, lead: c.movedim(_axis(source, lead), _axis(destination, lead)))


@rule("flatten")
def _flatten(jet: Jet, start_dim: int = 0, end_dim: int = -1) -> Jet:
    return each(jet, lambda c, lead: c.flatten(_axis(start_dim, lead), _axis(end_dim, lead)))


@rule("unflatten")
def _unflatten(jet: Jet, dim: int, sizes: tuple[int, ...]) -> Jet:
    return each(jet, lambda c, lead: c.unflatten(_axis(dim, lead), sizes))


@rule("unsqueeze")
def _unsqueeze(jet: Jet, dim: int) -> Jet:
    return each(jet, lambda c, lead: c.unsqueeze(_axis(dim, lead)))


@rule("squeeze")
def _squeeze(jet: Jet, dim: int) -> Jet:
    return each(jet, lambda c, lead: c.squeeze(_axis(dim, lead)))


@rule("select")
def _select(jet: Jet, dim: int, index: int) -> Jet:
    return each(jet, lambda c, lead: c.select(_axis(dim, lead), index))


@rule("getitem")
def _getitem(jet: Jet, index: Any) -> Jet:
    index = index if isinstance(index, tuple) else (index,)
    if sum(isinstance(i, torch.Tensor | list) for i in index) > 1:
        raise MissingRule("several index arrays at once")
    return each(jet, lambda c, lead: c[(slice(None),) * lead + index])


@rule("gather")
def _gather(jet: Jet, dim: int, index: torch.Tensor) -> Jet:
    return each(
        jet,
        lambda c, lead: c.gather(_axis(dim, lead), index.expand(*c.shape[:lead], *index.shape)),
    )


def _pieces(name: str) -> None:
    """A rule for an operation that takes a tensor apart."""

    @rule(name)
    def taken_apart(jet: Jet, *args: Any, dim: int | None = None) -> tuple[Jet, ...]:
        needed = 0 if name == "unbind" else 1
        args, dim = args[:needed], (args[needed] if len(args) > needed else dim or 0)
        parts: list[Any] = [
            None if c is None else getattr(c, name)(*args, _axis(dim, int(i > 0)))
            for i, c in enumerate(components(jet))
        ]

        def piece(i: int) -> Jet:
            taken: list[Any] = [None if p is None else p[i] for p in parts]
            return Jet(*taken, k=jet.k)

        return tuple(map(piece, range(len(parts[0]))))


for _name in ("unbind", "chunk", "split"):
    _pieces(_name)


@rule("contiguous", "clone", "double")
def _same(jet: Jet) -> Jet:
    return jet


@rule("detach")
def _detach(jet: Jet) -> torch.Tensor | Jet:
    return Jet(jet.value, k=jet.k) if isinstance(jet.value, Bounded) else jet.value


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
        dims = range(jet.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
        axes = [d % jet.ndim for d in dims]
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
    """Whether any number of ``x`` is not exact."""
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
