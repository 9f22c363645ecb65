"""Does a job keep what it computes, stop when it is told to, and end when nobody looks?"""

import logging
import subprocess
import sys
import time

import pytest

from tests.ui.opening import ROOT
from tests.ui.work.work import CANCEL_SECONDS, DEADLINE_SECONDS, Work, await_true, failing
from ui.work.job import Job, State
from ui.work.runtime import Line


def test_items_are_kept_in_order(run):
    job = run(work := Work(step=True))
    for count in range(1, 6):
        work.let_on.release()
        await_true(lambda count=count: len(job.items) == count)
        assert job.items == list(range(count))
    job.cancel()
    work.let_on.release()


@pytest.mark.parametrize("items", ["abc", ["a", None, "b", None, "c"]])
def test_an_end_is_an_end_and_none_is_not_kept(run, items):
    job = run(lambda: iter(items))
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.over) == (State.DONE, True)
    assert job.items == ["a", "b", "c"]
    assert (job.error, job.trouble, job.position) == (None, "", 0)
    assert job.elapsed == job.elapsed >= 0


def test_of_too_many_items_the_newest_stay(run):
    job = run(lambda: iter(range(7)), kept=5)
    assert job.join(DEADLINE_SECONDS)
    assert job.items == [2, 3, 4, 5, 6]
    job.forget()
    assert job.items == []


def unmakeable():
    raise ZeroDivisionError("the count went astray")


@pytest.mark.parametrize(("make", "items"), [(failing, ["kept", "too"]), (unmakeable, [])])
@pytest.mark.parametrize(
    ("expected", "foreseen"),
    [((ZeroDivisionError,), True), ((ArithmeticError,), True), ((), False), ((KeyError,), False)],
)
def test_a_failure_keeps_what_came_before(run, caplog, make, items, expected, foreseen):
    with caplog.at_level(logging.ERROR):
        job = run(make, expected=expected)
        assert job.join(DEADLINE_SECONDS)
    assert job.state is State.FAILED
    assert job.items == items
    assert isinstance(job.error, ZeroDivisionError)
    assert job.error.__traceback__ is None
    words = "the count went astray" if foreseen else "an error of ours (ZeroDivisionError)"
    assert job.trouble == words
    assert ("ZeroDivisionError: the count" in caplog.text) != foreseen


def test_even_an_exit_is_an_end(run):
    def leaving():
        yield 1
        raise SystemExit

    job = run(leaving)
    assert job.join(DEADLINE_SECONDS)
    assert job.state is State.FAILED
    assert job.items == [1]


def test_a_running_job_stops_within_half_a_second(run):
    line = Line(1)
    counting = (work := Work())()  # held here too: nothing but the job itself closes it
    job = run(lambda: counting, line=line)
    await_true(lambda: len(job.items) > 2)
    assert job.state is State.RUNNING
    begun = time.monotonic()
    job.cancel()
    assert job.stopping
    assert job.join(CANCEL_SECONDS)
    assert time.monotonic() - begun < CANCEL_SECONDS
    assert job.state is State.CANCELLED
    assert work.closed.is_set()
    assert len(job.items) > 2
    assert line.join().position == 0


def test_of_some_types_only_the_newest_item_is_kept(run):
    job = run(lambda: iter([1, "a", 2.0, "b", 3, 4.0]), newest=(int, float))
    assert job.join(5)
    assert job.items == ["a", "b", 3, 4.0]


def test_a_waiting_job_is_cancelled_at_once(run):
    never, line = Work(), Line(1)
    first, second, third = (run(make, line=line) for make in (Work(), never, Work()))
    assert [job.position for job in (first, second, third)] == [0, 1, 2]
    second.cancel()
    assert second.state is State.CANCELLED
    assert [job.position for job in (first, second, third)] == [0, 0, 1]
    assert second.join(CANCEL_SECONDS)
    assert not never.began.is_set()
    assert second.elapsed == 0
    first.cancel()
    await_true(lambda: third.state is State.RUNNING)


def test_a_job_starts_once(run):
    job = run(lambda: iter("a"))
    with pytest.raises(RuntimeError, match="starts once"):
        job.start()
    early = Job(lambda: iter("a"))
    early.cancel()
    assert early.state is State.CANCELLED
    with pytest.raises(RuntimeError, match="this one is cancelled"):
        early.start()


@pytest.mark.parametrize("waiting", [False, True])
def test_a_job_that_nobody_asks_for_ends(run, clock, waiting):
    line = Line(1)
    if waiting:
        ahead = run(Work(), line=line)
    job = run(Work(), line=line, patience=5.0)
    for _ in range(4):
        seen = len(job.items)
        job.ask()
        clock.now += 4.0
        await_true(lambda seen=seen: waiting or len(job.items) > seen + 2)
        assert not job.over
    clock.now += 1.1
    assert job.join(DEADLINE_SECONDS)
    assert job.state is State.CANCELLED
    if waiting:
        assert ahead.state is State.RUNNING  # its patience has no end


def test_a_deserted_job_goes_on_if_somebody_comes_back_in_time(run, clock):
    job = run(Work(), patience=90.0)
    job.desert(2.0)
    job.ask()
    clock.now += 3.0
    seen = len(job.items)
    await_true(lambda: len(job.items) > seen + 2)
    job.desert(2.0)
    clock.now += 2.1
    assert job.join(DEADLINE_SECONDS)
    assert job.state is State.CANCELLED


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
        [sys.executable, "-c", LEFT_RUNNING], capture_output=True, text=True, cwd=ROOT,
        timeout=DEADLINE_SECONDS,
    )  # fmt: skip
    assert ended.stdout == "stopped\n"
    assert ended.returncode == 0
