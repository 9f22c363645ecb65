"""Tensors of which one row varies: what the other rows are is computed once, not for every point.

A layer of a text reads (N, T, D), N copies of T states that differ in one token's. `Row` stands for
such a tensor: the ``row`` that varies, a tensor or a jet, and the ``rest``, which all N share. Most
operations treat the two alike. Where tokens meet, in the products of attention, each of the N rows
meets the one text: keys and values are those of the text, and of the token itself where it moves.
Of what comes after only that token's row is known, and is asked for.

`Unfollowed` is raised by everything else, whose caller computes all rows instead.
Shapes: N points, T tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from gating_core.jets.bounded import Carrier
from gating_core.jets.jet import COMPOSED, rule_name


class Unfollowed(TypeError):
    """An operation between rows that is not known to keep them apart."""


@dataclass(eq=False)
class Run:
    """One evaluation of a layer on rows, and what its attention computes on the way.

    Attributes:
        query_alone: The token's query moves, its key and its value stay.
        factors: (H, 1, 1) by which products of queries and keys are multiplied.
        products: Those products, (N, H, 1, T) each, times the factors.
        logits: What the softmax over keys reads, (N, H, 1, T) each.
    """

    query_alone: bool = False
    factors: torch.Tensor | None = None
    products: list[Any] = field(default_factory=list)
    logits: list[Any] = field(default_factory=list)


class Row(Carrier):
    """A tensor whose ``axis`` counts tokens, of which the one at ``index`` varies with the point.

    ``row`` has size 1 along ``axis``; ``rest`` has size 1 along ``batch``, which counts points, and
    holds at ``index`` the token as it was. ``rest`` is ``None`` where the other rows vary, too.
    """

    def __init__(
        self, row: Any, rest: Any, batch: int, axis: int, index: int, count: int, run: Run
    ) -> None:
        self.row, self.rest, self.run = row, rest, run
        self.batch, self.axis, self.index, self.count = batch, axis, index, count

    @property
    def value(self) -> Any:
        """The varying row, which answers for the type."""
        return self.row

    @property
    def shape(self) -> torch.Size:  # type: ignore[override]
        """Of the whole tensor."""
        return _with(self.row.shape, self.axis, self.count)

    def like(self, row: Any, rest: Any, batch: int, axis: int) -> Row:
        """Return another tensor of the same token."""
        return Row(row, rest, batch, axis, self.index, self.count, self.run)

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return _apply(func, func.__name__, args, kwargs or {})

    def __getattr__(self, name: str) -> Any:
        if name in ("T", "mT"):
            return self.transpose(-1, -2)
        if name.startswith("__"):
            raise AttributeError(f"a row has no {name}")
        if not callable(getattr(torch.Tensor, name, None)):
            return getattr(self.row, name)
        return lambda *args, **kwargs: _apply(None, name, (self, *args), kwargs)


def _operator(name: str) -> Callable:
    return lambda self, *args: _apply(None, name, (self, *args), {})


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv matmul rmatmul pow rpow neg abs getitem invert"
    " eq ne lt le gt ge and or"
).split():
    setattr(Row, f"__{_name}__", _operator(f"__{_name}__"))


class Following(TorchFunctionMode):
    """A mode in which operations on rows are followed wherever torch would call them."""

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        if any(isinstance(x, Row) for x in tree_leaves((args, kwargs))):
            return _apply(func, getattr(func, "__name__", ""), args, kwargs)
        return func(*args, **kwargs)


QUERIES: dict[str, Callable] = {
    "size": lambda x, *axis: x.shape[axis[0]] if axis else x.shape,
    "dim": lambda x: x.ndim,
    "numel": lambda x: math.prod(x.shape),
}
RESHAPES = frozenset("view reshape flatten unflatten unsqueeze squeeze contiguous".split())
EXPANSIONS = frozenset("expand expand_as broadcast_to".split())
MOVES = frozenset(
    "transpose swapaxes permute movedim chunk split unbind split_with_sizes tensor_split".split()
)
POINTWISE = frozenset(
    """
    add sub rsub mul div rtruediv neg pow rpow exp expm1 log log1p sin cos tanh sigmoid logsigmoid
    sqrt rsqrt reciprocal square abs erf erfc gelu relu relu6 silu mish elu selu celu leaky_relu
    softplus softsign tanhshrink hardtanh hardswish hardsigmoid where masked_fill clamp clamp_min
    clamp_max maximum minimum to float double half bfloat16 type type_as clone detach dropout
    float_power addcmul lerp eq ne lt le gt ge invert logical_not and or isnan isfinite nan_to_num
    """.split()
)
REDUCTIONS = frozenset(
    "sum mean var std amax amin prod norm vector_norm linalg_vector_norm logsumexp".split()
)
ALONG = frozenset("softmax log_softmax cumsum normalize repeat_interleave".split())
NORMS = frozenset("layer_norm rms_norm".split())


def _apply(func: Callable | None, name: str, args: tuple, kwargs: dict) -> Any:
    """Apply an operation to arguments of which at least one is a `Row`."""
    plain = rule_name(name)
    first = next(x for x in tree_leaves((args, kwargs)) if isinstance(x, Row))

    def invoke(args: tuple, kwargs: dict) -> Any:
        return func(*args, **kwargs) if func else getattr(args[0], name)(*args[1:], **kwargs)

    if isinstance(first, Merged):
        return _of_merged(plain, args, kwargs, invoke)
    if plain in QUERIES:
        return QUERIES[plain](first, *args[1:])
    if plain == "contiguous":
        return first
    if plain in RESHAPES | EXPANSIONS:
        return _reshaped(plain, first, args, kwargs)
    if plain in MOVES:
        return _moved(first, lambda x: invoke((x, *args[1:]), kwargs))
    if plain == "getitem":
        return _taken(*args)
    if plain in POINTWISE:
        return _pointwise(args, kwargs, invoke)
    if plain in REDUCTIONS or plain in ALONG:
        return _along(plain, first, args, kwargs, invoke)
    if plain in NORMS or plain == "linear":
        last: Any = [1]  # the axes that it reads
        if plain in NORMS:
            last = args[1] if len(args) > 1 else kwargs["normalized_shape"]
        _need(max(first.batch, first.axis) < first.ndim - len(last), plain)
        return _both(first, lambda x: invoke((x, *args[1:]), kwargs))
    if plain in ("matmul", "rmatmul"):
        return _product(*(args if plain == "matmul" else args[::-1]))
    if plain == "cat":
        return _joined(*args, **kwargs)
    if plain == "stack":
        return _stacked(*args, **kwargs)
    if plain in ("scaled_dot_product_attention", "multi_head_attention_forward"):
        with Following():
            return COMPOSED[plain](*args, **kwargs)
    raise Unfollowed(f"{plain} between tokens")


def _need(holds: bool, name: str) -> None:
    if not holds:
        raise Unfollowed(f"{name} along tokens")


def _with(shape: torch.Size, axis: int, size: int) -> torch.Size:
    """``shape`` with another size of one axis."""
    return torch.Size([size if i == axis else n for i, n in enumerate(shape)])


def _both(x: Row, function: Callable, batch: int | None = None, axis: int | None = None) -> Any:
    """Apply ``function`` to both parts; tuples of results become tuples of rows."""
    row, rest = function(x.row), None if x.rest is None else function(x.rest)
    batch, axis = x.batch if batch is None else batch, x.axis if axis is None else axis
    if isinstance(row, tuple | list):
        others = rest or [None] * len(row)
        return tuple(x.like(a, b, batch, axis) for a, b in zip(row, others, strict=True))
    return x.like(row, rest, batch, axis)


# --- Layout ---------------------------------------------------------------------------------------


def _axis_after(x: Row, axis: int, move: Callable) -> int | None:
    """The axis where ``move`` takes one of the axes of ``x``; None where there is none alone.

    A tensor that varies along that axis only, without memory for the others, is moved instead.
    """
    moved = move(_probe(_with(torch.Size([1] * x.ndim), axis, x.shape[axis])).expand(x.shape))
    moved = moved[0] if isinstance(moved, tuple | list) else moved
    found = [i for i, n in enumerate(moved.shape) if n > 1 and moved.stride(i)]
    return found[0] if len(found) == 1 and moved.shape[found[0]] == x.shape[axis] else None


def _probe(shape: torch.Size) -> torch.Tensor:
    return torch.empty(shape, dtype=torch.bool, device="meta")


def _axes_after(x: Row, move: Callable) -> tuple[int, int]:
    with torch._C.DisableTorchFunction():
        batch, axis = (_axis_after(x, axis, move) for axis in (x.batch, x.axis))
    if batch is None or axis is None:
        raise Unfollowed("tokens that are joined with others")
    return batch, axis


def _reshaped(name: str, x: Row, args: tuple, kwargs: dict) -> Any:
    args = tuple(_probe(y.shape) if isinstance(y, Row) else y for y in args[1:])
    called = "reshape" if name == "view" else name

    def move(probe: torch.Tensor) -> torch.Tensor:
        return getattr(probe, called)(*args, **kwargs)

    shape = move(_probe(x.shape)).shape
    joined = x.shape[0] * x.shape[1]
    if (x.batch, x.axis) == (0, 1) and shape == (joined, *x.shape[2:]) and joined not in x.shape:
        return Merged(x.row, x.rest, 0, 1, x.index, x.count, x.run)
    batch, axis = _axes_after(x, move)
    row, rest = _with(shape, axis, 1), _with(shape, batch, 1)
    turn = "expand" if name in EXPANSIONS else "reshape"
    return x.like(
        getattr(x.row, turn)(row), x.rest if x.rest is None else getattr(x.rest, turn)(rest),
        batch, axis,
    )  # fmt: skip


def _moved(x: Row, move: Callable) -> Any:
    return _both(x, move, *_axes_after(x, move))


def _taken(x: Row, index: Any) -> Any:
    """A part of ``x``: the token alone is no row but a tensor; without it all is as it was."""
    index = index if isinstance(index, tuple) else (index,)
    if any(not (i is None or i is Ellipsis or isinstance(i, int | slice)) for i in index):
        raise Unfollowed("an index of tokens")
    used = sum(i is not None and i is not Ellipsis for i in index)
    at = index.index(Ellipsis) if Ellipsis in index else len(index)
    index = (*index[:at], *[slice(None)] * (x.ndim - used), *index[at + 1 :])
    place = [n for n, i in enumerate(index) if i is not None]  # of each axis of x
    token = index[place[x.axis]]
    if isinstance(index[place[x.batch]], int):
        raise Unfollowed("a choice among points")

    def put(new: Any) -> tuple:
        return (*index[: place[x.axis]], new, *index[place[x.axis] + 1 :])

    if isinstance(token, int):
        return x.row[put(0)] if token % x.count == x.index else _known(x)[index]
    rows = range(x.count)[token]
    if x.index not in rows:
        return _known(x)[index]
    removed = [sum(isinstance(i, int) for i in index[: place[n]]) for n in (x.batch, x.axis)]
    batch, axis = (place[n] - gone for n, gone in zip((x.batch, x.axis), removed, strict=True))
    rest = None if x.rest is None else x.rest[index]
    row = x.row[put(slice(None))]
    return Row(row, rest, batch, axis, rows.index(x.index), len(rows), x.run)


def _known(x: Row) -> Any:
    if x.rest is None:
        raise Unfollowed("another token, after tokens have met")
    return x.rest


# --- Arithmetic -----------------------------------------------------------------------------------


def _aligned(*operands: Any) -> tuple[Row, int, int, int]:
    """The first row, the axes of the result that count points and tokens, and its axes."""
    rows = [x for x in operands if isinstance(x, Row)]
    ndim = max([x.ndim for x in operands if isinstance(x, Carrier | torch.Tensor)])
    first = rows[0]
    places = {(x.batch - x.ndim, x.axis - x.ndim, x.index, x.count) for x in rows}
    if len(places) > 1 or any(isinstance(x, Merged) for x in rows):
        raise Unfollowed("tokens that meet others")
    return first, first.batch + ndim - first.ndim, first.axis + ndim - first.ndim, ndim


def _row_part(x: Any, like: Row, from_end: int) -> Any:
    """Return the part of an operand that meets the row; ``from_end`` is the tokens' axis, < 0."""
    if isinstance(x, Row):
        return x.row
    if isinstance(x, Carrier | torch.Tensor) and x.ndim >= -from_end and x.shape[from_end] > 1:
        whole: Any = x
        return whole[(..., slice(like.index, like.index + 1), *[slice(None)] * (-from_end - 1))]
    return x


