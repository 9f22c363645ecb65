"""Presets: states of a page to show in class, each with two lines of why.

A preset is a row of a table in ``assets/lessons/presets.md``, in the section of its page.
"""

from __future__ import annotations

import re
from functools import partial
from typing import NamedTuple
from urllib.parse import parse_qs

import streamlit as st

from ui.common.lessons import sections
from ui.common.links import CAMERA, current_link, open_link
from ui.common.present import Steps
from ui.common.simplified import HIDE, LOCK, PRESENT

CELL_END = re.compile(r"(?<!\\)\|")  # not those of an absolute value
KINDS = ("good", "misleading")
STAYING = (HIDE, LOCK, PRESENT)  # parameters of the link
SHOWN = "_presets"  # of each page: the index of the preset that was opened last


class Preset(NamedTuple):
    """A row: the parameters of the page's ``link``, and two lines of why."""

    name: str
    link: dict[str, list[str]]
    is_misleading: bool
    why: tuple[str, str]


def presets(title: str) -> list[Preset]:
    """Return the presets of the page called ``title``, in order; none for other pages.

    Raises:
        ValueError: If a row is none.
    """
    name = re.sub(r"\W+", "_", title).strip("_")
    table = sections("presets").get(f"presets_{name}", "")
    return [*map(_preset, table.splitlines()[2:])]


def _preset(row: str) -> Preset:
    cells = [cell.strip() for cell in CELL_END.split(row)[1:-1]]
    if len(cells) != 5 or not all(cells[:1] + cells[3:]) or cells[2] not in KINDS:
        raise ValueError(f"presets.md: {row!r} has not name, link, good or misleading, two lines")
    name, link, kind, *why = cells
    query = parse_qs(link, strict_parsing=bool(link))  # a page's first state has none
    return Preset(name, query, kind == KINDS[1], (why[0], why[1]))


def draw_presets(title: str) -> None:
    """Draw the popover with the presets of a page, if it has any."""
    rows = presets(title)
    if not rows:
        return
    with st.popover(
        "Presets", icon=":material/bookmark:", type="tertiary", key="presets", on_change="rerun"
    ) as popover:
        if not popover.open:
            return
        for index, preset in enumerate(rows):
            icon = ":material/warning:" if preset.is_misleading else None
            mark = "**Misleading.** " if preset.is_misleading else ""
            st.button(
                preset.name, key=f"preset_{index}", icon=icon, on_click=_open, args=(title, index)
            )
            st.caption(f"{mark}{preset.why[0]}  \n{preset.why[1]}")


def steps_of(title: str) -> Steps:
    """Return the callbacks that open the previous and the next preset of a page.

    Counted from the one that the link is, as after *Back*, else from the one opened last.
    """
    links = [preset.link for preset in presets(title)]
    link = {name: texts for name, texts in current_link().items() if name not in (*STAYING, CAMERA)}
    last, here = len(links) - 1, st.session_state.get(SHOWN, {}).get(title, -1)
    if link in links and (link or here >= 0):
        here = links.index(link)
    elif not link:  # the page as it opens
        here = -1
    return Steps(
        partial(_open, title, here - 1) if here > 0 else None,
        partial(_open, title, here + 1) if here < last else None,
    )


def _open(title: str, index: int) -> None:
    st.session_state.setdefault(SHOWN, {})[title] = index
    staying = {name: texts for name, texts in current_link().items() if name in STAYING}
    open_link(staying | presets(title)[index].link)
