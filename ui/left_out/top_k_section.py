"""The tab Top-k: what the k largest weights leave out, and what certifies it."""

from __future__ import annotations

from ui.left_out.controls import draw_specimen


def draw_top_k() -> None:
    """Draw the row of the specimen with its certificates."""
    draw_specimen()
