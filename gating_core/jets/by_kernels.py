"""Torch functions without a rule, by the rules of the kernels that they call.

A function runs on stand-ins, tensors that have a jet and no numbers. torch then writes composite
functions out, such as a layer of an LSTM, in calls of its kernels, and each call is one of jets:
by the rule of its name, or by torch's own decomposition into kernels that have one. What reads
numbers, to decide by them, or calls a kernel that has neither, raises `MissingRule`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import torch
from torch._decomp import decomposition_table
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map

from gating_core.jets.bounded import Bounded, bounded, value_of
from gating_core.jets.casts import LOWER
from gating_core.jets.elementary import Array
from gating_core.jets.intervals import ETA, U
from gating_core.jets.jet import (
    RULES,
    Jet,
    MissingRule,
    each,
    promote,
    rule,
    rule_name,
)
from gating_core.jets.layout import view_of
from gating_core.jets.taylor import TaylorModel
from gating_core.jets.unchanged import kernels


class _StandIn(torch.Tensor):
    """A tensor of a jet's shape, without numbers."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    jet: Jet

    @staticmethod
    def __new__(cls: Any, jet: Jet) -> _StandIn:
        out = torch.Tensor._make_wrapper_subclass(cls, jet.shape, dtype=torch.float64)
        out.jet = jet
        return out

    @classmethod
    def __torch_dispatch__(cls: Any, *args: Any) -> Any:
        raise MissingRule("a kernel outside of a function")


def _stand_ins(x: Any) -> Any:
    return tree_map(lambda y: _StandIn(y) if isinstance(y, Jet) else y, x)


CASTS = "to", "_to_copy"
WHOLE = "a function"  # that makes tensors, and writes into them


@rule("by_kernels")
def by_kernels(name: str, function: Callable | None, args: tuple, kwargs: dict) -> Any:
    """Apply a torch function, or the one called ``name``, to jets; `MissingRule` if it fails."""
    function = function or getattr(torch.Tensor, name, getattr(torch, name, None))
    model = next((x for x in tree_leaves((args, kwargs)) if isinstance(x, Jet)), None)
    learning = torch.is_grad_enabled()
    keys = torch._C._dispatch_tls_local_include_set(), torch._C._dispatch_tls_local_exclude_set()

    def constant(x: Any) -> Any:
        """A plain tensor as a jet: its rounding is followed, and its gradient."""
        floating = isinstance(x, torch.Tensor) and x.is_floating_point()
        return promote(x, cast(Jet, model)) if floating else x

    def jets(x: Any) -> Any:
        return tree_map(lambda y: y.jet if isinstance(y, _StandIn) else constant(y), x)

    def see(kernel: Any, args: tuple, kwargs: dict) -> Any:
        called = rule_name(kernel._schema.name.partition("::")[2])
        leaves = tree_leaves((args, kwargs))
        if torch.Tag.nondeterministic_seeded in kernel.tags:
            raise MissingRule(f"{called} draws at random")
        floats = [x for x in leaves if isinstance(x, torch.Tensor) and x.is_floating_point()]
        if not floats or (called in CASTS and floats[0].dtype in LOWER):
            made = kernel(*args, **kwargs)
            if not any(isinstance(x, torch.Tensor) for x in leaves):  # it may be written into
                return _stand_ins(constant(made)) if name == WHOLE else made
            rounds = isinstance(made, torch.Tensor) and made.is_floating_point()
            if rounds and (called not in CASTS or made.dtype in LOWER):
                raise MissingRule(f"no error rule for {called} of whole numbers")
            return made
        lower = [x.dtype in LOWER for x in floats]
        if any(lower) and not any(x.ndim for x in floats if x.dtype not in LOWER):
            raise MissingRule(f"{called} rounds to a lower precision")
        inplace = called.endswith("_")
        if inplace and not isinstance(args[0], _StandIn):
            raise MissingRule(f"{called} into a plain tensor")
        plain = rule_name(called[:-1]) if inplace else called
        if how := KERNELS.get(plain) or RULES.get(plain):
            # Below torch's automatic differentiation, which a caller may want of the jets.
            with torch._C._ForceDispatchKeyGuard(*keys), torch.set_grad_enabled(learning):
                out = _stand_ins(how(*jets(args), **jets(kwargs)))
        else:
            other: Any = kernel
            if inplace:
                other = getattr(getattr(torch.ops.aten, called[:-1]), kernel._overloadname)
            with kernels(see):
                out = decomposition_table.get(other, other.decompose)(*args, **kwargs)
            if out is NotImplemented:
                raise MissingRule(f"no error rule for {called}")
        if torch.Tag.inplace_view in kernel.tags:
            args[0].jet = out.jet
            with no_dispatch():  # its shape
                kernel(*args, **kwargs)
        elif inplace:
            RULES["change"](args[0].jet, out.jet)
        return args[0] if inplace else out

    if function is None or model is None:
        raise MissingRule(f"no error rule for {name}")
    if kwargs.get("out") is not None or (name.endswith("_") and not isinstance(args[0], Jet)):
        raise MissingRule(f"{name} into a plain tensor")
    given, options = _stand_ins(tree_map(constant, (args, kwargs)))
    try:
        with torch.no_grad(), kernels(see):
            return jets(function(*given, **options))
    except MissingRule:
        raise
    except Exception as error:
        raise MissingRule(f"no error rule for {name}: {error}") from error