def _pointwise(args: tuple, kwargs: dict, invoke: Callable) -> Row:
    flat = [*args, *kwargs.values()]
    first, batch, axis, ndim = _aligned(*flat)

    def parts(part: Callable) -> Any:
        return invoke(tuple(map(part, args)), {key: part(x) for key, x in kwargs.items()})

    others = [x for x in flat if isinstance(x, Carrier | torch.Tensor) and not isinstance(x, Row)]
    vary = any(x.ndim >= ndim - batch and x.shape[batch - ndim] > 1 for x in others)
    known = not vary and all(x.rest is not None for x in flat if isinstance(x, Row))
    return first.like(
        parts(lambda x: _row_part(x, first, axis - ndim)),
        parts(lambda x: x.rest if isinstance(x, Row) else x) if known else None,
        batch,
        axis,
    )


def _along(name: str, x: Row, args: tuple, kwargs: dict, invoke: Callable) -> Row:
    """An operation along other axes than those of points and tokens."""
    given = args[2:] if name == "repeat_interleave" else args[1:]
    if name in ("norm", "vector_norm", "linalg_vector_norm", "normalize"):
        given = args[2:]
    dims: Any = kwargs.get("dim", given[0] if given else None)
    if name == "normalize" and dims is None:
        dims = 1
    _need(dims is not None and not isinstance(args[0], list), name)
    axes = [d % x.ndim for d in (dims if isinstance(dims, tuple | list) else [dims])]
    _need(not {x.batch, x.axis} & {*axes}, name)
    keep = name in ALONG or kwargs.get("keepdim", given[1] if len(given) > 1 else False)
    gone = [0 if keep else sum(d < axis for d in axes) for axis in (x.batch, x.axis)]
    result = _both(
        x, lambda part: invoke((part, *args[1:]), kwargs), x.batch - gone[0], x.axis - gone[1]
    )
    if name == "softmax" and x.axis == x.ndim - 2 and axes == [x.ndim - 1]:
        x.run.logits.append(x.row.movedim(x.batch, 0))
    return result


