"""Does a study do everything once, whoever works, whoever is killed and whoever else is at it?"""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psutil
import pytest
import sqlalchemy as sa
from distributed import KilledWorker

from gating_core.claims import Refused, Store, Unreachable, progress_of, run, run_study, workers
from gating_core.claims.__main__ import COMPLETE, STOPPED, main
from gating_core.claims.store import LEASE_SECONDS
from gating_core.claims.workers import Processes, Workers
from tests.browser.serving import free_port
from tests.clusters import SECONDS, cluster_of, wait_until, worker_of
from tests.core.claims.conftest import TINY, Here
from tests.core.claims.test_store import fork, rows

ROOT = Path(__file__).resolve().parents[3]


def comparable(rows):
    return sorted((replace(row, seconds=0.0) for row in rows), key=lambda row: row.key)


def found(store):
    return comparable([*store.models(), *store.stacks()])


# --- The iterator ---


def test_a_study_tells_how_far_it_is_and_its_rows_are_those_of_the_units(store, tiny_rows):
    told = list(run_study(TINY, store, start=Here))
    assert (told[0].done, told[0].total) == (0, len(tiny_rows))
    assert told[0].seconds_left > 0
    assert told[-1].complete
    assert told[-1].seconds_left == 0
    assert [x.done for x in told] == sorted(x.done for x in told)
    assert comparable(row for x in told for row in x.arrived) == found(store)
    assert found(store) == comparable(tiny_rows)
    assert store._begin().__enter__().scalar(sa.text("SELECT count(*) FROM leases")) == 0


def test_a_unit_that_is_there_in_part_is_finished_and_counted_once(store, tiny_rows):
    store.write(tiny_rows[:1])
    told = list(run_study(TINY, store, start=Here))
    assert told[0].done == 1
    assert told[-1].done == told[-1].total == len(tiny_rows)
    assert found(store) == comparable(tiny_rows)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_at_first_the_time_left_is_that_of_all_units_on_so_many_workers(store, workers):
    seconds = sum(unit.seconds for unit in TINY.units())
    assert progress_of(TINY, store, workers).seconds_left == pytest.approx(seconds / workers)


def test_many_workers_are_soon_done(store):
    class Many(Here):
        threads = 1000

        def finished(self, timeout):
            yield next(super().finished(timeout))

    study = run_study(TINY, store, start=Many)
    with closing(study):
        assert next(study).seconds_left > 50 * next(study).seconds_left


def test_what_is_there_is_not_done_again(store):
    list(run_study(TINY, store, start=Here))

    def nobody(*_):
        raise AssertionError("nobody is needed")

    (told,) = run_study(TINY, store, start=nobody)
    assert told.complete
    more = replace(TINY, tasks=("xor", "linear", "moons"))
    assert not progress_of(more, store).complete
    told = list(run_study(more, store, start=Here))
    assert len([row for x in told for row in x.arrived]) == told[-1].total - told[0].done == 6


def test_a_study_that_is_stopped_goes_on_where_it_was(store, tiny_rows):
    class One(Here):
        def finished(self, timeout):
            yield next(super().finished(timeout))

    study = run_study(TINY, store, start=One)
    with closing(study):
        next(study)
        first = next(study)
    assert 0 < first.done < first.total
    rest = [row for x in run_study(TINY, store, start=Here) for row in x.arrived]
    assert len(rest) == first.total - first.done
    assert found(store) == comparable(tiny_rows)


def test_what_fails_is_told_and_tried_again_another_time(store):
    class Failing(Here):
        def finished(self, timeout):
            for text, done in super().finished(timeout):
                yield text, "it failed" if '"linear"' in text and '"half"' in text else done

    told = list(run_study(TINY, store, start=Failing))
    assert not told[-1].complete
    assert told[-1].seconds_left == pytest.approx(0)
    assert told[-1].failures == ("linear: half; memory, depth 1, n = 3, seeds 0 to 1: it failed",)
    assert list(run_study(TINY, store, start=Here))[-1].complete


