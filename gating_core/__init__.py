"""Does this attention layer curve space? Models, derivatives and geometry, without any interface.

The names listed here are the stable public interface; README and docs/method.md show them at work.
"""

from gating_core.attention.charts import WeightChart, weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, build_attention, restore
from gating_core.checkpoints.state_plane import StatePlane, state_plane
from gating_core.experiments.comparison.run import TrainedRun, train
from gating_core.experiments.comparison.setting import VARIANTS, Setting
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.curvature import (
    CurvatureField,
    FundamentalForm,
    curvature,
    second_fundamental_form,
)
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import Integral, SurfaceIntegrals, total_absolute_curvature
from gating_core.jets.second_order import SecondOrderJet, second_order_jet
from gating_core.measurement import Measurement, measure
from gating_core.proved.prove import prove_curvature
from gating_core.tasks.task import TASKS, Task, make_task
from gating_core.training.trained import mean_interval

__all__ = [
    "TASKS",
    "VARIANTS",
    "Attention",
    "AttentionConfig",
    "CurvatureField",
    "FundamentalForm",
    "GateConfig",
    "Grid",
    "Integral",
    "Measurement",
    "SecondOrderJet",
    "Setting",
    "StatePlane",
    "SurfaceIntegrals",
    "Task",
    "TrainedRun",
    "WeightChart",
    "adaptive_integrals",
    "build_attention",
    "curvature",
    "make_task",
    "mean_interval",
    "measure",
    "prove_curvature",
    "restore",
    "second_fundamental_form",
    "second_order_jet",
    "square_grid",
    "state_plane",
    "total_absolute_curvature",
    "train",
    "weight_chart",
]
