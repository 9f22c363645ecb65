"""What do the tests of jobs share? That no thread is left behind, and a clock."""

import pytest

from tests.ui.work.work import Clock, await_true, living
from ui.work import job
from ui.work.runtime import LINE, SHORT_LINE


@pytest.fixture
def nothing_is_left():
    """Neither threads nor tickets."""
    yield
    await_true(lambda: not living())
    assert not LINE._tickets
    assert not SHORT_LINE._tickets


@pytest.fixture
def clock(monkeypatch):
    """The clock that jobs look at; it stands still."""
    clock = Clock()
    monkeypatch.setattr(job, "time", clock)
    return clock


@pytest.fixture
def run(nothing_is_left):
    """Start jobs that are cancelled in the end, whatever comes."""
    started = []

    def start(make, **options):
        started.append(job.Job(make, **options).start())
        return started[-1]

    yield start
    for one in started:
        one.cancel()
