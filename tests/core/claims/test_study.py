"""Does a study do everything once, whoever works, and whoever is killed at which moment?"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
import types
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
from distributed import Client, KilledWorker

from gating_core.claims import Refused, Store, Unreachable, run_study
from gating_core.claims import study as run
from gating_core.claims.__main__ import COMPLETE, STOPPED
from gating_core.claims.claim import COUNTED
from gating_core.claims.study import progress_of
from tests.browser.serving import free_port
from tests.clusters import SECONDS, cluster_of, wait_until, worker_of
from tests.core.claims.conftest import TINY
from tests.core.claims.test_store import disk, rows  # noqa: F401
from tests.profiles import SOAK

ROOT = Path(__file__).resolve().parents[3]


def comparable(rows):
    return sorted((replace(row, seconds=0.0) for row in rows), key=lambda row: row.key)


def found(store):
    return comparable([*store.models(), *store.stacks()])


# --- The iterator ---------------------------------------------------------------------------------


def test_a_study_tells_how_far_it_is_and_its_rows_are_those_of_the_units(
    store, scheduler, tiny_rows
):
    told = list(run_study(TINY, store, scheduler))
    names = ("done", "total", "workers")
    assert [told[0][name] for name in names] == [0, len(tiny_rows), None]
    assert told[0]["seconds_left"] > 0
    assert told[-1]["complete"]
    assert (told[-1]["seconds_left"], told[-1]["workers"]) == (0, 2)
    assert [x["done"] for x in told] == sorted(x["done"] for x in told)
    assert found(store) == comparable(tiny_rows)
    assert store.progress() == told[-1]


def test_a_unit_that_is_there_in_part_is_finished_and_counted_once(store, scheduler, tiny_rows):
    store.write(tiny_rows[:1])
    told = list(run_study(TINY, store, scheduler))
    assert told[0]["done"] == 1
    assert told[-1]["done"] == told[-1]["total"] == len(tiny_rows)
    assert found(store) == comparable(tiny_rows)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_at_first_the_time_left_is_that_of_all_units_on_so_many_workers(store, workers):
    seconds = sum(unit.seconds for unit in TINY.units())
    assert progress_of(TINY, store, workers)["seconds_left"] == pytest.approx(seconds / workers)


def test_what_is_there_is_not_done_again(store, tiny_rows, monkeypatch):
    store.write(tiny_rows)

    def nobody(*_):
        raise AssertionError("nobody is needed")

    monkeypatch.setattr(run, "_processes", nobody)
    (told,) = run_study(TINY, store)
    assert told["complete"]
    more = progress_of(replace(TINY, tasks=("xor", "linear", "moons")), store)
    assert more["total"] - more["done"] == 6


def test_a_study_that_is_stopped_goes_on_where_it_was(store, scheduler, tiny_rows):
    with closing(run_study(TINY, store, scheduler)) as study:
        first = next(x for x in study if x["done"])
    assert 0 < first["done"] < first["total"]
    assert sum(map(len, store.keys().values())) == first["done"]
    told = list(run_study(TINY, store, scheduler))
    assert told[0]["done"] == first["done"]
    assert found(store) == comparable(tiny_rows)


def by_value(function):
    """As a function that workers need not be able to import."""
    return types.FunctionType(function.__code__, {"__builtins__": __builtins__}, "sent")


WORKER = types.SimpleNamespace(address="tcp://127.0.0.1:1")


@pytest.mark.parametrize(("error", "tries", "said"), [
    (KilledWorker("unit", WORKER, 3), 1, "every worker that took it was killed"),
    (BrokenProcessPool(), run.TRIES, "every worker that took it was killed"),
    (MemoryError("so much"), 1, "it failed: MemoryError: so much"),
])  # fmt: skip
def test_a_unit_that_fails_says_why_and_counts_once(store, error, tries, said):
    counts = run._Study(TINY, store, 1)
    unit, future = counts.waiting.popleft(), Future()
    future.set_exception(error)
    for left in range(tries, 0, -1):
        assert (counts.failures, unit.key in counts.left) == ([], True), left
        assert counts.rows(unit, future) == []
        assert (counts.waiting[-1] is unit) == (left > 1)
        if left > 1:
            counts.waiting.pop()
    (failure,) = counts.progress()["failures"]
    assert failure.startswith(f"{unit.text}: {said}")
    assert unit.key not in counts.left


def test_rows_of_another_version_of_the_package_are_not_taken(store, tiny_rows):
    counts = run._Study(TINY, store, 1)
    unit, future = counts.waiting[0], Future()
    future.set_result([replace(row, key=f"other {row.key}") for row in tiny_rows[:32]])
    assert counts.rows(unit, future) == []
    assert "another version of this package" in counts.failures[0]
    assert counts.done == 0


def test_a_full_disk_ends_a_study_in_a_sentence(store, scheduler, disk):  # noqa: F811
    store.write(rows(0, 100))
    study = run_study(TINY, store, scheduler)
    next(study)
    disk(store.path.stat().st_size // 4096)  # not a page more
    with suppress(Refused):
        for number in range(100, 10_000):  # up to the last row that there is room for
            store.write(rows(number, 1))
    before = store.models()
    with pytest.raises(Refused, match="disk is full"):
        list(study)
    assert store.models() == before


@pytest.mark.soak
def test_a_lost_workers_units_are_done_again(store, cluster, tiny_rows):
    with Client(cluster, set_as_default=False) as client:
        client.wait_for_workers(1, SECONDS)  # they come some time after the scheduler
        workers = client.run(os.getpid)
    with closing(run_study(TINY, store, cluster)) as study:
        next(study)
        next(study)
        os.kill(next(iter(workers.values())), signal.SIGKILL)
        *_, last = study
    assert last["complete"]
    assert not last["failures"]
    assert found(store) == comparable(tiny_rows)


# --- The command line, killed ---------------------------------------------------------------------


def command(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "gating_core.claims", *map(str, arguments)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        **options,
    )


# `TINY`, with other tasks between its two: seconds to do, so that there is time to kill it.
BETWEEN = [x for x in COUNTED if x not in TINY.tasks][: None if SOAK else 1]
LONG_TASKS = ("xor", *BETWEEN, "linear")
LONGER = ("--tasks", ",".join(LONG_TASKS),
          "--variants", "ungated,sigmoid,half", "--parts", "base,stacks", "--seeds", 2,
          "--steps", 3)  # fmt: skip
KILLS = [1, pytest.param(10, marks=pytest.mark.soak)]


def addresses(*processes):
    """Where they listen."""
    found = set()
    for process in processes:
        with suppress(psutil.Error):  # it has ended
            found |= {x.laddr.ip for x in process.net_connections() if x.status == "LISTEN"}
    return found


def has_more(path, before):
    return path.exists() and rows_of(path) != before


@pytest.mark.parametrize("kills", KILLS)
def test_a_study_that_is_killed_goes_on_where_it_was_and_leaves_no_process(path, tiny_rows, kills):
    """As with kill -9, at random moments: while it starts, while it works, while it writes."""
    moments, before = random.Random(kills), []
    for kill in range(kills):
        study = command("run", *LONGER, "--store", path, "--workers", 1)
        if kill % 2 == 0:  # every other time it has done something
            wait_until(partial(has_more, path, before))
        time.sleep(moments.uniform(0.0, 2.5 if kill % 2 else 0.3))
        started = psutil.Process(study.pid).children(recursive=True)
        assert addresses(psutil.Process(study.pid), *started) <= {"127.0.0.1"}
        study.send_signal(signal.SIGKILL)
        assert study.wait() == -signal.SIGKILL  # and not ended before
        assert not psutil.wait_procs(started, timeout=SECONDS)[1]
        after = rows_of(path) if path.exists() else []
        assert [row for row in after if row.key in {x.key for x in before}] == before
        before = after
    study = command("run", *LONGER, "--store", path, "--workers", 1)
    assert "complete" in study.communicate(timeout=5 * SECONDS)[0]
    assert study.returncode == COMPLETE
    done = {row.key: row for row in rows_of(path)}
    assert comparable(done[row.key] for row in tiny_rows) == comparable(tiny_rows)
    assert all(done[row.key] == row for row in before)  # with the seconds that they took
    assert len(done) == len(LONG_TASKS) * 3 * 2 + 32


def rows_of(path):
    with Store(path, readable=True) as store:
        return [*store.models(), *store.stacks()]


def heed_ctrl_c():
    """Shells let what they start in the background ignore Ctrl-C: a study started here does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


