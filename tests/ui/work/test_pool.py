"""Do worker processes compute what they are asked, the most urgent first, and are they replaced?"""

import os
import signal
import subprocess
import sys
import threading
from contextlib import closing, suppress
from itertools import islice, pairwise

import numpy as np
import psutil
import pytest

from tests.ui.opening import ROOT
from tests.ui.work import tasks
from tests.ui.work.work import CANCEL_SECONDS, DEADLINE_SECONDS, await_true
from ui.limits import FIRST_WORKERS
from ui.work.job import QueuePosition, State
from ui.work.pool import Pool, Rank, WorkerLost


def items(stream):
    return [item for item in stream if item is not None and not isinstance(item, QueuePosition)]


def first(stream):
    """The first item; the stream goes on."""
    return next(item for item in stream if item is not None and not isinstance(item, QueuePosition))


def pids(pool):
    return [worker.process.pid for worker in pool._workers]


@pytest.fixture
def two():
    """A pool of two worker processes, which are not shared."""
    pool = Pool(size=2)
    yield pool
    pool.close()


def test_what_a_function_yields_and_returns_comes_in_order(one):
    assert items(one.stream(tasks.counting, 4)) == [0, 1, 2, 3, 4]
    assert items(one.stream(tasks.returning, 6)) == [7]
    assert items(one.stream(tasks.adding, 3, 4)) == [7]
    assert one.call(tasks.adding, "a", "b") == "ab"
    assert one.call(tasks.counting, 4) == 4
    assert one.map(tasks.adding, [(1, 2), (3, 4), (5, 6)]) == (3, 7, 11)
    assert one.map(tasks.adding, []) == ()


def test_it_is_another_process_of_low_priority_with_one_thread(one):
    pid = one.call(tasks.process)
    assert pid != os.getpid()
    assert pid in pids(one)
    assert psutil.Process(pid).nice() == min(psutil.Process().nice() + 10, 19)
    assert set(one.call(tasks.threads)) == {1}
    assert one.call(tasks.share_cleared) < 0.1  # its memory is at hand


def test_what_was_one_object_stays_one(one):
    """Nothing is sent twice, however often a growing run is."""
    found = items(one.stream(tasks.growing, 5))
    assert [len(x) for x in found] == [1, 2, 3, 4, 5]
    for before, after in pairwise(found):
        assert all(x is y for x, y in zip(before, after, strict=False))
    np.testing.assert_array_equal(found[-1][3], np.full(1000, 3.0))


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ("zero", ZeroDivisionError, "the count went astray"),
        ("value", ValueError, "the count went astray"),
        ("unreadable", RuntimeError, "Unreadable: 7: cannot travel"),
    ],
)
def test_an_error_comes_after_what_came_before_with_its_traceback(one, error, kind, text):
    stream, found = one.stream(tasks.failing, error, 2), []
    with pytest.raises(kind, match=text) as caught:
        found += items(iter(lambda: next(stream), object()))
    assert "in failing" in "".join(caught.value.__notes__)


def test_a_function_that_cannot_travel_is_refused_at_once(one):
    with pytest.raises(Exception, match="pickle"):
        next(one.stream(lambda: 1))
    assert one.call(tasks.adding, 1, 1) == 2


def test_what_is_printed_is_no_item(one, capfd):
    assert items(one.stream(tasks.talking)) == ["item"]
    assert one.call(tasks.adding, 1, 1) == 2


def test_the_most_urgent_goes_first_and_the_others_go_on(one, tmp_path):
    """A view comes between two items of a training, a training between two of the rest."""
    order = tmp_path / "order"
    order.touch()
    rest = one.stream(tasks.noting, order, "rest", 40, rank=Rank.REST)
    assert first(rest) == "rest"
    training = one.stream(tasks.noting, order, "training", 20, rank=Rank.FIRST)
    assert first(training) == "training"
    assert one.call(tasks.noting, order, "view", 3) == "view"
    assert len(items(training)) == 19
    assert len(items(rest)) == 39
    lines = order.read_text().split()
    assert [lines.count(name) for name in ("rest", "training", "view")] == [40, 20, 3]
    at = lines.index("view")
    assert lines[at : at + 3] == ["view"] * 3
    since = lines.index("training")
    assert "rest" not in lines[since : len(lines) - lines[::-1].index("training")]
    assert lines[-1] == "rest"


