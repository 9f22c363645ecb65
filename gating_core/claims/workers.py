"""The workers of a study: Dask's, processes of this machine or an existing cluster.

Only this file and `watched` know Dask. What is sent is a function by value and a text, so that
neither the scheduler nor its workers need know our package beforehand: those of a cluster use the
package that was uploaded, whichever they have. Nothing listens but on the loopback.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import queue
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile, ZipInfo

from gating_core.claims import watched
from gating_core.claims.errors import Unreachable, extra_packages
from gating_core.claims.models import Row
from gating_core.claims.training import received

with extra_packages():
    import psutil
    from distributed import Client, Future, KilledWorker
    from distributed.system import MEMORY_LIMIT

PACKAGE = "gating_core"
FOLDER = Path(str(files(PACKAGE)))
LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0  # for processes of this machine to start
POLL_SECONDS = 0.05  # between two checks whether the scheduler has started
QUIET = {  # what processes of this machine do otherwise than Dask would
    "DASK_LOGGING__DISTRIBUTED": "critical",
    # A task that kills its worker gets the blame alone if no other waits there.
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0",
}
CONNECT_SECONDS = 5.0  # for an address to answer as a scheduler does
CLOSE_SECONDS = 5.0  # for a client to take its leave
ADDRESS = re.compile(r"(?:\w+://)?[^\s/]+:\d{1,5}")

Task = Callable[[str], list[dict[str, Any]]]


class Workers:
    """Workers that units of work are sent to, as texts; a context manager.

    Those of the cluster at address ``scheduler``, or else ``count`` processes of this machine, one
    thread each. `Unreachable` within ten seconds where no scheduler answers. ``task`` is what is
    done with a text; unless given, `training.work_on`.
    """

    def __init__(
        self, scheduler: str | None = None, count: int = 2, task: Task | None = None
    ) -> None:
        _silence()
        self._own = count if scheduler is None else 0  # processes of this machine
        self._finished: queue.SimpleQueue[tuple[str, Future]] = queue.SimpleQueue()
        self._running: set[Future] = set()
        self._parts = ExitStack()
        try:
            if scheduler is None:
                processes = Processes(count, MEMORY_LIMIT // count)
                self._parts.callback(processes.close)
                self._use(Client(processes.address, set_as_default=False))
                self._client.wait_for_workers(count, timeout=START_SECONDS)
                source = str(FOLDER.parent)
            else:
                self._use(_connected(scheduler))
                source = self._upload()
        except BaseException as error:
            self.close()
            if isinstance(error, TimeoutError):
                raise Unreachable("no workers have started on this machine in a minute") from error
            raise
        self._task = task or _carried(source)

    def _use(self, client: Client) -> None:
        self._client = client
        self._parts.callback(client.close, timeout=CLOSE_SECONDS)
        self._parts.callback(lambda: client.cancel(list(self._running), force=True))

    @property
    def threads(self) -> int:
        """How many units are worked on at a time; 0 where a cluster has no worker."""
        return self._own or sum(self._client.nthreads().values())

    def submit(self, text: str) -> None:
        """Have ``text`` worked on."""
        future = self._client.submit(self._task, text, pure=False)
        self._running.add(future)
        future.add_done_callback(lambda done: self._finished.put((text, done)))

    def finished(self, timeout: float) -> Iterator[tuple[str, list[Row] | str]]:
        """Texts that have been worked on, with their rows, or a sentence that says why not.

        Waits up to ``timeout`` seconds for the first of them.
        """
        while True:
            try:
                text, future = self._finished.get(timeout=timeout)
            except queue.Empty:
                return
            timeout = 1e-3
            self._running.discard(future)
            yield text, _result(future)

    def close(self) -> None:
        """Give up what has not been finished; processes of this machine end."""
        with suppress(Exception):  # whatever has happened to the cluster, it is left
            self._parts.close()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _upload(self) -> str:
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
            self._client.upload_file(str(archive), load=False)
        return archive.name


def _result(future: Future) -> list[Row] | str:
    try:
        return received(future.result())
    except KilledWorker:
        return "every worker that took it was killed; there may be too little memory for it"
    except Exception as error:  # whatever happened there, others go on
        return f"it failed: {type(error).__name__}: {error}"


def _carried(source: str) -> Task:
    """What a worker does with a text. It refers to nothing here, so that it is sent by value.

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
        key = worker.get_current_task()

        def pause() -> None:
            own = worker.state.tasks.get(key)
            if own is None or own.state == "cancelled":
                raise RuntimeError("nobody waits for it any more")

        return work_on(text, pause)

    return task


def _connected(address: str) -> Client:
    """A client of the scheduler at ``address``; a server that is none would keep us waiting."""
    refused = Unreachable(
        f"no Dask scheduler answers at {address!r}; it must be an address such as"
        " tcp://192.0.2.1:8786, as the scheduler says it when it starts"
    )
    if not ADDRESS.fullmatch(address):
        raise refused
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def connect() -> None:
        try:
            answers.put(Client(address, timeout=CONNECT_SECONDS, set_as_default=False))
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


class Processes:
    """A scheduler at ``address`` and ``count`` workers of one thread, each with its nanny.

    Each may hold ``memory_bytes``; beyond that its nanny starts another in its place.

    They end when they are closed, and also if this process is killed, at any moment. `Unreachable`
    if the scheduler has not started in a minute. (Dask's own `SubprocessCluster` does not run on
    Windows, and leaves processes behind.)
    """

    def __init__(self, count: int, memory_bytes: int) -> None:
        self._started: list[subprocess.Popen] = []
        try:
            with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
                file = Path(folder) / "scheduler.json"
                self._start("Scheduler", port=0, dashboard=False, scheduler_file=str(file))
                self.address = self._address(file)
            for name in range(count):
                self._start(
                    "Nanny", self.address, name=name, nthreads=1, silence_logs=logging.CRITICAL,
                    memory_limit=memory_bytes,
                )  # fmt: skip
        except BaseException:  # stopped, perhaps
            self.close()
            raise

    def close(self) -> None:
        """End all processes at once: whoever closes has cancelled what they do."""
        for process in self._started:
            with suppress(psutil.Error):
                for child in psutil.Process(process.pid).children(recursive=True):
                    with suppress(psutil.Error):
                        child.kill()
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()

    def _start(self, kind: str, *scheduler: str, **options: Any) -> None:
        spec = {"cls": f"distributed.{kind}", "opts": options | {"host": LOOPBACK}}
        # -P: the script's folder is no place to import from.
        script = (sys.executable, "-P", watched.__file__)
        command = (*script, *scheduler, "--spec", json.dumps(spec))
        self._started.append(
            subprocess.Popen(
                command, env=os.environ | QUIET, stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip

    def _address(self, file: Path) -> str:
        """The scheduler's address, once it has written its ``file``."""
        end = time.monotonic() + START_SECONDS
        scheduler = self._started[0]
        while scheduler.poll() is None and time.monotonic() < end:
            with suppress(OSError, ValueError):  # not there, or not whole
                return json.loads(file.read_text(encoding="utf-8"))["address"]
            time.sleep(POLL_SECONDS)
        raise Unreachable("no Dask scheduler has started on this machine")