# --- Workers that are killed, a cluster, and processes of this machine ----------------------------


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers, each a process of its own."""
    with cluster_of(2, tmp_path_factory.mktemp("cluster")) as address:
        yield address


def deadly(unit):
    """What kills its worker for one unit."""
    import os
    import signal

    from gating_core.claims.study import work_on

    if "linear: half" in unit.text:
        os.kill(os.getpid(), signal.SIGKILL)
    return work_on(unit)


@pytest.mark.soak  # workers are started anew again and again
@pytest.mark.parametrize("here", [True, False])
def test_a_unit_that_kills_every_worker_fails_alone(here, request, store, monkeypatch, tiny_rows):
    monkeypatch.setattr(run, "work_on", deadly if here else by_value(deadly))
    scheduler = None if here else request.getfixturevalue("cluster")
    *_, last = run_study(TINY, store, scheduler, workers=1)
    (failure,) = last["failures"]
    assert failure.startswith("linear: half;")
    assert "every worker that took it was killed" in failure
    assert len(found(store)) == len(tiny_rows) - 2


@pytest.mark.soak  # long
def test_a_cluster_without_a_worker_is_waited_for_in_so_many_words(path, tmp_path):
    """Until a worker comes, or until somebody has waited enough."""
    options = ("--tasks", "linear", "--variants", "half", "--parts", "base", "--seeds", 2,
               "--steps", 3, "--store", path)  # fmt: skip
    selection = replace(TINY, tasks=("linear",), variants=("half",), parts=("base",))
    with cluster_of(0, tmp_path) as address:
        waiting = command("run", *options, "--scheduler", address, preexec_fn=heed_ctrl_c)
        lines = [waiting.stdout.readline() for _ in range(2)]
        assert "0 of 2 rows, 0 workers connected" in lines[1]
        waiting.send_signal(signal.SIGINT)
        assert "the same command goes on from here" in waiting.communicate(timeout=SECONDS)[0]
        assert waiting.returncode == STOPPED
        with Store(path) as store, closing(run_study(selection, store, address)) as study:
            assert [next(study)["workers"] for _ in range(3)] == [None, 0, 0]
            with worker_of(address, tmp_path):
                *_, last = study
    assert (last["done"], last["total"], last["workers"]) == (2, 2, 1)


# --- Addresses without a scheduler ----------------------------------------------------------------


@pytest.fixture
def waits(monkeypatch):
    """Connections are waited for a fifth of a second, for time is no matter here."""
    assert run.CONNECT_SECONDS + 1 < 10  # which is promised
    monkeypatch.setattr(run, "CONNECT_SECONDS", 0.2)
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < SECONDS


def test_a_machine_that_starts_no_process_is_told(store, monkeypatch):
    def refuse(*_):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(run.ProcessPoolExecutor, "submit", refuse)
    with pytest.raises(Unreachable, match=r"no process starts on this machine: .*unavailable"):
        list(run_study(TINY, store))


def test_an_address_where_nobody_is_is_told_within_ten_seconds(path, waits):
    with Store(path) as store, pytest.raises(Unreachable, match="no Dask scheduler answers at"):
        list(run_study(TINY, store, scheduler=f"tcp://127.0.0.1:{free_port()}"))
    Store(path).close()  # nobody holds it


@pytest.mark.parametrize("address", ["", "nonsense", "tcp://", "ftp://127.0.0.1:1", "127.0.0.1:x"])
def test_what_is_no_address_is_told_at_once(store, address, waits):
    with pytest.raises(Unreachable, match="must be an address such as"):
        list(run_study(TINY, store, address))


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.soak
def test_an_address_where_something_else_answers_is_told_within_ten_seconds(store, waits):
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(Unreachable, match="no Dask scheduler answers"):
            list(run_study(TINY, store, f"tcp://127.0.0.1:{server.server_port}"))
        server.shutdown()
