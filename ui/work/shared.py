"""Streams of the worker pool that several visitors read, so that each is computed once.

A later reader gets all items from the start. The stream is closed when its last reader leaves.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Hashable, Iterator, Sequence
from contextlib import closing
from queue import SimpleQueue
from typing import Any

from ui.work import pool
from ui.work.job import QueuePosition
from ui.work.pool import Rank

WAIT_SECONDS = 0.1  # at a time, for an item that another reader fetches

_lock = threading.Lock()
_streams: dict[Hashable, _Stream] = {}


def shared_stream(
    function: Callable[..., Any], *arguments: Hashable, rank: Rank = Rank.FIRST
) -> Generator[Any]:
    """Yield as `Pool.stream` does; concurrent calls with the same arguments get the same objects.

    While there is nothing new it yields its `QueuePosition`, never ``None``.
    """
    key = function, arguments, rank
    with _lock:
        stream = _streams.get(key)
        if stream is None:
            stream = _streams[key] = _Stream(pool.POOL.stream(function, *arguments, rank=rank))
        stream.readers += 1
    try:
        yield from stream.read()
    finally:
        with _lock:
            stream.readers -= 1
            last = not stream.readers
            if last:
                del _streams[key]
        if last:
            stream.source.close()


def split_over_workers(
    function: Callable[..., Any],
    pieces: tuple[Hashable, ...],
    *more: Hashable,
    rank: Rank = Rank.FIRST,
) -> Iterator[Any]:
    """Compute ``function(some, *more)`` for all ``pieces``, a part of them on every worker.

    The function yields one result for each of its pieces, in their order. This yields shares done,
    0 to 1, a `QueuePosition` while all remaining parts wait, and last the tuple of all results.
    """
    size = min(pool.POOL.size, len(pieces))
    results: list[list[Any]] = [[] for _ in range(size)]
    calls = [(pieces[i::size], *more) for i in range(size)]
    for event in stream_together(function, calls, rank=rank):
        if isinstance(event, QueuePosition):
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
) -> Iterator[tuple[int, Any] | QueuePosition]:
    """Yield the items of a shared stream for each of ``calls`` as they come, with its index.

    A `QueuePosition` comes in between, and says how soon one goes on while all that are left wait.
    """
    streams = [shared_stream(function, *arguments, rank=rank) for arguments in calls]
    left, positions = set(range(len(calls))), dict[int, int]()
    with closing(_as_they_come(streams)) as items:
        for number, item in items:
            positions[number] = item.position if isinstance(item, QueuePosition) else 0
            if item is None:
                left.remove(number)
            elif not isinstance(item, QueuePosition):
                yield number, item
            if left and left <= positions.keys():
                yield QueuePosition(min(positions[number] for number in left))


def _as_they_come(streams: list[Generator[Any]]) -> Generator[tuple[int, Any]]:
    """Yield the items of all ``streams`` as they come, each with the index of its stream.

    ``None`` is the end of a stream. An error of one is raised at once and closes all others.
    """
    inbox: SimpleQueue[tuple[int, Any, BaseException | None]] = SimpleQueue()
    over = threading.Event()

    def read(number: int) -> None:
        error = None
        try:
            with closing(streams[number]) as stream:
                for item in stream:
                    inbox.put((number, item, None))
                    if over.is_set():
                        return
        except BaseException as caught:
            error = caught
        inbox.put((number, None, error))

    readers = [
        threading.Thread(target=read, args=(number,), name="reader", daemon=True)
        for number in range(len(streams))
    ]
    try:
        for reader in readers:
            reader.start()
        left = len(readers)
        while left:
            number, item, error = inbox.get()
            if error is not None:
                raise error
            left -= item is None
            yield number, item
    finally:
        over.set()
        for reader in readers:
            if reader.ident is not None:  # it has been started
                reader.join()


class _Stream:
    """A computation and its items so far."""

    def __init__(self, source: Any) -> None:
        self.source, self.readers = source, 0
        self._items: list[Any] = []
        self._position = QueuePosition(0)
        self._moved = threading.Condition()
        self._fetching = self._over = False
        self._error: BaseException | None = None

    def read(self) -> Iterator[Any]:
        """Yield all items as they come, and the position in the queue while there is none.

        The first reader that needs the next item fetches it; the others wait for that.
        """
        seen = 0
        while True:
            with self._moved:
                if seen == len(self._items) and self._fetching:
                    self._moved.wait(WAIT_SECONDS)
                items, over = self._items[seen:], self._over
                fetch = not (items or over or self._fetching)
                self._fetching = self._fetching or fetch
            seen += len(items)
            if items:
                yield from items
            elif over:
                if self._error is not None:
                    raise self._error.with_traceback(None)
                return
            else:
                if fetch:
                    self._fetch()
                yield self._position

    def _fetch(self) -> None:
        item, error, over = None, None, False
        try:
            item = next(self.source)
        except StopIteration:
            over = True
        except Exception as caught:
            error, over = caught, True
        with self._moved:
            self._error, self._over, self._fetching = error, over, False
            if isinstance(item, QueuePosition):
                self._position = item
            elif item is not None:
                self._items.append(item)
            self._moved.notify_all()
