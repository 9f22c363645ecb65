"""A stand-in for the workers of a job until a test lets them go."""

import threading
from contextlib import contextmanager

from gating_core.progress import silent
from tests.ui.opening import TIMEOUT_SECONDS
from ui.work import cached_jobs, job
from ui.work.worker import items_of


class Held:
    """What computes waits until it is let go; it counts what it was asked for."""

    def __init__(self):
        self.asked, self.go = [], threading.Event()

    def __call__(self, function, about, *more, rank=None, wait=None):
        self.asked.append(about)
        while not self.go.wait(0.01):
            yield None
        yield from items_of(function, (about, *more), silent)


@contextmanager
def held_in(module, results, monkeypatch):
    """None of ``results`` are known, no page waits, and jobs of ``module`` wait for the test."""
    results.cache.clear()
    held = Held()
    monkeypatch.setattr(module, "shared_stream", held)
    monkeypatch.setattr(cached_jobs, "AT_ONCE_SECONDS", 0.01)
    yield held
    for running in list(job._running):  # what nobody waits for any more
        running.cancel()
        running.join(TIMEOUT_SECONDS)
    held.go.set()
    results.cache.clear()
