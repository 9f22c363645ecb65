"""A scheduler and workers of Dask as processes of this machine, which leave nobody behind."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gating_core.claims import watched
from gating_core.claims.errors import Unreachable, extra_packages

with extra_packages():
    import psutil

LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0  # for processes of this machine to start
POLL_SECONDS = 0.05  # between two checks whether the scheduler has started
QUIET = {  # what processes of this machine do otherwise than Dask would
    "DASK_LOGGING__DISTRIBUTED": "critical",
    # A task that kills its worker gets the blame alone if no other waits there.
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION": "1.0",
}


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