def test_of_one_rank_whoever_came_first_is_first_and_others_know_their_place(one):
    streams = [one.stream(tasks.counting, last) for last in (None, 3, 3, 3)]
    assert first(streams[0]) == 0
    places = [next(stream) for stream in streams[1:]]
    assert places == [QueuePosition(1), QueuePosition(2), QueuePosition(3)]
    view = one.stream(tasks.counting, 1, rank=Rank.VIEW)
    assert next(view) == QueuePosition(0)
    streams[1].close()
    assert next(streams[2]) == QueuePosition(1)
    assert items(view) == [0, 1]
    streams[0].close()
    assert items(streams[2]) == [0, 1, 2, 3]
    assert items(streams[3]) == [0, 1, 2, 3]


def test_what_is_brief_goes_before_what_takes_long_and_after_a_view(one, tmp_path):
    order = tmp_path / "order"
    training = one.stream(tasks.noting, order, "training", 100)
    assert first(training) == "training"
    waiting = one.stream(tasks.noting, order, "waiting")
    assert next(waiting) == QueuePosition(1)
    brief = one.stream(tasks.noting, order, "brief", 100, rank=Rank.BRIEF)
    assert first(brief) == "brief"
    assert one.call(tasks.noting, order, "view", 3) == "view"
    assert len(items(brief)) == 99
    assert len(items(training)) == 99
    assert len(items(waiting)) == 3
    lines = order.read_text().split()
    assert sorted(set(lines), key=lambda name: len(lines) - lines[::-1].index(name)) == [
        "view", "brief", "training", "waiting",
    ]  # fmt: skip
    since = lines.index("brief")
    assert "training" not in lines[since : len(lines) - lines[::-1].index("brief")]


def test_however_much_is_brief_a_worker_is_left_to_what_takes_long(two):
    two.call(tasks.process)
    briefs = [two.stream(tasks.counting, rank=Rank.BRIEF) for _ in range(3)]
    assert [first(stream) for stream in briefs[:2]] == [0, 0]  # nobody else is there
    assert next(briefs[2]) == QueuePosition(1)
    training = two.stream(tasks.counting, 5)
    assert next(training) == QueuePosition(2)
    briefs[0].close()
    assert items(islice(training, 100)) == [0, 1, 2, 3, 4, 5]  # and no third brief task before it
    assert first(briefs[2]) == 0
    for stream in briefs:
        stream.close()


def test_a_worker_that_nobody_with_long_work_wants_is_free_for_what_is_brief(two):
    two.call(tasks.process)
    trainings = [two.stream(tasks.counting) for _ in range(2)]
    assert [first(stream) for stream in trainings] == [0, 0]
    briefs = [two.stream(tasks.counting, rank=Rank.BRIEF) for _ in range(2)]
    assert first(briefs[0]) == 0
    assert next(briefs[1]) == QueuePosition(1)  # the other worker is left to its training
    trainings.pop(0).close()
    assert items(islice(briefs[1], 100))[:1] == [0]  # though the other training is laid aside
    for stream in [*trainings, *briefs]:
        stream.close()


@pytest.mark.parametrize("other", [Rank.FIRST, Rank.REST])
def test_what_is_laid_aside_is_what_can_best_wait(two, other):
    """Of two trainings the younger one, and what nobody waits for before a training."""
    two.call(tasks.process)
    training = two.stream(tasks.counting)
    assert first(training) == 0
    younger = two.stream(tasks.counting, rank=other)
    assert first(younger) == 0
    briefs = [two.stream(tasks.counting, rank=Rank.BRIEF) for _ in range(2)]
    assert first(briefs[0]) == 0
    assert next(briefs[1]) == QueuePosition(1)
    goes_on, aside = sorted(two._workers, key=lambda worker: len(worker.tasks))
    assert (len(goes_on.tasks), len(aside.tasks)) == (1, 2)
    assert min(goes_on.tasks) < min(aside.tasks)  # tasks are numbered as they come
    for stream in (training, younger, *briefs):
        stream.close()