def _product(a: Any, b: Any) -> Row:
    """A matrix product; where it runs over tokens, each point's row meets the one text."""
    if not isinstance(b, Row):
        return _times_plain(a, b)
    if not isinstance(a, Row):
        _need(b.axis == b.ndim - 1 and b.batch < b.ndim - 2 and a.ndim <= b.ndim, "matmul")
        return b.like(a @ b.row, None if b.rest is None else a @ b.rest, b.batch, b.axis)
    run = a.run
    _need(a.ndim == b.ndim > 2 and a.axis == a.ndim - 2 and a.batch == b.batch < a.axis, "matmul")
    _need(b.axis >= b.ndim - 2, "matmul")
    met = _by_points(a.row, _known(b), a.batch)
    at = slice(b.index, b.index + 1)
    if b.axis == b.ndim - 1:  # queries and keys
        if not run.query_alone:
            own = (a.row * b.row.transpose(-1, -2)).sum(-1, keepdim=True)
            met = torch.cat([met[..., : b.index], own, met[..., b.index + 1 :]], -1)
    elif not run.query_alone:  # weights and values
        met = met + a.row[..., at] * (b.row - b.rest[..., at, :])
    known = run.query_alone and a.rest is not None
    return _attended(a, met, a.rest @ b.rest if known else None)


