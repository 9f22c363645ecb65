"""Page runs that were stopped: they cease to wait, and to make what nobody else needs."""

import threading
from contextlib import closing
from unittest.mock import MagicMock

import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from tests.ui.work import tasks
from tests.ui.work.work import DEADLINE_SECONDS, Clock, await_true
from ui.work import run_stops
from ui.work.cache import Cache, cached
from ui.work.job import QueuePosition
from ui.work.pool import Rank


class Run(LocalScriptRunner):
    """A page run that draws nothing: it calls a function and notes what that returns."""

    def __init__(self, path, function, *arguments):
        self.results, self.arrived = [], threading.Event()

        def draw():
            self.arrived.set()
            self.results.append(function(*arguments))

        state = SafeSessionState(SessionState(), lambda: None)
        pages = PagesManager(str(path), setup_watcher=False)
        super().__init__(str(path), state, pages, args=(draw,))
        self.start()
        assert self.arrived.wait(DEADLINE_SECONDS)

    @property
    def over(self):
        return not self._script_thread.is_alive()


class Later:
    """Lets time pass: more than the moment in which the next run may request the same."""

    def __init__(self, clock, looks):
        self._clock, self._looks = clock, looks

    def until(self, condition):
        """As long as it takes until ``condition`` holds."""

        def passed():
            self._clock.now += 2 * run_stops.AGAIN_SECONDS
            return condition()

        await_true(passed)

    def often(self):
        """As long as it takes until all runs that wait have looked several times."""
        self.until(self._looked())

    def not_yet(self):
        """No time, until they have."""
        await_true(self._looked())

    def _looked(self):
        before = len(self._looks)
        return lambda: len(self._looks) > before + 10


@pytest.fixture
def later(monkeypatch):
    """Let time pass, which else stands still."""
    looks, look = [], run_stops._stopped
    monkeypatch.setattr(run_stops, "time", clock := Clock())
    monkeypatch.setattr(run_stops, "_stopped", lambda: looks.append(1) or look())
    return Later(clock, looks)


@pytest.fixture
def visit(tmp_path, monkeypatch):
    """Start runs of a page, each of a visitor of its own; in the end all are stopped."""
    monkeypatch.setattr(Runtime, "_instance", MagicMock(spec=Runtime))
    # What the first page of a process decides for all: the app's is beside its folder of pages.
    monkeypatch.setattr(PagesManager, "uses_pages_directory", False)
    path = tmp_path / "page.py"
    path.write_text("__args[0]()")
    runs = []

    def start(function, *arguments):
        runs.append(Run(path, function, *arguments))
        return runs[-1]

    yield start
    for run in runs:
        run.request_stop()
        run.join()


@pytest.fixture
def go(tmp_path):
    """A file at which a worker waits until it is there, as it is in the end."""
    yield tmp_path / "go"
    (tmp_path / "go").touch()


@pytest.fixture
def held(one, go):
    """A function that many can ask for, at which the one worker is until it is let ``go``."""
    made, cache = [], Cache(1e6)

    @cached(on=cache)
    def measured(name):
        made.append(name)
        return one.call(tasks.holding, go)

    measured.made, measured.cache = made, cache
    return measured


def waiting(cache):
    """How many threads wait for what others make."""
    return sum(each.waiting for each in list(cache._making.values()))


def test_of_ten_quick_moves_the_last_alone_is_computed(one, visit, later, go, tmp_path):
    order = tmp_path / "order"

    @cached(on=Cache(1e6))
    def measured(seed):
        return one.call(tasks.noting, order, seed, 1)

    with closing(one.stream(tasks.holding, go, rank=Rank.VIEW)) as ahead:
        while isinstance(next(ahead), QueuePosition | None):
            pass
        moves = []
        for seed in range(10):
            if moves:
                moves[-1].request_stop()  # as a server does before it starts the next one
            moves.append(visit(measured, seed))
            await_true(lambda task=seed: len(one._waiting) == 1 + task)
        later.until(lambda: all(run.over for run in moves[:-1]))
        assert len(one._waiting) == 1
        go.touch()
        await_true(lambda: moves[-1].over)
    assert [run.results for run in moves] == [[]] * 9 + [[9]]
    assert order.read_text().split() == ["9"]


def test_the_next_run_may_request_the_same(one, visit, later, held, go):
    before = visit(held, "a")
    await_true(lambda: held.made)
    before.request_stop()
    later.not_yet()
    after = visit(held, "a")
    await_true(lambda: waiting(held.cache) == 1)
    later.often()
    go.touch()
    await_true(lambda: after.over)
    assert held.made == ["a"]
    assert len(after.results) == 1
    assert before.results == after.results  # it has made it, and ends as it draws next


def test_a_stopped_run_goes_on_as_long_as_another_visitor_waits(one, visit, later, held, go):
    first = visit(held, "a")
    await_true(lambda: held.made)
    second, third = visit(held, "a"), visit(held, "a")
    await_true(lambda: waiting(held.cache) == 2)
    first.request_stop()
    third.request_stop()
    later.until(lambda: third.over)  # it only waits
    assert not first.over
    second.request_stop()
    later.until(lambda: first.over and second.over)
    assert first.results == second.results == third.results == []
    assert not any(worker.tasks for worker in one._workers)
    fourth = visit(held, "a")
    go.touch()
    await_true(lambda: fourth.over)
    assert len(fourth.results) == 1
    assert held.made == ["a", "a"]


def test_a_run_goes_on_that_makes_a_part_for_another(one, visit, later, held, go):
    """It makes a part of the whole that the other waits for."""
    wholes = Cache(1e6)

    def whole():
        return wholes.get("whole", lambda: held("part"))

    first = visit(whole)
    await_true(lambda: held.made)
    second = visit(whole)
    await_true(lambda: waiting(wholes) == 1)
    first.request_stop()
    later.often()
    go.touch()
    await_true(lambda: first.over and second.over)
    assert len(second.results) == 1
    assert held.made == ["part"]


def test_a_run_that_was_not_stopped_and_a_thread_without_one_go_on(one, visit, later):
    run = visit(one.call, tasks.counting, 30)
    later.until(lambda: run.over)
    assert run.results == [30]
    assert one.call(tasks.counting, 3) == 3
