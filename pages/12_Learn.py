"""Learn: nine short lessons, each with a guess before the picture answers."""

import streamlit as st

from ui.common.page import page
from ui.learn.lessons import lessons

TITLE = "Learn"

lesson = lessons().get(st.query_params.get("lesson", ""), next(iter(lessons().values())))
with page(TITLE, question=lesson.title):
    from ui.common.links import checked_link
    from ui.learn.page import draw

    with checked_link(TITLE):
        draw()
