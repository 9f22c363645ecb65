"""Is what several ask for at once computed once, and as long as anybody wants it?"""

import threading

import pytest

from tests.ui.work.work import DEADLINE_SECONDS, Work, await_true
from ui.work import pool
from ui.work import shared as module
from ui.work.job import QueuePosition, State
from ui.work.pool import Rank
from ui.work.shared import shared_stream, split_over_workers


class Source:
    """A pool that counts how often it was asked, and streams what the function makes here."""

    def __init__(self):
        self.asked, self.size = [], 2

    def stream(self, function, *arguments, rank):
        self.asked.append((function, arguments, rank))
        yield QueuePosition(0)
        yield from function(*arguments)


@pytest.fixture
def source(monkeypatch):
    source = Source()
    monkeypatch.setattr(pool, "POOL", source)
    yield source
    assert not module._streams


def test_ten_who_ask_for_the_same_are_given_the_same_objects(source, run):
    def make(number):
        for _ in range(number):
            yield object()
            yield None

    barrier = threading.Barrier(10)

    def reader():
        barrier.wait(DEADLINE_SECONDS)
        yield from shared_stream(make, 7)

    found = [run(reader) for _ in range(10)]
    assert all(job.join(DEADLINE_SECONDS) for job in found)
    assert {job.state for job in found} == {State.DONE}
    assert len({tuple(map(id, job.items)) for job in found}) == len(source.asked)
    assert {len(job.items) for job in found} == {7}


def test_whoever_comes_later_is_given_what_there_was(source, run):
    work = Work(step=True)
    early = run(lambda: shared_stream(work))
    for _ in range(3):
        work.let_on.release()
    await_true(lambda: len(early.items) == 3)
    late = run(lambda: shared_stream(work))
    await_true(lambda: len(late.items) == 3)
    assert len(source.asked) == 1
    early.cancel()
    work.let_on.release()
    assert early.join(DEADLINE_SECONDS)
    assert not work.closed.is_set()  # somebody still wants it
    work.let_on.release()
    await_true(lambda: len(late.items) >= 4)
    late.cancel()
    work.let_on.release(2)
    assert late.join(DEADLINE_SECONDS)
    assert work.closed.is_set()


def test_what_differs_is_computed_twice(source):
    def make(number):
        yield number

    found = list(shared_stream(make, 1, rank=Rank.REST))
    assert [item for item in found if item != QueuePosition(0)] == [1]
    streams = [
        shared_stream(make, 1),
        shared_stream(make, 2),
        shared_stream(make, 1, rank=Rank.REST),
    ]
    assert [next(stream) for stream in streams] == [QueuePosition(0)] * 3
    assert len(source.asked) == 4
    for stream in streams:
        stream.close()


def test_who_reads_is_told_of_a_place_where_there_is_nothing_yet(source):
    found = list(shared_stream(lambda: iter((None, 1, None))))
    assert [item for item in found if not isinstance(item, QueuePosition)] == [1]


def test_an_error_is_everybodys_and_is_not_kept(source, run):
    gate = threading.Event()

    def broken():
        yield 1
        assert gate.wait(DEADLINE_SECONDS)
        raise ZeroDivisionError("astray")

    jobs = [run(lambda: shared_stream(broken), expected=(ZeroDivisionError,)) for _ in range(3)]
    await_true(lambda: all(job.items == [1] for job in jobs))
    gate.set()
    assert all(job.join(DEADLINE_SECONDS) for job in jobs)
    assert [job.trouble for job in jobs] == ["astray"] * 3
    assert len(source.asked) == 1
    again = run(lambda: shared_stream(broken), expected=(ZeroDivisionError,))
    assert again.join(DEADLINE_SECONDS)
    assert len(source.asked) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_pieces_are_shared_out_among_workers_and_come_back_in_their_order(source, size):
    def tenfold(pieces, added):
        for piece in pieces:
            yield None
            yield 10 * piece + added

    source.size = size
    items = split_over_workers(tenfold, (0, 1, 2, 3, 4), 7)
    *shares, found = (item for item in items if not isinstance(item, QueuePosition | None))
    assert found == (7, 17, 27, 37, 47)
    assert shares == [0.2, 0.4, 0.6, 0.8, 1.0]
    parts = [part for _, (part, _), _ in source.asked]
    assert len(parts) == min(size, 5)
    assert sorted(sum(parts, ())) == [0, 1, 2, 3, 4]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_where_one_worker_fails_the_others_are_let_go_at_once(source):
    def fail_at_one(pieces):
        for piece in pieces:
            if piece == 1:
                raise ValueError("it broke")
            yield piece

    with pytest.raises(ValueError, match="it broke") as caught:
        list(split_over_workers(fail_at_one, (0, 1, 2, 3)))
    assert caught.tb  # which still holds whatever was not let go
    assert not module._streams


