"""How does each of our processes behave: threads, memory, garbage collection?

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

# Arrays come and go in the threads of thirty visitors. The GNU allocator would keep what one thread
# has freed from all others, in a place for each of many.
# Nor would it give back what was as large as a film: it learns from each to keep the next.
# What is smaller stays with the process, in holes between what is kept, unless it is told to look;
# and the holes grow, as each new array finds none that is large enough.
# A worker, which computes, keeps more at hand between two looks: see `gating_core.memory`.
M_ARENA_MAX = -8  # as in malloc.h
LARGE_BYTES = 64_000  # of an array that has its own place and leaves no hole: on 91 x 91 points
TRIM_SECONDS = 20.0  # between two looks, which take milliseconds


def _look(trim: Callable[[int], int]) -> None:
    while True:
        time.sleep(TRIM_SECONDS)
        trim(0)


with suppress(*OTHER_ALLOCATOR):
    _library = ctypes.CDLL(None)
    _library.mallopt(M_ARENA_MAX, 2)
    _library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
    threading.Thread(target=_look, args=(_library.malloc_trim,), name="trim", daemon=True).start()

# The thread that hears browsers and answers them gives the interpreter up at every message, and
# would wait for it ten times as long as a message takes while scripts and workers' results come in.
SWITCH_SECONDS = 0.0005
sys.setswitchinterval(SWITCH_SECONDS)

# Streamlit collects garbage fully after every run. What the imports made never becomes garbage: it
# is frozen without a look, which would take as long as a page.
gc.freeze()


def tensor_array(item: Any) -> np.ndarray | None:
    """The numbers of a plain tensor, without a copy; ``None`` of anything else."""
    return item.numpy() if type(item) is torch.Tensor and not item.requires_grad else None


def array_tensor(numbers: np.ndarray) -> torch.Tensor:
    """The tensor that `tensor_array` was given."""
    return torch.from_numpy(numbers)
