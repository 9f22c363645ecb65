"""A framed page with a control of every kind, one of them in a fragment, for tests of the frame."""

import streamlit as st

from ui.common.page import page

with page("Guide", question="A question", lead="A lead.", presented=["whole"]):
    from ui.common.links import LINK, checked_link

    @st.fragment
    def part() -> None:
        """Draw a control that reruns alone."""
        st.text_area("Area", key="area", **LINK)
        st.button("Again", key="again")

    with checked_link("Guide"):
        left, right = st.columns(2)
        left.number_input("Whole", 1, 100, 5, key="whole", **LINK)
        right.slider("Stepped", 0.0, 1.0, 0.5, 0.1, key="stepped", **LINK)
        with st.container(horizontal=True):
            st.selectbox("Selected", ["a", "b"], key="selected", **LINK)
            st.radio("Choice", ["x", "y"], key="choice", **LINK)
        st.multiselect("Several", ["a", "b", "c"], ["a"], key="several", **LINK)
        st.toggle("Switch", key="switch", **LINK)
        st.segmented_control("Segment", ["m", "n"], key="segment", **LINK)
        st.select_slider("Named", [1, 10, 100], 10, key="named", **LINK)
        with st.expander("More", key="more", on_change="rerun", **LINK):
            st.text_input("Text", key="text", **LINK)
        part()
