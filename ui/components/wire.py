"""Messages of a component's script: the other end of wire.js."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import streamlit as st

LARGEST_SERIAL = 2**53  # JavaScript counts no further


def receive(key: str, trigger: str, is_sound: Callable[[Any], bool]) -> Any:
    """Return the newest message of the component ``key``, once; ``None`` if it was handled before.

    Of several messages that the browser sends at once, Streamlit calls back for each one, every
    time with the newest. ``None``, too, if our own script cannot have sent it: it has no serial,
    ``is_sound`` refuses it, or fails with a ``TypeError`` or ``KeyError``.
    """
    try:
        message = st.session_state[key][trigger]  # not there: the component has left the page
        serial = message["serial"]
        if not (type(serial) is int and 0 < serial <= LARGEST_SERIAL and is_sound(message)):
            return None
    except (TypeError, KeyError):
        return None
    if serial == heard(key):
        return None
    st.session_state[f"{key}_heard"] = serial
    return message


def heard(key: str) -> int:
    """Return the newest serial received of the component ``key``; 0 if none.

    It goes to the browser with what is drawn. The trigger's own value would be gone by the next
    run, which may be drawn before the browser has seen this one.
    """
    return st.session_state.get(f"{key}_heard", 0)