def test_a_unit_of_another_process_is_waited_for(store, path, clock, monkeypatch):
    """Its owner does one of the units, and dies with the other."""
    monkeypatch.setattr(run, "HEARTBEAT_SECONDS", 0.01)
    selection = replace(TINY, parts=("base",), variants=("half",))
    one, other = selection.units()
    with Store(path) as owner:
        assert owner.lease([one.key, other.key]) == {one.key, other.key}
        study = run_study(selection, store, start=Here)
        told = [next(study) for _ in range(3)]
        assert told[-1].done == 0
        here = Here()
        here.submit(one.dumped())
        owner.write(next(here.finished(0))[1])
        owner.release([one.key])
        told = next(study)
        assert told.done == len(one.keys)
        assert not told.arrived  # nobody does it again
        clock.now += LEASE_SECONDS + 1
        arrived = [row.task for x in study for row in x.arrived]
    assert set(arrived) == {"linear"}
    assert len(store.models()) == 4


def test_a_unit_that_takes_longer_than_a_lease_stays_ours(store, path, clock, monkeypatch):
    monkeypatch.setattr(run, "LEASE_SECONDS", 0.0)  # it is renewed at every step

    class Slow(Here):
        def finished(self, timeout):
            return iter(())

    keys = [unit.key for unit in TINY.units()]
    with closing(run_study(TINY, store, start=Slow)) as study, Store(path) as other:
        for _ in range(5):
            next(study)
            clock.now += 0.6 * LEASE_SECONDS
        assert other.lease(keys) < set(keys)
        other.release()
    with Store(path) as other:
        assert other.lease(keys) == set(keys)


def test_a_full_disk_ends_a_study_in_a_sentence(store):
    study = run_study(TINY, store, start=Here)
    next(study)

    @sa.event.listens_for(store._engine, "connect")
    def limit(connection, _):
        connection.execute("PRAGMA max_page_count = 20")

    with pytest.raises(Refused, match="disk is full"):
        store.write(rows(0, 1000))
    while True:  # up to the last row that there is room for
        try:
            store.write(rows(store.counts()["models"], 1))
        except Refused:
            break
    before = store.models()
    with pytest.raises(Refused, match="disk is full"):
        list(study)
    assert store.models() == before


# --- The command line, killed ---


def command(*arguments, **options):
    return subprocess.Popen([sys.executable, "-m", "gating_core.claims", *map(str, arguments)],
                            cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                            **options)  # fmt: skip


# `TINY`, with other tasks between its two: seconds to do, so that there is time to kill it.
LONGER = ("--tasks", "xor,spiral,moons,rings,circle,checkerboard,offset,linear", "--variants",
          "ungated,sigmoid,half", "--parts", "base,stacks", "--seeds", 2, "--steps", 3)  # fmt: skip


@pytest.mark.soak  # long
def test_a_study_that_is_killed_goes_on_where_it_was_and_leaves_no_process(path, tiny_rows):
    study = command("run", *LONGER, "--store", path, "--workers", 1)
    wait_until(lambda: path.exists() and Store(path, readable=True).counts()["models"])
    started = psutil.Process(study.pid).children(recursive=True)
    assert started
    study.send_signal(signal.SIGKILL)
    study.wait()
    assert not psutil.wait_procs(started, timeout=SECONDS)[1]
    keys = {row.key for row in tiny_rows}
    with Store(path) as store:
        before = [*store.models(), *store.stacks()]
        assert 0 < len(keys & {row.key for row in before}) < len(keys)
        assert list(run_study(TINY, store, start=Here))[-1].complete
        after = {row.key: row for row in [*store.models(), *store.stacks()]}
        assert comparable(after[key] for key in keys) == comparable(tiny_rows)
    assert all(after[row.key] == row for row in before)  # with the seconds that they took


MOMENTS = {"scheduler": 1, "nanny": 2, "worker": 3}  # how many processes there are then


def start_processes(mark):
    """As a study does; what it starts bears the ``mark``."""
    os.environ["GATING_TEST"] = mark
    Processes(1, 10**9)
    time.sleep(SECONDS)


def marked(mark):
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("GATING_TEST") == mark:
                found.append(process)
    return found


