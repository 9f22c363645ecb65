"""What the sections of the page At work share: its charts and explanations."""

from __future__ import annotations

from ui.common.section_parts import SectionParts

_PARTS = SectionParts("at_work")
draw_figure, draw_explanation = _PARTS.draw_figure, _PARTS.draw_explanation
