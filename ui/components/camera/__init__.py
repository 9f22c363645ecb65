"""The camera in the address, which the browser alone writes there."""

from __future__ import annotations

import streamlit as st

from ui.components.source import declare

KEY = "camera_now"
_component = declare("camera")


def camera_now() -> str:
    """Return the parameter ``camera`` of the browser's address; "" until the browser has said it.

    Streamlit sends the link as it last heard of it. Once the browser has answered, the part of the
    page that calls this runs again.
    """
    state = st.session_state.get(KEY)
    known = (state or {}).get("camera") or ""
    _component(key=KEY, data={"camera": known}, on_camera_change=lambda: None)
    return str(known)