@pytest.mark.soak  # long
def test_whenever_it_is_killed_while_it_starts_nothing_stays_behind(tmp_path):
    """As with kill -9, as soon as there is the scheduler, the nanny or the worker."""
    starting = {
        f"{tmp_path} {name}": (fork(start_processes, f"{tmp_path} {name}"), count)
        for name, count in MOMENTS.items()
    }
    waiting = dict(starting)

    def kill_those_that_are_so_far():
        for mark, (process, count) in [*waiting.items()]:
            if len(marked(mark)) >= count:
                process.kill()
                process.join()
                del waiting[mark]
        return not waiting

    wait_until(kill_those_that_are_so_far)
    wait_until(lambda: not any(map(marked, starting)))


# --- Clusters ---


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """A scheduler without a worker, a process of its own; its address."""
    with cluster_of(0, tmp_path_factory.mktemp("scheduler")) as address:
        yield address


@pytest.fixture(scope="module")
def worked(scheduler, tmp_path_factory):
    """The same once one worker has come, which lacks the package."""
    with worker_of(scheduler, tmp_path_factory.mktemp("worker")):
        yield scheduler


def heed_ctrl_c():
    """Shells let what they start in the background ignore Ctrl-C: a study started here does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.soak  # long
def test_a_cluster_without_a_worker_is_waited_for_in_so_many_words(scheduler, path, request):
    """Until a worker comes, or until somebody has waited enough."""
    options = ("--tasks", "linear", "--variants", "half", "--parts", "base", "--seeds", 2,
               "--steps", 3, "--store", path)  # fmt: skip
    waiting = command("run", *options, "--scheduler", scheduler, preexec_fn=heed_ctrl_c)
    assert "0 of 2 rows, 0 workers connected" in waiting.stdout.readline()
    waiting.send_signal(signal.SIGINT)
    assert "the same command goes on from here" in waiting.communicate(timeout=SECONDS)[0]
    assert waiting.returncode == STOPPED
    selection = replace(TINY, tasks=("linear",), variants=("half",), parts=("base",))
    with Store(path) as store, closing(run_study(selection, store, scheduler)) as study:
        assert [next(study).workers for _ in range(3)] == [None, 0, 0]
        request.getfixturevalue("worked")
        *_, last = study
    assert (last.done, last.total, last.workers) == (2, 2, 1)


def test_the_command_line_runs_on_a_cluster(worked, path, tiny_rows):
    words = ["--tasks", "linear", "--variants", "half", "--parts", "base", "--seeds", "2"]
    options = ["--steps", "3", "--scheduler", worked, "--store", str(path), "--json"]
    assert main(["run", *words, *options]) == COMPLETE
    with Store(path) as store:
        keys = {row.key for row in store.models()}
        assert found(store) == comparable(row for row in tiny_rows if row.key in keys)
        assert len(keys) == 2


def test_what_nobody_waits_for_any_more_ends_by_itself(worked):
    endless = replace(TINY, tasks=("xor",), variants=("half",), parts=("base",), steps=20_000)
    (unit,) = endless.units()
    with Workers(worked) as team:
        wait_until(lambda: team.threads == 1)
        team.submit(unit.dumped())
        wait_until(lambda: busy(team) == 1)
    (short, *_) = replace(endless, steps=1).units()
    with Workers(worked) as team:
        wait_until(lambda: busy(team) == 0)
        team.submit(short.dumped())
        ended = []
        wait_until(lambda: ended.extend(team.finished(0.2)) or ended)
    assert len(ended[0][1]) == 2


def busy(team):
    executing = team._client.run(lambda dask_worker: dask_worker.state.executing_count)
    return sum(executing.values())


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (KilledWorker("unit", None, 3), "every worker that took it was killed; there may be too"),
        (ZeroDivisionError("by 0"), "it failed: ZeroDivisionError: by 0"),
    ],
)
def test_why_a_unit_has_no_rows_is_one_sentence(error, text):
    class Ended:
        def result(self):
            raise error

    assert workers._result(Ended()).startswith(text)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and two workers, each a process of its own; its address."""
    with cluster_of(2, tmp_path_factory.mktemp("cluster")) as address:
        yield address


