"""Learn: nine short lessons, each with a guess before the picture answers."""

import streamlit as st

from ui.classroom.room import find_room
from ui.common.page import page
from ui.learn.lessons import lessons

TITLE = "Learn"

lesson = lessons().get(st.query_params.get("lesson", ""), next(iter(lessons().values())))
if room := find_room():
    lesson = [*lessons().values()][room.index]
with page(
    TITLE, question=lesson.title, steps=True, presented=["task", "formula", "after", "fooled"]
):
    from ui.common.links import checked_link
    from ui.learn.page import draw

    with checked_link(TITLE):
        draw()
