"""The frame of every page: its head, the links to all pages, the link to itself.

    with page("Manifold", question="What shape do the outputs fill?"):
        from ui.manifold.controls import MANIFOLD
        ...

A page imports its parts inside the ``with`` block. Where torch is still being imported, which takes
a second, the head is on the screen before that, and the browser loads plotly.js meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from ui.components.history import keep_steps
from ui.components.plotly_js import preload
from ui.work import streamlit_fixes
from ui.work.errors import reported
from ui.work.semaphore import SCRIPTS
from ui.work.server import import_core

STYLE = Path(__file__).with_suffix(".css")
ICON = Path(__file__).resolve().parents[2] / "assets" / "icon.png"


class Page(NamedTuple):
    """A row of `PAGES`."""

    path: str
    icon: str
    group: str  # pages of one group stand side by side; "" is in every group


CURVATURE, AT_WORK = "Curvature", "Attention at work"
# By title, in the order of the links. The address is the file's name without the number. What else
# a new page needs stands in docs/extending.md.
PAGES = {
    "Flat or curved?": Page("app.py", ":material/landscape:", CURVATURE),
    "Manifold": Page("pages/1_Manifold.py", ":material/blur_on:", CURVATURE),
    "Decision boundary": Page("pages/2_Decision_boundary.py", ":material/gesture:", CURVATURE),
    "Which gates curve?": Page("pages/3_Which_gates_curve.py", ":material/water:", CURVATURE),
    "Which keys curve?": Page("pages/11_Which_keys_curve.py", ":material/key:", CURVATURE),
    "Depth": Page("pages/4_Depth.py", ":material/layers:", CURVATURE),
    "Claims": Page("pages/5_Claims.py", ":material/fact_check:", CURVATURE),
    "Language models": Page("pages/7_Language_models.py", ":material/visibility:", AT_WORK),
    "Mixture of experts": Page("pages/6_Mixture_of_experts.py", ":material/account_tree:", AT_WORK),
    "Efficient attention": Page("pages/8_Efficient_attention.py", ":material/speed:", AT_WORK),
    "Steering": Page("pages/9_Steering.py", ":material/explore:", AT_WORK),
    "Guide": Page("pages/10_Guide.py", ":material/menu_book:", ""),
}
LINKS = "_links"
streamlit_fixes.apply()


@contextmanager
def page(
    title: str, question: str = "", lead: str = "", *, pictures: bool = True
) -> Iterator[None]:
    """Draw the page called ``title``, a row of `PAGES`, around the parts drawn within.

    Draws the links to all pages, ``question`` and ``lead``, and ends jobs of other pages. With
    ``pictures`` the browser begins to load plotly.js. A visitor who returns finds the page as they
    left it.
    """
    with SCRIPTS.acquired():
        links = _head(title, question, lead, pictures)
        with reported(title):
            import_core()
            from ui.work import jobs, pool  # not above: they import torch

            jobs.arrive(title)
            yield
            pool.POOL.warm()
        links[title] = {name: st.query_params.get_all(name) for name in st.query_params}


def _head(title: str, question: str, lead: str, pictures: bool) -> dict[str, dict[str, list[str]]]:
    """Draw what stands above every page; return the links with which the visitor left pages."""
    path, _, group = PAGES[title]
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
        draw_links(group, links, title)
        if pictures:
            preload()
        keep_steps()
    if question:
        st.title(question, anchor=False)
    if lead:
        st.container(key="lead").markdown(lead)
    return links


def draw_links(group: str, links: dict[str, dict[str, list[str]]], current: str = "") -> None:
    """Draw a link to every page of ``group``, and one to the first page of every other group.

    That one is named after the page that it opens; its tooltip names the pages beside it. The
    ``current`` page's link has a key for the style sheet: Streamlit marks it by looks only.
    """
    group = group or next(iter(PAGES.values())).group
    others = set()
    for title, page in PAGES.items():
        here = page.group in (group, "")
        if here or page.group not in others:
            label, icon, beside = title, page.icon, None
            if not here:
                others.add(page.group)
                titles = [name for name, row in PAGES.items() if row.group == page.group]
                label, icon, beside = f"{title} →", "", f"{page.group}: {', '.join(titles)}"
            container = st.container(key="page-here", width="content") if title == current else st
            container.page_link(page.path, label=label, icon=icon or None, help=beside,
                                query_params=links.get(title))  # fmt: skip


def draw_open(tabs: Iterable[Any], sections: Mapping[str, Callable[[], None]]) -> None:
    """Draw the one of ``sections`` whose tab is open; the others take no time."""
    for tab, draw in zip(tabs, sections.values(), strict=True):
        with tab:
            if tab.open:
                draw()


def _return(title: str, path: str) -> None:
    """Restore the visitor's last link to this page if they came without one."""
    last = st.session_state.get(LINKS, {}).get(title)
    if last and not st.query_params and st.session_state.get("_page") != title:
        st.switch_page(path, query_params=last)