def test_what_is_shared_out_is_as_urgent_as_is_said(source):
    list(split_over_workers(lambda pieces: iter(pieces), (1, 2, 3)))
    list(split_over_workers(lambda pieces: iter(pieces), (1, 2, 3), rank=Rank.BRIEF))
    assert [rank for _, _, rank in source.asked] == [Rank.FIRST] * 2 + [Rank.BRIEF] * 2


def test_what_is_shared_out_waits_only_while_all_that_is_left_does(source, monkeypatch):
    """The first of two workers is free at once, the second when thirty others are."""
    first = []

    def stream(function, pieces, rank):
        yield QueuePosition(0 if pieces[0] == 0 else 30)
        if pieces[0] == 0:
            first.append(threading.current_thread())
        else:
            await_true(lambda: first and not first[0].is_alive())  # it has told that it has ended
            yield from map(QueuePosition, range(29, 0, -1))
        yield QueuePosition(0)
        for piece in function(pieces):
            yield None
            yield piece

    monkeypatch.setattr(source, "stream", stream)
    *said, found = split_over_workers(lambda pieces: iter(pieces), (0, 1, 2, 3, 4, 5))
    assert found == (0, 1, 2, 3, 4, 5)
    shares = [item for item in said if isinstance(item, float)]
    assert shares == [place / 6 for place in range(1, 7)]
    places = [place for place, item in enumerate(said) if getattr(item, "position", 0)]
    assert said.index(3 / 6) < places[0] <= places[-1] < said.index(4 / 6)  # the first has ended
    positions = [said[place].position for place in places]
    assert positions[0] >= 29
    assert sorted(set(positions), reverse=True) == list(range(positions[0], 0, -1))


def test_a_slow_stream_holds_up_no_item_of_the_others(source):
    """The first has its items when the second has told all of its own."""
    told = threading.Event()

    def slowly(pieces):
        for piece in pieces:
            if piece % 2 == 0:
                assert told.wait(DEADLINE_SECONDS)
            yield piece

    items = split_over_workers(slowly, (0, 1, 2, 3, 4, 5))
    shares = (item for item in items if not isinstance(item, QueuePosition))
    assert [next(shares) for _ in range(3)] == [1 / 6, 2 / 6, 3 / 6]
    told.set()
    assert list(shares) == [4 / 6, 5 / 6, 1.0, (0, 1, 2, 3, 4, 5)]


def test_an_error_of_a_later_stream_comes_before_items_of_a_slow_one(source):
    broken = threading.Event()

    def break_at_one(pieces):
        for piece in pieces:
            if piece == 1:
                broken.set()
                raise ValueError("it broke")
            assert broken.wait(DEADLINE_SECONDS)
            yield piece

    items = split_over_workers(break_at_one, (0, 1, 2, 3))
    with pytest.raises(ValueError, match="it broke"):
        list(items)
    assert not module._streams


def test_who_leaves_closes_all_streams(source):
    works = [Work(), Work()]
    items = split_over_workers(lambda pieces: works[pieces[0]](), (0, 1))
    await_true(lambda: next(items) and all(work.began.is_set() for work in works))
    items.close()
    assert all(work.closed.is_set() for work in works)
    assert not module._streams


def test_who_shares_out_is_told_of_places_in_the_queue(source):
    assert QueuePosition(0) in list(split_over_workers(lambda pieces: iter(pieces), (1,)))
