"""What every page begins and ends with: its head, the links to all pages, its own link.

    with page("Manifold", question="What shape do the outputs fill?"):
        from ui.manifold.controls import MANIFOLD
        ...

A page imports what it is made of within: torch takes a second, and by then its head is on the
screen of whoever opens a server just started, and their browser loads plotly.js.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from ui.components.plotly_js import preload
from ui.work import streamlit_fixes
from ui.work.errors import reported
from ui.work.semaphore import SCRIPTS

STYLE = Path(__file__).with_suffix(".css")
ICON = Path(__file__).resolve().parents[2] / "assets" / "icon.png"
PAGES = {  # by title: file and icon
    "Flat or curved?": ("app.py", ":material/landscape:"),
    "Manifold": ("pages/1_Manifold.py", ":material/blur_on:"),
    "Decision boundary": ("pages/2_Decision_boundary.py", ":material/gesture:"),
    "Which gates curve?": ("pages/3_Which_gates_curve.py", ":material/water:"),
    "Depth": ("pages/4_Depth.py", ":material/layers:"),
    "Claims": ("pages/5_Claims.py", ":material/fact_check:"),
    "How to read it": ("pages/9_How_to_read.py", ":material/menu_book:"),
}
LINKS = "_links"
streamlit_fixes.apply()


@contextmanager
def page(
    title: str, question: str = "", lead: str = "", *, pictures: bool = True
) -> Iterator[None]:
    """Draw the page called ``title``, a row of `PAGES`: all that it shows is drawn within.

    Jobs of other pages end; the links to all pages, ``question`` and ``lead`` are drawn. With
    ``pictures`` the browser begins to load plotly.js. Whoever comes back finds the page as they
    left it.
    """
    with SCRIPTS.acquired():
        links = _head(title, question, lead, pictures)
        with reported(title):
            from ui.work import jobs, pool  # not above: they import torch

            jobs.arrive(title)
            yield
            pool.POOL.warm()
        links[title] = {name: st.query_params.get_all(name) for name in st.query_params}


def _head(title: str, question: str, lead: str, pictures: bool) -> dict[str, dict[str, list[str]]]:
    """Draw what stands above every page; the links that its visitor has left other pages with."""
    path, _ = PAGES[title]
    st.set_page_config(
        page_title=f"{title} · gated attention",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    _return(title, path)
    st.html(STYLE)
    links = st.session_state.setdefault(LINKS, {})
    with st.container(horizontal=True, key="pages"):
        for name, (other, icon) in PAGES.items():
            st.page_link(other, label=name, icon=icon, query_params=links.get(name))
        if pictures:
            preload()
    if question:
        st.title(question, anchor=False)
    if lead:
        st.container(key="lead").markdown(lead)
    return links


def _return(title: str, path: str) -> None:
    """On coming back without a link, go on with the one that was kept."""
    kept = st.session_state.get(LINKS, {}).get(title)
    if kept and not st.query_params and st.session_state.get("_page") != title:
        st.switch_page(path, query_params=kept)
