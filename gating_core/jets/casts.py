"""Casts to lower precision within a function, carried out in float64 instead.

Published layers compute norms and softmax in float32 whatever their weights are, and hold weights
in bfloat16. `Carried` evaluates such a function in float64 throughout: weights are widened, which
is exact, casts down are left out, and both are noted. What a function asks about the type of its
numbers (``finfo(x.dtype).eps``, ``x.dtype == torch.float16``) is answered with the type that they
would have without us, so that constants and branches are its own.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.weak import WeakTensorKeyDictionary

from gating_core.checks import check_choice
from gating_core.jets.bounded import Carrier
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
DTYPE = vars(torch._C.TensorBase)["dtype"].__get__  # how a function asks for a type
FEW = 8  # points that a function is tried at
# They take operands of one type only: where ours differ, the points were in the lower one.
OF_ONE_TYPE = frozenset(
    """
    matmul linear mm bmm mv addmm addmv baddbmm einsum scaled_dot_product_attention
    multi_head_attention_forward conv1d conv2d conv3d bilinear gru_cell lstm_cell layer_norm
    group_norm
    """.split()
)

_CARRIED: ContextVar[Carried | None] = ContextVar("carried", default=None)


class Carried:
    """A function evaluated in float64 throughout, whatever it casts to.

    ``casts`` names the casts that were left out, with their targets; ``weights`` has the types of
    the tensors widened.
    """

    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        self.function = function
        self.casts: dict[str, torch.dtype] = {}  # in the order of the calls
        self.weights: dict[torch.dtype, None] = {}
        self.own: torch.dtype | None = None  # the points' type as the function itself takes them
        self.constants = torch.float64  # the type of the function's own tensors in float64
        self.types = WeakTensorKeyDictionary()  # those of the widened tensors of one call

    def __getattr__(self, name: str) -> Any:
        """The function's own attributes, such as ``pure`` and ``spans``."""
        if name == "function":  # not yet set, as while it is copied
            raise AttributeError(name)
        return getattr(self.function, name)

    def __call__(self, points: torch.Tensor) -> Any:
        """Evaluate the function; its tensors come out in float64."""
        self.settle(points)
        self.types = WeakTensorKeyDictionary()
        self.mark_result(points, self.own)
        token = _CARRIED.set(self)
        try:
            with _Widened(self):
                return self.function(points)
        finally:
            _CARRIED.reset(token)

    def settle(self, points: Any) -> None:
        """Find the type in which the function itself takes points: that of a module's weights."""
        if self.own is not None:
            return
        while isinstance(points, Carrier):
            points = points.value
        module, function = self.function, self.function
        while hasattr(module, "function"):
            module = module.function
        types = dict.fromkeys([torch.float64, *LOWER])
        if isinstance(module, torch.nn.Module):
            weights = [x.dtype for x in module.parameters() if x.is_floating_point()]
            types = dict.fromkeys([*weights, *types])
        with torch.no_grad(), torch._C.DisableTorchFunction():
            some = points[:FEW].detach()
            for dtype in types:
                try:
                    function(some.to(dtype))
                except Exception:  # its weights are in another precision
                    continue
                self.own = dtype
                return
        # As where a float32 layer is handed points of a plane that is given in float64.
        self.own = torch.float64
        try:
            with torch.no_grad():
                self(some.double())
        except Exception:  # nothing of it can be evaluated, which whoever calls it will see
            return
        self.own = self.constants = next(iter(self.weights), torch.float64)

    def type_of(self, x: Any) -> torch.dtype:
        """The type that a tensor, or a jet, has within the function itself."""
        if isinstance(x, torch.Tensor):
            known = x.dtype if x.dtype != torch.float64 else self.types.get(x)
        else:
            known = getattr(x, "own", None)
        return known or self.constants

    def mark_result(self, out: Any, dtype: torch.dtype | None) -> Any:
        """Note the type that results have within the function itself; returns them."""
        for x in () if dtype is None else tree_leaves(out):
            if isinstance(x, Carrier):
                setattr(x, "own", dtype)  # noqa: B010  # of a jet
            elif isinstance(x, torch.Tensor) and x.dtype == torch.float64:
                self.types[x] = dtype
        return out

    def result_type(self, name: str, args: tuple, kwargs: dict) -> torch.dtype | None:
        """The type of an operation's result within the function itself, None if not a float's."""
        if name == "setitem" or (name.endswith("_") and not name.startswith("_")):
            return None  # written in place, and so of the type of what it is written into
        if name == "double":
            return torch.float64
        if name in METHODS:
            return METHODS[name]
        for x in (*args[1:], *kwargs.values()):
            if name in CONVERSIONS and isinstance(x, torch.Tensor | Carrier):
                return self.type_of(x)
            if isinstance(x, torch.dtype):
                return x if x.is_floating_point else None
            if (target := cast_target(name, x)) is not None:
                return target
        floats = [x for x in tree_leaves((args, kwargs)) if _is_float(x)]
        types = {self.type_of(x) for x in [x for x in floats if x.ndim] or floats}
        if name in OF_ONE_TYPE and len(types) > 1:
            return min(types, key=lambda dtype: torch.finfo(dtype).bits)
        whole: torch.dtype | None = None
        for dtype in types:
            whole = dtype if whole is None else torch.promote_types(whole, dtype)
        return whole


