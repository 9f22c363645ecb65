"""What the sections of the page Steering share: charts, explanations, and tables to save."""

from __future__ import annotations

from functools import partial

from ui.common import parts

draw_figure = partial(parts.draw_figure, "steering")
draw_explanation = partial(parts.draw_explanation, "steering")
draw_csv = parts.draw_csv
