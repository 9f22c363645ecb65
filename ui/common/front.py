"""The row of a page's front controls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

WRAPPED = Path(__file__).with_suffix(".css")


def front_columns(
    widths: Sequence[float], align: Literal["top", "bottom"] = "top", alone: Literal[0, 1, 2] = 1
) -> list[DeltaGenerator]:
    """Return columns of these ``widths``; on a phone two in a row, the first ``alone`` alone."""
    st.html(WRAPPED)
    return st.container(key=f"front-{alone}").columns(widths, vertical_alignment=align)
