"""A semaphore of page scripts: a few run at once, as all threads share one interpreter.

    with SCRIPTS.acquired():  # around a script
        ...
        with SCRIPTS.released():  # while it waits for a worker or a lock
            ...

With more scripts at once, each would wait for all others at every step, and so would the thread
that talks to the browsers: with thirty visitors it came too late.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ui.limits import SCRIPT_WAIT_SECONDS, SCRIPTS_AT_ONCE


class ScriptSemaphore:
    """A semaphore for ``permits`` threads; a wait ends after ``patience`` seconds in any case.

    So two threads that wait for each other do not wait for ever.
    """

    def __init__(
        self, permits: int = SCRIPTS_AT_ONCE, patience: float = SCRIPT_WAIT_SECONDS
    ) -> None:
        self.permits, self.patience = permits, patience
        self._inside = 0
        self._moved = threading.Condition()
        self._own = threading.local()  # .depth: how often this thread has acquired it

    @contextmanager
    def acquired(self) -> Iterator[None]:
        """Acquire it, unless this thread has done so."""
        depth = getattr(self._own, "depth", 0)
        if not depth:
            self._enter(self.patience)
        self._own.depth = depth + 1
        try:
            yield
        finally:
            self._own.depth = depth
            if not depth:
                self._leave()

    @contextmanager
    def released(self) -> Iterator[None]:
        """Release it within, then acquire it without waiting: others may need what it holds."""
        depth = getattr(self._own, "depth", 0)
        if not depth:
            yield
            return
        self._own.depth = 0
        self._leave()
        try:
            yield
        finally:
            self._enter(0.0)
            self._own.depth = depth

    @property
    def inside(self) -> int:
        """The number of threads that have acquired it."""
        return self._inside

    def _enter(self, seconds: float) -> None:
        with self._moved:
            self._moved.wait_for(lambda: self._inside < self.permits, seconds)
            self._inside += 1

    def _leave(self) -> None:
        with self._moved:
            self._inside -= 1
            self._moved.notify()


SCRIPTS = ScriptSemaphore()
