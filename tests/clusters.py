"""A Dask cluster for a test alone, on which our package is installed."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from tests.browser.serving import HOST, free_port

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 300  # for what takes a few, on however busy a machine


def wait_until(true: Callable[[], object]) -> None:
    """Until it is; ``AssertionError`` after `SECONDS`."""
    end = time.monotonic() + SECONDS
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@contextmanager
def process(*arguments: str, folder: Path) -> Iterator[subprocess.Popen]:
    """A process in a folder of its own that can import our package."""
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    started = subprocess.Popen(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield started
    finally:
        children = psutil.Process(started.pid).children(recursive=True)
        for each in (*children, started):
            with suppress(psutil.NoSuchProcess):
                each.kill()
        started.wait(SECONDS)


def listens(port: int) -> bool:
    """Whether anybody does, on this machine."""
    with socket.socket() as probe:
        return not probe.connect_ex((HOST, port))


@contextmanager
def cluster_of(workers: int, folder: Path) -> Iterator[str]:
    """A scheduler and ``workers``; its address."""
    address = f"tcp://{HOST}:{free_port()}"
    port = address.split(":")[-1]
    with ExitStack() as parts:
        parts.enter_context(
            process(
                "distributed.cli.dask_scheduler",
                "--host",
                HOST,
                "--port",
                port,
                "--no-dashboard",
                folder=folder,
            )
        )
        wait_until(lambda: listens(int(port)))
        for _ in range(workers):
            parts.enter_context(worker_of(address, folder))
        yield address


def worker_of(address: str, folder: Path) -> AbstractContextManager[subprocess.Popen]:
    """One more worker of the scheduler at ``address``."""
    return process(
        "distributed.cli.dask_worker",
        address,
        "--host",
        HOST,
        "--nthreads",
        "1",
        "--no-dashboard",
        folder=folder,
    )