# Kernels whose names or arguments are not those of a rule.
def _index(at: list) -> tuple:
    return tuple(slice(None) if i is None else i for i in at)


def _put(x: Any, at: list, y: Any, accumulate: bool = False) -> Any:
    if accumulate:
        raise MissingRule("entries that are added at indices, which may come twice")
    return RULES["setitem"](x, _index(at), y)


def _of_index(name: str) -> Callable:
    """Of an index in doubt: pools compute one, which nothing may need."""

    def of(a: Any, b: Any) -> Jet:
        if a.first is not None or not isinstance(b, int) or (a.value.value % 1 != 0).any():
            raise MissingRule(f"no error rule for {name}")
        x = a.value
        lost = None if x.error is None else torch.where(x.error == 0, 0.0, torch.inf)
        return Jet(Bounded(getattr(torch, name)(x.value, b), lost), k=a.k)

    return of


KERNELS: dict[str, Callable] = {
    **{name: _of_index(name) for name in ("floor_divide", "remainder")},
    "_softmax": lambda z, dim, half: RULES["softmax"](z, dim),
    "_log_softmax": lambda z, dim, half: RULES["log_softmax"](z, dim),
    "slice": lambda x, dim=0, start=None, end=None, step=1: RULES["select"](
        x, dim, slice(start, None if end is None or end > 2**40 else end, step)
    ),
    "index": lambda x, at: RULES["getitem"](x, _index(at)),
    "embedding": lambda weight, at, *args: RULES["getitem"](weight, at),
    "_to_copy": lambda x, **options: RULES["clone"](RULES["to"](x, **options)),
    "unsafe_split": lambda *args: [RULES["clone"](x) for x in RULES["split"](*args)],
    "broadcast_in_dim": lambda x, shape, axes: x.reshape(
        *(x.shape[axes.index(i)] if i in axes else 1 for i in range(len(shape)))
    ).expand(*shape),
    "as_strided": view_of(
        lambda x, *how: RULES["getitem"](
            x.reshape(-1), torch.arange(x.shape.numel()).as_strided(*how)
        )
    ),
    "copy_to": lambda x, y: RULES["change"](x, RULES["copy"](x, y)),
    "index_put": _put,
    "alias": lambda x: RULES["contiguous"](x),
    "lift_fresh": lambda x: x,
}


# --- Linear maps ----------------------------------------------------------------------------------


def _linear_map(x: Any, weight: Any, terms: int, product: Callable) -> Jet:
    """``product(x, weight)``, sums of ``terms`` products each, on the last axes of ``x``.

    Its errors are those of a matrix product.
    """
    if isinstance(weight, Jet):
        if weight.first is not None:
            raise MissingRule("a convolution with weights that vary")
        weight = weight.value

    def moved(c: Array, lead: int) -> Array:
        def on(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return product(a.flatten(0, lead), b).unflatten(0, a.shape[: lead + 1])

        if isinstance(c, TaylorModel):
            raise MissingRule("a convolution on wide cells")
        if not isinstance(c, Bounded):
            return on(c, value_of(weight))
        b = bounded(weight, c)
        error = on(c._loosened((terms + 2) * U), b.upper) + terms * ETA
        if b.error is not None:
            error = error + on(c.upper, b.error)
        return Bounded(on(c.value, b.value), error)

    return each(x, moved)


def _convolution(x: Any, weight: Any, bias: Any, *how: Any) -> Jet:
    def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return torch.convolution(a, b, None, *how)

    outputs = weight.shape[1] * how[-1] if how[3] else weight.shape[0]  # transposed, or not
    out = _linear_map(promote(x, weight), weight, weight.shape.numel() // outputs, product)
    axes = (1,) * (out.ndim - 2)
    return out if bias is None else RULES["add"](out, bias.reshape(-1, *axes))


def _pooled(average: Callable) -> Callable:
    return lambda x, size, *how: _linear_map(
        x, torch.ones(()), math.prod(size), lambda a, b: average(a * b, size, *how)
    )


KERNELS |= {
    "convolution": _convolution,
    "avg_pool2d": _pooled(torch.nn.functional.avg_pool2d),
    "avg_pool3d": _pooled(torch.nn.functional.avg_pool3d),
}
