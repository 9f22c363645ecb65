"""How many page scripts run at once? A few: they share one interpreter, as all threads do.

    with SCRIPTS.acquired():  # round a script
        ...
        with SCRIPTS.released():  # while it waits for somebody else
            ...

With more of them each waits for all others at every step, and so does the one thread that hears
browsers and answers them: with thirty visitors it came too late to pass on what was drawn.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ui.limits import SCRIPTS_AT_ONCE, TURN_SECONDS


class ScriptSemaphore:
    """At most ``places`` scripts run; one that has waited for ``patience`` seconds does anyway.

    So nobody waits for good for somebody who waits for them.
    """

    def __init__(self, places: int = SCRIPTS_AT_ONCE, patience: float = TURN_SECONDS) -> None:
        self.places, self.patience = places, patience
        self._inside = 0
        self._moved = threading.Condition()
        self._own = threading.local()  # .depth: whether this thread has a turn, and how often

    @contextmanager
    def acquired(self) -> Iterator[None]:
        """Wait for a turn, unless this thread has one."""
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
        """Let another go on meanwhile. It comes back at once: others may need what it holds."""
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
        """How many run."""
        return self._inside

    def _enter(self, seconds: float) -> None:
        with self._moved:
            self._moved.wait_for(lambda: self._inside < self.places, seconds)
            self._inside += 1

    def _leave(self) -> None:
        with self._moved:
            self._inside -= 1
            self._moved.notify()


SCRIPTS = ScriptSemaphore()
