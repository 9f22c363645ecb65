"""A page's link: checked on arrival, and changed as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from ui.common.links import LINE_BREAK as LINE_BREAK
from ui.common.links import change_link as change_link
from ui.common.links import check_link

if TYPE_CHECKING:  # controls forget these messages
    from ui.common.controls import Control

KEY = "link_problems"


def warn_about_link(controls: Mapping[str, Control]) -> None:
    """Show a sentence for every parameter of a link to this page whose value cannot be used.

    None of these values reaches its control: the link is mended before any control is drawn.
    """
    key = f"{st.session_state.get('_page', '')}_{KEY}"
    link = {name: st.query_params.get_all(name) for name in st.query_params}
    instead, problems = check_link(link, controls)
    if problems:
        st.session_state[key] = problems
        change_link(instead)
    if messages := st.session_state.get(key):
        st.warning(LINE_BREAK.join(messages), icon=":material/link_off:")


def forget() -> None:
    """Drop the messages about the link: a control was moved, so they have been read."""
    for key in st.session_state:
        if str(key).endswith(KEY):
            st.session_state[key] = []
