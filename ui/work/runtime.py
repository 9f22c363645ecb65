"""Set-up of each of our processes: threads, memory, garbage collection.

Imported once, before anything is computed.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import gating_core  # noqa: F401  (heavy imports come before the freeze below)
from gating_core.memory import M_MMAP_THRESHOLD, OTHER_ALLOCATOR

# Sessions are threads of one process, workers are many: more threads of torch or of BLAS would only
# fight for the cores (two of BLAS, waiting for each other, doubled the cost of a picture).
torch.set_num_threads(1)
threadpool_limits(1)

# Arrays come and go in the threads of thirty visitors. The GNU allocator would keep the memory that
# one thread has freed from the others, and large blocks for later use. Small blocks leave holes
# between what stays, which grow until the allocator is told to trim them.
# A worker keeps more memory between two trims: see `gating_core.memory`.
M_ARENA_MAX = -8  # as in malloc.h
LARGE_BYTES = 64_000  # of an array with a block of its own, which leaves no hole: 91 x 91 points
TRIM_SECONDS = 20.0  # between two trims, which take milliseconds


def _trim_again(trim: Callable[[int], int]) -> None:
    while True:
        time.sleep(TRIM_SECONDS)
        trim(0)


with suppress(*OTHER_ALLOCATOR):
    _library = ctypes.CDLL(None)
    _library.mallopt(M_ARENA_MAX, 2)
    _library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
    threading.Thread(
        target=_trim_again, args=(_library.malloc_trim,), name="trim", daemon=True
    ).start()

# The thread that talks to browsers gives the interpreter up at every message. With the default
# interval it would wait for it ten times as long as a message takes.
SWITCH_SECONDS = 0.0005
sys.setswitchinterval(SWITCH_SECONDS)

# Streamlit collects garbage fully after every run. What the imports made never becomes garbage: it
# is frozen without a look, which would take as long as a page.
gc.freeze()


def tensor_array(item: Any) -> np.ndarray | None:
    """Return a plain tensor as an array without a copy; ``None`` for anything else."""
    return item.numpy() if type(item) is torch.Tensor and not item.requires_grad else None


def array_tensor(numbers: np.ndarray) -> torch.Tensor:
    """Return the tensor that `tensor_array` was given."""
    return torch.from_numpy(numbers)
