"""Saves the figures of a page as the browser shows them: PNG, SVG, and a page that turns."""

from __future__ import annotations

import json
from typing import Any

from _plotly_utils import basevalidators

from ui.components.source import declare, script

_component = declare("figures", f"const SAVED = {json.dumps(script('saved'))};\n")
_get_module = basevalidators.get_module


def _get_whole_module(name: str, should_load: bool = True) -> Any:
    """Return what plotly asks for, but no module that another visitor's run is still importing.

    plotly looks for pandas in ``sys.modules`` at each array. While pandas is being imported it has
    no ``Series`` yet, and every chart of that half second ended in an error.
    """
    module = _get_module(name, should_load)
    return None if getattr(getattr(module, "__spec__", None), "_initializing", False) else module


basevalidators.get_module = _get_whole_module


def figures(key: str, name: str, line: str) -> None:
    """Draw the choice of a figure, and a button for each kind of file.

    Args:
        key: Of the component.
        name: What the names of files begin with.
        line: Printed in each file: where it comes from.
    """
    _component(key=key, data={"name": name, "line": line})
