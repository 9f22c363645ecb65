"""Does the page's study run on a Dask cluster that is there, and is a wrong address a sentence?"""

import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from distributed import Client

from gating_core.claims import Selection, Store, run_study
from tests.browser.serving import HOST, free_port
from tests.clusters import cluster_of, wait_until
from tests.core.claims.conftest import Here
from tests.ui.opening import open_page
from ui.claims import running
from ui.claims.running import State

PAGE = "pages/5_Claims.py"
SMALL = Selection(("linear",), ("ungated", "sigmoid"), ("base",), seed_count=2, steps=50)
ASKED = dict(run_study="true", study="own selection", tasks="linear", study_steps="50", many="2",
             variants=["ungated", "sigmoid"], study_parts="base")  # fmt: skip


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler and a worker, each a process of its own that lacks our package; its address."""
    with cluster_of(1, tmp_path_factory.mktemp("cluster")) as address:
        yield address


def run_on(address):
    """The page, once its study is asked for at this address."""
    app = open_page(PAGE, scheduler=address, **ASKED)
    app.button(key="claims_run").click().run()
    assert not app.exception
    return app


def tasks_done(address):
    """Steps of all tasks that the scheduler has seen."""
    with Client(address, set_as_default=False) as client:
        return client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter)


def comparable(store):
    return sorted((replace(row, seconds=0.0) for row in store.models()), key=lambda row: row.key)


def test_the_pages_study_runs_on_the_cluster_and_finds_the_same_rows(cluster, store, tmp_path):
    before = tasks_done(cluster)
    app = run_on(cluster)
    assert not app.error
    wait_until(lambda: not running.look(store).lives)
    found = running.look(store)
    assert found.state == State.COMPLETE, found.trouble
    assert found.options[-2:] == ("--scheduler", cluster)
    assert tasks_done(cluster) > before
    with Store(store, readable=True) as theirs, Store(tmp_path / "own.sqlite") as ours:
        assert list(run_study(SMALL, ours, start=Here))[-1].complete
        assert comparable(theirs) == comparable(ours)
        assert len(theirs.models()) == 4
    app.run()
    assert any("Rows: 4 trained models" in text.value for text in app.caption)


def test_an_address_where_nobody_is_is_one_sentence_at_once(store):
    address = f"tcp://{HOST}:{free_port()}"
    begin = time.monotonic()
    app = run_on(address)
    assert time.monotonic() - begin < 10
    (said,) = app.error
    assert said.value.startswith(f"Nobody answers at {address}: ")
    assert running.look(store).state == State.NONE
    assert not store.exists()


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


def test_an_address_where_something_else_answers_is_one_sentence(store):
    """How soon is timed with the workers: here a new process has to start."""
    with ThreadingHTTPServer((HOST, 0), Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        app = run_on(f"tcp://{HOST}:{server.server_port}")
        wait_until(lambda: not running.look(store).lives)
        server.shutdown()
    app.run()
    (said,) = app.error
    assert "The study has ended: no Dask scheduler answers at" in said.value
