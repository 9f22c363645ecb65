"""How does the server process behave: threads, garbage collection, places for heavy work?

Imported once, before anything is computed.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

import gating_core  # noqa: F401  (heavy imports come before the freeze below)
from ui.limits import CONCURRENT_JOBS

POLL_SECONDS = 0.25


# Sessions are threads that share one interpreter: more torch threads only make them fight for it.
torch.set_num_threads(1)


# Streamlit collects garbage fully after every run. What the imports made never becomes garbage.
gc.collect()


gc.freeze()


class Line:
    """First come, first served: the oldest tickets hold the places, the others wait in order."""

    def __init__(self, places: int) -> None:
        self.places = places
        self._tickets: list[Ticket] = []  # oldest first
        self._moved = threading.Condition()

    def join(self) -> Ticket:
        """A ticket at the end of the line; whoever takes it must hand it back."""
        with self._moved:
            ticket = Ticket(self)
            self._tickets.append(ticket)
            return ticket


class Ticket:
    """A turn in a `Line`."""

    def __init__(self, line: Line) -> None:
        self._line = line

    @property
    def position(self) -> int:
        """1 for the first in the queue; 0 for whoever holds a place, or has handed it back."""
        with self._line._moved:
            return self._position()

    def _position(self) -> int:
        tickets = self._line._tickets
        return max(0, tickets.index(self) + 1 - self._line.places) if self in tickets else 0

    def wait(self, seconds: float) -> bool:
        """Whether it holds a place, as soon as it does, or after so many seconds."""
        line = self._line
        with line._moved:
            line._moved.wait_for(lambda: self._position() == 0, seconds)
            return self in line._tickets and self._position() == 0

    def hand_back(self) -> None:
        """Let the next one move up; a second time does nothing."""
        with self._line._moved:
            if self in self._line._tickets:
                self._line._tickets.remove(self)
                self._line._moved.notify_all()


LINE = Line(CONCURRENT_JOBS)  # for jobs, which may take minutes
SHORT_LINE = Line(CONCURRENT_JOBS)  # for what a page computes itself, and must not wait for jobs
_thread = threading.local()


@contextmanager
def placed() -> Iterator[None]:
    """Say that this thread holds a place: `place` then asks for no second one.

    Otherwise two that each wait for a second place would wait for ever.
    """
    _thread.placed = True
    try:
        yield
    finally:
        _thread.placed = False


@contextmanager
def place(
    on_wait: Callable[[int], None] = lambda position: None, line: Line = SHORT_LINE
) -> Iterator[None]:
    """Hold one of the places for short work; ``on_wait`` hears the position in the queue."""
    if getattr(_thread, "placed", False):
        yield
        return
    ticket = line.join()
    try:
        while not ticket.wait(POLL_SECONDS):
            on_wait(ticket.position)
        with placed():
            yield
    finally:
        ticket.hand_back()
