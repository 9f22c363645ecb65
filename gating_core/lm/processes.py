"""Work on all cores, a process for each."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any, TypeVar

import torch

T = TypeVar("T")


def in_processes(
    work: Callable[..., T], tasks: Iterable[tuple[Any, ...]], flush_denormal: bool = False
) -> Iterator[T]:
    """Yield what ``work`` returns for the arguments of each of ``tasks``, as they end."""
    # One task for each process: a process is then not forked from one that has computed.
    with ProcessPoolExecutor(
        os.cpu_count(), initializer=_settle, initargs=(flush_denormal,), max_tasks_per_child=1
    ) as pool:
        for done in as_completed([pool.submit(work, *task) for task in tasks]):
            yield done.result()


def _settle(flush_denormal: bool) -> None:
    torch.set_num_threads(1)  # each core has a process of its own
    torch.set_flush_denormal(flush_denormal)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
