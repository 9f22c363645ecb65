"""The linked 3-D view: a Streamlit component around plotly.js, fed with raw float32.

It draws a `ui.drawing.panels.View`: any number of columns of 3-D and 2-D panels with one
camera, one frame, one marked point.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import streamlit as st

from ui.components import large
from ui.components.plotly_js import plotly_url
from ui.components.source import declare
from ui.drawing.panels import View
from ui.foreign import as_words

SENT_AS = {np.dtype(np.uint8): "u1", np.dtype(np.uint16): "<u2"}
NOT_WRITTEN = (
    "There are no pictures: their program cannot be copied into the folder static/ ({}). Whoever"
    " runs this server can make that folder writable, or start the app once where it is."
)
_component = declare("view3d")
Readout = Sequence[tuple[str, Sequence[str]]]  # label, names of arrays (R, C)


@dataclass(frozen=True)
class Legend:
    """A colour scale with a word at both ends; or ``keys``, a colour for each of some words.

    ``note`` is another text below the picture: one, or one for each frame.
    """

    scale: Sequence[tuple[float, str]]
    low: str
    high: str
    note: str | Sequence[str] = ""
    keys: Sequence[tuple[str, str]] = ()


def _packed(view: View) -> tuple[dict[str, dict[str, Any]], bytes]:
    return large.packed_once(view, lambda: pack(view.arrays, view.framed))


def pack(
    arrays: dict[str, np.ndarray], framed: frozenset[str]
) -> tuple[dict[str, dict[str, Any]], bytes]:
    """Return an entry of the header for each array, and the bytes of all, little-endian.

    Arrays of ``uint8`` and ``uint16`` are sent as they are, all others as float32.
    """
    entries, blobs, offset = {}, [], large.HEAD
    for name, array in arrays.items():
        with np.errstate(over="ignore"):  # beyond float32 it is infinite, shown as "–"
            kind = SENT_AS.get(array.dtype, "<f4")
            blob = np.ascontiguousarray(array, dtype=kind)
        entry = {"shape": blob.shape, "offset": offset, "framed": name in framed}
        entries[name] = entry | {"bytes": blob.itemsize}
        blobs.append(blob.tobytes())
        offset += blob.nbytes
    return entries, large.with_head(b"".join(blobs))


def view3d(
    view: View,
    *,
    key: str,
    on_pick: Callable[[], None] = lambda: None,
    on_stop: Callable[[], None] = lambda: None,
    **shown: Any,
) -> None:
    """Draw ``view``; for what is ``shown`` with it see `header_of`.

    A click calls ``on_pick`` with ``st.session_state[key]["pick"]`` = {row, column}; the end of a
    Play calls ``on_stop`` with ``["stop"]`` = {frame}.
    """
    try:
        plotly = plotly_url()
    except OSError as error:
        st.error(NOT_WRITTEN.format(as_words(error.strerror or "no reason is given")))
        return
    header = header_of(view, key=key, **shown)
    header |= {"plotly": plotly, "source": large.address_of(arrays_of(view), key)}
    _component(
        key=key,
        data=json.dumps(header, allow_nan=False).encode(),
        on_pick_change=on_pick,
        on_stop_change=on_stop,
    )


def arrays_of(view: View) -> bytes:
    """Return the bytes of all arrays of ``view``, whose places its header lists."""
    return _packed(view)[1]


def header_of(
    view: View,
    *,
    key: str,
    headings: Sequence[str],
    captions: Sequence[Sequence[str]],
    frame: int,
    frame_labels: Sequence[str],
    legend: Legend,
    readouts: Sequence[Readout] = ((), ()),
    pick: tuple[int, int] | None = None,
    rest: tuple[int, int] | None = None,
    playable: bool = True,
    scrub: bool = False,
    serial: str = "",
    family: str = "",
    scene: str = "",
    places: Sequence[float] = (),
    readings: Sequence[str] = (),
    follow: bool = False,
    grows: bool = False,
    spare: int = 450,
    reveal: int = 0,
    wide_pixels: int = 420,
    click_does: str = "a click on a curve goes to that step",
) -> dict[str, Any]:
    """Return what view3d.js is told of ``view``: all but where plotly.js and the arrays are.

    ``captions`` holds one line per frame for every column (or a single line); ``readouts`` the
    numbers at the point under the pointer, else at the marked one or at ``rest``: "label = number",
    or a label in which each {} becomes a number. Without ``frame_labels`` nothing plays. With
    ``scrub`` there is a timeline of its own to drag and step along. A new ``serial`` makes the view
    adopt ``frame`` and ``pick`` again; of one ``family``, as of a run that grows, only where the
    visitor looked at the last frame.

    The camera is that of ``view``, as near as everything fits, until the visitor turns it; a new
    ``scene`` begins with it again. Frames stand at ``places`` along the timeline, by default
    evenly; a click on a panel without points of the chart goes to the nearest frame. ``readings``
    are paragraphs, one per frame; in these and in captions ** marks bold text. With ``follow``
    those of a new ``family`` play once from the first, and those added to it from the last one
    before; this goes on as long as the run ``grows``.
    ``spare`` pixels of the window's height are left to the rest of the page. The pictures scroll
    into the window once for every new number ``reveal`` except 0. Panels of full width are
    ``wide_pixels`` high; ``click_does`` is the hint's text on clicks there.
    """
    columns = [
        {
            "heading": heading,
            "captions": list(lines),
            "wide": all(not panel.pick for panel in panels),
            "panels": [asdict(panel) for panel in panels],
            "readout": [{"label": label, "arrays": names} for label, names in readout],
        }
        for heading, lines, panels, readout in zip(
            headings, captions, view.columns, readouts, strict=True
        )
    ]
    return {
        "key": key,
        "columns": columns,
        "camera": view.camera,
        "scene": scene,
        "places": list(map(float, places)),
        "readings": list(readings),
        "follow": follow,
        "grows": grows,
        "spare": spare,
        "reveal": reveal,
        "wide": wide_pixels,
        "click_does": click_does,
        "frames": view.frames if playable else 1,
        "frame": frame,
        "scrub": scrub,
        "serial": serial,
        "family": family,
        "frame_labels": list(frame_labels),
        "legend": asdict(legend),
        "pick": pick,
        "rest": rest,
        "arrays": _packed(view)[0],
    }


def clicked(key: str) -> str | None:
    """Return the grid point clicked last in the view ``key``, as in links: row.column."""
    point = (st.session_state.get(key) or {}).get("pick")
    return f"{int(point['row'])}.{int(point['column'])}" if point else None


def stopped(key: str, frames: int) -> int | None:
    """Return the frame at which the view ``key``, of so many ``frames``, was let go or stopped."""
    stop = (st.session_state.get(key) or {}).get("stop")
    return min(max(int(stop["frame"]), 0), frames - 1) if stop else None
