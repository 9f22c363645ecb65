"""Jobs: their items, their states, cancelling, and the end when nobody looks."""

import logging
import re
import subprocess
import sys
import threading

import pytest

from tests.ui.opening import ROOT
from tests.ui.work.work import DEADLINE_SECONDS, Work, await_true, failing, tick
from ui.work.job import WAITING, Job, State


def test_items_are_in_order(run):
    job = run(work := Work(step=True))
    for count in range(1, 6):
        work.let_on.release()
        await_true(lambda count=count: len(job.items) == count)
        assert job.items == list(range(count))
    job.cancel()
    work.let_on.release()


@pytest.mark.parametrize("items", ["abc", ["a", None, "b", None, "c"]])
def test_a_job_ends_with_its_generator_and_none_is_no_item(run, items):
    job = run(lambda: iter(items))
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.over) == (State.DONE, True)
    assert job.items == ["a", "b", "c"]
    assert (job.error, job.error_text, job.waiting) == (None, "", False)
    assert job.elapsed == job.elapsed >= 0


def test_of_too_many_items_the_newest_stay(run, monkeypatch):
    monkeypatch.setattr("ui.work.job.JOB_ITEMS", 5)
    job = run(lambda: iter(range(7)))
    assert job.join(DEADLINE_SECONDS)
    assert job.items == [2, 3, 4, 5, 6]
    job.forget()
    assert job.items == []


def unmakeable():
    raise ZeroDivisionError("the count went astray")


@pytest.mark.parametrize(("make", "items"), [(failing, ["kept", "too"]), (unmakeable, [])])
@pytest.mark.parametrize(
    ("expected", "is_expected"),
    [((ZeroDivisionError,), True), ((ArithmeticError,), True), ((), False), ((KeyError,), False)],
)
def test_a_failed_job_keeps_its_items(run, caplog, make, items, expected, is_expected):
    with caplog.at_level(logging.ERROR):
        job = run(make, expected=expected)
        assert job.join(DEADLINE_SECONDS)
    assert job.state is State.FAILED
    assert job.items == items
    assert isinstance(job.error, ZeroDivisionError)
    assert job.error.__traceback__ is None
    unexpected = r"an error of ours \(ZeroDivisionError, in the log as [0-9a-f]{8}\)"
    assert re.fullmatch("the count went astray" if is_expected else unexpected, job.error_text)
    assert ("ZeroDivisionError: the count" in caplog.text) != is_expected


def test_even_an_exit_is_an_end(run):
    def leaving():
        yield 1
        raise SystemExit

    job = run(leaving)
    assert job.join(DEADLINE_SECONDS)
    assert job.state is State.FAILED
    assert job.items == [1]


def test_a_running_job_stops_at_its_next_item(run):
    counting = (work := Work())()  # held here too: nothing but the job itself closes it
    job = run(lambda: counting)
    await_true(lambda: len(job.items) > 2)
    assert job.state is State.RUNNING
    job.cancel()
    assert job.stopping
    known = len(job.items)
    assert job.join(DEADLINE_SECONDS)
    assert job.state is State.CANCELLED
    assert work.closed.is_set()
    assert 2 < len(job.items) <= known + 1


def test_of_some_types_only_the_newest_item_is_kept(run):
    job = run(lambda: iter([1, "a", 2.0, "b", 3, 4.0]), newest=(int, float))
    assert job.join(5)
    assert job.items == ["a", "b", 3, 4.0]


def waiting(go, before=()):
    """Wait until it may go, then count."""
    yield from before
    while not go.is_set():
        tick()
        yield WAITING
    yield from Work()()


def test_waiting_is_a_state_and_does_not_count_as_computing(run, clock):
    go = threading.Event()
    job = run(lambda: waiting(go))
    await_true(lambda: job.waiting)
    clock.now += 7.0
    assert (job.state, job.elapsed, job.items) == (State.WAITING, 0, [])
    go.set()
    await_true(lambda: job.items)
    assert (job.state, job.waiting) == (State.RUNNING, False)
    clock.now += 3.0
    assert job.elapsed == 3.0


def test_a_job_that_waits_in_between_has_begun(run):
    job = run(lambda: waiting(threading.Event(), ["begun"]))
    await_true(lambda: job.waiting)
    assert (job.state, job.items) == (State.RUNNING, ["begun"])
    job.cancel()
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.waiting) == (State.CANCELLED, False)


def test_a_waiting_job_is_cancelled_at_once(run):
    job = run(lambda: waiting(threading.Event()))
    await_true(lambda: job.waiting)
    job.cancel()
    assert (job.state, job.waiting) == (State.CANCELLED, False)
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.elapsed, job.items) == (State.CANCELLED, 0, [])


def test_a_job_starts_once(run):
    job = run(lambda: iter("a"))
    with pytest.raises(RuntimeError, match="starts once"):
        job.start()
    early = Job(lambda: iter("a"))
    early.cancel()
    assert early.state is State.CANCELLED
    with pytest.raises(RuntimeError, match="this one is cancelled"):
        early.start()


@pytest.mark.parametrize("waits", [False, True])
def test_a_job_ends_once_it_is_not_wanted(run, clock, waits):
    there, looks = [True], []
    work = (lambda: waiting(threading.Event())) if waits else Work()
    job = run(work, wanted=lambda: looks.append(clock.now) or there[0])
    for _ in range(2):
        clock.now += 1.1  # it looks once a second
        await_true(lambda: looks[-1:] == [clock.now])
    assert not job.over
    there[0] = False
    clock.now += 1.1
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, len(looks)) == (State.CANCELLED, 3)


LEFT_RUNNING = """
import time
from ui.work.job import Job

def work():
    try:
        while True:
            time.sleep(0.01)
            yield None
    finally:
        print("stopped")

Job(work).start()
time.sleep(0.2)
"""


def test_the_end_of_the_process_stops_a_job_first():
    """A thread torn out of a computation by the end of the interpreter can crash the process."""
    ended = subprocess.run(
        [sys.executable, "-c", LEFT_RUNNING],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=DEADLINE_SECONDS,
    )
    assert ended.stdout == "stopped\n"
    assert ended.returncode == 0


def test_a_job_can_be_done_from_the_start():
    job = Job.done(["a", "b"], about="this")
    assert (job.state, job.over, job.items, job.about) == (State.DONE, True, ["a", "b"], "this")
    assert job.join(0)
    job.cancel()
    assert job.state is State.DONE
    with pytest.raises(RuntimeError, match="this one is done already"):
        job.start()
