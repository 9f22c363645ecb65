"""Worker processes: the most urgent task first, and replaced when they die."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import closing, suppress
from itertools import islice, pairwise
from unittest.mock import Mock

import numpy as np
import psutil
import pytest

from tests.ui.opening import ROOT
from tests.ui.work import tasks
from tests.ui.work.work import DEADLINE_SECONDS, await_true
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


@pytest.fixture(scope="module")
def pool_of_two():
    pool = Pool(size=2)
    yield pool
    pool.close()


@pytest.fixture
def two(pool_of_two):
    """A pool of two worker processes, both ready and idle."""
    pool_of_two._start_first()
    await_true(lambda: len(pool_of_two._workers) == 2 and all(map(is_idle, pool_of_two._workers)))
    return pool_of_two


def is_idle(worker):
    return worker.ready and not (worker.tasks or worker.stopping)


@pytest.fixture
def fresh():
    """A pool for two worker processes, of which none is started."""
    pool = Pool(size=2)
    yield pool
    pool.close()


def test_items_and_results_come_in_order(one):
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
    assert os.getsid(pid) == os.getsid(0)  # else Linux does not compare their niceness
    assert os.getpgid(pid) == pid
    assert set(one.call(tasks.threads)) == {1}
    assert one.call(tasks.share_cleared) < 0.1  # its memory is at hand


def test_an_object_stays_one_object(one):
    """Nothing is sent twice, however often a growing run is."""
    tuples = items(one.stream(tasks.growing, 5))
    assert [len(x) for x in tuples] == [1, 2, 3, 4, 5]
    for before, after in pairwise(tuples):
        assert all(x is y for x, y in zip(before, after, strict=False))
    np.testing.assert_array_equal(tuples[-1][3], np.full(1000, 3.0))


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        ("zero", ZeroDivisionError, "the count went astray"),
        ("value", ValueError, "the count went astray"),
        ("unreadable", RuntimeError, "Unreadable: 7: cannot travel"),
    ],
)
def test_an_error_of_a_task_comes_with_its_traceback(one, error, kind, text):
    with pytest.raises(kind, match=text) as caught:
        items(one.stream(tasks.failing, error, 2))
    assert "in failing" in "".join(caught.value.__notes__)


def test_a_function_that_cannot_be_pickled_is_refused_at_once(one):
    with pytest.raises(Exception, match="pickle"):
        next(one.stream(lambda: 1))
    assert one.call(tasks.adding, 1, 1) == 2


def test_printed_text_is_no_item(one, capfd):
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


def test_tasks_of_one_rank_are_done_in_order_and_know_their_position(one):
    streams = [one.stream(tasks.counting, last) for last in (None, 3, 3, 3)]
    assert first(streams[0]) == 0
    positions = [next(stream) for stream in streams[1:]]
    assert positions == [QueuePosition(1), QueuePosition(2), QueuePosition(3)]
    view = one.stream(tasks.counting, 1, rank=Rank.VIEW)
    assert next(view) == QueuePosition(0)
    streams[1].close()
    assert next(streams[2]) == QueuePosition(1)
    assert items(view) == [0, 1]
    streams[0].close()
    assert items(streams[2]) == [0, 1, 2, 3]
    assert items(streams[3]) == [0, 1, 2, 3]


def test_brief_tasks_go_before_trainings_and_after_views(one, tmp_path):
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


@pytest.mark.soak  # long
def test_brief_tasks_leave_a_worker_to_trainings(two):
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


def test_brief_tasks_take_all_workers_that_no_training_waits_for(two):
    trainings = [two.stream(tasks.counting) for _ in range(2)]
    assert [first(stream) for stream in trainings] == [0, 0]
    briefs = [two.stream(tasks.counting, rank=Rank.BRIEF) for _ in range(2)]
    assert first(briefs[0]) == 0
    assert next(briefs[1]) == QueuePosition(1)  # the other worker is left to its training
    trainings.pop(0).close()
    assert items(islice(briefs[1], 100))[:1] == [0]  # though the other training is paused
    for stream in [*trainings, *briefs]:
        stream.close()


@pytest.mark.parametrize("other", [Rank.FIRST, Rank.REST])
def test_the_task_is_paused_that_can_best_wait(two, other):
    """Of two trainings the younger one; a task that nobody waits for before a training."""
    training = two.stream(tasks.counting)
    assert first(training) == 0
    younger = two.stream(tasks.counting, rank=other)
    assert first(younger) == 0
    briefs = [two.stream(tasks.counting, rank=Rank.BRIEF) for _ in range(2)]
    assert first(briefs[0]) == 0
    assert next(briefs[1]) == QueuePosition(1)
    goes_on, paused = sorted(two._workers, key=lambda worker: len(worker.tasks))
    assert (len(goes_on.tasks), len(paused.tasks)) == (1, 2)
    assert min(goes_on.tasks) < min(paused.tasks)  # tasks are numbered as they come
    for stream in (training, younger, *briefs):
        stream.close()


@pytest.mark.parametrize("other", [None, Rank.REST])
def test_a_worker_that_still_stops_is_the_last_choice(two, tmp_path, other):
    """After one that is free, and after one whose own task can wait."""
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


@pytest.mark.soak  # long
def test_no_task_waits_for_a_worker_that_stops_while_there_is_room(fresh, tmp_path):
    held = fresh.stream(tasks.holding, tmp_path / "go")
    assert first(held) == "begun"
    (busy,) = pids(fresh)
    held.close()
    with closing(fresh.stream(tasks.process, rank=Rank.VIEW)) as view:
        (pid,) = items(islice(view, 1000))
    assert pid != busy
    (tmp_path / "go").touch()


def test_two_work_at_once_and_a_third_waits(two):
    streams = [two.stream(tasks.counting) for _ in range(3)]
    assert [first(stream) for stream in streams[:2]] == [0, 0]
    assert next(streams[2]) == QueuePosition(1)
    assert len({tuple(worker.tasks) for worker in two._workers}) == 2
    streams[0].close()
    assert first(streams[2]) == 0
    for stream in streams:
        stream.close()


def test_closing_a_stream_closes_what_computes_it(one, tmp_path):
    closed = tmp_path / "closed"
    stream = one.stream(tasks.closing, closed)
    assert first(stream) == 0
    stream.close()
    await_true(closed.exists)
    assert one.call(tasks.adding, 1, 1) == 2
    assert not any(worker.tasks for worker in one._workers)


def test_a_worker_that_dies_ends_its_tasks_and_is_replaced(two):
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


def test_a_job_whose_worker_is_killed_fails_with_a_sentence(one, run):
    job = run(lambda: one.stream(tasks.counting), expected=(WorkerLost,))
    await_true(lambda: len(job.items) > 2)
    os.kill(pids(one)[0], signal.SIGKILL)
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.error_text) == (State.FAILED, "The process that computed this has ended")
    assert len(job.items) > 2


@pytest.mark.soak  # long
def test_a_worker_that_takes_too_much_memory_is_replaced():
    pool = Pool(size=1, memory=700_000_000)
    try:
        pid = pool.call(tasks.process)
        with pytest.raises(WorkerLost, match=r"more than the 0.7 GB of memory that it may take"):
            items(pool.stream(tasks.hoarding, 900))
        assert pool.call(tasks.process) != pid
    finally:
        pool.close()


def test_a_large_task_for_a_busy_worker_does_not_block_the_pool(one):
    """A pipe holds little: giving a large task to a worker must not wait until that reads it."""
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


def test_where_no_process_starts_tasks_end_and_leave_the_queue(caplog):
    pool = Pool(size=1, command=("no such program",))
    for _ in range(2):  # it is tried again, and ends again
        with pytest.raises(WorkerLost, match="could be started"):
            items(pool.stream(tasks.counting, 1))
        assert not pool.crowded
    assert "FileNotFoundError" in caplog.text
    pool._start_first()  # no task waits
    pool.close()


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_where_a_thread_cannot_start_no_process_is_left(fresh, monkeypatch, allowed):
    """The pool starts a thread of its own, then a process and two threads for it."""
    processes, left = [], [allowed]
    start, popen = threading.Thread.start, subprocess.Popen

    def start_or_fail(thread):
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("can't start new thread")
        start(thread)

    def note(*arguments, **options):
        processes.append(popen(*arguments, **options))
        return processes[-1]

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start_or_fail)
        patch.setattr(subprocess, "Popen", note)
        with pytest.raises(WorkerLost, match="could be started"):
            items(fresh.stream(tasks.process))
    assert len(processes) == (allowed > 0)
    assert all(process.poll() is not None for process in processes)
    assert not fresh._workers
    assert not fresh.crowded
    assert allowed < 2 or fresh.call(tasks.adding, 1, 2) == 3  # it is tried again


def test_where_no_thread_starts_for_a_new_worker_tasks_go_to_the_others(two, monkeypatch):
    with monkeypatch.context() as patch, closing(two.stream(tasks.counting)) as task:
        assert first(task) == 0
        patch.setattr("ui.work.pool._start_thread", Mock(side_effect=OSError("no thread")))
        (busy,) = (worker for worker in two._workers if worker.tasks)
        waiting = [two.stream(tasks.counting, 3) for _ in range(2)]
        assert [next(stream) for stream in waiting] == [QueuePosition(0), QueuePosition(1)]
        busy.process.kill()
        await_true(lambda: len(two._workers) == 1)
        assert items(waiting[0]) == items(waiting[1]) == [0, 1, 2, 3]


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


def test_a_job_knows_its_position_and_begins_in_order(one, run):
    with closing(one.stream(tasks.counting)) as ahead:
        assert first(ahead) == 0
        job = run(lambda: one.stream(tasks.counting, 2))
        assert (job.state, job.position, job.elapsed) == (State.WAITING, 1, 0)
        never = run(lambda: one.stream(tasks.counting))
        assert never.position == 2
        never.cancel()
        assert never.state is State.CANCELLED
        assert never.join(DEADLINE_SECONDS)
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.position, job.items) == (State.DONE, 0, [0, 1, 2])


SERVER = """
import signal
import time
from tests.ui.work import tasks
from ui.work.pool import Pool

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
pool = Pool(size=2)
pool._start_first()
stream = pool.stream(tasks.counting)
while next(stream) != 3:
    pass
try:
    print(*(worker.process.pid for worker in pool._workers), flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    pool.map(tasks.adding, [(1, 1)] * 4)
    print(*(worker.process.pid for worker in pool._workers), flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are of POSIX")
def test_ctrl_c_reaches_the_server_alone_and_workers_end_with_it():
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, cwd=ROOT,
                              process_group=0)  # fmt: skip
    with suppress(ProcessLookupError), server:
        pids = server.stdout.readline().split()
        os.killpg(server.pid, signal.SIGINT)
        assert server.stdout.readline().split() == pids
        workers = [psutil.Process(int(pid)) for pid in pids]
        os.killpg(server.pid, signal.SIGINT)
        assert not psutil.wait_procs(workers, DEADLINE_SECONDS)[1]


def test_workers_end_with_the_server_even_if_that_is_killed():
    server = subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, cwd=ROOT)
    with suppress(ProcessLookupError), server:
        workers = [psutil.Process(int(pid)) for pid in server.stdout.readline().split()]
        assert len(workers) == 2
        server.kill()
        server.wait()
        gone, left = psutil.wait_procs(workers, DEADLINE_SECONDS)
        assert not left
        assert len(gone) == 2
