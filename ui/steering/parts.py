"""What the sections of the page Steering share: charts, explanations, and tables to save."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ui.common import parts

STYLE = Path(__file__).with_name("steering.css")
draw_figure = partial(parts.draw_figure, "steering")
draw_explanation = partial(parts.draw_explanation, "steering")
draw_csv = parts.draw_csv
