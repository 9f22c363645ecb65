"""The link of a page: what no control holds, and a sentence for every value that cannot be used.

    with checked_link(TITLE):
        k = st.slider("Keys kept, k", 1, 128, 8, key="top_keys", **LINK)
        point = link_value("point", parse_pick)

Streamlit binds controls to the link. It replaces a value that it cannot use by the default, without
a message, and fails at ``inf`` for a whole number. It does not snap to a control's ``step``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from ui.components.stage import is_plane
from ui.foreign import as_code, as_words
from ui.limits import LINK_NUMBERS, QUOTED_CHARACTERS

LINK: Any = {"bind": "query-params"}  # of every control: the link restores its value
GRID_SIZE = 61
ARRIVAL = "_arrival"
CAMERA = "camera"
LINE_BREAK = "  \n"  # of Markdown
Link = dict[str, list[str]]
Value = TypeVar("Value")
DECIMAL = re.compile(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass
class Arrival:
    """The link with which a visitor came to a page, or stepped back to, and what is said of it."""

    page: str
    pending: Link  # values whose control is not drawn yet, as those of another tab
    notes: list[str] = field(default_factory=list)
    link: Link = field(default_factory=dict)  # with `notes`: these go once the visitor changes it


@contextmanager
def checked_link(page: str) -> Iterator[None]:
    """Draw the controls of ``page`` within; above them, say which values of the link are not used.

    Parameters that no control takes are ignored: other programs add their own to a link.
    """
    place = st.empty()
    context = get_script_run_ctx()
    arrival = st.session_state.get(ARRIVAL)
    if arrival is None or arrival.page != page or (context and context.is_history_navigation):
        arrival = st.session_state[ARRIVAL] = Arrival(page, current_link())
        infinite = [name for name, texts in arrival.pending.items() if any(map(_is_inf, texts))]
        if infinite:
            change_link({name: [] for name in infinite})
    if current_link() != arrival.link:
        arrival.notes = []
    yield
    link_value(CAMERA, parse_camera, None, "the first view")  # the browser alone uses it
    arrival.notes += _control_notes(arrival.pending)
    arrival.link = current_link()
    if arrival.notes:
        place.warning(LINE_BREAK.join(arrival.notes), icon=":material/link_off:")


def link_value(
    name: str, parse: Callable[[str], Value | None], instead: Value, shown: str = "none"
) -> Value:
    """Return what ``parse`` reads in the parameter ``name`` of the link, which no control holds.

    ``parse`` returns ``None`` for a text that cannot be used. Then, or if the link has no such
    parameter, returns ``instead``; `checked_link`, within which this is called, names it as
    ``shown``. To change the parameter, call `put_in_link` in a callback.
    """
    arrival = st.session_state[ARRIVAL]
    infinite = filter(_is_inf, arrival.pending.pop(name, ()))  # `checked_link` has removed them
    texts = st.query_params.get_all(name) or [*infinite]
    if not texts:
        return instead
    value = parse(texts[-1])  # of several, as controls do
    if value is None or len(texts) > 1:
        used = [] if value is None else texts[-1:]
        arrival.notes.append(_note(name, texts, used or [shown]))
        change_link({name: used})
    return instead if value is None else value


def current_link() -> Link:
    """Return the parameters of the link."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def change_link(instead: Mapping[str, list[str]]) -> None:
    """Put other values into the link, none for the default: one step of the browser's history.

    The browser and the controls drawn next follow it. ``st.query_params`` would change what the
    browser shows, but neither what controls begin with nor a parameter of a control drawn before.
    This does what Streamlit does when it removes parameters on a change of the page.
    """
    context = get_script_run_ctx()
    assert context is not None  # a page is being drawn
    with context.session_state.query_params() as link:
        for name, texts in instead.items():
            if texts:
                link.set_with_no_forward_msg(name, texts if len(texts) > 1 else texts[0])
            else:
                link.discard_param_no_forward_msg(name)
        link.set_initial_query_params_from_current()
        link._send_query_param_msg()


