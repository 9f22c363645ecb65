"""Fixtures of the tests of jobs: no thread left behind, a clock, and a pool."""

import pytest

from tests.ui.work.work import Clock, await_true, living
from ui.work import job
from ui.work.pool import Pool


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """A job's start waits as briefly as it does for visitors: these jobs may yield nothing."""
    monkeypatch.setattr(job, "FIRST_SECONDS", 0.05)


@pytest.fixture
def nothing_is_left():
    """No thread of a job."""
    yield
    await_true(lambda: not living())


@pytest.fixture
def clock(monkeypatch):
    """The clock that jobs look at; it stands still."""
    clock = Clock()
    monkeypatch.setattr(job, "time", clock)
    return clock


@pytest.fixture
def run(nothing_is_left):
    """Start jobs that are cancelled at the end of the test."""
    started = []

    def start(make, **options):
        started.append(job.Job(make, **options).start())
        return started[-1]

    yield start
    for one in started:
        one.cancel()


@pytest.fixture(scope="package")
def one():
    """A pool of one worker process."""
    pool = Pool(size=1)
    yield pool
    pool.close()
