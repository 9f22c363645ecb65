"""Saves the figures of a page as the browser shows them: PNG, SVG, and a page that turns."""

from __future__ import annotations

import streamlit as st

from ui.components.plotly_js import plotly_url
from ui.components.source import declare
from ui.foreign import as_words

NOT_WRITTEN = (
    "Figures cannot be saved: the program that draws them cannot be copied into the folder static/"
    " ({}). Whoever runs this server can make that folder writable, or start the app once where it"
    " is."
)
_component = declare("figures")


def figures(key: str, name: str, line: str) -> None:
    """Draw the choice of a figure, and a button for each kind of file.

    Args:
        key: Of the component.
        name: What the names of files begin with.
        line: Printed in each file: where it comes from.
    """
    try:
        url = plotly_url()
    except OSError as error:
        st.error(NOT_WRITTEN.format(as_words(error.strerror or "no reason is given")))
    else:
        _component(key=key, data={"plotly": url, "name": name, "line": line})
