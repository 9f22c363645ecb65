"""Learn: ten short lessons, each with a guess before the picture answers."""

import streamlit as st

from ui.classroom.room import find_room
from ui.common.lessons import section
from ui.common.page import page
from ui.learn.lessons import END, lessons

TITLE = "Learn"
PRESENTED = ("task", "formula", "after", "fooled", "island_surface")

name = st.query_params.get("lesson", "")
title = lessons().get(name, next(iter(lessons().values()))).title
if room := find_room():
    title = [*lessons().values()][room.index].title
elif name == END:
    title = section("learn", "title")
with page(TITLE, question=title, steps=True, presented=PRESENTED):
    from ui.common.links import checked_link
    from ui.learn.page import draw

    with checked_link(TITLE):
        draw()