def worker_pids(team):
    return team._client.run(os.getpid)


@pytest.mark.soak  # seconds of trainings twice
def test_a_cluster_that_lacks_the_package_finds_the_same_rows_though_a_worker_is_killed(
    cluster, store, tiny_rows
):
    team = Workers(cluster)
    wait_until(lambda: team.threads == 2)
    before = worker_pids(team)
    study = run_study(TINY, store, start=lambda *_: team)
    next(study)
    told = [next(study)]
    os.kill(next(iter(before.values())), signal.SIGKILL)
    told += study
    assert told[-1].complete
    assert not told[-1].failures
    assert found(store) == comparable(tiny_rows)
    arrived = [row.key for x in told for row in x.arrived]
    assert len(arrived) == len(set(arrived)) == len(tiny_rows)


def deadly(text):
    """What kills its worker for one unit, and does nothing for all others."""
    import os
    import signal

    if '"linear"' in text and '"half"' in text:
        os.kill(os.getpid(), signal.SIGKILL)
    return []


def by_value(function):
    """As a function that workers need not be able to import."""
    import types

    return types.FunctionType(function.__code__, {"__builtins__": __builtins__}, "sent")


@pytest.mark.soak  # workers are started anew four times
def test_a_unit_that_kills_every_worker_fails_alone(cluster, store):
    team = Workers(cluster, task=by_value(deadly))
    wait_until(lambda: team.threads == 2)
    with team:
        units = list(TINY.units())
        for unit in units:
            team.submit(unit.dumped())
        ended = {}
        wait_until(lambda: ended.update(team.finished(0.2)) or len(ended) == len(units))
    failed = [text for text, done in ended.items() if isinstance(done, str)]
    assert len(failed) == 1
    assert '"half"' in failed[0]
    assert ended[failed[0]].startswith("every worker that took it was killed")


# --- Addresses without a scheduler ---


@pytest.fixture
def waits(monkeypatch):
    """How long connections were waited for: a fifth of a second, for time is no matter here."""
    assert workers.CONNECT_SECONDS + 1 < 10  # which is promised
    asked = []

    class Client(workers.Client):
        def __init__(self, address, timeout, **options):
            asked.append(timeout)
            super().__init__(address, timeout=timeout, **options)

    monkeypatch.setattr(workers, "Client", Client)
    monkeypatch.setattr(workers, "CONNECT_SECONDS", 0.2)
    begin = time.monotonic()
    yield asked
    assert time.monotonic() - begin < SECONDS


def test_an_address_where_nobody_is_is_told_within_ten_seconds(store, waits):
    with pytest.raises(Unreachable, match="no Dask scheduler answers at"):
        list(run_study(TINY, store, scheduler=f"tcp://127.0.0.1:{free_port()}"))
    assert waits == [workers.CONNECT_SECONDS]
    assert store.lease([unit.key for unit in TINY.units()])  # nobody holds them


def test_who_stops_a_study_while_it_starts_leaves_no_process(monkeypatch):
    """As Ctrl-C does before anything watches over the cluster."""

    def stopped(*about, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "Client", stopped)
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(KeyboardInterrupt):
        Workers(count=1)
    left = set(psutil.Process().children(recursive=True)) - before
    _, alive = psutil.wait_procs(left, SECONDS)
    assert not alive


@pytest.mark.parametrize("address", ["", "nonsense", "tcp://", "ftp://127.0.0.1:1", "127.0.0.1:x"])
def test_what_is_no_address_is_told_at_once(address, waits):
    with pytest.raises(Unreachable, match="must be an address such as"):
        Workers(address)
    assert len(waits) == (address[:3] == "ftp")  # Dask says so itself


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_an_address_where_something_else_answers_is_told_within_ten_seconds(waits):
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with pytest.raises(Unreachable, match="no Dask scheduler answers"):
            Workers(f"tcp://127.0.0.1:{server.server_port}")
        assert waits == [workers.CONNECT_SECONDS]
        server.shutdown()
