"""Saves the figures of a page as the browser shows them: PNG, SVG, and a page that turns."""

from __future__ import annotations

from ui.components.plotly_js import plotly_url
from ui.components.source import declare

_component = declare("figures")


def figures(key: str, name: str, line: str) -> None:
    """Draw the choice of a figure, and a button for each kind of file.

    Args:
        key: Of the component.
        name: What the names of files begin with.
        line: Printed in each file: where it comes from.
    """
    _component(key=key, data={"plotly": plotly_url(), "name": name, "line": line})
