"""Caches of results that all visitors share, each bounded by the bytes of its entries.

    @cached("Measuring curvature …")
    def measured(instance, grid): ...

The least recently used entries make room. A bound on their number would not do: a result of the
largest model takes two hundred times the memory of a small one.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from itertools import compress
from typing import Any, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

import cachetools
import streamlit as st

from ui.limits import CACHE_BYTES, NUMBERS_BYTES, PASSING_BYTES
from ui.work.run_stops import wait_for
from ui.work.semaphore import SCRIPTS

ENTRY_BYTES = 10_000  # added to the size of every entry, for its key and its Python objects

Arguments = TypeVarTuple("Arguments")
T = TypeVar("T")


def bytes_of(item: Any) -> int:
    """Count the bytes of all arrays, tensors and texts in dataclasses, sequences and mappings.

    An object that occurs several times is counted once.
    """
    total = 0
    seen: dict[int, Any] = {}  # holds each object, so that no other gets its id
    waiting = [item]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type):
            continue
        seen[id(part)] = part
        if hasattr(part, "nbytes"):
            total += part.nbytes
        elif isinstance(part, str | bytes):
            total += len(part)
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, Mapping):
            waiting += part.values()
        elif is_dataclass(part):
            waiting += [getattr(part, each.name) for each in fields(part)]
    return total


@dataclass(frozen=True, eq=False)
class _Entry:
    item: Any
    size: int


class Cache:
    """Results by key, at most ``most`` bytes of them as `bytes_of` counts; they never change."""

    def __init__(self, most: float) -> None:
        self._lock = threading.Lock()
        self._entries: cachetools.LRUCache[Hashable, _Entry] = cachetools.LRUCache(
            most, lambda entry: entry.size
        )
        self._making: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()

    @property
    def bytes(self) -> int:
        """The size of all entries."""
        return int(self._entries.currsize)

    def find(self, keys: Iterable[Hashable]) -> dict[Any, Any]:
        """Return the cached results among ``keys``."""
        with self._lock:
            return {key: self._entries[key].item for key in keys if key in self._entries}

    def put(self, key: Hashable, item: Any) -> None:
        """Cache ``item``, unless it is larger than the whole cache."""
        entry = _Entry(item, ENTRY_BYTES + bytes_of(item))
        with self._lock, suppress(ValueError):
            self._entries[key] = entry

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._entries.clear()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached result, or call ``make`` and cache what it returns.

        Threads that request the same key meanwhile wait for that result. Errors are not cached: the
        next one calls ``make`` again. So it does where a page run is stopped that makes the result;
        what a worker computes for it goes on for the next one: see `Pool.map`.
        """
        if cached := self.find((key,)):
            return cached[key]
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        with SCRIPTS.released():
            wait_for(lambda seconds: making.acquire(timeout=seconds))
        try:
            if cached := self.find((key,)):
                return cached[key]
            item = make()
            self.put(key, item)
            return item
        finally:
            making.release()


CACHE = Cache(CACHE_BYTES)  # surfaces and pictures
PASSING_CACHE = Cache(PASSING_BYTES)  # pictures of a training that goes on: soon out of date
NUMBERS_CACHE = Cache(NUMBERS_BYTES)  # small results that took long: pictures do not displace them


def cached(
    spinner: str = "", *, on: Cache = CACHE
) -> Callable[[Callable[[*Arguments], T]], Callable[[*Arguments], T]]:
    """Decorate a function of positional arguments: its results are cached.

    Parameters whose names begin with ``_`` follow from the others and are not part of the key; the
    others must be hashable. A ``spinner`` with this text is shown while the function runs.
    """

    def decorate(function: Callable[[*Arguments], T]) -> Callable[[*Arguments], T]:
        in_key = [not name.startswith("_") for name in inspect.signature(function).parameters]

        @wraps(function)
        def through_cache(*arguments: *Arguments) -> T:
            def make() -> T:
                with st.spinner(spinner) if spinner else nullcontext():
                    return function(*arguments)

            values: tuple[Any, ...] = arguments
            return on.get((function, *compress(values, in_key)), make)

        return through_cache

    return decorate
