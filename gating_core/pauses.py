"""How does long work let itself be stopped? It gives way: a generator that yields in between.

What it computes is its return value: ``result = yield from work``, or `drained` by whoever does
not mind waiting.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import TypeVar

PAUSE_SECONDS = 0.1  # between two moments at which long work gives way

T = TypeVar("T")


class Pause:
    """Knows when it is time to give way: ``yield from pause()`` yields once, or not at all."""

    def __init__(self) -> None:
        self._resumed = time.perf_counter()

    def __call__(self) -> Iterator[None]:
        if time.perf_counter() - self._resumed > PAUSE_SECONDS:
            yield
            self._resumed = time.perf_counter()


def drained(work: Generator[None, None, T]) -> T:
    """What ``work`` returns, without giving way."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
