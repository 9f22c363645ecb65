"""What a page says about a link that it could not use, once, until a control moves."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from ui.common.links import InLink, link_problems

KEY = "link_problems"


def warn_about_link(page: str, controls: Mapping[str, InLink]) -> None:
    """One sentence for every parameter of this page whose value cannot be used."""
    key = f"{page}_{KEY}"
    if key not in st.session_state:
        raw = {name: st.query_params.get_all(name) for name in st.query_params}
        st.session_state[key] = link_problems(raw, controls)
    for problem in st.session_state[key]:
        st.warning(problem, icon=":material/link_off:")


def forget() -> None:
    """A control moved: what was wrong with the link has been read."""
    for key in st.session_state:
        if str(key).endswith(KEY):
            st.session_state[key] = []
