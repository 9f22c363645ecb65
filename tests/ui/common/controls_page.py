"""A page with a control of every kind and a value that no control holds, for tests of links."""

import streamlit as st

from ui.common.links import checked_link, link_value, parse_pick

with checked_link("a page"):
    first, second = st.tabs(["First", "Second"], key="tab", bind="query-params", on_change="rerun")
    if first.open:
        st.number_input("Whole", 1, 100, 5, key="whole", bind="query-params")
        st.number_input("Decimal", 0.0, 1.0, 0.5, key="decimal", bind="query-params")
        st.slider("Stepped", 0.0, 1.0, 0.5, 0.1, key="stepped", bind="query-params")
        st.select_slider("Named", [0.01, 1, 10], 10, key="named", bind="query-params")
        st.multiselect("Several", ["a", "b", "c"], ["a"], key="several", bind="query-params")
        st.selectbox(
            "Formatted",
            [1, 2, 3],
            0,
            lambda seed: f"seed {seed}",
            key="formatted",
            bind="query-params",
        )
        st.toggle("Switch", key="switch", bind="query-params")
        st.text_input("Text", key="text", bind="query-params")
    if second.open:
        st.radio("Later", ["x", "y"], key="later", bind="query-params")
    st.code(link_value("point", parse_pick, (0, 0), "no point"))