def _times_plain(a: Row, b: Any) -> Row:
    _need(a.axis < a.ndim - 1 and a.batch < a.ndim - 1, "matmul")
    if b.ndim <= 2:
        return _both(a, lambda x: x @ b)
    _need(a.axis == a.ndim - 2 and a.ndim == b.ndim and b.shape[a.batch] == 1, "matmul")
    return _attended(a, _by_points(a.row, b, a.batch), None if a.rest is None else a.rest @ b)


def _attended(a: Row, row: Any, rest: Any) -> Row:
    """The result of a product for each head: each second one is of weights and values."""
    run = a.run
    if len(run.products) == len(run.logits):
        if run.factors is not None:
            row, rest = row * run.factors, rest if rest is None else rest * run.factors
        run.products.append(row.movedim(a.batch, 0))
    return a.like(row, rest, a.batch, a.axis)


def _by_points(row: Any, rest: Any, batch: int) -> Any:
    """Multiply (N, ..., 1, n) by (1, ..., n, m): one product of N rows."""
    return (row.transpose(batch, -2) @ rest).transpose(batch, -2)


def _joined(parts: Any, dim: int = 0) -> Any:
    """Concatenate rows with rows along channels, or with other tokens, as those of a cache."""
    parts = [x for x in parts if isinstance(x, Row) or x.ndim > 1 or x.numel()]
    first, batch, axis, ndim = _aligned(*parts)
    dim %= ndim
    if dim != axis:
        _need(dim != batch and all(isinstance(x, Row) for x in parts), "cat")
        rest = (
            None if any(x.rest is None for x in parts) else torch.cat([x.rest for x in parts], dim)
        )
        return first.like(torch.cat([x.row for x in parts], dim), rest, batch, axis)
    _need(sum(isinstance(x, Row) for x in parts) == 1, "cat")
    at = next(i for i, x in enumerate(parts) if x is first)
    start = sum(x.shape[axis] for x in parts[:at])
    rest = torch.cat([_known(x) if isinstance(x, Row) else x for x in parts], dim)
    return Row(first.row, rest, batch, axis, start + first.index, rest.shape[axis], first.run)


