"""How does long work let itself be stopped? It gives way: a generator that yields in between.

What it computes is its return value: ``result = yield from work``, or `drained` by whoever does
not mind waiting.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

PAUSE_SECONDS = 0.1  # between two moments at which long work gives way

T = TypeVar("T")


def drained(work: Generator[None, None, T]) -> T:
    """What ``work`` returns, without giving way."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            return end.value