@pytest.mark.parametrize("other", [None, Rank.REST])
def test_a_worker_that_still_stops_is_the_last_choice(two, tmp_path, other):
    """After one that is free, and after one whose own task can wait."""
    two.warm(0.0)
    await_true(lambda: all(worker.ready for worker in two._workers) and len(two._workers) == 2)
    held = two.stream(tasks.holding, tmp_path / "go")
    assert first(held) == "begun"
    busy, free = sorted(two._workers, key=lambda worker: not worker.tasks)
    rest = two.stream(tasks.counting, rank=other) if other else iter(())
    assert not other or first(rest) == 0
    held.close()
    with closing(two.stream(tasks.process, rank=Rank.VIEW)) as view:
        assert items(islice(view, 100)) == [free.process.pid]  # before the other has stopped
    with closing(two.stream(tasks.counting, rank=Rank.VIEW)) as view:
        assert first(view) == 0
        last = two.stream(tasks.process, rank=Rank.VIEW)
        assert next(last) == QueuePosition(0)  # there is no other
        (tmp_path / "go").touch()
        assert items(last) == [busy.process.pid]
    await_true(lambda: not any(worker.stopping for worker in two._workers))
    if other:
        rest.close()


def test_two_work_at_once_and_a_third_waits(two):
    two.call(tasks.process)
    streams = [two.stream(tasks.counting) for _ in range(3)]
    assert [first(stream) for stream in streams[:2]] == [0, 0]
    assert next(streams[2]) == QueuePosition(1)
    assert len({tuple(worker.tasks) for worker in two._workers}) == 2
    streams[0].close()
    assert first(streams[2]) == 0
    for stream in streams:
        stream.close()


def test_closing_a_stream_closes_what_computes_it(one, tmp_path):
    said = tmp_path / "said"
    stream = one.stream(tasks.closing, said)
    assert first(stream) == 0
    stream.close()
    await_true(said.exists)
    assert one.call(tasks.adding, 1, 1) == 2
    assert not any(worker.tasks for worker in one._workers)


def test_a_worker_that_dies_ends_its_tasks_with_a_sentence_and_is_replaced(two):
    other = two.stream(tasks.counting)
    assert first(other) == 0
    before = set(pids(two))
    dying = two.stream(tasks.dying)
    assert first(dying) == "kept"
    with pytest.raises(WorkerLost, match="The process that computed this has ended"):
        items(dying)
    assert first(other) > 0  # it has nothing to do with it
    other.close()
    await_true(lambda: len(pids(two)) == 2 and set(pids(two)) != before)
    assert two.call(tasks.adding, 1, 1) == 2


def test_a_job_whose_worker_is_killed_fails_in_words(one, run):
    job = run(lambda: one.stream(tasks.counting), expected=(WorkerLost,))
    await_true(lambda: len(job.items) > 2)
    os.kill(pids(one)[0], signal.SIGKILL)
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.trouble) == (State.FAILED, "The process that computed this has ended")
    assert len(job.items) > 2


def test_a_worker_that_takes_too_much_memory_is_replaced():
    pool = Pool(size=1, memory=700_000_000)
    try:
        pid = pool.call(tasks.process)
        with pytest.raises(WorkerLost, match=r"more than the 0.7 GB of memory that it may take"):
            items(pool.stream(tasks.hoarding, 900))
        assert pool.call(tasks.process) != pid
    finally:
        pool.close()


