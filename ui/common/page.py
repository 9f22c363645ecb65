"""The frame of every page: its head, the links to all pages, the link to itself.

    with page("Manifold", question="What shape do the outputs fill?"):
        from ui.manifold.controls import MANIFOLD
        ...

A page imports its parts inside the ``with`` block. Where torch is still being imported, which takes
a second, the head is on the screen before that.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.common import present, simplified, take_along
from ui.common.bar import PAGES, beside
from ui.common.guide import draw_guide
from ui.common.links import change_link, current_link
from ui.common.present import STYLE as PRESENT_STYLE
from ui.common.present import draw_presets, steps_of
from ui.common.share import draw_share
from ui.components.browser import keep_steps
from ui.drawing.palette import css_variables
from ui.work import streamlit_fixes
from ui.work.log import reported
from ui.work.scripts import SCRIPTS
from ui.work.server import import_core

STYLE = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
STYLES = f"<style>{css_variables()}{STYLE}</style>"
ICON = Path(__file__).resolve().parents[2] / "assets" / "icon.png"


LINKS = "_links"
FINDING, LEAD = "_finding", "_lead"  # places below the title, in the run of the page's script
streamlit_fixes.apply()
simplified.apply()


@contextmanager
def page(
    title: str,
    lead: str = "",
    *,
    question: str = "",
    presented: Collection[str] = (),
    steps: bool = False,
) -> Iterator[None]:
    """Draw the page called ``title``, a row of `PAGES`, around the parts drawn within.

    Draws the page's question, or this ``question``, and ``lead``, and ends jobs of other pages; at
    the end, the link to the next page of the thread. A visitor who returns finds the page as they
    left it. In present mode no controls are displayed but those called ``presented``, and one steps
    through the page's presets and on to the next page, or, with ``steps``, through those that
    `present.offer_steps` has been told.
    """
    with SCRIPTS.acquired():
        st.set_page_config(
            page_title=f"{title} · gated attention",
            page_icon=str(ICON),
            layout="wide",
            initial_sidebar_state="collapsed",
        )
        _return(title)
        view = simplified.begin(presented)
        presents = view.presented is not None
        take_along.begin(title)
        st.html(STYLES)
        if presents:
            st.html(PRESENT_STYLE)
        links = st.session_state.setdefault(LINKS, {})
        with st.container(key=f"in-{PAGES[title].group}"):  # of this menu of the bar
            keep_steps()
        with st.container(horizontal=True, vertical_alignment="center", key="head"):
            st.title(question or PAGES[title].question, anchor=False)
            draw_presets(title)
            present.draw_button()
            # Beside the question: Take along and Share, or the steps of present mode.
            tail = st.container(
                horizontal=True, width="content", key="turns" if presents else "sharing"
            )
        note = st.container(key="note")
        st.session_state[FINDING] = st.container(key="finding", gap="xsmall")
        st.session_state[LEAD] = st.container(key="lead")
        if lead:
            st.session_state[LEAD].markdown(lead)
        if presents and not steps:
            with tail:
                present.draw_turns(steps_of(title), beside(title), links)

        with reported(title):
            import_core()
            from ui.work import jobs, pool  # not above: they import torch

            jobs.arrive(title)
            yield
            pool.POOL.warm()

        with tail:  # the controls are known, and the steps
            if not presents:
                take_along.draw_take_along(title)
                draw_share(title)
                draw_guide(title)
            elif steps:
                present.draw_turns()
        if view.hidden or view.locked:
            with note:
                simplified.draw_note(view)
        if not presents and (following := beside(title)[1]) is not None:
            path, name = following
            with st.container(key="next_question"):
                st.page_link(
                    path,
                    label=f"Next question: {PAGES[name].question}",
                    icon=":material/arrow_forward:",
                    query_params=links.get(name),
                )
        link = current_link()
        link.pop(simplified.PRESENT, None)  # it belongs to the visit
        links[title] = link


def draw_finding(text: str, rest: str = "", *, lead: str = "") -> None:
    """Draw what the page, or its open tab, found: one sentence directly under the title.

    The ``rest`` stands below it in plain type; then the ``lead`` of the tab, where the page has
    none.
    """
    st.session_state[FINDING].markdown(text)
    if rest:
        st.session_state[FINDING].text(rest)
    if lead:
        st.session_state[LEAD].markdown(lead)


def draw_open(tabs: Iterable[Any], sections: Mapping[str, Callable[[], None]]) -> None:
    """Draw the one of ``sections`` whose tab is open; the others take no time."""
    for tab, draw in zip(tabs, sections.values(), strict=True):
        with tab:
            if tab.open:
                draw()


def _return(title: str) -> None:
    """Restore the visitor's last link to this page if they came without one.

    Any link from a page in present mode leads to a page in present mode.
    """
    last = st.session_state.get(LINKS, {}).get(title)
    arrives = st.session_state.get("_page") != title
    if last and not st.query_params and arrives:
        st.switch_page(PAGES[title].path, query_params=last)
    view, context = st.session_state.get(simplified.VIEW), get_script_run_ctx()
    stepped_back = context is not None and context.is_history_navigation
    if arrives and view is not None and view.presented is not None and not stepped_back:
        change_link({simplified.PRESENT: ["1"]})


# --- Parts of pages -------------------------------------------------------------------------------
# Pictures out of date are dimmed, and a line says what is coming: on every page, by page.css. What
# a run of the script has not sent again yet is marked by Streamlit; ``st.spinner`` says what is
# computed meanwhile. What a component has not drawn yet, as its arrays are on their way, it marks
# with the same attribute; what it draws ahead of Python, as while something is dragged, with
# ``data-ahead``. What is of another request, while a job makes the one asked for, is `dated`.


def front_columns(
    widths: Sequence[float], align: Literal["top", "bottom"] = "top", alone: Literal[0, 1, 2] = 1
) -> list[DeltaGenerator]:
    """Return columns of front controls; on a phone two in a row, the first ``alone`` alone."""
    return st.container(key=f"front-{alone}").columns(widths, vertical_alignment=align)


@contextmanager
def dated(text: str) -> Iterator[None]:
    """Draw within a picture that is out of date if there is a ``text``, which then says so over it.

    Pages draw one at most. Without a text it stands in the same place, so it is not drawn anew.
    """
    with st.container(key="dated"):
        note = st.empty()
        if text:
            note.html(f'<p class="gc-dated" role="status">{html.escape(text)}</p>')
        yield
