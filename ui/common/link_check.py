"""A page's link: checked on arrival, and changed as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.common.links import check_link

if TYPE_CHECKING:  # controls forget these messages
    from ui.common.controls import Control

KEY = "link_problems"
LINE_BREAK = "  \n"  # of Markdown


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


def change_link(instead: Mapping[str, list[str]]) -> None:
    """Put other values into the link, none for the default: one step of the browser's history.

    The browser and the controls drawn next follow it. ``st.query_params`` would change what the
    browser shows, but neither what controls begin with nor a parameter of a control drawn before.
    This does what Streamlit does when it removes parameters on a change of the page.
    """
    context = get_script_run_ctx()
    assert context is not None  # a page is being drawn
    with context.session_state.query_params() as link:
        for name, texts in instead.items():
            if texts:
                link.set_with_no_forward_msg(name, texts if len(texts) > 1 else texts[0])
            else:
                link.discard_param_no_forward_msg(name)
        link.set_initial_query_params_from_current()
        link._send_query_param_msg()


def forget() -> None:
    """Drop the messages about the link: a control was moved, so they have been read."""
    for key in st.session_state:
        if str(key).endswith(KEY):
            st.session_state[key] = []
