"""Who computes? Worker processes beside the one that serves the pages, the most urgent task first.

    for item in POOL.stream(train_setting, setting):  # in a thread that may wait
        ...
    found = POOL.call(measure_specimen, specimen, grid)

Functions, arguments and items must be picklable. A worker has one task of a rank at a time, and
lays it aside, between two items, for more urgent ones; whatever has no worker yet waits in its
turn. Brief work leaves the last of several workers to a training that waits for it or is there.
A worker that dies, or takes more memory than it may, takes its tasks along, and is replaced.

No library's own pool does this: those of `concurrent.futures` and loky send nothing before the end
and lose all tasks with one worker, and none of them, nor Dask, lays work aside for more urgent.
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
DEATHS = 3  # in a row, before a worker was ready: then it is not tried again until somebody asks
COMMAND = (sys.executable, "-m", "ui.work.worker")
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Rank(IntEnum):
    """How urgent a task is."""

    VIEW = 0  # without it a page cannot be drawn
    BRIEF = 1  # a second at most: whoever asked would have gone on before its turn among trainings
    FIRST = 2  # a visitor waits for it, and sees how it goes
    REST = 3  # a visitor may look at it later


class WorkerLost(RuntimeError):
    """The process that computed is gone; the text says why, to visitors."""


@dataclass(eq=False)
class _Task:
    number: int
    rank: Rank
    parcel: bytes
    replies: SimpleQueue[tuple[str, Any]] = field(default_factory=SimpleQueue)
    worker: _Worker | None = None


class _Worker:
    """A process and what it has been given; all but its two threads under the pool's lock."""

    def __init__(self, pool: Pool, command: tuple[str, ...]) -> None:
        self.tasks: dict[int, _Task] = {}
        self.stopping: set[int] = set()  # tasks that it has been told to stop, and may be at still
        self.ready = False
        self.why = "The process that computed this has ended"
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
            start_new_session=True,  # Ctrl-C is the server's; workers end with it
        )  # fmt: skip
        # From its first import on: whoever draws a page at the same moment goes first.
        with suppress(OSError, psutil.Error, ValueError):
            psutil.Process(self.process.pid).nice(psutil.Process().nice() + NICENESS)
        # A pipe takes a large task as slowly as a busy process reads: nobody waits for that.
        self._outbox: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        threading.Thread(target=self._tell, name="worker", daemon=True).start()
        threading.Thread(target=self._listen, args=(pool,), name="worker", daemon=True).start()

    def can_take(self, rank: Rank) -> bool:
        """Whether all that it has is less urgent."""
        return all(task.rank > rank for task in self.tasks.values())

    def suits(self) -> tuple[bool, float, int]:
        """How well it suits a task that it can take: the more, the larger.

        One that still stops comes last, as nobody knows for how long. What counts then are rank and
        number of its most urgent task, all others are laid aside; most of all, that it has none.
        """
        tasks = ((task.rank, task.number) for task in self.tasks.values())
        return not self.stopping, *min(tasks, default=(math.inf, 0))

    def send(self, *message: Any) -> None:
        """Tell the process, as soon as it listens."""
        self._outbox.put(message)

    def _tell(self) -> None:
        """A process that is gone hears nothing: `_listen` finds that out."""
        assert self.process.stdin is not None
        with suppress(*GONE):
            while (message := self._outbox.get()) is not None:
                write(message, self.process.stdin)

    def _listen(self, pool: Pool) -> None:
        stream = self.process.stdout
        assert stream is not None
        with suppress(*GONE):
            while True:
                what, number, about = read(stream)
                pool._heard(self, what, number, about)
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
        self._waiting: list[_Task] = []  # in the order of their turns
        self._moved = threading.Condition()
        self._numbers = count()
        self._deaths = 0
        self._watching = self._closed = self._warmed = False

    def warm(self, seconds: float = WARM_SECONDS) -> None:
        """Start the first workers, unless there are some: what is asked for soon need not wait.

        After so many ``seconds``, in which the first visitor's browser draws the first page: it may
        share the cores. Whoever needs a worker before that gets it at once.
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
        """What ``function`` yields and returns, computed by a worker.

        Yields ``None`` where there is nothing yet, about ten times a second. While it waits it
        yields its `QueuePosition`, 0 once a worker has it. What the function raises is raised; its
        worker's end is a `WorkerLost`. It is stopped when this is closed.
        """
        task = _Task(next(self._numbers), rank, packed((function, arguments)))
        receiver = Receiver()
        try:  # from before it joins the queue: whatever fails from here on, it leaves again
            with self._moved:
                self._deaths = 0
                self._queue(task)
                self._assign()
            wait = 0.0
            while not self._has_worker(task, wait):
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
        """What ``function`` returns, or yields last; a page waits for it, as `map` says."""
        return self.map(function, [arguments])[0]

    def map(
        self, function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """What it returns for each of ``calls``, in their order.

        No more are under way at once than there are cores: others' calls come in between. A run
        of a page that is stopped meanwhile ends here, and takes back what it has asked for, as soon
        as nobody needs that: see `ui.work.run_stops`.
        """
        found, under_way = [], deque[Generator[Any]]()
        with SCRIPTS.released(), ExitStack() as stack:
            for arguments in calls:
                if len(under_way) == self.size:
                    found.append(_last(under_way.popleft()))
                stream = self.stream(function, *arguments, rank=Rank.VIEW)
                stack.enter_context(closing(stream))
                next(stream)  # it joins the queue
                under_way.append(stream)
            found += map(_last, under_way)
        return tuple(found)

    @property
    def crowded(self) -> bool:
        """Whether somebody waits for a worker."""
        return bool(self._waiting)

    def position(self, task: _Task) -> int:
        """Its place in the queue; 0 when it does not wait.

        Brief tasks before it count, though some may have to let it pass.
        """
        with self._moved:
            return self._waiting.index(task) + 1 if task in self._waiting else 0

    def close(self) -> None:
        """End all workers."""
        with self._moved:
            self._closed = True
            for worker in self._workers:
                worker.process.kill()

    def _has_worker(self, task: _Task, seconds: float) -> bool:
        """Whether it has one, as soon as it has, or after so many seconds."""
        with self._moved:
            self._moved.wait_for(lambda: task not in self._waiting, seconds)
            return task not in self._waiting

    def _start(self) -> bool:
        """Start a process, and say whether the system has allowed it.

        Tasks wait for the others where it has not; where there is no other, they end.
        """
        try:
            self._workers.append(_Worker(self, self._command))
        except OSError as error:
            log.write("worker", log.new_id(), error)
            if not self._workers:
                self._give_up()
            return False
        if not self._watching:
            self._watching = True
            threading.Thread(target=self._watch, name="watch", daemon=True).start()
        return True

    def _give_up(self) -> None:
        """End all that waits."""
        _end(self._waiting, "No process could be started to compute this")
        self._waiting.clear()

    def _assign(self) -> None:
        """Give whoever waits to a worker: to an idle one, or where what then stands can best wait.

        So the oldest training goes on while a younger one is laid aside.
        """
        for task in list(self._waiting):
            able = [worker for worker in self._workers if worker.can_take(task.rank)]
            if not able:
                continue
            worker = max(able, key=_Worker.suits)
            if task.rank is Rank.BRIEF and not self._can_spare(worker):
                continue
            self._waiting.remove(task)
            task.worker, worker.tasks[task.number] = worker, task
            worker.send(BEGIN, task.number, (int(task.rank), task.parcel))
        room = len(self._workers) < self.size and not self._closed
        if self._waiting and room and self._start():
            self._assign()
        self._moved.notify_all()

    def _can_spare(self, worker: _Worker) -> bool:
        """Whether no long work wants ``worker``, or another is left to it."""
        wanted = [task.rank for task in (*worker.tasks.values(), *self._waiting)]
        given = [task.rank for each in self._workers for task in each.tasks.values()]
        return Rank.FIRST not in wanted or given.count(Rank.BRIEF) < max(self.size - 1, 1)

    def _leave(self, task: _Task) -> None:
        with self._moved:
            if task in self._waiting:
                self._waiting.remove(task)
            worker = task.worker
            if worker is not None and worker.tasks.pop(task.number, None) is not None:
                worker.send(STOP, task.number, None)
                worker.stopping.add(task.number)
            self._assign()

    def _heard(self, worker: _Worker, what: str, number: int, about: Any) -> None:
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
        """Replace a process that is gone; what it had begun hears why, all else waits again."""
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
        """End whichever process has taken more memory than it may."""
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


def _end(tasks: Iterable[_Task], why: str) -> None:
    """Tell them that nobody computes them any more."""
    for task in tasks:
        task.replies.put((ERROR, WorkerLost(why)))


def _last(stream: Iterator[Any]) -> Any:
    """The last item, when all have come, to a run of a page that is not stopped meanwhile."""
    found = None
    for item in stream:
        end_if_stopped()
        found = found if item is None or isinstance(item, QueuePosition) else item
    return found


def _memory(pid: int) -> int:
    """Bytes of memory that a process holds; none if it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).memory_info().rss
    return 0


POOL = Pool()
atexit.register(POOL.close)
