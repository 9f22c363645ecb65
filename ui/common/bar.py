"""All pages: the bar above them, and the thread that leads from each to the next."""

from __future__ import annotations

from copy import copy
from functools import cache
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.navigation.page import Page as StreamlitPage


class Page(NamedTuple):
    """A row of `PAGES`."""

    path: str
    icon: str
    group: str  # a menu of the bar; pages of "" stand in the bar itself
    question: str  # which the page answers: its heading


EXPLORE, EVIDENCE, REAL_MODELS = "Explore", "Evidence", "Real models"
GUIDE = "Guide"  # not in the bar: every page has a part of it
# By title, in the order of the thread, in which each page leads to the next. The address is the
# file's name without the number. What else a new page needs stands in docs/extending.md.
PAGES = {
    "Flat or curved?": Page(
        "pages/0_Flat_or_curved.py", ":material/landscape:", "",
        "Does this attention layer curve space?"),
    "Learn": Page(
        "pages/12_Learn.py", ":material/school:", "",
        "What does a gate do to attention?"),
    "Decision boundary": Page(
        "pages/2_Decision_boundary.py", ":material/gesture:", EXPLORE,
        "Which decision boundary does it learn?"),
    "Which gates curve?": Page(
        "pages/3_Which_gates_curve.py", ":material/water:", EXPLORE,
        "Which gates curve?"),
    "Which keys curve?": Page(
        "pages/11_Which_keys_curve.py", ":material/key:", EXPLORE,
        "Which keys curve?"),
    "Curved or bent?": Page(
        "pages/15_Curved_or_bent.py", ":material/layers_clear:", EXPLORE,
        "Does a gate have to curve space?"),
    "Manifold": Page(
        "pages/1_Manifold.py", ":material/blur_on:", EXPLORE,
        "Is this output surface flat or curved?"),
    "Depth": Page(
        "pages/4_Depth.py", ":material/layers:", EXPLORE,
        "How does curvature grow with depth?"),
    "Claims": Page(
        "pages/5_Claims.py", ":material/fact_check:", EVIDENCE,
        "Nine claims: what holds?"),
    "What this does not say": Page(
        "pages/14_What_this_does_not_say.py", ":material/rule:", EVIDENCE,
        "What does all this not say?"),
    "Real heads": Page(
        "pages/13_Real_heads.py", ":material/window:", REAL_MODELS,
        "Do the heads of a real model curve space?"),
    "Should I gate?": Page(
        "pages/7_Language_models.py", ":material/visibility:", REAL_MODELS,
        "Should I gate?"),
    "Efficient attention": Page(
        "pages/8_Efficient_attention.py", ":material/speed:", REAL_MODELS,
        "What does efficient attention lose?"),
    "Mixture of experts": Page(
        "pages/6_Mixture_of_experts.py", ":material/account_tree:", REAL_MODELS,
        "What is attention made of?"),
    "Steering": Page(
        "pages/9_Steering.py", ":material/explore:", REAL_MODELS,
        "Can one feature change the language?"),
    GUIDE: Page(
        "pages/10_Guide.py", ":material/menu_book:", "",
        "How to read the pictures"),
}  # fmt: skip
FIRST = "Flat or curved?"
THREAD = [title for title in PAGES if title not in ("Learn", GUIDE)]


def address(title: str) -> str:
    """Return the address of the page called ``title``, below that of the app."""
    return "" if title == FIRST else Path(PAGES[title].path).stem.partition("_")[2]


@cache
def _page(title: str) -> StreamlitPage:
    return st.Page(
        PAGES[title].path,
        title=title,
        default=title == FIRST,
        visibility="hidden" if title == GUIDE else "visible",
    )


def bar() -> StreamlitPage:
    """Draw the bar above all pages: two links and three menus; return the page that is open."""
    menus: dict[str, list[StreamlitPage]] = {}
    for title, row in PAGES.items():
        # A copy, since a page knows whether it may run; sixteen new ones take a sixth of a run.
        menus.setdefault(row.group, []).append(copy(_page(title)))
    return st.navigation(menus, position="top")


def beside(title: str) -> list[tuple[str, str] | None]:
    """Return path and title of the pages before and after this one in the thread."""
    if title not in THREAD:
        return [None, (PAGES[THREAD[1]].path, THREAD[1]) if title != GUIDE else None]
    here = THREAD.index(title)
    return [
        (PAGES[THREAD[at]].path, THREAD[at]) if 0 <= at < len(THREAD) else None
        for at in (here - 1, here + 1)
    ]
