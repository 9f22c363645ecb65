"""What every page begins with: its title, its icon, and the way to the other pages."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.work import jobs

ICON = Path(__file__).resolve().parents[2] / "assets" / "icon.png"
PAGES = {
    "app.py": ("Flat or curved?", ":material/landscape:"),
    "pages/1_Manifold.py": ("Manifold", ":material/blur_on:"),
    "pages/2_Decision_boundary.py": ("Decision boundary", ":material/gesture:"),
    "pages/9_How_to_read.py": ("How to read it", ":material/menu_book:"),
}
LINKS = "_links"


def begin(title: str) -> None:
    """Set up the page called ``title``, end what other pages do, draw the links to all pages.

    Whoever comes back finds the page as they left it, if it ends with `end`.
    """
    st.set_page_config(
        page_title=f"{title} · gated attention",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    _return(title)
    jobs.arrive(title)
    with st.container(horizontal=True):
        for path, (label, icon) in PAGES.items():
            kept = st.session_state.get(LINKS, {}).get(label)
            st.page_link(path, label=label, icon=icon, query_params=kept)


def _return(title: str) -> None:
    """On coming back without a link, go on with the one that was kept."""
    kept = st.session_state.get(LINKS, {}).get(title)
    if kept and not st.query_params and st.session_state.get("_page") != title:
        path = next(path for path, (label, _) in PAGES.items() if label == title)
        st.switch_page(path, query_params=kept)


def end(title: str) -> None:
    """Keep the link of the page called ``title``, as its controls have it by now."""
    links = st.session_state.setdefault(LINKS, {})
    links[title] = {name: st.query_params.get_all(name) for name in st.query_params}
