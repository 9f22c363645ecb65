"""Long work that can be stopped: a generator that yields between its parts.

Its result is its return value: ``result = yield from work``, or ``drained(work)`` to wait for it.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import TypeVar

PAUSE_SECONDS = 0.1  # between two yields

T = TypeVar("T")


class Pause:
    """A clock: ``yield from pause()`` yields if `PAUSE_SECONDS` have passed since the last time."""

    def __init__(self) -> None:
        self._resumed = time.perf_counter()

    def __call__(self) -> Iterator[None]:
        """Yield once if `PAUSE_SECONDS` have passed; time spent at the yield does not count."""
        if time.perf_counter() - self._resumed > PAUSE_SECONDS:
            yield
            self._resumed = time.perf_counter()


def drained(work: Generator[object, None, T]) -> T:
    """Run ``work`` to its end and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
