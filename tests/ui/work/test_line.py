"""Do pages and jobs wait in one line, in order of arrival, and never for ever?"""

import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ui.work.work import DEADLINE_SECONDS, Work, tick
from ui.work.job import State
from ui.work.runtime import Line, place


@given(st.integers(1, 3), st.lists(st.integers(-4, 4), max_size=30))
def test_the_oldest_tickets_hold_the_places(places, moves):
    line, held = Line(places), []
    for move in moves:  # a negative number joins, any other hands back
        if move < 0:
            held.append(line.join())
        elif held:
            gone = held.pop(move % len(held))
            gone.hand_back()
            gone.hand_back()
            assert gone.position == 0
            assert not gone.wait(0)
        wanted = [max(0, older + 1 - places) for older in range(len(held))]
        assert [ticket.position for ticket in held] == wanted
        assert [ticket.wait(0) for ticket in held] == [position == 0 for position in wanted]


def test_turns_come_in_order_of_arrival(run):
    line, order = Line(1), []

    def noting(name):
        order.append(name)
        yield name

    first = run(work := Work(), line=line)
    others = [run(lambda name=name: noting(name), line=line) for name in range(6)]
    assert [job.position for job in others] == [1, 2, 3, 4, 5, 6]
    assert {job.state for job in others} == {State.WAITING}
    assert work.began.wait(DEADLINE_SECONDS)
    first.cancel()
    assert all(job.join(DEADLINE_SECONDS) for job in others)
    assert order == list(range(6))


def test_no_more_run_than_there_are_places(run):
    line, lock = Line(2), threading.Lock()
    now = greatest = 0

    def counted():
        nonlocal now, greatest
        with lock:
            now += 1
            greatest = max(greatest, now)
        for _ in range(3):
            tick()
            yield
        with lock:
            now -= 1

    started = [run(counted, line=line) for _ in range(12)]
    assert all(job.join(DEADLINE_SECONDS) for job in started)
    assert greatest == 2


def test_a_page_waits_behind_a_job_and_a_job_behind_a_page(run):
    line, heard = Line(1), []
    job = run(Work(), line=line)

    def hear(position):
        heard.append(position)
        job.cancel()

    with place(hear, line):
        behind = run(lambda: iter("a"), line=line)
        assert behind.position == 1
    assert heard[0] == 1
    assert behind.join(DEADLINE_SECONDS)
    assert behind.items == ["a"]


def test_a_page_that_stops_waiting_leaves_the_line(run):
    line = Line(1)
    first = run(Work(), line=line)

    def stop(position):
        raise KeyError(position)

    with pytest.raises(KeyError), place(stop, line):
        raise AssertionError
    first.cancel()
    assert first.join(DEADLINE_SECONDS)
    assert line.join().position == 0


def test_a_job_that_asks_for_a_place_has_it(run):
    line, both = Line(2), threading.Barrier(2)

    def nested():
        both.wait(DEADLINE_SECONDS)
        with place(line=line), place(line=line):
            yield "inside"
        with place(line=line):
            yield "again"

    started = [run(nested, line=line) for _ in range(2)]
    assert all(job.join(DEADLINE_SECONDS) for job in started)
    assert [job.items for job in started] == [["inside", "again"]] * 2


def test_within_a_place_there_is_no_second_one():
    line = Line(1)
    with place(line=line):
        with place(line=line):
            other = line.join()
            assert other.position == 1
        assert other.position == 1
    assert other.wait(0)
