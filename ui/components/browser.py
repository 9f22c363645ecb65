"""Requests of a page to the browser besides drawing: history, keys, camera, another address."""

from __future__ import annotations

import streamlit as st

from ui.components.source import declare

CAMERA_KEY = "camera_now"
_history, _turn, _leave, _camera, _top = map(declare, ("history", "turn", "leave", "camera", "top"))


def keep_steps() -> None:
    """Let the browser's *Back* undo one change of a control, not all of them."""
    _history(key="history", data=b"")


def hear_turns() -> None:
    """Let Page Up and Page Down press what stands in ``turn-previous`` and ``turn-next``."""
    _turn(key="turn", data=b"")


def begin_at_top(shown: str) -> None:
    """Scroll to the top of the page when what is ``shown`` is not what was."""
    _top(key="top", data={"shown": shown})


def leave_for(path: str) -> None:
    """Post to ``path``, an absolute path of this server, in this tab, once.

    Streamlit alone cannot lead the browser there.
    """
    _leave(key="leave", data={"path": path})


def camera_now() -> str:
    """Return the parameter ``camera`` of the browser's address; "" until the browser has said it.

    The browser alone writes it there, and Streamlit sends the link as it last heard of it. Once the
    browser has answered, the part of the page that calls this runs again.
    """
    state = st.session_state.get(CAMERA_KEY)
    known = (state or {}).get("camera") or ""
    _camera(key=CAMERA_KEY, data={"camera": known}, on_camera_change=lambda: None)
    return str(known)
