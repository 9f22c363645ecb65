"""Does this attention layer curve space? Models, derivatives and geometry, without any interface.

The names listed here are the stable public interface; the README shows them at work.
"""

from gating_core.attention import Attention, build_attention
from gating_core.config import AttentionConfig, GateConfig
from gating_core.geometry import (
    CurvatureField,
    FundamentalForm,
    curvature,
    second_fundamental_form,
)
from gating_core.hull import AffineHull, affine_hull
from gating_core.integrals import (
    Integral,
    SurfaceIntegrals,
    adaptive_integrals,
    adaptive_total_absolute_curvature,
    grid_integrals,
    total_absolute_curvature,
)
from gating_core.jets import SecondOrderJet, second_order_jet
from gating_core.proxy import Proxy, paper_proxy, proxy_limit
from gating_core.sample import Grid, WeightChart, square_grid, weight_chart
from gating_core.solids import SolidCurvature, solid_curvature
from gating_core.tasks import TASKS, Task, make_task
from gating_core.train import Snapshot, TrainingDiverged, train_ensemble
from gating_core.variants import VARIANTS

__all__ = [
    "TASKS",
    "VARIANTS",
    "AffineHull",
    "Attention",
    "AttentionConfig",
    "CurvatureField",
    "FundamentalForm",
    "GateConfig",
    "Grid",
    "Integral",
    "Proxy",
    "SecondOrderJet",
    "Snapshot",
    "SolidCurvature",
    "SurfaceIntegrals",
    "Task",
    "TrainingDiverged",
    "WeightChart",
    "adaptive_integrals",
    "adaptive_total_absolute_curvature",
    "affine_hull",
    "build_attention",
    "curvature",
    "grid_integrals",
    "make_task",
    "paper_proxy",
    "proxy_limit",
    "second_fundamental_form",
    "second_order_jet",
    "solid_curvature",
    "square_grid",
    "total_absolute_curvature",
    "train_ensemble",
    "weight_chart",
]
