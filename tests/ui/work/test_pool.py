"""Worker processes: what they compute arrives as it was, and they are replaced when they die."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from itertools import pairwise
from unittest.mock import MagicMock

import numpy as np
import psutil
import pytest
from streamlit.runtime import Runtime
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData
from streamlit.runtime.state import SafeSessionState, SessionState
from streamlit.testing.v1.local_script_runner import LocalScriptRunner

from tests.ui.opening import ROOT
from tests.ui.work import tasks
from tests.ui.work.work import DEADLINE_SECONDS, await_true
from ui.work import processes
from ui.work.cache import Cache, cached
from ui.work.job import WAITING, State
from ui.work.pool import LOST, NOT_STARTED, REFUSED, Pool, Rank, WorkerLost
from ui.work.shared import split_over_workers, stream_together
from ui.work.worker import SHARE_SECONDS


def items(stream):
    return [item for item in stream if item is not None and item is not WAITING]


def first(stream):
    """The first item; the stream goes on."""
    return next(item for item in stream if item is not None and item is not WAITING)


def test_items_and_results_come_in_order(one):
    assert items(one.stream(tasks.counting, 4)) == [0, 1, 2, 3, 4]
    assert items(one.stream(tasks.returning, 6)) == [7]
    assert one.call(tasks.adding, "a", "b") == "ab"
    assert one.call(tasks.counting, 4) == 4
    assert one.map(tasks.adding, [(1, 2), (3, 4), (5, 6)]) == (3, 7, 11)
    assert one.map(tasks.adding, []) == ()
    assert one.call(tasks.process) == one.call(tasks.process) != os.getpid()


@pytest.mark.parametrize("rank", Rank)
def test_each_rank_has_processes_of_its_niceness_with_one_thread(one, rank):
    def computed(function, *arguments):
        return items(one.stream(function, *arguments, rank=rank))[0]

    pid = computed(tasks.process)
    assert computed(os.getpriority, os.PRIO_PROCESS, 0) == min(os.getpriority(0, 0) + rank, 19)
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(os.getpriority(0, 0) + rank, 19)
    assert os.getsid(pid) == os.getsid(0)  # else Linux does not compare their niceness
    assert os.getpgid(pid) != os.getpgid(0)  # Ctrl-C is the server's
    assert set(computed(tasks.threads)) == {1}
    assert computed(tasks.share_cleared) < 0.1  # its memory is at hand


def test_a_view_waits_for_no_training_and_the_other_way_round(one):
    endless = [one.stream(tasks.counting, None, rank.name, rank=rank) for rank in Rank]
    assert [first(stream) for stream in endless] == [0] * len(Rank)
    after = one.stream(tasks.counting, 3)
    assert next(after) is WAITING
    assert one.crowded
    endless[list(Rank).index(Rank.FIRST)].close()
    assert items(after) == [0, 1, 2, 3]
    for stream in endless:
        stream.close()


def test_an_object_stays_one_object(one):
    """Nothing is sent twice, however often a growing run is."""
    tuples = items(one.stream(tasks.growing, 5))
    assert [len(x) for x in tuples] == [1, 2, 3, 4, 5]
    for before, after in pairwise(tuples):
        assert all(x is y for x, y in zip(before, after, strict=False))
    np.testing.assert_array_equal(tuples[-1][3], np.full(1000, 3.0))


def test_all_readers_get_the_same_objects(one):
    """Also where the arguments cannot be compared: then each is computed by itself."""
    early = one.stream(tasks.growing, 40)
    seen = [first(early), first(early)]
    late = items(one.stream(tasks.growing, 40))
    seen += items(early)
    assert len(late) == len(seen) == 40
    assert all(x is y for x, y in zip(seen, late, strict=True))
    assert one.map(tasks.adding, [([1], [2]), ([1], [2])]) == ([1, 2], [1, 2])


@pytest.mark.parametrize(("error", "kind", "text"), [
    ("zero", ZeroDivisionError, "the count went astray"),
    ("unreadable", RuntimeError, "Unreadable: 7: cannot travel"),
])  # fmt: skip
def test_an_error_of_a_task_comes_with_its_traceback(one, error, kind, text):
    with pytest.raises(kind, match=text) as caught:
        items(one.stream(tasks.failing, error, 2))
    assert "in failing" in "".join(caught.value.__notes__)


def test_a_function_that_cannot_be_pickled_is_an_error(one):
    with pytest.raises(Exception, match="pickle"):
        items(one.stream(lambda: 1))
    assert one.call(tasks.adding, 1, 1) == 2


def test_printed_text_is_no_item(one, capfd):
    assert items(one.stream(tasks.talking)) == ["item"]
    assert capfd.readouterr().out == ""


def test_closing_a_stream_closes_what_computes_it(one, tmp_path):
    stream = one.stream(tasks.closing, closed := tmp_path / "closed")
    assert first(stream) == 0
    stream.close()
    await_true(closed.exists)


def test_shares_of_a_function_that_reports_come_before_its_result_and_not_too_often(one):
    *shares, seconds = items(one.stream(tasks.reporting, 40))
    assert shares == sorted(shares)
    assert 0 < shares[0] < shares[-1] <= 1
    assert len(shares) <= 1 + seconds / SHARE_SECONDS


def test_a_function_that_reports_stops_at_once_and_its_worker_goes_on(one):
    (pid,) = items(one.stream(tasks.process))
    with closing(one.stream(tasks.reporting, 10**9)) as stream:
        first(stream)
    began = time.monotonic()
    assert items(one.stream(tasks.process)) == [pid]
    assert time.monotonic() - began < 0.5


def test_a_task_at_one_long_item_keeps_its_worker_for_a_second_only(one, tmp_path):
    with closing(one.stream(tasks.holding, tmp_path / "never")) as held:
        assert first(held) == "begun"
    assert items(one.stream(tasks.counting, 2)) == [0, 1, 2]


def test_several_streams_are_read_as_their_items_come(one, monkeypatch):
    monkeypatch.setattr(one, "size", 3)
    monkeypatch.setattr("ui.work.pool.POOL", one)
    *shares, results = items(split_over_workers(tasks.tenfold, (0, 1, 2, 3, 4), 7))
    assert results == (7, 17, 27, 37, 47)
    assert shares == [0.2, 0.4, 0.6, 0.8, 1.0]
    slow_and_quick = stream_together(tasks.counting, [(None,), (3,)])
    quick = [item for number, item in items(next(slow_and_quick) for _ in range(200)) if number]
    assert quick == [0, 1, 2, 3]
    slow_and_quick.close()
    with pytest.raises(ZeroDivisionError):
        items(stream_together(tasks.failing, [("zero", 1), ("zero", 10**9)]))
    await_true(lambda: not one._tasks)


# --- Processes that end ---------------------------------------------------------------------------


def test_a_worker_that_dies_ends_its_task_alone_and_is_replaced(one):
    with closing(one.stream(tasks.counting, rank=Rank.REST)) as other:
        assert first(other) == 0
        dying = one.stream(tasks.dying)
        assert first(dying) == "kept"
        with pytest.raises(WorkerLost, match=LOST):
            items(dying)
        assert one.call(tasks.adding, 1, 1) == 2
        assert first(other) > 0


@pytest.mark.soak
def test_a_worker_that_dies_without_a_task_is_no_error(one):
    """Nor does the template's death matter to anybody."""
    pid = one.call(tasks.process)
    template, _ = one._starter._template
    for victim in (pid, template.pid):
        os.kill(victim, signal.SIGKILL)
    assert one.call(tasks.process) not in (pid, os.getpid())
    assert one._starter._template[0].pid != template.pid


