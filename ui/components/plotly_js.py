"""plotly.js for saved figures: served by this server.

The file comes from the installed plotly package; Streamlit serves a copy from ``static/``. No page
asks another host for it.
"""

from __future__ import annotations

import os
import shutil
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import get_ident
from typing import Any

from _plotly_utils import basevalidators

STATIC = Path(__file__).resolve().parents[2] / "static"
_spec = find_spec("plotly")  # importing the package itself would take as long as a page
assert _spec is not None
assert _spec.origin is not None
PLOTLY_SOURCE = Path(_spec.origin).parent / "package_data" / "plotly.min.js"
_version = version("plotly")  # from a file of the package: not at every run of a page
_get_module = basevalidators.get_module


def _get_whole_module(name: str, should_load: bool = True) -> Any:
    """Return what plotly asks for, but no module that another visitor's run is still importing.

    plotly looks for pandas in ``sys.modules`` at each array. While pandas is being imported it has
    no ``Series`` yet, and every chart of that half second ended in an error.
    """
    module = _get_module(name, should_load)
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module


basevalidators.get_module = _get_whole_module


def plotly_url() -> str:
    """Return a relative URL of plotly.js; copy it into ``static/`` the first time.

    Raises ``OSError`` where that cannot be written; no part of a copy stays behind.
    """
    target = STATIC / f"plotly-{_version}.min.js"
    if not target.exists() or target.stat().st_size != PLOTLY_SOURCE.stat().st_size:
        STATIC.mkdir(exist_ok=True)
        part = target.with_suffix(f".{os.getpid()}.{get_ident()}.part")  # one for each thread
        try:
            shutil.copyfile(PLOTLY_SOURCE, part)
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)  # or a full disk would be kept full
    return f"app/static/{target.name}"
