"""Which of a component's messages has Python heard? The other end of wire.js."""

from __future__ import annotations

from typing import Any

import streamlit as st

LARGEST_SERIAL = 2**53  # JavaScript counts no further


def is_serial(value: Any) -> bool:
    """Whether this is a number that wire.js could have given to a message."""
    return type(value) is int and 0 < value <= LARGEST_SERIAL


def is_news(key: str, serial: int) -> bool:
    """Whether the component ``key`` has not been heard with this message yet.

    Of several messages that the browser sends at once, Streamlit calls back for each one, every
    time with the newest.
    """
    return serial != heard(key)


def keep(key: str, serial: int) -> None:
    """Remember, for the component ``key``, that this message has been heard."""
    st.session_state[_kept(key)] = serial


def heard(key: str) -> int:
    """The newest message that the component ``key`` is drawn with knowledge of; 0 if none.

    It goes to the browser with what is drawn. The trigger's own value would be gone by the next
    run, which may be drawn before the browser has seen this one.
    """
    return st.session_state.get(_kept(key), 0)


def _kept(key: str) -> str:
    return f"{key}_heard"