def test_a_job_whose_worker_is_killed_fails_with_a_sentence(one, run):
    job = run(lambda: one.stream(tasks.identified), expected=(WorkerLost,))
    await_true(lambda: len(job.items) > 2)
    os.kill(job.items[0], signal.SIGKILL)
    assert job.join(DEADLINE_SECONDS)
    assert (job.state, job.error_text) == (State.FAILED, LOST)
    assert len(job.items) > 2


@pytest.mark.parametrize("hoard", [tasks.hoarding, tasks.hoarding_tensors])
def test_a_request_beyond_the_memory_is_refused_and_its_worker_replaced(one, hoard):
    pid = one.call(tasks.process)
    with pytest.raises(WorkerLost, match=REFUSED):
        one.call(hoard)
    assert one.call(tasks.process) != pid


def test_a_large_task_for_a_busy_worker_does_not_block_the_others(one):
    """A pipe holds little: to send a large task takes until the worker reads it."""
    pid = one.call(tasks.process)
    os.kill(pid, signal.SIGSTOP)  # it reads nothing
    try:
        with closing(one.stream(tasks.adding, b"a" * 10_000_000, b"b", rank=Rank.VIEW)) as stream:
            assert next(stream) is None
            assert items(one.stream(tasks.counting, 2)) == [0, 1, 2]
            os.kill(pid, signal.SIGCONT)
            assert len(items(stream)[0]) == 10_000_001
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("command", [(sys.executable, "-c", "raise SystemExit"), ("no program",)])
def test_workers_that_cannot_start_are_an_error_and_not_an_endless_loop(monkeypatch, command):
    monkeypatch.setattr(processes, "COMMAND", command)
    with closing(Pool(size=1)) as pool:
        for _ in range(2):  # it is tried again, and ends again
            with pytest.raises(WorkerLost, match=NOT_STARTED):
                items(pool.stream(tasks.counting, 1))
        assert not pool.crowded


