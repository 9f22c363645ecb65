"""The server's start: imports begin with it, and a browser opens unless it is headless."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from streamlit import cli_util, config
from streamlit.web.server.app_discovery import discover_asgi_app

from tests.ui.opening import ROOT
from ui.work import server


@pytest.mark.parametrize(("headless", "opened"), [(False, ["http://127.0.0.1:8765"]), (True, [])])
def test_imports_begin_with_the_server_and_a_browser_opens_unless_headless(
    monkeypatch, headless, opened
):
    options = {"server.headless": headless, "server.address": "127.0.0.1"}
    options |= {"server.baseUrlPath": "", "server.sslCertFile": None, "browser.serverPort": 8765}
    urls, begun = [], threading.Event()
    monkeypatch.setattr(config, "get_option", options.get)
    monkeypatch.setattr(cli_util, "open_browser", urls.append)
    monkeypatch.setattr(server, "import_core", begun.set)

    async def serve() -> None:
        async with server.lifespan(None):
            assert await asyncio.to_thread(begun.wait, 60)
            await asyncio.sleep(0)

    with ThreadPoolExecutor() as pool:  # Playwright's loop may run in this thread
        pool.submit(asyncio.run, serve()).result()
    assert urls == opened


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
