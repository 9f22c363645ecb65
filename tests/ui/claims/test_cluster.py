"""Is a wrong address of a Dask scheduler one sentence on the page?"""

import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import SimpleNamespace

import pytest

from tests.browser.serving import HOST, free_port
from tests.clusters import wait_until
from tests.ui.opening import open_page
from ui.claims import running
from ui.claims.running import StudyState

PAGE = "pages/5_Claims.py"
CHOSEN = dict(tab="Run the study", study="own selection", tasks="linear", study_steps="50",
              many="2", variants=["ungated", "sigmoid"], study_parts="base")  # fmt: skip


def run_on(address):
    """The page, once its study is started at this address."""
    app = open_page(PAGE, scheduler=address, **CHOSEN)
    app.button(key="claims_run").click().run()
    assert not app.exception
    return app


def test_an_address_where_nobody_is_is_one_sentence_at_once(store, monkeypatch):
    address, waits = f"tcp://{HOST}:{free_port()}", []

    def connect(where, timeout):
        waits.append(timeout)
        return socket.create_connection(where, timeout)

    monkeypatch.setattr(running, "socket", SimpleNamespace(create_connection=connect))
    app = run_on(address)
    assert waits == [running.ANSWER_SECONDS]
    assert running.ANSWER_SECONDS < 10
    (said,) = app.error
    assert said.value.startswith(f"Nobody answers at {address}: ")
    assert running.look(store).state == StudyState.NONE
    assert not store.exists()


class Page(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.soak  # long
def test_an_address_where_something_else_answers_is_one_sentence(store):
    """How soon is timed with the workers: here a new process has to start."""
    with ThreadingHTTPServer((HOST, 0), Page) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        app = run_on(f"tcp://{HOST}:{other.server_port}")
        wait_until(lambda: not running.look(store).lives)
        other.shutdown()
    app.run()
    (said,) = app.error
    assert "The study has ended: no Dask scheduler answers at" in said.value
