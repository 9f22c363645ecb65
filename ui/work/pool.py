"""The dispatcher of worker processes; the operating system shares the cores among them.

    for item in POOL.stream(train_setting, setting):  # in a thread that may wait
        ...
    measured = POOL.call(measure_instance, instance, grid)  # a page waits

Each `Rank` of tasks has processes of its own, of its own niceness: a page's view goes before every
training, as the system gives it most of a core a moment after it is requested. Within a rank the
first come are computed first. What several request at the same time is computed once. A process
that dies ends its own task with an error, and is replaced. Functions, arguments and items must be
picklable.

No library's pool does this. Those of `concurrent.futures` and loky send nothing before the end, and
lose all tasks with one process. The former also runs the page's script in each of them: while a
page is drawn, Streamlit says that it is ``__main__``.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from enum import IntEnum
from itertools import count
from queue import SimpleQueue
from typing import Any

from ui.limits import WARM_SECONDS, WORKER_BYTES
from ui.work import log
from ui.work.job import WAITING
from ui.work.messages import GONE, Receiver, packed, unpacked
from ui.work.processes import Process, Starter
from ui.work.run_stops import POLL_SECONDS, end_if_stopped
from ui.work.semaphore import SCRIPTS
from ui.work.worker import BEGUN, END, ERROR, FULL, ITEM

ITEM_SECONDS = 0.1  # a stream yields at least so often
AGAIN_SECONDS = 0.5  # for the next run of the same page to request the same view
STOP_SECONDS = 1.0  # for a task to stop between two items; then its process is ended
TRIES = 3  # for a task to begin: its process may have ended before, and then the template, too
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
LOST = "The process that computed this has ended"
REFUSED = f"This needed more than the {WORKER_BYTES / 1e9:g} GB of memory that it may take"
NOT_STARTED = "No process could be started to compute this"


class Rank(IntEnum):
    """Kinds of tasks; the value is the niceness of their processes above that of the server."""

    VIEW = 5  # without it a page cannot be drawn
    BRIEF = 8  # the same, but a second or more: views do not wait for it
    FIRST = 12  # a visitor waits for it and sees its progress
    REST = 17  # nobody waits for it


class WorkerLost(RuntimeError):
    """The process that computed is gone; the text tells visitors why."""


class _Task:
    """A computation and its items so far, for all who read them.

    The pool's lock guards ``readers``, ``waiting`` and ``stopped``, its own lock the rest.
    """

    def __init__(self, key: Hashable, number: int, work: tuple[Any, ...], rank: Rank) -> None:
        self.key, self.number, self.work, self.rank = key, number, work, rank
        self.readers = 0
        self.waiting = self.stopped = self.over = False
        self.process: Process | None = None
        self._error: BaseException | None = None
        self._items: list[Any] = []
        self._moved = threading.Condition()

    def read(self, seconds: float) -> Iterator[Any]:
        """Yield all items as they come; in between and at first what `Pool.stream` says."""
        seen = 0
        yield WAITING if self.waiting else None
        while True:
            with self._moved:
                if len(self._items) == seen and not self.over:
                    self._moved.wait(seconds)
                items, over = self._items[seen:], self.over
            seen += len(items)
            yield from items
            if over:
                if self._error is not None:
                    raise self._error.with_traceback(None)
                return
            if not items:
                yield WAITING if self.waiting else None

    def add(self, item: Any) -> None:
        """Add an item."""
        with self._moved:
            self._items.append(item)
            self._moved.notify_all()

    def end(self, error: BaseException | None = None) -> None:
        """End, unless it is over."""
        with self._moved:
            if not self.over:
                self.over, self._error = True, error
                self._moved.notify_all()

    def await_end(self, seconds: float) -> None:
        """Wait until it is over; after so many ``seconds`` end its process."""
        with self._moved:  # until it is over, its process has no other task
            if not self._moved.wait_for(lambda: self.over, seconds) and self.process is not None:
                self.process.kill()


_Inbox = SimpleQueue[_Task | None]  # of a thread without a task


class Pool:
    """At most ``size`` processes for each rank, and half as many for what nobody waits for."""

    def __init__(self, size: int = CORES, starter: Starter | None = None) -> None:
        self.size = size
        self._starter = starter or Starter(min(Rank))
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._tasks: dict[Hashable, _Task] = {}  # those that others may read, by their keys
        self._waiting: dict[Rank, deque[_Task]] = {rank: deque() for rank in Rank}
        self._idle: dict[Rank, list[_Inbox]] = {rank: [] for rank in Rank}
        self._threads = dict.fromkeys(Rank, 0)
        self._processes: set[Process] = set()
        self._closed = self._warmed = False

    def warm(self, seconds: float = WARM_SECONDS) -> None:
        """Start a process for views after so many ``seconds``.

        The visitor's browser draws the first page meanwhile and may share the cores. A task that
        comes earlier starts its process at once.
        """
        if self._warmed:  # as at every run of a page but the first
            return
        self._warmed = True

        def start() -> None:
            with suppress(WorkerLost), closing(self.stream(os.getpid, rank=Rank.VIEW)) as items:
                for _ in items:
                    pass

        timer = threading.Timer(seconds, start)
        timer.daemon = True
        timer.start()

    def stream(
        self,
        function: Callable[..., Any],
        *arguments: Any,
        rank: Rank = Rank.FIRST,
        wait: float = ITEM_SECONDS,
    ) -> Generator[Any]:
        """Yield what ``function`` yields, and last what it returns, computed by a worker.

        If it has the keyword ``progress``, the shares that it reports come in between.
        Concurrent calls with the same arguments get the same objects, a later one all items from
        the start. At first, and whenever there was nothing new for ``wait`` seconds, this yields
        ``None``, or `WAITING` while the task has no worker. Raises what the function raises, or
        `WorkerLost`. Closing this stops the task, unless others read it.
        """
        task = self._join((function, arguments), rank)
        try:
            yield from task.read(wait)
        finally:
            self._leave(task)

    def call(self, function: Callable[..., Any], *arguments: Any, rank: Rank = Rank.VIEW) -> Any:
        """Return what ``function`` returns or yields last, while a page waits: see `map`."""
        return self.map(function, [arguments], rank)[0]

    def map(
        self,
        function: Callable[..., Any],
        calls: Iterable[tuple[Any, ...]],
        rank: Rank = Rank.VIEW,
    ) -> tuple[Any, ...]:
        """Return what ``function`` returns, or yields last, for each of ``calls``, in their order.

        At most as many tasks as workers run at once, so that other visitors' tasks come in between.
        If the page run that calls this is stopped, it ends here, and its tasks are stopped a moment
        later: the run that takes its place often requests the same.
        """
        results, running = [], deque[Generator[Any]]()
        with SCRIPTS.released(), ExitStack() as stack:
            for arguments in calls:
                if len(running) == self.size:
                    results.append(_last(running.popleft()))
                stream = self.stream(function, *arguments, rank=rank, wait=POLL_SECONDS)
                stack.enter_context(closing(stream))
                next(stream)  # it begins, or waits
                running.append(stream)
            results += map(_last, running)
        return tuple(results)

    @property
    def crowded(self) -> bool:
        """True if somebody waits for a worker."""
        return any(self._waiting[rank] for rank in Rank if rank is not Rank.REST)

    def close(self) -> None:
        """End all workers."""
        with self._lock:
            self._closed = True
            for inbox in (inbox for idle in self._idle.values() for inbox in idle):
                inbox.put(None)
            for process in self._processes:
                process.kill()
        self._starter.close()

    def _join(self, work: tuple[Any, ...], rank: Rank) -> _Task:
        """Return the task that computes this, now with one more reader."""
        key: Hashable = (work, rank)
        try:
            hash(key)
        except TypeError:
            key = object()
        with self._lock:
            task = self._tasks.get(key)
            if task is None or task.over:
                task = self._tasks[key] = _Task(key, next(self._numbers), work, rank)
                self._assign(task)
            task.readers += 1
        return task

    def _assign(self, task: _Task) -> None:
        """Give the task to a thread without one, or to a new one; otherwise it waits."""
        rank, idle = task.rank, self._idle[task.rank]
        size = max(self.size // 2, 1) if rank is Rank.REST else self.size
        if self._closed:
            task.end(WorkerLost(LOST))
        elif idle:
            idle.pop().put(task)  # the last one, whose process was used a moment ago
        elif self._threads[rank] >= size:
            task.waiting = True
            self._waiting[rank].append(task)
        else:
            thread = threading.Thread(target=self._serve, args=(task,), name="worker", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:  # the system allows no further one
                log.write("worker", log.new_id(), error)
                task.end(WorkerLost(NOT_STARTED))
            else:
                self._threads[rank] += 1

    def _leave(self, task: _Task) -> None:
        """Stop the task if that was its last reader: at once, or a moment later."""
        with self._lock:
            task.readers -= 1
            if task.readers:
                return
            if task.over or (task.waiting and task.rank > Rank.BRIEF):
                self._drop(task)
                return
        try:
            threading.Thread(target=self._stop, args=(task,), name="stop", daemon=True).start()
        except RuntimeError:  # the system allows no further one
            self._stop(task)

    def _stop(self, task: _Task) -> None:
        if task.rank <= Rank.BRIEF:
            time.sleep(AGAIN_SECONDS)
        with self._lock:
            if task.readers or task.stopped:
                return
            self._drop(task)
        process = task.process  # `_converse` sets this first and looks whether it was stopped then
        if process is not None and not task.over:
            with suppress(*GONE):
                process.send(task.number, None)
        task.await_end(STOP_SECONDS)

    def _drop(self, task: _Task) -> None:
        """Let nobody read the task any more."""
        task.stopped = True
        if self._tasks.get(task.key) is task:
            del self._tasks[task.key]
        if task.waiting:
            self._waiting[task.rank].remove(task)
            task.waiting = False
            task.end()

    def _serve(self, task: _Task | None) -> None:
        """Have one process compute task after task: the whole work of a thread."""
        assert task is not None
        rank, inbox, process = task.rank, _Inbox(), None
        while task is not None:
            process = self._compute(task, process)
            task = None  # nor does this keep its items
            with self._lock:
                if waiting := self._waiting[rank]:
                    task = waiting.popleft()
                    task.waiting = False
                elif not self._closed:
                    self._idle[rank].append(inbox)
            if task is None and not self._closed:
                task = inbox.get()
        if process is not None:
            self._end(process)

    def _compute(self, task: _Task, process: Process | None) -> Process | None:
        """Have the ``process``, or a new one, compute the task; return it if it is still there."""
        try:
            message = packed(task.work)
        except Exception as error:
            task.end(error)
            return process
        for _ in range(TRIES):
            if task.stopped or self._closed:
                task.end(WorkerLost(LOST))
                return process
            if process is None:
                try:
                    process = self._start(task.rank)
                except OSError as error:
                    log.write("worker", log.new_id(), error)
                    break
            if self._converse(task, message, process):
                return process
            self._end(process)
            process = None
            if task.over:
                return None
        task.end(WorkerLost(NOT_STARTED))
        return None

    def _converse(self, task: _Task, message: bytes, process: Process) -> bool:
        """Have the ``process`` compute the task; return whether it can compute another one.

        If it ends before it has begun, the task is not over.
        """
        receiver, begun, task.process = Receiver(), False, process
        try:
            process.send(task.number, message)
            if task.stopped:
                process.send(task.number, None)
            while True:
                kind, content = process.receive()
                begun = begun or kind == BEGUN
                if kind == ITEM:
                    task.add(receiver.unpack(content))
                elif kind in (END, ERROR):
                    task.end(unpacked(content) if kind == ERROR else None)
                    return True
                elif kind == FULL:
                    task.end(WorkerLost(REFUSED))
                    return False
        except GONE:
            if begun:
                task.end(WorkerLost(LOST))
        except Exception as error:  # what cannot be unpacked
            task.end(error)
        return False

    def _start(self, rank: Rank) -> Process:
        process = self._starter.start(rank)
        with self._lock:
            self._processes.add(process)
            if self._closed:
                process.kill()
        return process

    def _end(self, process: Process) -> None:
        with self._lock:
            self._processes.discard(process)
        process.close()


def _last(stream: Iterator[Any]) -> Any:
    """Return the last item of ``stream``; end the page run that waits if it is stopped."""
    last = None
    for item in stream:
        end_if_stopped()
        last = last if item is None or item is WAITING else item
    return last


POOL = Pool()
atexit.register(POOL.close)
