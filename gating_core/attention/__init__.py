"""Attention layers with and without gates, their stacks, and charts of what they compute."""

from gating_core.attention.charts import (
    SMALLEST_WEIGHT,
    WeightChart,
    through_logs,
    weight_chart,
)
from gating_core.attention.config import MECHANISMS, NORMS, AttentionConfig
from gating_core.attention.gates import GATE_KINDS, GATE_NAMES, GATE_POSITIONS, GateConfig
from gating_core.attention.layer import SINKS
from gating_core.attention.stack import (
    Attention,
    Classifier,
    EveryLayer,
    build_attention,
    restore,
)

__all__ = [
    "GATE_KINDS",
    "GATE_NAMES",
    "GATE_POSITIONS",
    "MECHANISMS",
    "NORMS",
    "SINKS",
    "SMALLEST_WEIGHT",
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
