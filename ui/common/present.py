"""Present mode, ``?present=1``: a page as it can be read from the last row of a classroom.

Presets are states of a page to show in class, each with two lines of why: rows of a table in
``assets/lessons/presets.md``, in the section of their page.

The row of pages, the lead, controls and what is folded are not displayed; type is larger. Buttons,
Page Up and Page Down lead to the previous and next step: a lesson, or a preset of the page, and
then the page beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

import streamlit as st

from ui.common.lessons import sections
from ui.common.links import CAMERA, current_link, open_link, put_in_link
from ui.common.simplified import HIDE, LOCK, PRESENT, is_presenting
from ui.components.browser import hear_turns

STYLE = Path(__file__).with_suffix(".css")
STEPS = "_steps"
ICONS = {"previous": ":material/chevron_left:", "next": ":material/chevron_right:"}
Links = Mapping[str, dict[str, list[str]]]


class Steps(NamedTuple):
    """The callbacks that lead to the previous and the next step of a page; ``None`` at its ends.

    ``place`` says which the next one is, as "2 of 6".
    """

    previous: Callable[[], Any] | None = None
    next: Callable[[], Any] | None = None
    place: str = ""


def offer_steps(previous: Callable[[], Any] | None, next: Callable[[], Any] | None) -> None:
    """Let present mode step through what a page shows; called while the page is drawn.

    Each is a callback of a button, or ``None`` where there is no further step.
    """
    st.session_state[STEPS] = Steps(previous, next)


def draw_button() -> None:
    """Draw the button that begins or ends present mode."""
    ends = is_presenting()
    st.button(
        "End" if ends else "Present",
        key="present",
        icon=":material/close_fullscreen:" if ends else ":material/slideshow:",
        type="tertiary",
        on_click=put_in_link,
        kwargs={PRESENT: "" if ends else "1"},
        help="Leave present mode" if ends else None,
    )


def draw_turns(
    steps: Steps | None = None,
    beside: Sequence[tuple[str, str] | None] = (None, None),
    links: Links | None = None,
) -> None:
    """Draw what leads to the previous and the next step; called after a page that offers steps.

    Where there is no step, it leads to the page ``beside`` this one: path and title, ``None`` at an
    end.
    """
    hear_turns()
    steps = steps or st.session_state.pop(STEPS, Steps())
    if steps == Steps() and not any(beside):
        return  # a class is led by buttons of its own
    labels = "Previous", f"Next: {steps.place}" if steps.place else "Next"
    turns = zip(ICONS.items(), labels, (steps.previous, steps.next), beside, strict=True)
    for (name, icon), label, act, page in turns:
        with st.container(key=f"turn-{name}", width="content"):
            if act is None and page is not None:
                path, title = page
                link = (links or {}).get(title, {}) | {PRESENT: ["1"]}
                st.page_link(path, label=title, icon=icon, query_params=link)
            else:
                st.button(
                    label,
                    key=f"turn_{name}",
                    icon=icon,
                    type="tertiary",
                    on_click=act,
                    disabled=act is None,
                )


# --- Presets --------------------------------------------------------------------------------------

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
        f"{here + 2} of {last + 1}" if here < last else "",
    )


def _open(title: str, index: int) -> None:
    st.session_state.setdefault(SHOWN, {})[title] = index
    staying = {name: texts for name, texts in current_link().items() if name in STAYING}
    open_link(staying | presets(title)[index].link)
