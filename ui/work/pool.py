"""Worker processes beside the one that serves the pages; the most urgent task is computed first.

    for item in POOL.stream(train_setting, setting):  # in a thread that may wait
        ...
    measured = POOL.call(measure_specimen, specimen, grid)

Functions, arguments and items must be picklable. A worker has at most one task of each rank, and
pauses it, between two items, for a more urgent one; tasks without a worker wait in a queue. Brief
tasks leave the last of several workers to a training that waits or runs. A worker that dies, or
takes more memory than allowed, ends its tasks with an error and is replaced.

No library's pool does this: those of `concurrent.futures` and loky send nothing before the end and
lose all tasks with one worker, and none of them, nor Dask, pauses tasks for more urgent ones.
"""

from __future__ import annotations

import atexit
import math
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import psutil

from ui.limits import FIRST_WORKERS, WARM_SECONDS, WORKER_BYTES
from ui.work import log
from ui.work.job import QueuePosition
from ui.work.messages import GONE, Receiver, packed, read, unpacked, write
from ui.work.run_stops import POLL_SECONDS, end_if_stopped
from ui.work.semaphore import SCRIPTS
from ui.work.worker import BEGIN, END, ERROR, ITEM, READY, STOP

ROOT = Path(__file__).resolve().parents[2]
NICENESS = 10  # of workers: the process that serves the pages goes first
WATCH_SECONDS = 0.5
DEATHS = 3  # in a row, of workers that were not ready yet: the next request tries again
COMMAND = (sys.executable, "-m", "ui.work.worker")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Rank(IntEnum):
    """How urgent a task is."""

    VIEW = 0  # without it a page cannot be drawn
    BRIEF = 1  # it takes a second at most
    FIRST = 2  # a visitor waits for it and sees its progress
    REST = 3  # nobody waits for it


class WorkerLost(RuntimeError):
    """The process that computed is gone; the text tells visitors why."""


@dataclass(eq=False)
class _Task:
    number: int
    rank: Rank
    message: bytes
    replies: SimpleQueue[tuple[str, Any]] = field(default_factory=SimpleQueue)
    worker: _Worker | None = None


class _Worker:
    """A process and its tasks; the pool's lock guards all but its two threads."""

    def __init__(self, pool: Pool, command: tuple[str, ...]) -> None:
        self.tasks: dict[int, _Task] = {}
        self.stopping: set[int] = set()  # tasks that it was told to stop and has not left yet
        self.ready = False
        self.why = "The process that computed this has ended"
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
            # Ctrl-C is the server's. No session of its own: Linux shares the processor between
            # sessions first (autogroup), and niceness orders the processes of one session only.
            process_group=0,
        )  # fmt: skip
        # Before its first import: drawing pages goes first.
        with suppress(OSError, psutil.Error, ValueError):
            psutil.Process(self.process.pid).nice(psutil.Process().nice() + NICENESS)
        # A busy process reads a large task slowly: a thread of its own waits for that.
        self._outbox: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        try:
            _start_thread("worker", self._write)
            _start_thread("worker", self._read, pool)
        except OSError:
            self._outbox.put(None)
            self.process.kill()
            self.process.wait()
            raise

    def can_take(self, rank: Rank) -> bool:
        """Whether all its tasks are less urgent."""
        return all(task.rank > rank for task in self.tasks.values())

    def suits(self) -> tuple[bool, float, int]:
        """Return how well it suits a task that it can take; larger is better.

        A worker that is still stopping a task comes last: nobody knows for how long. Among the
        others an idle one is best, then the one whose most urgent task can best wait.
        """
        tasks = ((task.rank, task.number) for task in self.tasks.values())
        return not self.stopping, *min(tasks, default=(math.inf, 0))

    def send(self, *message: Any) -> None:
        """Send the process a message; return at once."""
        self._outbox.put(message)

    def _write(self) -> None:
        assert self.process.stdin is not None
        with suppress(*GONE):  # `_read` handles the end of the process
            while (message := self._outbox.get()) is not None:
                write(message, self.process.stdin)

    def _read(self, pool: Pool) -> None:
        stream = self.process.stdout
        assert stream is not None
        with suppress(*GONE):
            while True:
                what, number, about = read(stream)
                pool._receive(self, what, number, about)
        self.process.kill()
        self.process.wait()
        self._outbox.put(None)
        pool._lost(self)


