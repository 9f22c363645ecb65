"""A tensor with its derivatives, and the table of rules for torch operations.

A jet has a value, k first derivatives and k (k + 1) / 2 second derivatives; the derivatives'
axis comes first, the tensor's own axes after it. ``second`` is ``None`` while the jet is affine
in the coordinates, ``first`` while it is constant: then nothing is computed for them. Components
are plain tensors, or `Bounded` ones that carry rounding errors; the rules do not know which.

A rule is found by the operation's name (``exp`` serves ``torch.exp`` and ``Tensor.exp``). An
operation in place (``exp_``, ``+=``, assignment to a slice) uses the same rule, and `in_place`
then updates the jet.
Source: Griewank & Walther, *Evaluating Derivatives*, 2nd ed., chapter 13 (Taylor arithmetic).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from gating_core.jets.bounded import Bounded, Carrier
from gating_core.jets.casts import type_within, with_type, without_casts
from gating_core.jets.elementary import Array
from gating_core.jets.intervals import U


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
    """A tensor with its derivatives; behaves like a tensor in the operations that have rules."""

    __array_ufunc__ = None  # NumPy leaves `array * jet` to the jet

    # What modules ask of a tensor before they compute.
    is_nested = is_sparse = is_quantized = is_mkldnn = is_meta = requires_grad = False
    is_cuda = is_mps = is_xpu = is_leaf = False
    is_cpu = True
    layout = torch.strided
    grad = grad_fn = None

    own: torch.dtype | None = None  # its type within the function itself, where casts are carried
    views: list | None = None  # weak references to its views: changing one changes this jet
    origin: tuple[Jet, tuple] | None = None  # the jet of which this is a part, and its index

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
    def dtype(self) -> torch.dtype:  # type: ignore[override]
        """For rules the type of the numbers; for a function whose casts are carried its own."""
        return type_within(self) if torch._C._is_torch_function_enabled() else self.value.dtype

    def __iter__(self):  # noqa: ANN204
        return iter(apply("unbind", (self,), {}))

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        return apply(getattr(func, "__name__", ""), args, kwargs or {}, func)

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
).split()


for _name in _OPERATORS:
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
    "mv": "matmul",
}

RULES: dict[str, Callable] = {}


def rule_name(function_name: str) -> str:
    """Return the name of an operation in the table of rules."""
    name = function_name.strip("_") if function_name.startswith("__") else function_name
    return ALIASES.get(name, name)


def apply(name: str, args: tuple, kwargs: dict, function: Callable | None = None) -> Any:
    """Apply the operation called ``name`` to arguments of which at least one is a jet."""
    given = rule_name(name), args, kwargs
    name, args, kwargs = without_casts(name, args, kwargs)
    with torch._C.DisableTorchFunction():  # not to follow a rule's own torch calls
        return with_type(lambda: apply_rule(rule_name(name), args, kwargs, function), *given)


def written_by(name: str, inplace: bool = False) -> str:
    """Return the rule whose result the operation called ``name`` writes into its target, or ""."""
    if name == "setitem" or inplace:
        return name
    if name in _OPERATORS and name[0] == "i":
        return ALIASES.get(name[1:], name[1:])
    return rule_name(name[:-1]) if name.endswith("_") and rule_name(name[:-1]) in RULES else ""


def apply_rule(name: str, args: tuple, kwargs: dict, function: Callable | None = None) -> Any:
    """Apply the rule called ``name``, in place where the operation is, or those of its kernels."""
    inplace = kwargs.get("inplace", False)
    kwargs = {key: value for key, value in kwargs.items() if key != "inplace"}
    written = ""
    if inplace or name == "setitem" or name not in RULES:
        written = written_by(name, inplace)
    if (written or name) not in RULES:
        return RULES["by_kernels"](name, function, args, kwargs)
    if not written:
        return RULES[name](*args, **kwargs)
    if not isinstance(args[0], Jet):
        raise MissingRule(f"{name} of a jet into a plain tensor")
    return RULES["change"](args[0], RULES[written](*args, **kwargs))


def rule(*names: str) -> Callable[[Callable], Callable]:
    """Enter a function into the table under ``names``."""

    def enter(function: Callable) -> Callable:
        RULES.update(dict.fromkeys(names, function))
        return function

    return enter


COMPOSED: dict[str, Callable] = {}


def composed(*names: str, for_tensors: bool = True) -> Callable[[Callable], Callable]:
    """Enter a composition of other operations; its floating-point tensors become jets first.

    A function that takes tensors as well also serves `torch.func`, in place of a fused operation
    that torch cannot differentiate twice, or not correctly.
    """

    def enter(function: Callable) -> Callable:
        def on_jets(*args: Any, **kwargs: Any) -> Any:
            flat = [*args, *kwargs.values()]
            flat += [x for part in flat if isinstance(part, list | tuple) for x in part]
            model = next(x for x in flat if isinstance(x, Jet))

            def carried(x: Any) -> Any:
                if isinstance(x, list | tuple):
                    return type(x)(map(carried, x)) if type(x) in (list, tuple) else x
                floating = isinstance(x, torch.Tensor) and x.is_floating_point()
                return promote(x, model) if floating else x

            return function(*map(carried, args), **{k: carried(x) for k, x in kwargs.items()})

        RULES.update(dict.fromkeys(names, on_jets))
        COMPOSED.update(dict.fromkeys(names if for_tensors else (), function))
        return function

    return enter


def call(name: str, *args: Any, **kwargs: Any) -> Any:
    """Apply the operation called ``name`` to tensors or to jets."""
    flat = [x for part in args for x in (part if isinstance(part, list | tuple) else [part])]
    if any(isinstance(x, Jet) for x in flat):
        return apply(name, args, kwargs)
    if any(isinstance(x, Carrier) for x in flat):  # of jets
        return getattr(torch, name)(*args, **kwargs)
    return (
        COMPOSED[name](*args, **kwargs)
        if name in COMPOSED
        else getattr(torch, name)(*args, **kwargs)
    )


# --- Parts of rules -------------------------------------------------------------------------------


def each(jet: Jet, move: Callable[[Array, int], Any]) -> Jet:
    """Apply ``move(component, lead)``; ``lead`` axes stand before the tensor's own."""
    parts: list[Any] = [
        None if c is None else move(c, int(i > 0)) for i, c in enumerate(components(jet))
    ]
    return Jet(*parts, k=jet.k)


