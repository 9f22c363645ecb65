"""A study: which models it trains, and its run on Dask, resumable at any moment.

Every model is one member of a batched ensemble, and a `Unit` of work is such an ensemble: some
variants of one setting with up to 16 seeds. The study begins with the first 16 seeds of all
settings, and the quick study is the first part of the full one.

A row's key is a hash of everything that its numbers follow from: the study's version, all of the
setting that it was trained in (with which seeds and variants together, because rounding depends on
that), and which member it is. It is the same in every process and on every machine. What a setting
has at its default is left out, so that a new field changes no key.

A run is an iterator: whoever drives it sees its progress, and may stop it by closing it. To resume
is to begin again: what the store has is not done twice. Processes of this machine compute, or a
Dask cluster on which this package is installed.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import queue
import re
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from itertools import product
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, Any, NamedTuple

from gating_core.checks import check_choice, check_integer
from gating_core.claims.claim import (
    BASE_SETTING,
    BASE_VARIANTS,
    FULL_TASKS,
    LABEL_NOISE,
    LINEAR,
    PARTS,
    STACKS,
    V1_PARTS,
    V2,
    V2_PARTS,
    V2_VARIANTS,
    VARIED,
    VARIED_TASKS,
    VARIED_VARIANTS,
)
from gating_core.claims.rows import Row
from gating_core.claims.store import Store
from gating_core.claims.verdicts import CLAIMS
from gating_core.experiments.comparison import LIMITS, VARIANTS, Setting
from gating_core.experiments.depth import DepthRequest
from gating_core.tasks import TASKS
from gating_core.training.trainer import batches_of

if TYPE_CHECKING:
    from distributed import Client

# Raise it when the numbers of rows change: a test computes some bundled rows anew and says so.
STUDY_VERSION = "1"
UNIT_SEEDS = 16
STACK_DEPTH = 16
# Once measured on one core: the time left follows from it, in proportion to what has been done.
TRAINING_SECONDS = 8e-8  # for one of a setting's `training_numbers`
MEASURING_SECONDS = 0.04  # for one layer of one model
STACK_SECONDS = 0.7
HEARTBEAT_SECONDS = 0.5  # between two reports
PRIOR_SECONDS = 10.0  # of work, for which speed is as predicted
CONNECT_SECONDS = 5.0  # for an address to answer as a scheduler does
TRIES = 3  # of a unit whose process ended
ADDRESS = re.compile(r"(?:\w+://)?[^\s/]+:\d{1,5}")
LOST = "every worker that took it was killed; there may be too little memory for it"

Progress = dict[str, Any]  # see `run_study`
Submit = Callable[["Unit"], "Future[list[Row]]"]


class Unreachable(ConnectionError):
    """No scheduler answers at an address, or no workers start on this machine."""


@dataclass(frozen=True)
class Unit:
    """An ensemble: the models of a setting, or the stacks of the structured regime."""

    part: str  # of the grid
    setting: Setting | DepthRequest

    @cached_property
    def keys(self) -> dict[tuple, str]:
        """The keys of its rows, by variant and seed, or by seed and depth."""
        x = self.setting
        members: Iterable[tuple[Any, ...]] = product(x.seeds, range(1, x.depth + 1))
        kind = "stack"
        if isinstance(x, Setting):
            kind, members = "model", product(x.variants, x.seeds)
        defaults = {field.name: field.default for field in fields(x)}
        given = {name: value for name, value in asdict(x).items() if value != defaults[name]}
        text = json.dumps([STUDY_VERSION, kind, given], sort_keys=True)
        # Half of SHA-256: no two of all rows that there will ever be are alike.
        return {
            member: hashlib.sha256(f"{text}\n{json.dumps(member)}".encode()).hexdigest()[:32]
            for member in members
        }

    @property
    def key(self) -> str:
        """The name of the unit: the key of its first row."""
        return next(iter(self.keys.values()))

    @property
    def seconds(self) -> float:
        """Roughly how long it takes on one core; up to twice as long, or half."""
        if not isinstance(self.setting, Setting):
            return STACK_SECONDS
        layers = len(self.keys) * self.setting.depth
        return self.setting.training_numbers * TRAINING_SECONDS + layers * MEASURING_SECONDS

    @property
    def text(self) -> str:
        """A description for messages."""
        x = self.setting
        about = f"structured regime: {x.depth} layers"
        if isinstance(x, Setting):
            about = f"{x.task}: {', '.join(x.variants)}; {x.source}, depth {x.depth},"
            about += f" n = {x.value_count}"
        return f"{about}, seeds {x.seeds[0]} to {x.seeds[-1]}"


class Size(NamedTuple):
    """The amount of work: models to train, stacks, and roughly the seconds of one core."""

    models: int
    stacks: int
    seconds: float


@dataclass(frozen=True)
class Selection:
    """A selection of tasks, variants and parts of the grid, and the seeds of each.

    In parts other than "base" there are no more than `VARIED_TASKS` and `VARIED_VARIANTS`.
    ``only`` is a claim: units that it does not need are left out, and what a unit trains beside
    what is needed is kept. Everything is checked here; ``ValueError`` says what must be.
    """

    tasks: tuple[str, ...] = FULL_TASKS  # keys of TASKS
    variants: tuple[str, ...] = BASE_VARIANTS  # keys of VARIANTS
    parts: tuple[str, ...] = V1_PARTS
    first_seed: int = 0
    seed_count: int = 32  # 1 to 64
    steps: int = 400
    only: str | None = None  # a key of CLAIMS

    def __post_init__(self) -> None:
        check_integer("first seed", self.first_seed, *LIMITS["seed"])
        check_integer("seeds", self.seed_count, *LIMITS["seed_count"])
        check_integer("steps", self.steps, *LIMITS["steps"])
        if self.only is not None:
            check_choice("only", self.only, CLAIMS)
        for name, choices in (("tasks", TASKS), ("variants", VARIANTS), ("parts", PARTS)):
            chosen = getattr(self, name)
            if not isinstance(chosen, tuple) or not chosen or len(set(chosen)) < len(chosen):
                raise ValueError(f"{name} is {chosen!r}; it must name at least one, each once")
            for choice in chosen:
                check_choice(name, choice, choices)
        list(self._settings(self.first_seed, 1))  # which checks what goes together

    def units(self) -> Iterator[Unit]:
        """Yield all that is to be done, in order."""
        claim = CLAIMS[self.only] if self.only else None
        parts = claim.parts if claim else PARTS
        end = self.first_seed + self.seed_count
        for first in range(self.first_seed, end, UNIT_SEEDS):
            count = min(UNIT_SEEDS, end - first)
            if STACKS in self.parts and STACKS in parts:
                yield Unit(STACKS, DepthRequest(depth=STACK_DEPTH, seed=first, seed_count=count))
            for part, setting in self._settings(first, count):
                if part in parts and (claim is None or setting.task in claim.tasks):
                    for names in batches_of(setting.configs):
                        if claim is None or {*names} & {*claim.variants}:
                            yield Unit(part, replace(setting, variants=names))

    @cached_property
    def size(self) -> Size:
        """The models and stacks, and roughly the time."""
        units = [(unit.part == STACKS, len(unit.keys), unit.seconds) for unit in self.units()]
        stacks = sum(count for stack, count, _ in units if stack)
        models = sum(count for stack, count, _ in units if not stack)
        return Size(models, stacks, sum(seconds for *_, seconds in units))

    def _settings(self, first: int, count: int) -> Iterator[tuple[str, Setting]]:
        """All settings, each with the part of the grid that it belongs to."""
        grid = [(part, varied) for part in VARIED if part in self.parts for varied in VARIED[part]]
        for (part, varied), task in product(grid, self.tasks):
            base = part == "base"
            names = tuple(x for x in self.variants if base or x in VARIED_VARIANTS)
            if names and (base or task in VARIED_TASKS):
                numbers: dict[str, Any] = {**BASE_SETTING, **varied}
                noise = LABEL_NOISE if task in LINEAR else 0.0
                numbers |= {"seed": first, "seed_count": count, "steps": self.steps}
                yield part, Setting(task, variants=names, label_noise=noise, **numbers)


SELECTIONS = {
    "quick": Selection(
        tasks=("linear", "offset", "xor", "circle"),
        variants=("ungated", "sigmoid", "silu", "additive"),
        parts=("base", STACKS),
        seed_count=UNIT_SEEDS,
    ),
    "full": Selection(),
    "v2": Selection(
        variants=V2_VARIANTS,
        parts=("base", *V2_PARTS),
        first_seed=V2.seeds[0],
        seed_count=len(V2.seeds),
    ),
}

# --- The run --------------------------------------------------------------------------------------


class _Study:
    """A selection of which some units are done and others are missing."""

    def __init__(self, selection: Selection, store: Store, workers: int) -> None:
        self.workers = workers
        units, present = list(selection.units()), set().union(*store.keys().values())
        self.total = sum(len(unit.keys) for unit in units)
        self.missing = {unit.key: len({*unit.keys.values()} - present) for unit in units}
        self.done = self.total - sum(self.missing.values())
        self.waiting = deque(unit for unit in units if self.missing[unit.key])
        self.left = {unit.key: unit.seconds for unit in self.waiting}
        self.lost: Counter[str] = Counter()  # processes, by the unit that they had
        self.failures: list[str] = []
        self.seconds = self.finished_seconds = 0.0  # that it took, and that it would have taken

    def progress(self, threads: int | None = None) -> Progress:
        prior = PRIOR_SECONDS * self.workers
        pace = (self.seconds + PRIOR_SECONDS) / (self.finished_seconds + prior)
        return {
            "done": self.done, "total": self.total, "seconds_left": pace * sum(self.left.values()),
            "failures": [*self.failures], "workers": threads, "complete": self.done == self.total,
        }  # fmt: skip

    def rows(self, unit: Unit, future: Future[list[Row]]) -> list[Row]:
        """The rows of a unit that has ended, none if it failed, whatever happened there."""
        try:
            rows = future.result()
            if {row.key for row in rows} != {*unit.keys.values()}:
                raise ValueError("its worker has another version of this package")
        except Exception as error:  # others go on
            why = f"it failed: {type(error).__name__}: {error}"
            if isinstance(error, BrokenProcessPool):
                self.lost[unit.key] += 1
                if self.lost[unit.key] < TRIES:
                    self.waiting.append(unit)
                    return []
                why = LOST
            elif type(error).__name__ == "KilledWorker":  # Dask has tried it again
                why = LOST
            self.failures.append(f"{unit.text}: {why}")
            rows = []
        else:
            self.done += self.missing[unit.key]
            self.finished_seconds += unit.seconds
        del self.left[unit.key]
        return rows


def progress_text(progress: Progress) -> str:
    """Say how far a study is."""
    rows = f"{progress['done']:,} of {progress['total']:,} rows"
    if progress["complete"]:
        return f"{rows}: complete"
    if progress["workers"] == 0:
        return f"{rows}, 0 workers connected"
    minutes, seconds = divmod(round(progress["seconds_left"]), 60)
    time_left = f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
    return f"{rows}, about {time_left} left"


def progress_of(selection: Selection, store: Store, workers: int = 2) -> Progress:
    """Return how far ``selection`` is in ``store``, and how long ``workers`` need for the rest."""
    return _Study(selection, store, workers).progress()


def run_study(
    selection: Selection, store: Store, scheduler: str | None = None, workers: int = 2
) -> Generator[Progress, None, None]:
    """Do all of ``selection`` that ``store`` does not have.

    A script calls it under ``if __name__ == "__main__":``, as processes of this machine import it.

    Args:
        selection: what is to be done.
        store: has the rows, and is told the progress.
        scheduler: address of a Dask cluster; one without workers is waited for.
        workers: processes of this machine, where there is no ``scheduler``.

    Yields:
        The progress, about twice a second: rows ``done`` of a ``total``, and whether that is
        ``complete``; ``seconds_left``, roughly; ``failures``, unit by unit, which are tried again
        at the next start; ``workers``, the threads that are connected, at first ``None``.

    Raises:
        Refused: of the store.
        Unreachable: no scheduler answers.
    """
    study = _Study(selection, store, workers)
    store.write((), study.progress())
    yield study.progress()
    if not study.waiting:
        return
    with _cluster(scheduler) if scheduler is not None else _processes(workers) as (submit, count):
        running: dict[Future[list[Row]], Unit] = {}
        while study.waiting or running:
            begin, threads = time.perf_counter(), count()
            # None waits at a worker: one that dies ends with its own unit alone.
            while study.waiting and len(running) < threads:
                unit = study.waiting.popleft()
                running[submit(unit)] = unit
            if running:
                wait(running, HEARTBEAT_SECONDS, FIRST_COMPLETED)
            else:
                time.sleep(HEARTBEAT_SECONDS)
            ended = [future for future in running if future.done()]
            rows = [row for future in ended for row in study.rows(running.pop(future), future)]
            study.workers = max(threads, 1)
            study.seconds += (time.perf_counter() - begin) * (threads > 0)
            store.write(rows, study.progress(threads))
            yield study.progress(threads)


def work_on(unit: Unit) -> list[Row]:
    """Do a unit in a worker process; return its rows."""
    from gating_core.claims.measure import unit_rows  # whoever waits for workers needs no torch
    from gating_core.process import keep_at_hand

    keep_at_hand()
    return unit_rows(unit)


@contextmanager
def _processes(workers: int) -> Iterator[tuple[Submit, Callable[[], int]]]:
    """Processes of this machine, which end with this one or with the run."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    pools: list[ProcessPoolExecutor] = []

    def submit(unit: Unit) -> Future[list[Row]]:
        try:
            with suppress(IndexError, BrokenProcessPool):
                return pools[-1].submit(work_on, unit)
            pools.append(ProcessPoolExecutor(workers, context, _follow, (theirs,)))
            return pools[-1].submit(work_on, unit)
        except OSError as error:
            raise Unreachable(f"no process starts on this machine: {error}") from error

    try:
        yield submit, lambda: workers
    finally:
        ours.close()
        for pool in pools:
            pool.shutdown(cancel_futures=True)


