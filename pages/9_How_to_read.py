"""How to read the pictures: what is drawn, what is measured, what it does not say."""

from pathlib import Path

import streamlit as st

from ui.common.page import page

LESSON = Path(__file__).resolve().parent.parent / "assets" / "lessons" / "how_to_read.md"

with page("How to read it", pictures=False):
    st.markdown(LESSON.read_text(encoding="utf-8"))
