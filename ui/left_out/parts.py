"""What the sections of the page Left out share: its charts and explanations."""

from __future__ import annotations

from ui.common.section_parts import SectionParts

_PARTS = SectionParts("left_out")
draw_figure, draw_explanation = _PARTS.draw_figure, _PARTS.draw_explanation