@pytest.mark.soak
def test_without_forks_each_worker_imports_for_itself(monkeypatch):
    monkeypatch.setattr(processes, "FORKS", False)
    with closing(Pool(size=1)) as pool:
        assert items(pool.stream(os.getpriority, 0, 0)) == [min(os.getpriority(0, 0) + 12, 19)]
        with pytest.raises(WorkerLost, match=LOST):
            items(pool.stream(tasks.dying))
        (pid,) = items(pool.stream(tasks.process))
    assert not psutil.wait_procs([psutil.Process(pid)], DEADLINE_SECONDS)[1]


@pytest.mark.soak
def test_the_first_worker_starts_a_moment_after_the_first_page_and_once():
    with closing(Pool(size=3)) as pool:
        pool.warm(DEADLINE_SECONDS)
        assert not pool._processes  # the browser draws first
    with closing(Pool(size=3)) as pool:
        pool.warm(0.0)
        pool.warm(0.0)
        await_true(lambda: len(pool._processes) == 1 and pool._idle[Rank.VIEW])


SERVER = """
import signal
import time
from tests.ui.work import tasks
from ui.work.pool import Pool, Rank

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
pool = Pool(size=1)
pids = [next(filter(None, pool.stream(tasks.process, rank=rank))) for rank in Rank]
try:
    print(*pids, pool._starter._template[0].pid, flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print([pool.call(tasks.process) in pids], flush=True)
    time.sleep(60)
"""


@pytest.mark.sampled(1)
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are of POSIX")
@pytest.mark.parametrize("ended_by", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_reaches_the_server_alone_and_all_processes_end_with_it(ended_by):
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdout=subprocess.PIPE, cwd=ROOT, process_group=0
    )
    with suppress(ProcessLookupError), server:
        workers = [psutil.Process(int(pid)) for pid in server.stdout.readline().split()]
        os.killpg(server.pid, signal.SIGINT)
        assert server.stdout.readline() == b"[True]\n"
        os.killpg(server.pid, ended_by)
        assert not psutil.wait_procs(workers, DEADLINE_SECONDS)[1]


# --- Page runs that are stopped -------------------------------------------------------------------


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


def test_of_ten_quick_moves_the_last_alone_is_computed(one, visit, tmp_path):
    go, order, moves = tmp_path / "go", tmp_path / "order", []

    @cached(on=Cache(1e6))
    def measured(seed):
        return one.call(tasks.noting, order, seed, 1)

    def move():
        moves.append(len(moves))
        return measured(moves[-1])

    with closing(one.stream(tasks.holding, go, rank=Rank.VIEW)) as ahead:
        assert first(ahead) == "begun"
        run = visit(move)
        for seed in range(1, 10):
            run.request_rerun(RerunData())
            await_true(lambda seed=seed: len(moves) > seed)
        await_true(lambda: len(one._waiting[Rank.VIEW]) == 1)
        go.touch()
        await_true(lambda: run.over)
    assert run.results == [9]
    assert order.read_text().split() == ["9"]


@pytest.mark.parametrize("rank", [Rank.VIEW, Rank.BRIEF])
def test_what_a_stopped_run_has_begun_goes_on_for_whoever_waits_for_it(one, visit, tmp_path, rank):
    """Another visitor, or the next run of the same one."""
    go, order = tmp_path / "go", tmp_path / "order"

    @cached(on=Cache(1e6))
    def measured(name):
        return one.call(tasks.noting_and_holding, order, name, go, rank=rank)

    before = visit(measured, "a")
    await_true(order.exists)
    assert one.call(tasks.counting, 3, rank=Rank(13 - rank)) == 3  # neither waits for the other
    after = visit(measured, "a")
    before.request_stop()
    await_true(lambda: before.over)
    assert before.results == []
    go.touch()
    await_true(lambda: after.over)
    assert after.results == ["a"]
    assert order.read_text() == "a\n"


def test_a_run_that_was_not_stopped_and_a_thread_without_one_go_on(one, visit):
    run = visit(one.call, tasks.counting, 30)
    await_true(lambda: run.over)
    assert run.results == [30]
    assert one.call(tasks.counting, 3) == 3
