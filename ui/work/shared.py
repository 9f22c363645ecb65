"""Streams of worker processes: one that several visitors read, and several that one reads."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import ExitStack, closing
from typing import Any

from ui.work import pool
from ui.work.job import WAITING
from ui.work.pool import ITEM_SECONDS, Rank

LOOK_SECONDS = 0.02  # between two looks at several streams


def shared_stream(
    function: Callable[..., Any],
    *arguments: Hashable,
    rank: Rank = Rank.FIRST,
    wait: float = ITEM_SECONDS,
) -> Generator[Any]:
    """Yield as `Pool.stream` does."""
    return pool.POOL.stream(function, *arguments, rank=rank, wait=wait)


def split_over_workers(
    function: Callable[..., Any],
    pieces: tuple[Hashable, ...],
    *more: Hashable,
    rank: Rank = Rank.FIRST,
) -> Iterator[Any]:
    """Compute ``function(some, *more)`` for all ``pieces``, a part of them on every worker.

    The function yields one result for each of its pieces, in their order. This yields shares done,
    0 to 1, in between as `stream_together` does, and last the tuple of all results.
    """
    size = min(pool.POOL.size, len(pieces))
    results: list[list[Any]] = [[] for _ in range(size)]
    calls = [(pieces[i::size], *more) for i in range(size)]
    for event in stream_together(function, calls, rank=rank):
        if event is None or event is WAITING:
            yield event
            continue
        number, item = event
        results[number].append(item)
        yield sum(map(len, results)) / len(pieces)
    yield tuple(results[i % size][i // size] for i in range(len(pieces)))


def stream_together(
    function: Callable[..., Any],
    calls: Sequence[tuple[Hashable, ...]],
    *,
    rank: Rank = Rank.FIRST,
) -> Generator[Any]:
    """Yield (index, item) of a stream for each of ``calls``, as the items come.

    While there is nothing new this yields ``None``, or `WAITING` if all that are left wait. An
    error of one closes all others.
    """
    with ExitStack() as stack:
        left = {}
        for number, arguments in enumerate(calls):
            stream = shared_stream(function, *arguments, rank=rank, wait=0.0)
            left[number] = stack.enter_context(closing(stream))
        while left:
            new, waiting = False, True
            for number, stream in list(left.items()):
                item = next(stream, left)
                if item is left:
                    del left[number]
                elif item is not None and item is not WAITING:
                    yield number, item
                    new = True
                else:
                    waiting = waiting and item is WAITING
            if left and not new:
                yield WAITING if waiting else None
                time.sleep(LOOK_SECONDS)