class Pool:
    """At most ``size`` worker processes, each of at most ``memory`` bytes."""

    def __init__(
        self, size: int = CORES, memory: int = WORKER_BYTES, command: tuple[str, ...] = COMMAND
    ) -> None:
        self.size, self.memory = size, memory
        self._command = command
        self._workers: list[_Worker] = []
        self._waiting: list[_Task] = []  # the queue
        self._moved = threading.Condition()
        self._numbers = count()
        self._deaths = 0
        self._watching = self._closed = self._warmed = False

    def warm(self, seconds: float = WARM_SECONDS) -> None:
        """Start the first workers after so many ``seconds``, unless there are some.

        The visitor's browser draws the first page meanwhile and may share the cores. A task that
        comes earlier starts its worker at once.
        """
        if self._warmed:  # as at every run of a page but the first
            return
        self._warmed = True
        timer = threading.Timer(seconds, self._start_first)
        timer.daemon = True
        timer.start()

    def _start_first(self) -> None:
        with self._moved:
            missing = min(FIRST_WORKERS, self.size) - len(self._workers)
            for _ in range(0 if self._closed else missing):
                self._start()

    def stream(
        self, function: Callable[..., Any], *arguments: Any, rank: Rank = Rank.FIRST
    ) -> Generator[Any]:
        """Yield what ``function`` yields, and last what it returns, computed by a worker.

        Yields ``None`` about ten times a second while there is nothing new, and a `QueuePosition`
        while the task waits, 0 once a worker has it. Raises what the function raises, or
        `WorkerLost`. Closing this stops the task.
        """
        task = _Task(next(self._numbers), rank, packed((function, arguments)))
        receiver = Receiver()
        try:  # before it joins the queue, so that it leaves the queue whatever fails
            with self._moved:
                self._deaths = 0
                self._queue(task)
                self._assign()
            wait = 0.0
            while not self._wait_for_worker(task, wait):
                yield QueuePosition(self.position(task))
                wait = POLL_SECONDS
            yield QueuePosition(0)
            while True:
                try:
                    what, about = task.replies.get(timeout=POLL_SECONDS)
                except Empty:
                    yield None
                    continue
                if what == END:
                    return
                if what == ERROR:
                    raise about if isinstance(about, WorkerLost) else unpacked(about)
                yield receiver.unpack(about)
        finally:
            self._leave(task)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what ``function`` returns or yields last, while a page waits: see `map`."""
        return self.map(function, [arguments])[0]

    def map(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """Return what ``function`` returns, or yields last, for each of ``calls``, in their order.

        At most as many tasks as workers run at once, so that other visitors' tasks come in between.
        If the page run that calls this is stopped, it ends here, and its tasks are stopped unless
        others need them: see `ui.work.run_stops`.
        """
        results, running = [], deque[Generator[Any]]()
        with SCRIPTS.released(), ExitStack() as stack:
            for arguments in calls:
                if len(running) == self.size:
                    results.append(_last(running.popleft()))
                stream = self.stream(function, *arguments, rank=Rank.VIEW)
                stack.enter_context(closing(stream))
                next(stream)  # it joins the queue
                running.append(stream)
            results += map(_last, running)
        return tuple(results)

    @property
    def crowded(self) -> bool:
        """Whether a task waits for a worker."""
        return bool(self._waiting)

    def position(self, task: _Task) -> int:
        """Return the position of ``task`` in the queue, 1 for the next; 0 when it does not wait."""
        with self._moved:
            return self._waiting.index(task) + 1 if task in self._waiting else 0

    def close(self) -> None:
        """End all workers."""
        with self._moved:
            self._closed = True
            for worker in self._workers:
                worker.process.kill()

    def _wait_for_worker(self, task: _Task, seconds: float) -> bool:
        """Wait until the task has one, at most so many seconds; return whether it has."""
        with self._moved:
            self._moved.wait_for(lambda: task not in self._waiting, seconds)
            return task not in self._waiting

    def _start(self) -> bool:
        """Start a process; return whether the system has allowed it.

        If not, tasks wait for the other workers; where there is none, they end with an error.
        """
        try:
            if not self._watching:
                _start_thread("watch", self._watch)
                self._watching = True
            self._workers.append(_Worker(self, self._command))
        except OSError as error:
            log.write("worker", log.new_id(), error)
            if not self._workers:
                self._give_up()
            return False
        return True

    def _give_up(self) -> None:
        """End all waiting tasks."""
        _end(self._waiting, "No process could be started to compute this")
        self._waiting.clear()

    def _assign(self, may_start: bool = True) -> None:
        """Give waiting tasks to workers: to idle ones, or where the paused task can best wait.

        So the oldest training goes on while a younger one is paused. Where there is room for a new
        process, no task waits for a worker that is still stopping another one.
        """
        room = may_start and len(self._workers) < self.size and not self._closed
        for task in list(self._waiting):
            able = [
                worker for worker in self._workers
                if worker.can_take(task.rank) and not (room and worker.stopping)
            ]  # fmt: skip
            if not able:
                continue
            worker = max(able, key=_Worker.suits)
            if task.rank is Rank.BRIEF and not self._can_spare(worker):
                continue
            self._waiting.remove(task)
            task.worker, worker.tasks[task.number] = worker, task
            worker.send(BEGIN, task.number, (int(task.rank), task.message))
        if self._waiting and room:
            self._assign(may_start=self._start())
        self._moved.notify_all()

    def _can_spare(self, worker: _Worker) -> bool:
        """Whether no training needs ``worker``, or another worker is left to it."""
        ranks = [task.rank for task in (*worker.tasks.values(), *self._waiting)]
        given = [task.rank for each in self._workers for task in each.tasks.values()]
        return Rank.FIRST not in ranks or given.count(Rank.BRIEF) < max(self.size - 1, 1)

    def _leave(self, task: _Task) -> None:
        with self._moved:
            if task in self._waiting:
                self._waiting.remove(task)
            worker = task.worker
            if worker is not None and worker.tasks.pop(task.number, None) is not None:
                worker.send(STOP, task.number, None)
                worker.stopping.add(task.number)
            self._assign()

    def _receive(self, worker: _Worker, what: str, number: int, about: Any) -> None:
        with self._moved:
            if what == READY:
                worker.ready, self._deaths = True, 0
                return
            task = worker.tasks.get(number)
            if what != ITEM:
                worker.tasks.pop(number, None)
                worker.stopping.discard(number)
                self._assign()
        if task is not None:
            task.replies.put((what, about))

    def _lost(self, worker: _Worker) -> None:
        """Replace a process that is gone: its tasks end, or wait again if it was never ready."""
        with self._moved:
            self._workers.remove(worker)
            left, worker.tasks = list(worker.tasks.values()), {}
            self._deaths += not worker.ready
            given_up = self._deaths >= DEATHS or self._closed
            if worker.ready:
                _end(left, worker.why)
            else:
                self._queue(*left)
            if not given_up:
                self._start()
            elif not self._workers:
                self._give_up()
            self._assign()

    def _queue(self, *tasks: _Task) -> None:
        self._waiting.extend(tasks)
        self._waiting.sort(key=lambda task: (task.rank, task.number))

    def _watch(self) -> None:
        """Kill processes that take too much memory."""
        while not self._closed:
            threading.Event().wait(WATCH_SECONDS)
            with self._moved:
                for worker in self._workers:
                    if _memory(worker.process.pid) > self.memory:
                        worker.why = (
                            f"This needed more than the {self.memory / 1e9:g} GB of memory that it"
                            " may take"
                        )
                        worker.process.kill()


def _start_thread(name: str, target: Callable[..., None], *arguments: Any) -> None:
    """Start a daemon thread; raise `OSError` where the system allows no further one."""
    try:
        threading.Thread(target=target, args=arguments, name=name, daemon=True).start()
    except RuntimeError as error:
        raise OSError(str(error)) from error


def _end(tasks: Iterable[_Task], why: str) -> None:
    """End ``tasks`` with an error."""
    for task in tasks:
        task.replies.put((ERROR, WorkerLost(why)))


def _last(stream: Iterator[Any]) -> Any:
    """Return the last item of ``stream``; end the page run that waits if it is stopped."""
    last = None
    for item in stream:
        end_if_stopped()
        last = last if item is None or isinstance(item, QueuePosition) else item
    return last


def _memory(pid: int) -> int:
    """Return the bytes of memory of a process; 0 if it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).memory_info().rss
    return 0


POOL = Pool()
atexit.register(POOL.close)
