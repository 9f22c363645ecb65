"""A process that computes: its allocator keeps freed memory, its threads share forward mode."""

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import ParamSpec, TypeVar

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # as in malloc.h
LARGE_BYTES = 1_000_000  # of an array that is mapped by itself: larger than those of jets
OTHER_ALLOCATOR = OSError, AttributeError, TypeError  # raised where there is no GNU allocator


def keep_at_hand() -> None:
    """Tell the GNU allocator to keep freed memory; other allocators stay as they are.

    By default it returns much of it to the system, which clears every page before it is used
    again. That costs a sixth of the time of measuring curvature along a run, and more than half
    where every array is mapped by itself.
    """
    with suppress(*OTHER_ALLOCATOR):
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
        # More freed memory is kept than a block of jets needs.
        library.mallopt(M_TRIM_THRESHOLD, 32_000_000)


# --- Forward mode ---------------------------------------------------------------------------------


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
