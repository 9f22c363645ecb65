"""Casts to lower precision within a function, carried out in float64 instead.

Published layers compute norms and softmax in float32 whatever their weights are, and hold weights
in bfloat16. `Carried` evaluates such a function in float64 throughout: weights are widened, which
is exact, casts down are left out, and both are noted.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_map

from gating_core.checks import check_choice
from gating_core.jets.carrier import Carrier
from gating_core.jets.unchanged import unchanged

CASTS = ("refuse", "carry")
LOWER = (torch.float32, torch.float16, torch.bfloat16)
METHODS = {"float": torch.float32, "half": torch.float16, "bfloat16": torch.bfloat16}
TYPES = {
    "FloatTensor": torch.float32,
    "HalfTensor": torch.float16,
    "BFloat16Tensor": torch.bfloat16,
}
CONVERSIONS = frozenset({*METHODS, "to", "type", "type_as"})

_CARRIED: ContextVar[Carried | None] = ContextVar("carried", default=None)


class Carried:
    """A function evaluated in float64 throughout, whatever it casts to.

    ``casts`` names the casts that were left out, ``weights`` the types of the tensors widened.
    """

    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        self.function = function
        self.casts: dict[str, None] = {}  # in the order of the calls
        self.weights: dict[torch.dtype, None] = {}

    def __getattr__(self, name: str) -> Any:
        """The function's own attributes, such as ``pure`` and ``spans``."""
        if name == "function":  # not yet set, as while it is copied
            raise AttributeError(name)
        return getattr(self.function, name)

    def __call__(self, points: torch.Tensor) -> Any:
        """Evaluate the function; its tensors come out in float64."""
        token = _CARRIED.set(self)
        try:
            with _Widened(self):
                return self.function(points)
        finally:
            _CARRIED.reset(token)


def carried(function: Callable[[torch.Tensor], Any], casts: str) -> Callable[[torch.Tensor], Any]:
    """``function`` as `Unchanged`, and `Carried` if ``casts`` is "carry".

    ``ValueError`` for a word not known.
    """
    check_choice("casts", casts, CASTS)
    if isinstance(function, Carried):
        return function
    function = unchanged(function)
    return Carried(function) if casts == "carry" else function


def uncarried(function: Callable[[torch.Tensor], Any]) -> Callable[[torch.Tensor], Any]:
    """The function that computes as it was written, casts included."""
    return function.function if isinstance(function, Carried) else function


def without_casts(name: str, args: tuple, kwargs: dict) -> tuple[str, tuple, dict]:
    """An operation on float64 numbers with its cast down left out, within a `Carried` function."""
    carried = _CARRIED.get()
    if carried is None:
        return name, args, kwargs
    carried.weights.update((x.dtype, None) for x in args if _is_lower(x))
    named = {**dict(enumerate(args)), **kwargs}
    named = {key: cast_target(name, x) for key, x in list(named.items())[1:]}
    lower = METHODS.get(name) or next(filter(None, named.values()), None)
    if lower is None:
        return name, args, kwargs
    carried.casts[_call_text(name, lower)] = None
    if name in CONVERSIONS:
        return "clone", args[:1], {}  # a cast copies: what follows may work in place
    return (
        name,
        tuple(torch.float64 if named.get(i) else x for i, x in enumerate(args)),
        {key: x for key, x in kwargs.items() if not named.get(key)},
    )


def cast_target(name: str, x: Any) -> torch.dtype | None:
    """The lower precision that an argument of the operation called ``name`` asks for, or None."""
    if isinstance(x, torch.Tensor):
        x = x.dtype if name in CONVERSIONS else None
    if isinstance(x, torch.dtype):
        return x if x in LOWER else None
    word = x if isinstance(x, str) else getattr(x, "__name__", "") if isinstance(x, type) else ""
    return TYPES.get(word.rpartition(".")[2])


class _Widened(TorchFunctionMode):
    """A mode in which tensors of lower precision are widened and casts down are left out."""

    def __init__(self, carried: Carried) -> None:
        super().__init__()
        self.carried = carried

    def __torch_function__(self, func, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")

        def widened(x: Any) -> Any:
            if not _is_lower(x) or isinstance(x, torch.nn.Parameter):
                return x
            if name == "__get__" or _is_lower(target):  # the transpose of a weight, say
                self.carried.weights[x.dtype] = None
            else:  # allocated, or converted from whole numbers
                self.carried.casts[_call_text(name, x.dtype)] = None
            return x.double()

        target: Any = args[0] if args else None
        if _is_lower(target) and name in CONVERSIONS and not isinstance(args[-1], Carrier):
            self.carried.weights[target.dtype] = None
            with torch._C.DisableTorchFunction():  # a weight is converted as the function does
                out = func(*args, **kwargs)
                return out.double() if _is_lower(out) else out
        if _is_lower(target) and (name == "__setitem__" or (name.endswith("_") and name[0] != "_")):
            raise ValueError(
                f"function writes into a tensor of its own in {target.dtype}, which casts cannot be"
                " carried through; let it allocate that tensor in torch.float64"
            )
        double = getattr(target, "dtype", None) == torch.float64
        if double:
            changed, args, kwargs = without_casts(name, args, kwargs)
            func = func if changed == name else torch.clone
        if double or name not in CONVERSIONS | {"__get__"}:
            args, kwargs = tree_map(self._argument, (args, kwargs))
        return tree_map(widened, func(*args, **kwargs))

    def _argument(self, x: Any) -> Any:
        if not _is_lower(x):
            return x
        self.carried.weights[x.dtype] = None
        return x.double()


def _call_text(name: str, dtype: torch.dtype) -> str:
    return f"{name}()" if name in METHODS else f"{name}({dtype})"


def _is_lower(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.dtype in LOWER
