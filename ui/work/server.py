"""The server's own work: it imports what every page needs, and opens a browser.

    app = st.App(__file__, lifespan=lifespan)

Importing torch takes a second. It begins with the server, and is nearly over when the browser of
the first visitor has loaded Streamlit's own files.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import streamlit as st
from streamlit import cli_util, config
from streamlit.web.server import server_util

_importing = threading.Lock()


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Begin the imports; open a browser, as ``streamlit run`` does for a script."""
    threading.Thread(target=_import_early, name="imports", daemon=True).start()
    if not config.get_option("server.headless"):
        asyncio.get_running_loop().call_soon(cli_util.open_browser, server_util.get_url(_address()))
    try:
        yield
    finally:  # the signal that ends the server then ends the process, without `atexit`
        if "ui.work.pool" in sys.modules:
            from ui.work import job, pool

            job.end_all()
            pool.POOL.close()


def _address() -> str:
    """Return the host name or address that is shown to users, as ``streamlit run`` chooses it."""
    if config.is_manually_set("browser.serverAddress"):
        return str(config.get_option("browser.serverAddress"))
    return server_util.get_display_address(config.get_option("server.address") or "localhost")


def _import_early() -> None:
    """Import; what fails here fails again for the first visitor, whose page says so."""
    with suppress(Exception):
        import_core()


def import_core() -> None:
    """Import what every page needs; who comes meanwhile waits until that is done.

    No garbage is collected meanwhile: imports make objects that stay, see `ui.work.runtime`.
    """
    with _importing:
        gc.disable()
        try:
            from ui.work import jobs, pool, runs  # noqa: F401
        finally:
            gc.enable()
