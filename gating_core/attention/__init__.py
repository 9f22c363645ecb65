"""What does an attention layer compute?"""

from gating_core.attention.charts import (
    SMALLEST_WEIGHT,
    WeightChart,
    through_logs,
    weight_chart,
)
from gating_core.attention.classifier import Classifier, restore
from gating_core.attention.config import (
    GATE_POSITIONS,
    LAYERS,
    NORMS,
    SOURCES,
    AttentionConfig,
    GateConfig,
)
from gating_core.attention.every_layer import EveryLayer
from gating_core.attention.gate_kinds import GATE_KINDS, GATES
from gating_core.attention.stack import Attention, build_attention

__all__ = [
    "GATES",
    "GATE_KINDS",
    "GATE_POSITIONS",
    "LAYERS",
    "NORMS",
    "SMALLEST_WEIGHT",
    "SOURCES",
    "Attention",
    "AttentionConfig",
    "Classifier",
    "EveryLayer",
    "GateConfig",
    "WeightChart",
    "build_attention",
    "restore",
    "through_logs",
    "weight_chart",
]
