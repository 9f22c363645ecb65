"""What a page does about a link that it cannot use, and says of it until a control moves."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.common.links import InLink, check_link

KEY = "link_problems"


def warn_about_link(page: str, controls: Mapping[str, InLink]) -> None:
    """One sentence for every parameter of this page whose value cannot be used.

    None of these values reaches its control: the link is mended before any is drawn.
    """
    key = f"{page}_{KEY}"
    raw = {name: st.query_params.get_all(name) for name in st.query_params}
    instead, problems = check_link(raw, controls)
    if problems:
        st.session_state[key] = problems
        _mend(instead)
    for problem in st.session_state.get(key, ()):
        st.warning(problem, icon=":material/link_off:")


def _mend(instead: Mapping[str, list[str]]) -> None:
    """Let other values stand in the link, for the browser and for controls that are drawn next.

    ``st.query_params`` changes what the browser shows, but not what controls begin with, and no
    parameter of a control that was drawn before; so this does what Streamlit itself does where it
    takes parameters away on a change of the page.
    """
    context = get_script_run_ctx()
    assert context is not None  # a page is being drawn
    with context.session_state.query_params() as link:
        for name, texts in instead.items():
            if texts:
                link.set_corrected_value(name, texts, "string_array_value")
            else:
                link.remove_param(name)
        link.set_initial_query_params_from_current()


def forget() -> None:
    """A control moved: what was wrong with the link has been read."""
    for key in st.session_state:
        if str(key).endswith(KEY):
            st.session_state[key] = []
