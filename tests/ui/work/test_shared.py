"""Shared streams: computed once for all readers, and no longer than one of them reads."""

import threading

import pytest

from tests.ui.work.work import DEADLINE_SECONDS, Work, await_true
from ui.work import pool
from ui.work import shared as module
from ui.work.job import QueuePosition
from ui.work.pool import Rank
from ui.work.shared import shared_stream, split_over_workers


class Source:
    """A pool that notes requests and runs the function in this thread."""

    def __init__(self):
        self.requests, self.size = [], 2

    def stream(self, function, *arguments, rank):
        self.requests.append((function, arguments, rank))
        yield QueuePosition(0)
        yield from function(*arguments)


@pytest.fixture
def source(monkeypatch):
    source = Source()
    monkeypatch.setattr(pool, "POOL", source)
    yield source
    assert not module._streams


def test_ten_concurrent_readers_get_the_same_objects(source, run):
    ten = threading.Event()

    def make(number):
        assert ten.wait(DEADLINE_SECONDS)
        for _ in range(number):
            yield object()
            yield None

    jobs = [run(lambda: shared_stream(make, 7)) for _ in range(10)]
    await_true(lambda: [stream.readers for stream in list(module._streams.values())] == [10])
    ten.set()
    assert all(job.join(DEADLINE_SECONDS) for job in jobs)
    assert len(source.requests) == 1
    assert len({tuple(map(id, job.items)) for job in jobs}) == 1
    assert len(jobs[0].items) == 7


def test_a_later_reader_gets_all_items(source, run):
    work = Work(step=True)
    early = run(lambda: shared_stream(work))
    for _ in range(3):
        work.let_on.release()
    await_true(lambda: len(early.items) == 3)
    late = run(lambda: shared_stream(work))
    await_true(lambda: len(late.items) == 3)
    assert len(source.requests) == 1
    early.cancel()
    work.let_on.release()
    assert early.join(DEADLINE_SECONDS)
    assert not work.closed.is_set()  # the other still reads
    work.let_on.release()
    await_true(lambda: len(late.items) >= 4)
    late.cancel()
    work.let_on.release(2)
    assert late.join(DEADLINE_SECONDS)
    assert work.closed.is_set()


def test_other_arguments_or_ranks_are_other_streams(source):
    def make(number):
        yield number

    streams = [
        shared_stream(make, 1),
        shared_stream(make, 2),
        shared_stream(make, 1, rank=Rank.REST),
    ]
    assert [next(stream) for stream in streams] == [QueuePosition(0)] * 3
    assert len(source.requests) == 3
    for stream in streams:
        stream.close()


def test_a_position_is_yielded_where_there_is_no_item(source):
    items = list(shared_stream(lambda: iter((None, 1, None))))
    assert [item for item in items if not isinstance(item, QueuePosition)] == [1]


def test_all_readers_get_an_error_and_the_next_one_starts_anew(source, run):
    gate = threading.Event()

    def broken():
        yield 1
        assert gate.wait(DEADLINE_SECONDS)
        raise ZeroDivisionError("astray")

    jobs = [run(lambda: shared_stream(broken), expected=(ZeroDivisionError,)) for _ in range(3)]
    await_true(lambda: all(job.items == [1] for job in jobs))
    gate.set()
    assert all(job.join(DEADLINE_SECONDS) for job in jobs)
    assert [job.error_text for job in jobs] == ["astray"] * 3
    assert len(source.requests) == 1
    again = run(lambda: shared_stream(broken), expected=(ZeroDivisionError,))
    assert again.join(DEADLINE_SECONDS)
    assert len(source.requests) == 2


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_pieces_are_split_over_workers_and_results_come_in_order(source, size):
    def tenfold(pieces, added):
        for piece in pieces:
            yield None
            yield 10 * piece + added

    source.size = size
    items = split_over_workers(tenfold, (0, 1, 2, 3, 4), 7)
    *shares, results = (item for item in items if not isinstance(item, QueuePosition | None))
    assert results == (7, 17, 27, 37, 47)
    assert shares == [0.2, 0.4, 0.6, 0.8, 1.0]
    parts = [part for _, (part, _), _ in source.requests]
    assert len(parts) == min(size, 5)
    assert sorted(sum(parts, ())) == [0, 1, 2, 3, 4]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_an_error_of_one_worker_closes_all_streams(source):
    def fail_at_one(pieces):
        for piece in pieces:
            if piece == 1:
                raise ValueError("it broke")
            yield piece

    with pytest.raises(ValueError, match="it broke") as caught:
        list(split_over_workers(fail_at_one, (0, 1, 2, 3)))
    assert caught.tb  # which holds the generators
    assert not module._streams


def test_the_rank_is_that_of_all_parts(source):
    list(split_over_workers(lambda pieces: iter(pieces), (1, 2, 3)))
    list(split_over_workers(lambda pieces: iter(pieces), (1, 2, 3), rank=Rank.BRIEF))
    assert [rank for _, _, rank in source.requests] == [Rank.FIRST] * 2 + [Rank.BRIEF] * 2


def test_it_waits_only_while_all_remaining_parts_wait(source, monkeypatch):
    """The first of two workers is free at once, the second when thirty others are."""
    first = []

    def stream(function, pieces, rank):
        yield QueuePosition(0 if pieces[0] == 0 else 30)
        if pieces[0] == 0:
            first.append(threading.current_thread())
        else:
            await_true(lambda: first and not first[0].is_alive())  # it has ended
            yield from map(QueuePosition, range(29, 0, -1))
        yield QueuePosition(0)
        for piece in function(pieces):
            yield None
            yield piece

    monkeypatch.setattr(source, "stream", stream)
    *progress, results = split_over_workers(lambda pieces: iter(pieces), (0, 1, 2, 3, 4, 5))
    assert results == (0, 1, 2, 3, 4, 5)
    shares = [item for item in progress if isinstance(item, float)]
    assert shares == [count / 6 for count in range(1, 7)]
    waits = [index for index, item in enumerate(progress) if getattr(item, "position", 0)]
    assert (
        progress.index(3 / 6) < waits[0] <= waits[-1] < progress.index(4 / 6)
    )  # the first has ended
    positions = [progress[index].position for index in waits]
    assert positions[0] >= 29
    assert sorted(set(positions), reverse=True) == list(range(positions[0], 0, -1))


def test_a_slow_stream_does_not_delay_the_others(source):
    """The first stream has its items when all of the second have come."""
    finished = threading.Event()

    def slowly(pieces):
        for piece in pieces:
            if piece % 2 == 0:
                assert finished.wait(DEADLINE_SECONDS)
            yield piece

    items = split_over_workers(slowly, (0, 1, 2, 3, 4, 5))
    shares = (item for item in items if not isinstance(item, QueuePosition))
    assert [next(shares) for _ in range(3)] == [1 / 6, 2 / 6, 3 / 6]
    finished.set()
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


def test_closing_it_closes_all_streams(source):
    works = [Work(), Work()]
    items = split_over_workers(lambda pieces: works[pieces[0]](), (0, 1))
    await_true(lambda: next(items) and all(work.began.is_set() for work in works))
    items.close()
    assert all(work.closed.is_set() for work in works)
    assert not module._streams