def components(jet: Jet) -> tuple[Array, Array | None, Array | None]:
    """Return the value, and first and second derivatives; ``None`` where they vanish."""
    return jet.value, jet.first, jet.second


def joint(jets: list[Jet], how: Callable[[list, int], Any]) -> Jet:
    """Apply ``how(components, lead)`` to one component of all ``jets`` at a time, as `each`."""
    parts: list[Any] = [how([x.value for x in jets], 0)]
    for order in ("first", "second"):
        moves = any(getattr(x, order) is not None for x in jets)
        parts.append(how([filled(x, order) for x in jets], 1) if moves else None)
    return Jet(*parts, k=jets[0].k)


def doubted(jet: Jet, *unknown: torch.Tensor) -> Jet:
    """Add what is ``unknown`` to the errors of value, first and second derivatives; or to all."""
    whole = jet.value, filled(jet, "first"), filled(jet, "second")
    parts: list[Any] = []
    for part, error in zip(whole, (*unknown, *unknown[-1:] * 2), strict=False):
        error = error.expand(part.shape)
        parts.append(part + Bounded(torch.zeros_like(error), error))
    return Jet(*parts, k=jet.k)


def filled(jet: Jet, order: str) -> Array:
    """Return the derivatives of one order, zeros where they are known to vanish."""
    derivatives = getattr(jet, order)
    if derivatives is not None:
        return derivatives
    count = jet.k if order == "first" else len(pairs(jet.k))
    zeros = torch.zeros(count, *jet.shape, dtype=jet.dtype)
    return Bounded(zeros) if isinstance(jet.value, Bounded) else zeros


def axes_of(x: Jet | torch.Tensor, dim: Any) -> tuple[int, ...]:
    """Return the axes that ``dim`` names, an axis or several; all where it is ``None``."""
    dims = range(x.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    return tuple(d % max(x.ndim, 1) for d in dims)


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


def rounded(number: float, like: Jet | torch.Tensor) -> Any:
    """Return a number that is only the nearest one to what is meant, such as pi, with its error."""
    while isinstance(like, Carrier) and not isinstance(like, Jet):
        like = like.value
    if not isinstance(like, Jet) or not isinstance(like.value, Bounded):
        return number
    with torch._C.DisableTorchFunction():
        value = torch.tensor(number, dtype=like.value.dtype)
        return Jet(Bounded(value, U * value.abs()), k=like.k)
