"""Which parts of an attention layer are experts of a mixture, and which of them can data decide?"""

from gating_core.experts.entry import EntryTree, entry_tree
from gating_core.experts.maps import EntryMaps, entry_maps
from gating_core.experts.moves import Moves, measure_moves, mixing, moved, scaling
from gating_core.experts.trained import trained_state, with_state
from gating_core.experts.undecidable import (
    NULL_SHARE,
    Undecidable,
    default_points,
    theory_count,
    undecidable_by_place,
    undecidable_directions,
)

__all__ = [
    "NULL_SHARE",
    "EntryMaps",
    "EntryTree",
    "Moves",
    "Undecidable",
    "default_points",
    "entry_maps",
    "entry_tree",
    "measure_moves",
    "mixing",
    "moved",
    "scaling",
    "theory_count",
    "trained_state",
    "undecidable_by_place",
    "undecidable_directions",
    "with_state",
]
