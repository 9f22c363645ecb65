"""A page that draws every control of one table, and nothing else, for tests of links."""

import streamlit as st

from tests.ui.common.test_link_check import drawn
from ui.common.link_check import warn_about_link

controls = drawn(st.session_state["drawn_table"])
warn_about_link(controls)
for control in controls.values():
    if control.label:
        control.draw(st)
