"""What is made once for all visitors, and for how long is it there? As long as there is room.

    @cached("Measuring curvature …")
    def measured(specimen, grid): ...

They stand on a shelf, which takes so many bytes: what nobody has asked for longest makes room. So
whatever visitors look at has the place, and all of it a bound, which a number of results would not
be: one of the largest model takes two hundred times one of a small.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Hashable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from itertools import compress
from typing import Any, TypeVar, TypeVarTuple
from weakref import WeakValueDictionary

import cachetools
import streamlit as st

from ui.limits import CACHE_BYTES, NUMBERS_BYTES, PASSING_BYTES
from ui.work.run_stops import POLL_SECONDS, end_if_stopped, making
from ui.work.semaphore import SCRIPTS

ENTRY_BYTES = 10_000  # of anything, for its place and its objects

Asked = TypeVarTuple("Asked")
T = TypeVar("T")


def bytes_of(item: Any) -> int:
    """Bytes of all arrays, tensors and texts in dataclasses, sequences and mappings.

    Of what stands there twice once.
    """
    found: dict[int, int] = {}
    seen: dict[int, Any] = {}  # and alive, so that no other gets the same id
    waiting = [item]
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type):
            continue
        seen[id(part)] = part
        if hasattr(part, "nbytes"):
            found[id(part)] = part.nbytes
        elif isinstance(part, str | bytes):
            found[id(part)] = len(part)
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, Mapping):
            waiting += part.values()
        elif is_dataclass(part):
            waiting += [getattr(part, each.name) for each in fields(part)]
    return sum(found.values())


@dataclass(frozen=True, eq=False)
class _Entry:
    item: Any
    size: int


@dataclass(eq=False)
class _Making:
    """One result on its way: who holds the lock makes it, and so many wait for that."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    waiting: int = 0


class Cache:
    """Results by key, ``most`` bytes of them as `bytes_of` counts; nobody changes them."""

    def __init__(self, most: float) -> None:
        self._lock = threading.Lock()
        self._entries: cachetools.LRUCache[Hashable, _Entry] = cachetools.LRUCache(
            most, lambda entry: entry.size
        )
        self._making: WeakValueDictionary[Hashable, _Making] = WeakValueDictionary()

    @property
    def bytes(self) -> int:
        """How much stands there."""
        return int(self._entries.currsize)

    def find(self, keys: Iterable[Hashable]) -> dict[Any, Any]:
        """What is there of ``keys``."""
        with self._lock:
            return {key: self._entries[key].item for key in keys if key in self._entries}

    def put(self, key: Hashable, item: Any) -> None:
        """Keep ``item``, unless it is larger than the shelf."""
        entry = _Entry(item, ENTRY_BYTES + bytes_of(item))
        with self._lock, suppress(ValueError):
            self._entries[key] = entry

    def clear(self) -> None:
        """Have room for other things."""
        with self._lock:
            self._entries.clear()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """What is there, or what ``make`` makes; whoever asks meanwhile waits for that.

        What it raises is not kept: the next one tries again. A run of a page that was stopped
        neither waits for it nor, unless others do, makes it any longer.
        """
        if found := self.find((key,)):
            return found[key]
        with self._lock:
            here = self._making.setdefault(key, _Making())
        self._wait_for(here)
        try:
            if found := self.find((key,)):
                return found[key]
            with making(lambda: here.waiting > 0):
                item = make()
            self.put(key, item)
            return item
        finally:
            here.lock.release()

    def _wait_for(self, here: _Making) -> None:
        """Until nobody else makes it."""
        with self._lock:
            here.waiting += 1
        try:
            with SCRIPTS.released():
                while not here.lock.acquire(timeout=POLL_SECONDS):
                    end_if_stopped()
        finally:
            with self._lock:
                here.waiting -= 1


CACHE = Cache(CACHE_BYTES)  # for what one looks at
PASSING_CACHE = Cache(PASSING_BYTES)  # for what a moment later is there in a newer form
NUMBERS_CACHE = Cache(
    NUMBERS_BYTES
)  # for what takes long and has no size: pictures do not displace it


def cached(
    spinner: str = "", *, on: Cache = CACHE
) -> Callable[[Callable[[*Asked], T]], Callable[[*Asked], T]]:
    """Keep what a function of positional arguments returns; a ``spinner`` is shown meanwhile.

    Parameters whose names begin with _ follow from the others, which are hashable.
    """

    def of(function: Callable[[*Asked], T]) -> Callable[[*Asked], T]:
        names = inspect.signature(function).parameters
        says = [not name.startswith("_") for name in names]

        @wraps(function)
        def kept(*arguments: *Asked) -> T:
            def make() -> T:
                with st.spinner(spinner) if spinner else nullcontext():
                    return function(*arguments)

            asked: tuple[Any, ...] = arguments
            return on.get((function, *compress(asked, says)), make)

        return kept

    return of