def _stacked(parts: Any, dim: int = 0) -> Row:
    dim %= parts[0].ndim + 1
    return _joined([x.unsqueeze(dim) for x in parts], dim)


# --- (N T, D) -------------------------------------------------------------------------------------


class Merged(Row):
    """A row (N, T, ...) presented as (N T, ...), as layers do before one product for all tokens."""

    @property
    def shape(self) -> torch.Size:  # type: ignore[override]
        """Of the whole tensor."""
        return torch.Size([self.row.shape[0] * self.count, *self.row.shape[2:]])

    @property
    def ndim(self) -> int:  # type: ignore[override]
        """One axis fewer."""
        return self.row.ndim - 1


def _of_merged(name: str, args: tuple, kwargs: dict, invoke: Callable) -> Any:
    x = next(x for x in args if isinstance(x, Merged))

    def merged(part: Row) -> Merged:
        return Merged(part.row, part.rest, 0, 1, part.index, part.count, part.run)

    inner = Row(x.row, x.rest, 0, 1, x.index, x.count, x.run)
    points = x.row.shape[0]
    if name in RESHAPES:
        shape = _probe(x.shape).reshape(*args[1:], **kwargs).shape
        if shape[:2] == (points, x.count):
            return _reshaped("reshape", inner, (inner, *shape), {})
    elif name == "addmm" and args[1] is x and not kwargs and args[0].ndim == 1:
        return merged(inner @ args[2] + args[0])
    elif name in QUERIES:
        return QUERIES[name](x, *args[1:])
    elif name == "linear" or (
        name in POINTWISE and all(y is x or not hasattr(y, "ndim") for y in args)
    ):
        args = tuple(inner if y is x else y for y in args)
        return merged(_both(inner, lambda part: invoke((part, *args[1:]), kwargs)))
    raise Unfollowed(f"{name} of all tokens at once")
