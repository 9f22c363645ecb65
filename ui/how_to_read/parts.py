"""The parts of the page: its table of contents, and its topics."""

from __future__ import annotations

import streamlit as st

from ui.common.lessons import section
from ui.common.page import PAGES
from ui.how_to_read.topics import PICTURES, TOPICS, Topic

SHADES = ("light", "dark")


def draw_contents() -> None:
    """Draw links to all topics of this page."""
    st.markdown(" · ".join(f"[{topic.heading}](#{name})" for name, topic in TOPICS.items()))


def draw_topics() -> None:
    """Draw every topic: its text, and beside it its picture."""
    for name, topic in TOPICS.items():
        st.header(topic.heading, anchor=name, divider="gray")
        if not topic.page:
            st.markdown(section("how_to_read", name))
            continue
        text, picture = st.container(key=f"topic-{name}").columns([3, 2], gap="large")
        text.markdown(section("how_to_read", name))
        with picture:
            _draw_picture(name, topic)


def _draw_picture(name: str, topic: Topic) -> None:
    """The picture, which is a link to what it shows."""
    shade = SHADES[st.context.theme.type == "dark"]
    file = PICTURES / f"{name}_{shade}.webp"
    st.image(str(file), width="stretch", alt=f"Picture: {topic.alt}", link=topic.address)
    st.page_link(
        PAGES[topic.page].path, label=f"Open this on *{topic.page}*", icon=":material/open_in_new:",
        query_params=topic.query,
    )  # fmt: skip
