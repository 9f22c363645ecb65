"""What a linked view keeps in the link: the marked point, and the frame that it stands at."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from ui.common.controls import Control
from ui.common.link_check import forget
from ui.components.view3d import clicked, stopped


def nearest_frame(control: Control, values: Sequence[float]) -> int:
    """Return the frame whose value is nearest to the link's; the last, if that has none."""
    value = values[-1] if control.linked is None else control.linked
    return min(range(len(values)), key=lambda frame: abs(values[frame] - value))


def point_to_link(view: str, parameter: str) -> Callable[[], None]:
    """Return a callback that puts the point clicked in ``view`` into the link."""

    def put() -> None:
        if point := clicked(view):
            st.query_params[parameter] = point

    return put


def frame_to_link(view: str, parameter: str, values: Sequence[float]) -> Callable[[], None]:
    """Return a callback that puts the value of the frame where ``view`` stopped into the link."""

    def put() -> None:
        frame = stopped(view, len(values))
        if frame is not None:
            st.query_params[parameter] = f"{values[frame]:g}"
            forget()

    return put
