"""How does a long computation run beside the pages: started, watched, cancelled, in its turn?

A `Job` runs a generator in a thread of its own, which waits for what a worker process computes
(`ui.work.pool`). It knows no Streamlit.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from math import inf
from typing import Generic, TypeVar
from weakref import WeakSet

from ui.limits import ITEMS_KEPT
from ui.work import log

HEARD_SECONDS = 0.05  # what a job says at once is known when it has been started
END_SECONDS = 1.0  # at the end of the process, for all jobs to stop in

T = TypeVar("T")
_running: WeakSet[Job] = WeakSet()


@atexit.register
def _end_all() -> None:
    """A thread that is torn out of a computation can take the whole process down with a crash."""
    deadline = time.monotonic() + END_SECONDS
    jobs = list(_running)
    for job in jobs:
        job.cancel()
    for job in jobs:
        job.join(max(deadline - time.monotonic(), 0.0))


@dataclass(frozen=True)
class QueuePosition:
    """What a generator yields that waits: its ``position`` in a queue, 0 once its turn has come."""

    position: int


class State(Enum):
    """What a job is doing."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Job(Generic[T]):
    """A generator that runs in a thread.

    It stops between two items only, so a generator that can be cancelled within half a second
    yields more often than that: ``None`` where it has nothing to report, or its `QueuePosition`;
    neither is kept. The newest ``kept`` items are, and of each type in ``newest`` only the newest.
    ``expected`` are the errors whose text is meant for visitors; any other is in the log with its
    traceback. A job cancels itself once nobody has called `ask` for ``patience`` seconds.
    ``about`` is for whoever looks: what it computes; ``kind`` is what the log calls it.
    """

    def __init__(
        self,
        make: Callable[[], Iterator[T | QueuePosition | None]],
        *,
        kind: str = "job",
        about: object = None,
        expected: tuple[type[Exception], ...] = (),
        patience: float = inf,
        kept: int = ITEMS_KEPT,
        newest: tuple[type, ...] = (),
    ) -> None:
        self.about, self.patience = about, patience
        self._kind, self.id = kind, log.new_id()
        self.forgotten = self.declined = False
        self.error: BaseException | None = None
        self._expected, self._newest = expected, newest
        self._lock = threading.Lock()
        self._items: deque[T] = deque(maxlen=kept)
        self._state = State.WAITING
        self._stop = threading.Event()
        self._heard = threading.Event()  # set at the first that it says
        self._started = False
        self._position = 0
        self._joined = self._began = self._ended = 0.0  # time.monotonic()
        self._until = inf  # time.monotonic(); it goes on until then without being asked for
        self._thread = threading.Thread(target=self._work, args=(make,), name="job", daemon=True)

    @classmethod
    def done(cls, items: list[T], *, kind: str = "job", about: object = None) -> Job[T]:
        """One that had nothing to compute: ``items`` were there already."""
        job = cls(lambda: iter(()), kind=kind, about=about)
        job._items.extend(items)
        job._state = State.DONE
        return job

    def start(self) -> Job[T]:
        """Begin, as soon as its turn comes."""
        with self._lock:
            if self._started or self.over:
                raise RuntimeError(f"a job starts once; this one is {self._state.value} already")
            self._started = True
            self._joined = time.monotonic()
        self.ask()
        _running.add(self)
        self._thread.start()
        self._heard.wait(HEARD_SECONDS)
        return self

    def cancel(self, declined: bool = False) -> None:
        """End it: at once while it waits, otherwise after the item that is being computed.

        ``declined`` says that the visitor asked for it.
        """
        with self._lock:
            self._stop.set()
            self.declined = self.declined or declined
            if self._state is State.WAITING:
                self._state = State.CANCELLED

    def ask(self) -> None:
        """Somebody is looking: go on for as long as ``patience`` says."""
        with self._lock:
            self._until = time.monotonic() + self.patience

    def desert(self, seconds: float) -> None:
        """Nobody can be looking any more: go on so long at most, unless somebody asks again."""
        with self._lock:
            self._until = min(self._until, time.monotonic() + seconds)

    def forget(self) -> None:
        """Stop, and drop all items for good."""
        self.cancel()
        with self._lock:
            self.forgotten = True
            self._items = deque(maxlen=0)

    def join(self, seconds: float | None = None) -> bool:
        """Wait for its thread, if it has one; whether that has ended."""
        if not self._started:
            return self.over
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @property
    def state(self) -> State:
        """What it is doing; ``CANCELLED`` only when it has indeed stopped."""
        return self._state

    @property
    def over(self) -> bool:
        """Whether nothing more will happen."""
        return self._state not in (State.WAITING, State.RUNNING)

    @property
    def stopping(self) -> bool:
        """Whether it has been told to stop."""
        return self._stop.is_set()

    @property
    def position(self) -> int:
        """Its place in the queue, 1 for the next; 0 when it does not wait."""
        return 0 if self.over else self._position

    @property
    def elapsed(self) -> float:
        """Seconds of computing so far, without the waiting."""
        return (self._ended or time.monotonic()) - self._began if self._began else 0.0

    @property
    def trouble(self) -> str:
        """Why it failed, in words for visitors, without a full stop; empty if it did not."""
        if self.error is None or isinstance(self.error, self._expected):
            return str(self.error or "")
        return f"an error of ours ({type(self.error).__name__}, in the log as {self.id})"

    @property
    def items(self) -> list[T]:
        """What the generator has yielded, oldest first."""
        with self._lock:
            return list(self._items)

    def _work(self, make: Callable[[], Iterator[T | QueuePosition | None]]) -> None:
        try:
            self._end(self._consume(make))
        except BaseException as error:
            self.error = error
            self._end(State.FAILED)
            # The traceback would keep every local variable of the computation alive.
            error.with_traceback(None)
        finally:
            self._heard.set()

    def _consume(self, make: Callable[[], Iterator[T | QueuePosition | None]]) -> State:
        items = make()
        try:
            for item in items:
                self._note(item)
                if item is not None and not isinstance(item, QueuePosition):
                    self._keep(item)
                self._give_up_if_deserted()
                if self._stop.is_set():
                    return State.CANCELLED
            return State.DONE
        finally:
            if hasattr(items, "close"):
                items.close()

    def _note(self, item: T | QueuePosition | None) -> None:
        """Whether it waits for its turn; once it has begun it is running, even if it waits."""
        with self._lock:
            self._position = item.position if isinstance(item, QueuePosition) else 0
            if self._state is State.WAITING and not self._position:
                self._state = State.RUNNING
                self._began = time.monotonic()
        self._heard.set()

    def _keep(self, item: T) -> None:
        with self._lock:
            if type(item) in self._newest:
                others = (x for x in self._items if type(x) is not type(item))
                self._items = deque(others, self._items.maxlen)
            self._items.append(item)

    def _give_up_if_deserted(self) -> None:
        if time.monotonic() > self._until:
            self.cancel()

    def _end(self, state: State) -> None:
        with self._lock:
            self._ended = time.monotonic()
            if self._state is not State.CANCELLED:  # while it waited
                self._state = state
            waited = (self._began or self._ended) - self._joined
        ours = None if isinstance(self.error, self._expected) else self.error
        log.write(
            "job", self.id, ours, kind=self._kind, outcome=self._state.value,
            waited_seconds=round(waited, 3), seconds=round(self.elapsed, 3),
        )  # fmt: skip
