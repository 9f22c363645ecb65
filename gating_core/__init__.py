"""Does this attention layer curve space? Models, derivatives and geometry, without any interface.

The names listed here are the stable public interface; the README shows them at work.
"""

from gating_core.attention import Attention, build_attention
from gating_core.config import AttentionConfig, GateConfig
from gating_core.geometry import CurvatureField, curvature
from gating_core.integrals import (
    Integral,
    adaptive_total_absolute_curvature,
    total_absolute_curvature,
)
from gating_core.jets import SecondOrderJet, second_order_jet
from gating_core.sample import Grid, WeightChart, square_grid, weight_chart
from gating_core.tasks import TASKS, Task, make_task
from gating_core.train import Snapshot, TrainingDiverged, train_ensemble
from gating_core.variants import VARIANTS

__all__ = [
    "TASKS",
    "VARIANTS",
    "Attention",
    "AttentionConfig",
    "CurvatureField",
    "GateConfig",
    "Grid",
    "Integral",
    "SecondOrderJet",
    "Snapshot",
    "Task",
    "TrainingDiverged",
    "WeightChart",
    "adaptive_total_absolute_curvature",
    "build_attention",
    "curvature",
    "make_task",
    "second_order_jet",
    "square_grid",
    "total_absolute_curvature",
    "train_ensemble",
    "weight_chart",
]
