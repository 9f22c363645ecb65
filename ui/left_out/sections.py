"""The sections of the page Left out by the name of their tab; one tab is open at a time."""

from __future__ import annotations

from collections.abc import Callable

from ui.left_out.correction_section import draw_correction
from ui.left_out.eviction_section import draw_eviction
from ui.left_out.linear_section import draw_linear
from ui.left_out.request import CORRECTION, EVICTION, LINEAR, TOP_K
from ui.left_out.top_k_section import draw_top_k

SECTIONS: dict[str, Callable[[], None]] = {
    TOP_K: draw_top_k,
    EVICTION: draw_eviction,
    CORRECTION: draw_correction,
    LINEAR: draw_linear,
}