def _follow(line: Connection) -> None:
    """Have this worker end as soon as nobody holds the other end, and not by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end() -> None:
        with suppress(EOFError, OSError):
            line.recv()
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


@contextmanager
def _cluster(address: str) -> Iterator[tuple[Submit, Callable[[], int]]]:
    """The Dask cluster whose scheduler is at ``address``."""
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise ImportError(
            f"a cluster needs the package {error.name}, which is not installed:"
            ' pip install "gating-curvature[claims]"'
        ) from error
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.split(".")[0] == "distributed":  # workers come and go
            logging.getLogger(name).setLevel(logging.CRITICAL)
    answers: queue.SimpleQueue[Client] = queue.SimpleQueue()

    def connect() -> None:
        with suppress(Exception):
            answers.put(Client(address, timeout=CONNECT_SECONDS))

    client = None
    if ADDRESS.fullmatch(address):
        # A server that is no scheduler would keep us waiting.
        threading.Thread(target=connect, daemon=True).start()
        with suppress(queue.Empty):
            client = answers.get(timeout=CONNECT_SECONDS + 1)
    if client is None:
        raise Unreachable(
            f"no Dask scheduler answers at {address!r}; it must be an address such as"
            " tcp://192.0.2.1:8786, as the scheduler says it when it starts"
        )
    with client:
        executor = client.get_executor(pure=False)
        yield lambda unit: executor.submit(work_on, unit), lambda: sum(client.nthreads().values())
