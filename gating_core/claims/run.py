"""Running a study, as an iterator: whoever drives it sees how far it is, and may stop it.

To pause is not to ask for more, to stop is to close the iterator, and to resume is to begin again:
what the store has is not done twice. Whoever pauses for longer than `LEASE_SECONDS` gives up the
leases of the units at work: another process may then do the same units.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gating_core.claims.errors import Refused
from gating_core.claims.models import Row
from gating_core.claims.selection import Selection, Unit
from gating_core.claims.store import LEASE_SECONDS, Store

if TYPE_CHECKING:
    from gating_core.claims.workers import Workers

HEARTBEAT_SECONDS = 0.5  # between two heartbeats
AHEAD = 1  # units that are sent before a worker is free
PRIOR_SECONDS = 10.0  # of work, for which speed is as predicted


@dataclass(frozen=True)
class Progress:
    """How far a study is; ``done`` and ``total`` are rows of its selection.

    ``arrived`` are those written since the last `Progress`. ``failures`` say, unit by unit, what
    could not be done: it is tried again when the study is started the next time. ``workers`` are
    those that are connected now; none, before the first has been looked for.
    """

    done: int
    total: int
    seconds_left: float
    arrived: tuple[Row, ...] = ()
    failures: tuple[str, ...] = ()
    workers: int | None = None

    @property
    def complete(self) -> bool:
        """Whether everything is there."""
        return self.done == self.total


def progress_of(selection: Selection, store: Store, workers: int = 2) -> Progress:
    """Return how far ``selection`` is in ``store``, and how long ``workers`` need for the rest."""
    return _Study(selection, store, workers).progress()


def run_study(
    selection: Selection,
    store: Store,
    scheduler: str | None = None,
    workers: int = 2,
    start: Callable[..., Workers] | None = None,
) -> Generator[Progress]:
    """Do all of ``selection`` that ``store`` does not have; yields about twice a second.

    On the Dask cluster at ``scheduler``, or on ``workers`` processes of this machine; ``start``
    makes them, and is `Workers` unless it is given. A cluster without workers is waited for. Other
    processes may do the same at the same time. Errors are `Refused`, of the store, and
    `Unreachable`, of the scheduler.
    """
    study = _Study(selection, store, workers)
    yield study.progress()
    if not study.waiting:
        return
    from gating_core.claims.workers import Workers  # here: Dask takes seconds to import

    with (start or Workers)(scheduler, workers) as team:
        yield from _work(study, team)


def _work(study: _Study, team: Workers) -> Iterator[Progress]:
    running: dict[str, Unit] = {}
    store, renewed = study.store, time.perf_counter()
    try:
        while study.waiting or running:
            begin, workers = time.perf_counter(), team.threads
            if begin - renewed > LEASE_SECONDS / 3:
                store.lease([unit.key for unit in running.values()])
                renewed = begin
            study.workers = max(workers, 1)
            for unit in study.take(workers + AHEAD - len(running)):
                running[unit.dumped()] = unit
                team.submit(unit.dumped())
            arrived: list[Row] = []
            for text, result in team.finished(HEARTBEAT_SECONDS):
                unit = running.pop(text)
                if isinstance(result, str):
                    study.failed(unit, result)
                else:
                    store.write(result)
                    study.finished(unit)
                    arrived += result
                store.release([unit.key])
            if workers:
                study.seconds += time.perf_counter() - begin
            yield study.progress(tuple(arrived), workers)
    finally:
        with suppress(Refused):  # the error that ended the study is raised, not this one
            store.release()


class _Study:
    """What is done, and what is not."""

    def __init__(self, selection: Selection, store: Store, workers: int) -> None:
        self.store, self.workers = store, workers
        units = list(selection.units())
        self.total = sum(len(unit.keys) for unit in units)
        self.failures: list[str] = []
        self.seconds = self.finished_seconds = 0.0  # that it took, and that it would have taken
        present = store.present(key for unit in units for key in unit.keys.values())
        self.done = len(present)
        self.missing = {unit.key: _missing(unit, present) for unit in units}
        self.waiting = deque(unit for unit in units if self.missing[unit.key])
        self.left = {unit.key: unit.seconds for unit in self.waiting}

    def take(self, count: int) -> list[Unit]:
        """Up to ``count`` units that nobody else works on and that nobody has done."""
        taken: list[Unit] = []
        for _ in range(len(self.waiting)):
            if len(taken) >= count:
                break
            unit = self.waiting.popleft()
            mine = self.store.lease([unit.key])
            missing = _missing(unit, self.store.present(unit.keys.values()))
            self.done += self.missing[unit.key] - missing
            self.missing[unit.key] = missing
            if not missing:
                self.left.pop(unit.key)
                self.store.release([unit.key])
            elif mine:
                taken.append(unit)
            else:
                self.waiting.append(unit)
        return taken

    def finished(self, unit: Unit) -> None:
        self.done += self.missing.pop(unit.key)
        self.finished_seconds += self.left.pop(unit.key)

    def failed(self, unit: Unit, why: str) -> None:
        self.left.pop(unit.key)
        self.failures.append(f"{unit.text}: {why}")

    def progress(self, arrived: tuple[Row, ...] = (), workers: int | None = None) -> Progress:
        prior = PRIOR_SECONDS * self.workers
        pace = (self.seconds + PRIOR_SECONDS) / (self.finished_seconds + prior)
        left = pace * sum(self.left.values())
        return Progress(self.done, self.total, left, arrived, tuple(self.failures), workers)


def _missing(unit: Unit, present: set[str]) -> int:
    return len(set(unit.keys.values()) - present)