def type_within(x: Any) -> torch.dtype:
    """The type that ``x`` has within a `Carried` function; its own type, in float64, elsewhere."""
    carried = _CARRIED.get()
    if carried is not None and _is_float(x):
        return carried.type_of(x)
    return x.value.dtype if isinstance(x, Carrier) else x.dtype


def with_type(operation: Callable[[], Any], name: str, args: tuple, kwargs: dict) -> Any:
    """The result of an operation on jets, whose type within a `Carried` function is noted."""
    carried = _CARRIED.get()
    if carried is None:
        return operation()
    dtype = carried.result_type(name, args, kwargs)  # before: it may be in place
    return carried.mark_result(operation(), dtype)


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
    carried.casts[_call_text(name, lower)] = lower
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
                self.carried.casts[_call_text(name, x.dtype)] = x.dtype
            return self.carried.mark_result(x.double(), x.dtype)

        target: Any = args[0] if args else None
        if func == DTYPE:
            return self.carried.type_of(target) if _is_float(target) else func(*args)
        own = self.carried.result_type(name.strip("_") if name[:2] == "__" else name, args, kwargs)
        if _is_lower(target) and name in CONVERSIONS and not isinstance(args[-1], Carrier):
            self.carried.weights[target.dtype] = None
            with torch._C.DisableTorchFunction():  # a weight is converted as the function does
                out = func(*args, **kwargs)
                return self.carried.mark_result(out.double() if _is_lower(out) else out, own)
        if _is_lower(target) and (name == "__setitem__" or (name.endswith("_") and name[0] != "_")):
            raise ValueError(
                f"function writes into a tensor of its own in {target.dtype}, which casts cannot be"
                " carried through; let it allocate that tensor in torch.float64"
            )
        double = _is_float(target) and not _is_lower(target)
        if double:
            changed, args, kwargs = without_casts(name, args, kwargs)
            func = func if changed == name else torch.clone
        if double or name not in CONVERSIONS | {"__get__"}:
            args, kwargs = tree_map(self._argument, (args, kwargs))
        if name == "rms_norm" and kwargs.get("eps", args[3] if len(args) > 3 else None) is None:
            # Its own eps is that of its input's type; it computes in float32 what is in halves.
            half = self.carried.type_of(target) != torch.float64
            kwargs = {**kwargs, "eps": torch.finfo(torch.float32 if half else torch.float64).eps}
            args = args[:3]
        out = func(*args, **kwargs)
        self.carried.mark_result(out, own)
        return out if isinstance(out, Carrier) else tree_map(widened, out)

    def _argument(self, x: Any) -> Any:
        if not _is_lower(x):
            return x
        self.carried.weights[x.dtype] = None
        return x.double()


def _call_text(name: str, dtype: torch.dtype) -> str:
    return f"{name}()" if name in METHODS else f"{name}({dtype})"


def _is_float(x: Any) -> bool:
    return isinstance(x, Carrier) or (isinstance(x, torch.Tensor) and x.is_floating_point())


def _is_lower(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.dtype in LOWER
