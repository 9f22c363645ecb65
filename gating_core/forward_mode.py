"""Torch's forward mode, used by several threads of a process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_lock = threading.RLock()  # forward mode has one level for all threads of a process


def one_at_a_time(derivative: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return ``derivative``, which uses forward mode, as a function that several threads may call.

    A call waits until that of another thread has returned.
    """

    @wraps(derivative)
    def locked(*arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        with _lock:
            return derivative(*arguments, **named)

    return locked
