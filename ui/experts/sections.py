"""The sections of the Experts page by the name of their tab; one tab is open at a time."""

from __future__ import annotations

from collections.abc import Callable

from ui.experts.controls import read_selection
from ui.experts.curves_section import draw_curves
from ui.experts.data_section import draw_data
from ui.experts.null_section import draw_null_directions
from ui.experts.request import CURVES, DATA, NULLS, TREE, ExpertsSelection
from ui.experts.tree_section import draw_tree


def _of_model(draw: Callable[[ExpertsSelection], None]) -> Callable[[], None]:
    """A section about one model, below the controls of that model."""
    return lambda: draw(read_selection())


SECTIONS: dict[str, Callable[[], None]] = {
    TREE: _of_model(draw_tree),
    NULLS: _of_model(draw_null_directions),
    DATA: draw_data,
    CURVES: draw_curves,
}
