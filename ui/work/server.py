"""The server's own work: it imports what every page needs, and opens a browser.

    app = st.App(__file__, lifespan=lifespan)

Importing torch takes a second. It begins with the server, and is nearly over when the browser of
the first visitor has loaded Streamlit's own files.
"""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st
from streamlit import cli_util, config
from streamlit.web.server import server_util

_importing = threading.Lock()


@asynccontextmanager
async def lifespan(_app: st.App) -> AsyncIterator[None]:
    """Begin the imports; open a browser, as ``streamlit run`` does for a script."""
    threading.Thread(target=import_core, name="imports", daemon=True).start()
    if not config.get_option("server.headless"):
        address = config.get_option("server.address") or "localhost"
        asyncio.get_running_loop().call_soon(
            cli_util.open_browser, server_util.get_url(server_util.get_display_address(address))
        )
    yield


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
