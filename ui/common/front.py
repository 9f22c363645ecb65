"""How do a page's front controls stand: in a row, or two in a row on a phone?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

STYLE = Path(__file__).with_suffix(".css")


def front_columns(
    widths: Sequence[float], align: Literal["top", "bottom"] = "top"
) -> list[DeltaGenerator]:
    """Columns as wide as ``widths`` say; on a phone two in a row, the first one alone."""
    st.html(STYLE)
    return st.container(key="front").columns(widths, vertical_alignment=align)
