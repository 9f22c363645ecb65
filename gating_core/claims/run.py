"""Running a study on Dask, as an iterator: whoever drives it sees how far it is, and may stop it.

To stop is to close the iterator, and to resume is to begin again: what the store has is not done
twice. What is sent to a worker is a function by value and a text, so that neither the scheduler nor
its workers need know our package beforehand: those of a cluster use the archive that was uploaded,
whichever package they have. Nothing listens but on the loopback.
"""

from __future__ import annotations

import hashlib
import logging
import queue
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile, ZipInfo

from gating_core.claims.errors import Unreachable
from gating_core.claims.models import Row
from gating_core.claims.selection import Selection, Unit
from gating_core.claims.store import Store

if TYPE_CHECKING:
    from distributed import Client, Future

HEARTBEAT_SECONDS = 0.5  # between two reports
PRIOR_SECONDS = 10.0  # of work, for which speed is as predicted
CONNECT_SECONDS = 5.0  # for an address to answer as a scheduler does
PACKAGE = "gating_core"
FOLDER = Path(str(files(PACKAGE)))
LOOPBACK = "127.0.0.1"
ADDRESS = re.compile(r"(?:\w+://)?[^\s/]+:\d{1,5}")

Task = Callable[[str], list[dict[str, Any]]]


