"""Present mode, ``?present=1``: a page as it can be read from the last row of a classroom.

The row of pages, the lead, controls and what is folded are not displayed; type is larger. Buttons,
Page Up and Page Down lead to the previous and next step: a lesson, or a preset of the page, and
then the page beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import streamlit as st

from ui.common.simplified import PRESENT, is_presenting
from ui.components.turn import hear_turns

STYLE = Path(__file__).with_suffix(".css")
STEPS = "_steps"
ICONS = {"previous": ":material/chevron_left:", "next": ":material/chevron_right:"}
Links = Mapping[str, dict[str, list[str]]]


class Steps(NamedTuple):
    """The callbacks that lead to the previous and the next step of a page; ``None`` at its ends."""

    previous: Callable[[], Any] | None = None
    next: Callable[[], Any] | None = None


def offer_steps(previous: Callable[[], Any] | None, next: Callable[[], Any] | None) -> None:
    """Let present mode step through what a page shows; called while the page is drawn.

    Each is a callback of a button, or ``None`` where there is no further step.
    """
    st.session_state[STEPS] = Steps(previous, next)


def draw_button() -> None:
    """Draw the button that begins or ends present mode."""
    if is_presenting():
        st.button(
            "End",
            key="present",
            icon=":material/close_fullscreen:",
            type="tertiary",
            on_click=_end,
            help="Leave present mode",
        )
    else:
        st.button(
            "Present", key="present", icon=":material/slideshow:", type="tertiary", on_click=_begin
        )


def _begin() -> None:
    st.query_params[PRESENT] = "1"


def _end() -> None:
    st.query_params.pop(PRESENT, None)


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
    for (name, icon), act, page in zip(ICONS.items(), steps, beside, strict=True):
        with st.container(key=f"turn-{name}", width="content"):
            if act is None and page is not None:
                path, title = page
                link = (links or {}).get(title, {}) | {PRESENT: ["1"]}
                st.page_link(path, label=title, icon=icon, query_params=link)
            else:
                st.button(
                    name.capitalize(),
                    key=f"turn_{name}",
                    icon=icon,
                    type="tertiary",
                    on_click=act,
                    disabled=act is None,
                )
