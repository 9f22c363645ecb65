"""What is measured and drawn for the page of gates, in bounded caches shared by all visitors."""

from __future__ import annotations

import streamlit as st

from ui.gates.frames import GateFrame, measure_frames
from ui.gates.picture import GatePicture, gate_picture
from ui.gates.request import STRENGTHS, GateRequest
from ui.limits import GATED_KEPT
from ui.work import pool


@st.cache_resource(max_entries=GATED_KEPT, show_spinner="Measuring every strength …")
def frames(request: GateRequest) -> tuple[GateFrame, ...]:
    """A gate at all `STRENGTHS`, a share of them for every worker."""
    size = pool.POOL.size
    shares = pool.POOL.map(measure_frames, [(request, STRENGTHS[i::size]) for i in range(size)])
    found = {frame.strength: frame for share in shares for frame in share}
    return tuple(found[strength] for strength in STRENGTHS)


@st.cache_resource(max_entries=GATED_KEPT, show_spinner=False)
def picture(request: GateRequest, shown: str) -> GatePicture:
    """The linked view of a gate at all strengths."""
    return gate_picture(frames(request), shown)
