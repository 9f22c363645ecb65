"""A mode that sees what reaches torch's kernels: from compiled and scripted modules, too."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

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
