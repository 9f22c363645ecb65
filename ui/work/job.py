"""A long computation beside the pages: started, watched and cancelled.

A `Job` runs a generator in a thread of its own, which waits for what a worker process computes
(`ui.work.pool`). It uses no Streamlit.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any, Generic, TypeVar
from weakref import WeakSet

from ui.limits import JOB_ITEMS
from ui.work import log

FIRST_SECONDS = 0.05  # `start` waits so long for the first item
LOOK_SECONDS = 1.0  # between two looks whether somebody is there
END_SECONDS = 1.0  # at the end of the process, for all jobs to stop
WAITING: Any = object()  # what a generator yields in place of an item while it has no worker

T = TypeVar("T")
_running: WeakSet[Job] = WeakSet()


@atexit.register
def end_all() -> None:
    """Stop all threads: one that is cut off while it computes can crash the process."""
    deadline = time.monotonic() + END_SECONDS
    jobs = list(_running)
    for job in jobs:
        job.cancel()
    for job in jobs:
        job.join(max(deadline - time.monotonic(), 0.0))


class State(Enum):
    """The states of a job."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Job(Generic[T]):
    """A generator that runs in a thread.

    It stops between two items only: to stop within half a second, a generator yields more often
    than that, ``None`` where it has nothing to report, or `WAITING`; neither is an item.

    ``expected`` are the errors whose text is meant for visitors; any other is logged with its
    traceback. A job cancels itself once it is not ``wanted`` any more: that is looked at once a
    second. Of its items the newest `JOB_ITEMS` are there, and of each type in ``newest`` only the
    newest one. ``about`` says what it computes, for its caller; ``kind`` is its name in the log.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[T | None]],
        *,
        kind: str = "job",
        about: object = None,
        expected: tuple[type[Exception], ...] = (),
        wanted: Callable[[], bool] = lambda: True,
        newest: tuple[type, ...] = (),
    ) -> None:
        self.about = about
        self._kind, self.id = kind, log.new_id()
        self.forgotten = self._by_visitor = False
        self.waiting = False  # for a worker: at first, or in between
        self.error: BaseException | None = None
        self._expected, self._newest, self._wanted = expected, newest, wanted
        self._lock = threading.Lock()
        self._items: deque[T] = deque(maxlen=JOB_ITEMS)
        self._state = State.WAITING
        self._stop = threading.Event()
        self._yielded = threading.Event()
        self._started = False
        self._joined = self._began = self._ended = 0.0  # time.monotonic()
        self._thread = threading.Thread(target=self._work, args=(make,), name="job", daemon=True)

    @classmethod
    def done(cls, items: list[T], *, kind: str = "job", about: object = None) -> Job[T]:
        """Return a job that had nothing to compute: its ``items`` were there already."""
        job = cls(lambda: iter(()), kind=kind, about=about)
        job._items.extend(items)
        job._state = State.DONE
        return job

    def start(self) -> Job[T]:
        """Start the thread."""
        with self._lock:
            if self._started or self.over:
                raise RuntimeError(f"a job starts once; this one is {self._state.value} already")
            self._started = True
            self._joined = time.monotonic()
        _running.add(self)
        self._thread.start()
        self._yielded.wait(FIRST_SECONDS)
        return self

    def cancel(self, by_visitor: bool = False) -> None:
        """Stop: at once while it waits, otherwise after the item that is being computed."""
        with self._lock:
            self._stop.set()
            self._by_visitor = self._by_visitor or by_visitor
            if self._state is State.WAITING:
                self._state, self.waiting = State.CANCELLED, False

    def forget(self) -> None:
        """Stop, and drop all items."""
        self.cancel()
        with self._lock:
            self.forgotten = True
            self._items = deque(maxlen=0)

    def join(self, seconds: float | None = None) -> bool:
        """Wait for its thread, if it was started; return whether that has ended."""
        if not self._started:
            return self.over
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def state(self) -> State:
        """Its state; ``CANCELLED`` once it has stopped."""
        return self._state

    @property
    def over(self) -> bool:
        """True if nothing more will happen."""
        return self._state not in (State.WAITING, State.RUNNING)

    @property
    def stopping(self) -> bool:
        """True if it was cancelled."""
        return self._stop.is_set()

    @property
    def needs_click(self) -> bool:
        """True if only a click starts it again: its visitor cancelled it, or it failed."""
        cancelled = self._state is State.CANCELLED and self._by_visitor
        return cancelled or self._state is State.FAILED

    @property
    def elapsed(self) -> float:
        """Seconds since it began to compute, without the waiting before."""
        return (self._ended or time.monotonic()) - self._began if self._began else 0.0

    @property
    def error_text(self) -> str:
        """Why it failed, for visitors, without a full stop; empty if it did not."""
        if self.error is None or isinstance(self.error, self._expected):
            return str(self.error or "")
        return f"an error of ours ({type(self.error).__name__}, in the log as {self.id})"

    @property
    def items(self) -> list[T]:
        """The items so far, oldest first."""
        with self._lock:
            return list(self._items)

    def _work(self, make: Callable[[], Iterator[T | None]]) -> None:
        try:
            self._end(self._consume(make))
        except BaseException as error:
            self.error = error
            self._end(State.FAILED)
            # The traceback would keep every local variable of the computation alive.
            error.with_traceback(None)
        finally:
            self._yielded.set()

    def _consume(self, make: Callable[[], Iterator[T | None]]) -> State:
        items, looked = make(), time.monotonic()
        try:
            for item in items:
                self._note(item)
                if (now := time.monotonic()) >= looked + LOOK_SECONDS:
                    looked = now
                    if not self._wanted():
                        self.cancel()
                if self._stop.is_set():
                    return State.CANCELLED
            return State.DONE
        finally:
            if hasattr(items, "close"):
                items.close()

    def _note(self, item: T | None) -> None:
        with self._lock:
            self.waiting = item is WAITING and not self.over
            # Once it has begun it is running, even if it waits again.
            if self._state is State.WAITING and not self.waiting:
                self._state = State.RUNNING
                self._began = time.monotonic()
            if item is not None and item is not WAITING:
                if type(item) in self._newest:
                    others = (x for x in self._items if type(x) is not type(item))
                    self._items = deque(others, self._items.maxlen)
                self._items.append(item)
        self._yielded.set()

    def _end(self, state: State) -> None:
        with self._lock:
            self._ended, self.waiting = time.monotonic(), False
            if self._state is not State.CANCELLED:  # as it is if it was cancelled while it waited
                self._state = state
            waited = (self._began or self._ended) - self._joined
        unexpected = None if isinstance(self.error, self._expected) else self.error
        log.write(
            "job",
            self.id,
            unexpected,
            kind=self._kind,
            outcome=self._state.value,
            waited_seconds=round(waited, 3),
            seconds=round(self.elapsed, 3),
        )
