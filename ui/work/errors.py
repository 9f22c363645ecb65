"""What does a visitor see of an error of ours? One sentence, with the id of its line in the log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from ui.work import log


@contextmanager
def reported(where: str) -> Iterator[None]:
    """Whatever goes wrong within is written to the log, and said in a sentence."""
    try:
        yield
    except Exception as error:
        number = log.new_id()
        log.write("page", number, error, where=where)
        st.error(
            f"This could not be drawn: an error of ours ({type(error).__name__}, in the log as"
            f" {number}). All else goes on."
        )