@dataclass(frozen=True)
class Progress:
    """The progress of a study; ``done`` and ``total`` are rows of its selection.

    Attributes:
        seconds_left: roughly.
        failures: what could not be done, unit by unit; it is tried again at the next start.
        workers: threads that are connected now; none, before the first has been looked for.
    """

    done: int
    total: int
    seconds_left: float
    failures: tuple[str, ...] = ()
    workers: int | None = None

    @property
    def complete(self) -> bool:
        """True if all rows are there."""
        return self.done == self.total

    def as_dict(self) -> dict[str, Any]:
        """Return all of it by name, for JSON."""
        return asdict(self) | {"complete": self.complete}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> Progress:
        """Return what `as_dict` has told."""
        given = {field.name: told[field.name] for field in fields(cls)}
        return cls(**given | {"failures": tuple(given["failures"])})


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
        store: has the rows, and is told how far the study is.
        scheduler: address of a Dask cluster; one without workers is waited for.
        workers: processes of this machine, where there is no ``scheduler``.

    Yields:
        How far it is, about twice a second.

    Raises:
        Refused: of the store.
        Unreachable: no scheduler answers.
    """
    from gating_core.claims.training import received

    study = _Study(selection, store, workers)
    store.write((), study.progress().as_dict())
    yield study.progress()
    if not study.waiting:
        return
    with _cluster(scheduler, workers) as (client, task):
        running: dict[Future, Unit] = {}
        ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        while study.waiting or running:
            begin, threads = time.perf_counter(), sum(client.nthreads().values())
            # None waits at a worker: one that dies ends with its own unit alone.
            while study.waiting and len(running) < threads:
                unit = study.waiting.popleft()
                future = client.submit(task, unit.dumped(), pure=False)
                running[future] = unit
                future.add_done_callback(ended.put)
            arrived: list[Row] = []
            for future in _waited(ended):
                unit = running.pop(future)
                try:
                    rows = received(future.result())
                except Exception as error:  # whatever happened there, others go on
                    study.failed(unit, _why(error))
                else:
                    study.finished(unit)
                    arrived += rows
            study.workers = max(threads, 1)
            study.seconds += (time.perf_counter() - begin) * (threads > 0)
            progress = study.progress(threads)
            store.write(arrived, progress.as_dict())
            yield progress


def _waited(ended: queue.SimpleQueue[Future]) -> Iterator[Future]:
    """Yield what has ended; the first of it is waited for, up to a heartbeat."""
    timeout = HEARTBEAT_SECONDS
    with suppress(queue.Empty):
        while True:
            yield ended.get(timeout=timeout)
            timeout = 1e-3


def _why(error: Exception) -> str:
    """Say why a unit has no rows."""
    if type(error).__name__ == "KilledWorker":
        return "every worker that took it was killed; there may be too little memory for it"
    return f"it failed: {type(error).__name__}: {error}"


class _Study:
    """A selection of which some units are done and others are missing."""

    def __init__(self, selection: Selection, store: Store, workers: int) -> None:
        self.workers = workers
        units, present = list(selection.units()), store.present()
        self.total = sum(len(unit.keys) for unit in units)
        self.missing = {unit.key: len({*unit.keys.values()} - present) for unit in units}
        self.done = self.total - sum(self.missing.values())
        self.waiting = deque(unit for unit in units if self.missing[unit.key])
        self.left = {unit.key: unit.seconds for unit in self.waiting}
        self.failures: list[str] = []
        self.seconds = self.finished_seconds = 0.0  # that it took, and that it would have taken

    def finished(self, unit: Unit) -> None:
        self.done += self.missing[unit.key]
        self.finished_seconds += self.left.pop(unit.key)

    def failed(self, unit: Unit, why: str) -> None:
        self.left.pop(unit.key)
        self.failures.append(f"{unit.text}: {why}")

    def progress(self, threads: int | None = None) -> Progress:
        prior = PRIOR_SECONDS * self.workers
        pace = (self.seconds + PRIOR_SECONDS) / (self.finished_seconds + prior)
        left = pace * sum(self.left.values())
        return Progress(self.done, self.total, left, tuple(self.failures), threads)


# --- The cluster ----------------------------------------------------------------------------------


@contextmanager
def _cluster(scheduler: str | None, workers: int) -> Iterator[tuple[Client, Task]]:
    """A client of the cluster at ``scheduler``, or of one of this machine; and the task for it."""
    try:
        from distributed import Client, LocalCluster
        from distributed.system import MEMORY_LIMIT
    except ModuleNotFoundError as error:
        raise ImportError(
            f"the study needs the package {error.name}, which is not installed:"
            ' pip install "gating-curvature[claims]"'
        ) from error
    _silence()
    with ExitStack() as parts:
        if scheduler is not None:
            client = parts.enter_context(_connected(scheduler))
            yield client, _carried(_upload(client))
            return
        try:
            own = parts.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    host=LOOPBACK,
                    dashboard_address=f"{LOOPBACK}:0",
                    memory_limit=MEMORY_LIMIT // workers,
                    silence_logs=logging.CRITICAL,
                )
            )
            client = parts.enter_context(Client(own))
        except (OSError, RuntimeError) as error:
            raise Unreachable(f"no workers have started on this machine: {error}") from error
        yield client, _carried(str(FOLDER.parent))


def _carried(source: str) -> Task:
    """Return the function that a worker applies to a text.

    It refers to nothing in this module, so that it is sent by value.

    ``source`` is the folder of the package, or the name of an archive that was uploaded.
    """

    def task(text: str) -> list[dict[str, Any]]:
        import sys
        import threading
        from importlib import import_module, invalidate_caches
        from pathlib import Path

        from distributed import get_worker

        worker = get_worker()
        lock = worker.__dict__.setdefault("_gating_core_lock", threading.Lock())
        root = str(Path(worker.local_directory) / source)  # of a whole path that path itself
        with lock:
            package = sys.modules.get("gating_core")
            if package is None or not str(package.__file__).startswith(root):
                old = [name for name in sys.modules if name.split(".")[0] == "gating_core"]
                for name in old:
                    del sys.modules[name]
                sys.path.insert(0, root)
                invalidate_caches()
            work_on = import_module("gating_core.claims.training").work_on
        return work_on(text)

    return task


def _upload(client: Client) -> str:
    """Send the package to all workers; returns the name of the archive."""
    data = BytesIO()
    with ZipFile(data, "w") as package:
        for file in sorted(FOLDER.rglob("*.py")):
            name = file.relative_to(FOLDER.parent).as_posix()
            package.writestr(ZipInfo(name), file.read_bytes())
    digest = hashlib.sha256(data.getvalue()).hexdigest()[:12]  # another package: another name
    with TemporaryDirectory() as folder:
        archive = Path(folder) / f"{PACKAGE}-{digest}.zip"
        archive.write_bytes(data.getvalue())
        client.upload_file(str(archive), load=False)
    return archive.name


def _connected(address: str) -> Client:
    """A client of the scheduler at ``address``; a server that is none would keep us waiting."""
    from distributed import Client

    refused = Unreachable(
        f"no Dask scheduler answers at {address!r}; it must be an address such as"
        " tcp://192.0.2.1:8786, as the scheduler says it when it starts"
    )
    if not ADDRESS.fullmatch(address):
        raise refused
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def connect() -> None:
        try:
            answers.put(Client(address, timeout=CONNECT_SECONDS))
        except Exception as error:
            answers.put(error)

    threading.Thread(target=connect, daemon=True).start()
    try:
        client = answers.get(timeout=CONNECT_SECONDS + 1)
    except queue.Empty:
        client = None
    if not isinstance(client, Client):
        raise refused
    return client


def _silence() -> None:
    """Workers come and go; what matters of it is in the rows, and in what a study says."""
    for name in ("distributed", *logging.root.manager.loggerDict):
        if name.split(".")[0] == "distributed":
            logging.getLogger(name).setLevel(logging.CRITICAL)
