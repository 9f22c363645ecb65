"""Processes that are set up as those of the users: a benchmark is measured in one of them.

A notebook imports the core and nothing else; a worker of the app has memory at hand; the process
that serves pages gives memory back. Each is started for its benchmark, as `multiprocessing` spawns:
nothing that this process has imported or set reaches it.
"""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

LIBRARY, WORKER, SERVER = "library", "worker", "server"

T = TypeVar("T")


def settle(process: str) -> None:
    """Set this process up as one of the three kinds, before anything is computed in it."""
    if process == WORKER:
        importlib.import_module("ui.work.worker").settle()
    elif process == SERVER:
        importlib.import_module("ui.work.runtime")
    elif process != LIBRARY:
        raise ValueError(f"no such process: {process!r}")


@contextmanager
def started(*processes: str) -> Iterator[dict[str, ProcessPoolExecutor]]:
    """A process of each kind, by name; all end with the context."""
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(ProcessPoolExecutor(1, spawn, settle, (name,)))
            for name in processes
        }


def measured_in(process: str, function: Callable[..., T], *arguments: Any) -> T:
    """What ``function`` returns in a process of that kind, started for this call.

    ``RuntimeError`` where it has set up a library's process as a page's.
    """
    with started(process) as executors:
        return executors[process].submit(_run, process, function, arguments).result()


def _run(process: str, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    result = function(*arguments)
    if process == LIBRARY and "ui" in sys.modules:
        raise RuntimeError(f"{function.__module__} imports the pages' process settings")
    return result
