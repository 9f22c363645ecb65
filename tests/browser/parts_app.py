"""The app that shows single parts of the interface to a browser; the address says which.

Started with the folder that the jobs write into and with the number of places for jobs.
"""

import sys
from pathlib import Path

import streamlit as st

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.browser import draw_page, jobs_page, pad_page
from ui.work import runtime

PAGES = {"draw": draw_page.page, "pad": pad_page.page}

runtime.LINE.places = int(sys.argv[2])
PAGES.get(st.query_params.get("part", ""), jobs_page.page)()
