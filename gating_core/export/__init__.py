"""Files to keep: weights, histories, a script, a notebook, and surfaces for other programs."""

from gating_core.export.notebook import notebook_text
from gating_core.export.script import log_csv, script_problem, script_text, weights_file
from gating_core.export.surface import (
    Colours,
    Surface,
    no_solid,
    picture_file,
    picture_pixels,
    surface_file,
)

__all__ = [
    "Colours",
    "Surface",
    "log_csv",
    "no_solid",
    "notebook_text",
    "picture_file",
    "picture_pixels",
    "script_problem",
    "script_text",
    "surface_file",
    "weights_file",
]
