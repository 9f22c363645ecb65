"""How does each of our processes behave: threads, memory, garbage collection?

Imported once, before anything is computed.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_limits

import gating_core  # noqa: F401  (heavy imports come before the freeze below)

# Sessions are threads of one process, workers are many: more threads of torch or of BLAS would only
# fight for the cores (two of BLAS, waiting for each other, doubled the cost of a picture).
torch.set_num_threads(1)
threadpool_limits(1)

# Large arrays come and go in the threads of thirty visitors. The GNU allocator would keep
# what one thread has freed from all others, in a place for each of many.
# Nor would it give back what was as large as a film: it learns from each to keep the next.
# What is smaller stays with the process, in holes between what is kept, unless it is told to look.
M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3  # as in malloc.h
LARGE_BYTES = 256_000  # half of that costs a worker time
TRIM_SECONDS = 20.0  # between two looks, which take milliseconds


def _trim(library: ctypes.CDLL) -> None:
    while True:
        time.sleep(TRIM_SECONDS)
        library.malloc_trim(0)


with suppress(OSError, AttributeError, TypeError):  # where there is another allocator
    _library = ctypes.CDLL(None)
    _library.mallopt(M_ARENA_MAX, 2)
    _library.mallopt(M_MMAP_THRESHOLD, LARGE_BYTES)
    _library.malloc_trim(0)
    threading.Thread(target=_trim, args=(_library,), name="trim", daemon=True).start()

# The thread that hears browsers and answers them gives the interpreter up at every message, and
# would wait for it ten times as long as a message takes while scripts and workers' results come in.
SWITCH_SECONDS = 0.0005
sys.setswitchinterval(SWITCH_SECONDS)

# Streamlit collects garbage fully after every run. What the imports made never becomes garbage.
gc.collect()
gc.freeze()


def tensor_array(item: Any) -> np.ndarray | None:
    """The numbers of a plain tensor, without a copy; ``None`` of anything else."""
    return item.numpy() if type(item) is torch.Tensor and not item.requires_grad else None


def array_tensor(numbers: np.ndarray) -> torch.Tensor:
    """The tensor that `tensor_array` was given."""
    return torch.from_numpy(numbers)
