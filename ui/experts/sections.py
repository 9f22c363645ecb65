"""The sections of the Experts page by the name of their tab; one tab is open at a time."""

from __future__ import annotations

from collections.abc import Callable

from ui.experts.null_section import draw_null_directions
from ui.experts.request import NULLS, TREE, ExpertsSelection
from ui.experts.tree_section import draw_tree

SECTIONS: dict[str, Callable[[ExpertsSelection], None]] = {
    TREE: draw_tree,
    NULLS: draw_null_directions,
}