def test_a_task_that_a_busy_worker_takes_slowly_holds_up_nobody(one):
    """A pipe holds little: whoever gives a large task to a worker must not wait until it reads."""
    one.call(tasks.process)
    pid = pids(one)[0]
    os.kill(pid, signal.SIGSTOP)  # it reads nothing
    try:
        stream = one.stream(tasks.adding, b"a" * 10_000_000, b"b")
        thread = threading.Thread(target=next, args=(stream,), daemon=True)
        thread.start()
        thread.join(DEADLINE_SECONDS)
        assert not thread.is_alive()
        one._start_first()
        assert not one.crowded
    finally:
        os.kill(pid, signal.SIGCONT)
    assert len(items(stream)[0]) == 10_000_001


def test_workers_that_cannot_start_are_an_error_and_not_an_endless_loop():
    pool = Pool(size=1, command=(sys.executable, "-c", "raise SystemExit(1)"))
    with pytest.raises(WorkerLost, match="could be started"):
        items(pool.stream(tasks.counting, 1))
    assert pids(pool) == []
    with pytest.raises(WorkerLost, match="could be started"):  # it is tried again, and ends again
        items(pool.stream(tasks.counting, 1))
    pool.close()


def test_the_first_workers_start_a_moment_after_the_first_page_and_once():
    pool = Pool(size=3)
    pool.warm(0.0)
    pool.warm(0.0)
    await_true(lambda: len(pool._workers) == FIRST_WORKERS)
    pool.close()
    late = Pool(size=1)
    late.warm(DEADLINE_SECONDS)
    assert not late._workers  # the browser draws first
    assert late.call(tasks.adding, 1, 2) == 3  # who needs one does not wait for that
    late.close()


def test_where_the_system_starts_no_process_its_task_ends_and_leaves_the_queue(caplog):
    pool = Pool(size=1, command=("no such program",))
    for _ in range(2):  # it is tried again, and ends again
        with pytest.raises(WorkerLost, match="could be started"):
            items(pool.stream(tasks.counting, 1))
        assert not pool.crowded
    assert "FileNotFoundError" in caplog.text
    pool._start_first()  # nobody waits, and nobody is told
    pool.close()


def test_where_no_further_process_starts_tasks_wait_for_those_there_are(one, monkeypatch):
    one.call(tasks.process)
    monkeypatch.setattr(one, "size", 2)
    monkeypatch.setattr(one, "_command", ("no such program",))
    with closing(one.stream(tasks.counting)) as ahead:
        assert first(ahead) == 0
        after = one.stream(tasks.counting, 3)
        assert next(after) == QueuePosition(1)
    assert items(after) == [0, 1, 2, 3]
    assert not one.crowded


def test_a_task_leaves_the_queue_whatever_fails_as_it_joins(one, monkeypatch):
    one.call(tasks.process)

    def fail():
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(one, "_assign", fail)
        with pytest.raises(MemoryError):
            next(one.stream(tasks.counting))
    assert not one.crowded
    assert one.call(tasks.adding, 1, 1) == 2


def test_a_job_says_its_place_and_begins_in_its_turn(one, run):
    with closing(one.stream(tasks.counting)) as ahead:
        assert first(ahead) == 0
        job = run(lambda: one.stream(tasks.counting, 2))
        assert (job.state, job.position, job.elapsed) == (State.WAITING, 1, 0)
        never = run(lambda: one.stream(tasks.counting))
        assert never.position == 2
        never.cancel()
        assert never.state is State.CANCELLED
        assert never.join(CANCEL_SECONDS)
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.position, job.items) == (State.DONE, 0, [0, 1, 2])


KILLED = """
import time
from tests.ui.work import tasks
from ui.work.pool import Pool

pool = Pool(size=2)
pool._start_first()
stream = pool.stream(tasks.counting)
while next(stream) != 3:
    pass
print(*(worker.process.pid for worker in pool._workers), flush=True)
time.sleep(60)
"""


def test_workers_end_with_the_server_even_if_that_is_killed():
    server = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, cwd=ROOT)
    with suppress(ProcessLookupError), server:
        workers = [psutil.Process(int(pid)) for pid in server.stdout.readline().split()]
        assert len(workers) == 2
        server.kill()
        server.wait()
        gone, left = psutil.wait_procs(workers, DEADLINE_SECONDS)
        assert not left
        assert len(gone) == 2