def put_in_link(**texts: str) -> None:
    """Set parameters that no control holds, or remove those whose text is empty; for callbacks."""
    for name, text in texts.items():
        if text:
            st.query_params[name] = text
        else:
            st.query_params.pop(name, None)


def open_link(link: Link) -> None:
    """Show the page in the state of ``link``, as the browser's *Back* would; for callbacks only.

    What the link does not say is as at first: also what a visitor has changed.
    """
    change_link({name: [] for name in st.query_params} | link)
    context = get_script_run_ctx()
    assert context is not None
    context.is_history_navigation = True


def _control_notes(pending: Link) -> list[str]:
    """Return a sentence for every value that its control did not take; keep what is still pending.

    What Streamlit leaves in the link is in use; the default is in use, too, but not left there.
    """
    notes = []
    for name in [name for name in pending if name in st.session_state]:
        texts, value = pending.pop(name), st.session_state[name]
        shown = value if isinstance(value, list | tuple) else [value]
        unchanged = texts == st.query_params.get_all(name) and len(texts) == max(1, len(shown))
        if not unchanged and not (len(texts) == len(shown) and all(map(_is_same, texts, shown))):
            notes.append(_note(name, texts, [*map(str, shown)]))
    return notes


def _note(name: str, texts: list[str], shown: list[str]) -> str:
    return (
        f"The link asks for `{name}` = {as_code(_cut(', '.join(texts)))}."
        " That is not possible here."
        f" Shown instead: {as_words(_cut(', '.join(shown))) or 'none'}."
    )


def _is_same(text: str, value: Any) -> bool:
    if isinstance(value, bool):
        return text.lower() == str(value).lower()
    if isinstance(value, int | float):
        try:
            return float(text) == value
        except ValueError:
            return False
    return text == str(value)


def _is_inf(text: str) -> bool:
    try:
        return math.isinf(float(text))
    except ValueError:
        return False


def parse_number(text: str) -> float | None:
    """Return the number of "-2.5" or "1e-7", as browsers write it; ``None`` if it is not finite.

    Python would also read 1_0, +1, infinity, spaces and digits of other alphabets.
    """
    number = float(text) if DECIMAL.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def parse_numbers(text: str) -> tuple[float, ...] | None:
    """Return the numbers of "1, 2.5, -3"; ``None`` if one of them is not finite."""
    parts = text.split(",")[:LINK_NUMBERS]
    numbers = tuple(x for part in parts if (x := parse_number(part.strip(" "))) is not None)
    return numbers if len(numbers) == len(parts) else None


def parse_plane(text: str) -> tuple[float, ...] | None:
    """Return the plane of "a,b,c,d"; ``None`` unless a unit normal and an offset within reach."""
    numbers = parse_numbers(text)
    return numbers if numbers and is_plane(numbers) else None


def pick_text(point: tuple[int, int] | None) -> str:
    """Return the text that `parse_pick` reads; empty for no point."""
    return f"{point[0]}.{point[1]}" if point else ""


def parse_pick(text: str, size: int = GRID_SIZE) -> tuple[int, int] | None:
    """Return (row, column) of "row.column"; ``None`` if it is not a point of the grid."""
    row, _, column = text.partition(".")
    if not (row.isascii() and row.isdigit() and column.isascii() and column.isdigit()):
        return None
    point = int(row[:9]), int(column[:9])
    return point if max(point) < size else None


def parse_camera(text: str) -> tuple[float, ...] | None:
    """Return the numbers of a camera: three of one surface, nine of Plotly's."""
    numbers = parse_numbers(text)
    return numbers if numbers and len(numbers) in (3, 9) else None


def _cut(text: str) -> str:
    return text if len(text) <= QUOTED_CHARACTERS else f"{text[:QUOTED_CHARACTERS]}…"
