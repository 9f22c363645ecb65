"""A function that leaves everything as it was: modules, caches and records that it writes into.

Layers write while they compute: running statistics, power iterations of a spectral norm, range
observers, key-value caches, activations that a hook keeps. Run on jets, they would keep jets. Here
everything that a function can reach is noted before it runs, and put back after.
"""

from __future__ import annotations

import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from operator import setitem
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

MOST = 100_000  # objects that are followed: a data set in a list is not read to its end
# Packages whose own functions and objects, layers excepted, keep nothing of what a layer computes.
OTHERS = frozenset({"gating_core", "torch", "numpy", "scipy", "builtins", "functools", "typing"})

LAZY = (
    "function has a lazy module whose weights torch has not made yet; call it once on inputs of its"
    " own, and hand it over then"
)

Function = Callable[[torch.Tensor], Any]


class Unchanged:
    """A function after each call of which all that it can reach is as it was before the first.

    So every call starts from the state in which the function was handed over.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self._state = _State(function)
        self._holding = self._called = False

    def __getattr__(self, name: str) -> Any:
        """The function's own attributes, such as ``spans``."""
        if name == "function":  # not yet set, as while it is copied
            raise AttributeError(name)
        return getattr(self.function, name)

    def __call__(self, points: torch.Tensor) -> Any:
        """Evaluate the function, and put back what it changed."""
        with self.held():
            return self.function(points)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Put back what calls within change only after the last of them."""
        if self._holding:
            yield
            return
        self._holding, random = True, torch.get_rng_state()
        try:
            # Until a call succeeds, tensors are copied that are written into, and no others.
            with _eager(), nullcontext() if self._called else kernels(self._state.watch):
                yield
            self._called = True
        finally:
            self._holding = False
            self._state.restore()
            torch.set_rng_state(random)


def _eager() -> AbstractContextManager[Any]:
    """Have what `torch.compile` made compute by the code that it was made of, as jets need."""
    compiled = "torch._dynamo" in sys.modules  # whose import takes seconds
    return torch.compiler.set_stance("force_eager") if compiled else nullcontext()


def unchanged(function: Function) -> Function:
    """Return ``function`` as `Unchanged`, unless it is that, or ``pure``: it changes nothing."""
    kept = getattr(function, "pure", False) or isinstance(function, Unchanged)
    return function if kept else Unchanged(function)


def held(function: Function) -> AbstractContextManager[None]:
    """`Unchanged.held` of a function that may be ``pure``."""
    return function.held() if isinstance(function, Unchanged) else nullcontext()


def is_scripted(function: Function) -> bool:
    """Return whether a function that is not ``pure`` can reach what `torch.jit` has compiled."""
    kinds = torch.jit.ScriptModule, torch.jit.ScriptFunction
    known = function._state.seen.values() if isinstance(function, Unchanged) else ()
    return any(isinstance(x, kinds) for x in known)


class _State:
    """All that a function can reach, as it was: containers, attributes, variables, tensors."""

    def __init__(self, function: Function) -> None:
        self.seen: dict[int, Any] = {}  # keeps what it names alive, so that ids stay theirs
        self.undo: list[Callable[[], Any]] = []  # each puts one thing back
        self.storages: dict[int, torch.Tensor] = {}  # a tensor on each storage
        self.copies: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        todo: list[Any] = [function]
        while todo and len(self.seen) < MOST:
            x = todo.pop()
            if id(x) not in self.seen:
                self.seen[id(x)] = x
                todo += self._parts(x)

    def _parts(self, x: Any) -> list[Any]:
        """Note how ``x`` is, and return what can be reached from it."""
        if isinstance(x, torch.Tensor):
            if torch.nn.parameter.is_lazy(x):
                raise ValueError(LAZY)
            if x.layout == torch.strided:
                self.storages[_storage(x)] = x
            return []
        if isinstance(x, dict):
            # Whatever its class answers.
            self.undo.append(partial(_put_back, x, dict(dict.items(x))))
            return list(dict.values(x))
        if isinstance(x, list | set | deque):
            self.undo.append(partial(_put_back, x, set(x) if isinstance(x, set) else list(x)))
            return list(x)
        if isinstance(x, tuple | frozenset):
            return list(x)
        if isinstance(x, partial):
            return [x.func, x.args, x.keywords]
        if isinstance(x, types.MethodType):
            return [x.__self__, x.__func__]
        if isinstance(x, types.FunctionType):
            return [*self._variables(x), x.__dict__, x.__defaults__, x.__kwdefaults__]
        if isinstance(x, type | types.ModuleType) or not hasattr(x, "__dict__"):
            return []
        if _package(type(x)) in OTHERS and not isinstance(x, torch.nn.Module):
            return []
        tensors = []
        if isinstance(x, torch.nn.Module):  # those of a scripted module are no attributes
            tensors = [*x.parameters(recurse=False), *x.buffers(recurse=False)]
        methods = [f for kind in type(x).__mro__ for f in vars(kind).values()]
        return [vars(x), *tensors, *(f for f in methods if isinstance(f, types.FunctionType))]

    def _variables(self, function: types.FunctionType) -> list[Any]:
        """Note the variables of a function that outlive its call, and return what they hold."""
        if _package(function) in OTHERS:
            return []
        found = []
        for cell in function.__closure__ or ():
            try:
                found.append(cell.cell_contents)
            except ValueError:  # not yet bound
                continue
            self.undo.append(partial(setattr, cell, "cell_contents", found[-1]))
        codes = [function.__code__]
        for code in codes:  # with those of the functions within
            codes += [x for x in code.co_consts if isinstance(x, types.CodeType)]
            for name in set(code.co_names) & function.__globals__.keys():
                found.append(function.__globals__[name])
                self.undo.append(partial(setitem, function.__globals__, name, found[-1]))
        return found

    def watch(self, kernel: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
        """Call a kernel; copy tensors that can be reached before it writes into them."""
        schema = getattr(kernel, "_schema", None)
        if schema is not None and self.storages:
            given = {a.name: x for a, x in zip(schema.arguments, args, strict=False)} | kwargs
            for argument in schema.arguments:
                written = argument.alias_info is not None and argument.alias_info.is_write
                if written or argument.name.startswith("running_"):  # which no schema calls written
                    value = given.get(argument.name)
                    for x in value if isinstance(value, list | tuple) else [value]:
                        self._copy(x)
        return kernel(*args, **kwargs)

    def _copy(self, x: Any) -> None:
        key = _storage(x) if isinstance(x, torch.Tensor) and x.layout == torch.strided else None
        if key in self.storages and key not in self.copies:
            with torch._C.DisableTorchFunction():
                whole = x.detach().new_empty(0).set_(x.untyped_storage())
                self.copies[key] = whole, whole.clone()

    @torch.no_grad()
    def restore(self) -> None:
        """Put everything back."""
        for put_back in self.undo:
            put_back()
        with torch._C.DisableTorchFunction():  # not to be followed as part of the function
            for tensor, before in self.copies.values():
                tensor.copy_(before)


def _put_back(container: Any, before: Any) -> None:
    """Give a container its former contents: the same objects in the same order."""
    if isinstance(container, set):
        if container != before:
            container.clear()
            container.update(before)
    elif isinstance(container, dict):
        for key in dict.keys(container) - before.keys():
            del container[key]
        for key, x in before.items():
            if dict.get(container, key, container) is not x:
                container[key] = x
    elif len(container) != len(before) or any(
        x is not y for x, y in zip(container, before, strict=True)
    ):
        container.clear()
        container.extend(before)


def _storage(x: torch.Tensor) -> int:
    return x.untyped_storage()._cdata


def _package(x: Any) -> str:
    return (getattr(x, "__module__", None) or "").partition(".")[0]


# --- What reaches kernels of torch ----------------------------------------------------------------

Seen = Callable[[Any, tuple, dict[str, Any]], Any]


def kernels(see: Seen) -> TorchDispatchMode:
    """Return a mode in which ``see(kernel, args, kwargs)`` calls each kernel and has its result."""
    return (_Uncompiled if "torch._dynamo" in sys.modules else _Kernels)(see)


class _Kernels(TorchDispatchMode):
    supports_higher_order_operators = True  # flex_attention among them

    def __init__(self, see: Seen) -> None:
        super().__init__()
        self.see = see

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # or its first operation imports torch.compile, which takes a second

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return self.see(func, args, kwargs or {})


class _Uncompiled(_Kernels):
    """The same for processes that use torch.compile, which does not try to compile the mode."""

    __torch_dispatch__ = _Kernels.__torch_dispatch__

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return True
