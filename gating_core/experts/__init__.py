"""Which parts of an attention layer are experts of a mixture, and which of them can data decide?"""

from gating_core.experts.entry import EntryTree, entry_tree
from gating_core.experts.maps import EntryMaps, entry_maps
from gating_core.experts.undecidable import (
    Undecidable,
    default_points,
    mixing,
    moved,
    scaling,
    theory_count,
    undecidable_directions,
)

__all__ = [
    "EntryMaps",
    "EntryTree",
    "Undecidable",
    "default_points",
    "entry_maps",
    "entry_tree",
    "mixing",
    "moved",
    "scaling",
    "theory_count",
    "undecidable_directions",
]
