"""What every page begins and ends with: its title and icon, the way to the others, its link."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import streamlit as st

from ui.common.link_check import warn_about_link
from ui.common.links import InLink
from ui.work import jobs, pool, run_begins, run_ends
from ui.work.trouble import told
from ui.work.turns import TURNS

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
run_begins.mend()
run_ends.mend()


@contextmanager
def page(
    title: str, controls: Mapping[str, InLink] | None = None, question: str = "", lead: str = ""
) -> Iterator[None]:
    """The page called ``title``, a row of `PAGES`: all that it shows is drawn within.

    What other pages do ends, the links to all pages are drawn, then ``question`` and ``lead``, and
    what the link says that none of the ``controls`` can be. Whoever comes back finds the page as
    they left it.
    """
    with TURNS.turn(), _drawn(title, controls or {}, question, lead):
        yield


@contextmanager
def _drawn(title: str, controls: Mapping[str, InLink], question: str, lead: str) -> Iterator[None]:
    path, _ = PAGES[title]
    st.set_page_config(
        page_title=f"{title} · gated attention",
        page_icon=str(ICON),
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    _return(title, path)
    pool.POOL.warm()
    jobs.arrive(title)
    links = st.session_state.setdefault(LINKS, {})
    with st.container(horizontal=True):
        for name, (other, icon) in PAGES.items():
            st.page_link(other, label=name, icon=icon, query_params=links.get(name))
    if question:
        st.title(question, anchor=False)
        if lead:
            st.markdown(lead)
    with told(title):
        warn_about_link(title, controls)
        yield
    links[title] = {name: st.query_params.get_all(name) for name in st.query_params}


def _return(title: str, path: str) -> None:
    """On coming back without a link, go on with the one that was kept."""
    kept = st.session_state.get(LINKS, {}).get(title)
    if kept and not st.query_params and st.session_state.get("_page") != title:
        st.switch_page(path, query_params=kept)
