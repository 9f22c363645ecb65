"""Attention as a mixture of experts: which of them data determine, and how much data it takes."""

from gating_core.experts.entry import EntryMaps, EntryTree, entry_maps, entry_tree
from gating_core.experts.identifiability import (
    NULL_SHARE,
    Moves,
    NonIdentifiable,
    default_points,
    measure_moves,
    mixing,
    moved,
    non_identifiable_by_gate,
    non_identifiable_directions,
    scaling,
    theory_count,
)
from gating_core.experts.learning_curves import (
    COUNTS,
    CurvesRequest,
    Difference,
    LearningCurves,
    Needed,
    Ratio,
    accuracies_at,
    curves_of,
)
from gating_core.experts.sample_efficiency import (
    Learned,
    SampleRequest,
    Slope,
    expert_errors,
    gathered,
    learn,
    slope,
)
from gating_core.experts.shipped import load_curves, load_samples
from gating_core.experts.students import GATES, SIZES, Sizes, expert_maps
from gating_core.experts.trained import trained_state, with_state

__all__ = [
    "COUNTS",
    "GATES",
    "NULL_SHARE",
    "SIZES",
    "CurvesRequest",
    "Difference",
    "EntryMaps",
    "EntryTree",
    "Learned",
    "LearningCurves",
    "Moves",
    "Needed",
    "NonIdentifiable",
    "Ratio",
    "SampleRequest",
    "Sizes",
    "Slope",
    "accuracies_at",
    "curves_of",
    "default_points",
    "entry_maps",
    "entry_tree",
    "expert_errors",
    "expert_maps",
    "gathered",
    "learn",
    "load_curves",
    "load_samples",
    "measure_moves",
    "mixing",
    "moved",
    "non_identifiable_by_gate",
    "non_identifiable_directions",
    "scaling",
    "slope",
    "theory_count",
    "trained_state",
    "with_state",
]
