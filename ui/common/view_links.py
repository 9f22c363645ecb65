"""What a linked view keeps in the link: the marked point, and the frame that it stands at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from ui.common.controls import Control
from ui.common.link_check import forget
from ui.components.view3d import clicked, stopped


def nearest_frame(control: Control, places: Sequence[float]) -> int:
    """Return the index in ``places`` nearest to what the link says; the last, if nothing."""
    linked = control.linked
    place = places[-1] if linked is None else linked
    return min(range(len(places)), key=lambda index: abs(places[index] - place))


def point_to_link(view: str, parameter: str) -> Callable[[], None]:
    """Return a callback that puts the point clicked in ``view`` into the link."""

    def put() -> None:
        if point := clicked(view):
            st.query_params[parameter] = point

    return put


def frame_to_link(view: str, parameter: str, places: Sequence[float]) -> Callable[[], None]:
    """Return a callback that puts the place at which ``view`` was let go into the link."""

    def put() -> None:
        frame = stopped(view, len(places))
        if frame is not None:
            st.query_params[parameter] = f"{places[frame]:g}"
            forget()

    return put
