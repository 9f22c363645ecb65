"""Does this attention layer curve space? Models, derivatives and geometry, without any interface.

The names listed here are the stable public interface; the README shows them at work.
"""

from gating_core.attention.charts import WeightChart, weight_chart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import Attention, Classifier, build_attention, restore
from gating_core.experiments.comparison.run import TrainedRun, train_further, train_setting
from gating_core.experiments.comparison.setting import VARIANTS, Setting
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.curvature import (
    CurvatureField,
    FundamentalForm,
    curvature,
    second_fundamental_form,
)
from gating_core.geometry.discrete import Proxy, paper_proxy, proxy_limit
from gating_core.geometry.flatness import AffineHull, affine_hull
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import (
    Integral,
    SurfaceIntegrals,
    grid_integrals,
    total_absolute_curvature,
)
from gating_core.geometry.solids import SolidCurvature, solid_curvature
from gating_core.jets.second_order import SecondOrderJet, second_order_jet
from gating_core.tasks.task import TASKS, Task, make_task
from gating_core.training.trained import MeanInterval, TrainedEnsemble, mean_interval
from gating_core.training.trainer import Snapshot, TrainingDiverged, train_ensemble

__all__ = [
    "TASKS",
    "VARIANTS",
    "AffineHull",
    "Attention",
    "AttentionConfig",
    "Classifier",
    "CurvatureField",
    "FundamentalForm",
    "GateConfig",
    "Grid",
    "Integral",
    "MeanInterval",
    "Proxy",
    "SecondOrderJet",
    "Setting",
    "Snapshot",
    "SolidCurvature",
    "SurfaceIntegrals",
    "Task",
    "TrainedEnsemble",
    "TrainedRun",
    "TrainingDiverged",
    "WeightChart",
    "adaptive_integrals",
    "affine_hull",
    "build_attention",
    "curvature",
    "grid_integrals",
    "make_task",
    "mean_interval",
    "paper_proxy",
    "proxy_limit",
    "restore",
    "second_fundamental_form",
    "second_order_jet",
    "solid_curvature",
    "square_grid",
    "total_absolute_curvature",
    "train_ensemble",
    "train_further",
    "train_setting",
    "weight_chart",
]
