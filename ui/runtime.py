"""How the server process behaves: threads, garbage collection, places for heavy work.

Imported once, before anything is computed.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

import gating_core  # noqa: F401  (heavy imports come before the freeze below)

CONCURRENT_JOBS = 2
POLL_SECONDS = 0.25

# Sessions are threads that share one interpreter: more torch threads only make them fight for it.
torch.set_num_threads(1)

# Streamlit collects garbage fully after every run. What the imports made never becomes garbage.
gc.collect()
gc.freeze()

_places = threading.BoundedSemaphore(CONCURRENT_JOBS)
_lock = threading.Lock()
_waiting: list[object] = []


@contextmanager
def place(on_wait: Callable[[int], None] = lambda position: None) -> Iterator[None]:
    """Hold one of the places for heavy work; ``on_wait`` hears the position in the queue."""
    ticket = object()
    with _lock:
        _waiting.append(ticket)
    try:
        while not _places.acquire(timeout=POLL_SECONDS):
            on_wait(_waiting.index(ticket) + 1)
    finally:
        with _lock:
            _waiting.remove(ticket)
    try:
        yield
    finally:
        _places.release()
