"""What every page begins with: its title, its icon, and the way to the other pages."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui import jobs

ICON = Path(__file__).resolve().parent.parent / "assets" / "icon.png"
PAGES = {
    "app.py": ("Flat or curved?", ":material/landscape:"),
    "pages/1_Manifold.py": ("Manifold", ":material/blur_on:"),
    "pages/2_Decision_boundary.py": ("Decision boundary", ":material/gesture:"),
    "pages/9_How_to_read.py": ("How to read it", ":material/menu_book:"),
}


def begin(title: str) -> None:
    """Set up the page called ``title``, end what other pages do, draw the links to all pages."""
    st.set_page_config(
        page_title=f"{title} · gated attention",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    jobs.arrive(title)
    with st.container(horizontal=True):
        for path, (label, icon) in PAGES.items():
            st.page_link(path, label=label, icon=icon)
