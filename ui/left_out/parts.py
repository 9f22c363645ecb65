"""What the sections of the page Left out share: its charts and explanations."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import plotly.graph_objects as go

from ui.common.lessons import section
from ui.common.section_parts import SectionParts
from ui.drawing.titled import titled

_PARTS = SectionParts("left_out")
draw_figure, draw_explanation = _PARTS.draw_figure, _PARTS.draw_explanation


def draw_titled(
    key: tuple[Hashable, ...], make: Callable[[], go.Figure], alt: str, **fields: object
) -> None:
    """Draw a figure below its title, the lesson's section head_NAME.

    NAME is the first of ``key``. The ``fields`` of the title must follow from the ``key``.
    """
    title = section("left_out", f"head_{key[0]}", **fields)
    draw_figure(key, lambda: titled(make(), title), alt)
