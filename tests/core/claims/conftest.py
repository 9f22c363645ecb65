"""Small studies, and stores to keep them in."""

import time

import pytest

from gating_core.claims import Selection, Store
from gating_core.claims import store as store_file
from gating_core.claims.training import received, work_on

TINY = Selection(tasks=("xor", "linear"), variants=("ungated", "sigmoid", "half"),
                 parts=("base", "stacks"), seed_count=2, steps=3)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "claims.sqlite"


@pytest.fixture
def store(path):
    with Store(path) as found:
        yield found


class Clock:
    """Time that passes only when a test changes ``now``."""

    now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """The clock of leases; it stands still."""
    clock = Clock()
    monkeypatch.setattr(store_file, "time", clock)
    return clock


@pytest.fixture(scope="session")
def tiny_rows():
    """All rows of the tiny selection, computed here and one unit after the other."""
    return [row for unit in TINY.units() for row in received(work_on(unit.dumped()))]


class Here:
    """What `Workers` does, without any."""

    threads = 1

    def __init__(self, *_):
        self.waiting = []

    def submit(self, text):
        self.waiting.append(text)

    def finished(self, timeout):
        if not self.waiting:
            time.sleep(timeout)
        while self.waiting:
            text = self.waiting.pop(0)
            yield text, received(work_on(text))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass
