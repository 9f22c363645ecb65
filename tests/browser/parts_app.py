"""The app that shows single parts of the interface to a browser; the address says which.

A new number of the visit there makes everything new, as if another visitor had come.
Started with the folder that the jobs write into and with the number of worker processes.
"""

import sys
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.browser import draw_page, jobs_page, pad_page
from ui.work import jobs, pool, streamlit_fixes

streamlit_fixes.apply()  # as the pages do: without them a run is lost now and then
PAGES = {"draw": draw_page.page, "pad": pad_page.page}

pool.POOL.size = int(sys.argv[2])
visit = st.query_params.get("visit", st.session_state.get("visit"))  # a link to a page has none
if visit != st.session_state.get("visit"):
    jobs.arrive(f"visit {visit}")  # whatever still counts is cancelled
    st.session_state.clear()
    st.session_state["visit"] = visit
PAGES.get(st.query_params.get("part", ""), jobs_page.page)()
st.text(f"visit {visit}")
