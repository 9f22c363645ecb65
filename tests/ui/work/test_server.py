"""The server's start and end."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit import cli_util, config
from streamlit.web.server.app_discovery import discover_asgi_app

from tests.ui.opening import ROOT
from ui.work import job, pool, server


@pytest.mark.parametrize(
    ("headless", "shown", "opened"),
    [(False, None, ["http://127.0.0.1:8765"]), (False, "a.example", ["http://a.example:8765"]),
     (True, None, [])],
)  # fmt: skip
def test_imports_begin_with_the_server_a_browser_opens_and_workers_end_with_it(
    monkeypatch, headless, shown, opened
):
    options = {
        "server.headless": headless,
        "server.address": "127.0.0.1",
        "server.baseUrlPath": "",
        "server.sslCertFile": None,
        "browser.serverPort": 8765,
        "browser.serverAddress": shown,
    }
    urls, ended, begun = [], [], threading.Event()
    monkeypatch.setattr(config, "get_option", options.get)
    monkeypatch.setattr(config, "is_manually_set", lambda name: bool(options[name]))
    monkeypatch.setattr(cli_util, "open_browser", urls.append)
    monkeypatch.setattr(server, "import_core", begun.set)
    monkeypatch.setattr(job, "end_all", lambda: ended.append("jobs"))
    monkeypatch.setattr(pool, "POOL", SimpleNamespace(close=lambda: ended.append("workers")))

    async def serve() -> None:
        async with server.lifespan(None):
            assert await asyncio.to_thread(begun.wait, 60)
            await asyncio.sleep(0)
            assert not ended

    with ThreadPoolExecutor() as threads:  # Playwright's loop may run in this thread
        threads.submit(asyncio.run, serve()).result()
    assert urls == opened
    assert ended == ["jobs", "workers"]


def test_an_import_that_fails_leaves_the_error_to_the_first_visitor(monkeypatch):
    def fail() -> None:
        raise ImportError("no torch")

    monkeypatch.setattr(server, "import_core", fail)
    server._import_early()


def test_streamlit_run_serves_this_app():
    assert discover_asgi_app(Path(ROOT) / "app.py").import_string == "app:app"


def test_who_comes_during_the_imports_waits_for_their_end(monkeypatch):
    order = []

    def late() -> None:
        server.import_core()
        order.append("page")

    with server._importing:
        visitor = threading.Thread(target=late)
        visitor.start()
        visitor.join(0.05)
        order.append("imported")
    visitor.join(60)
    assert order == ["imported", "page"]
