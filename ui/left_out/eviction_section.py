"""The tab Eviction: which keys stay in a cache with a budget, and what that costs."""

from __future__ import annotations

from ui.left_out.controls import draw_specimen
from ui.left_out.request import HEAD, SLOW


def draw_eviction() -> None:
    """Draw the keys that each policy keeps."""
    draw_specimen((HEAD, SLOW))
