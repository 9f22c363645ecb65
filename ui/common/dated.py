"""Pictures out of date are dimmed, and a line says what is coming: on every page, by page.css.

- What a run of the script has not sent again yet is marked by Streamlit; ``st.spinner`` says what
  is computed meanwhile.
- What a component has not drawn yet, as its arrays are on their way, it marks with the same
  attribute; what it draws ahead of Python, as while something is dragged, with ``data-ahead``.
- What is of another request, while a job makes the one that was asked for, stands in `dated`.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st


@contextmanager
def dated(text: str) -> Iterator[None]:
    """Draw within a picture that is out of date if there is a ``text``, which then says so over it.

    Pages draw one at most. Without a text it stands in the same place, so it is not drawn anew.
    """
    with st.container(key="dated"):
        note = st.empty()
        if text:
            note.html(f'<p class="gc-dated" role="status">{html.escape(text)}</p>')
        yield
