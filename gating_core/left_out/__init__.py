"""What may be left out of attention, and what does it change? On plain tensors, without a model."""

from gating_core.left_out.delta_rule import (
    delta_chunked,
    delta_recurrent,
    delta_states,
    delta_weights,
    gated_output,
    log_decays,
    unit_length,
)
from gating_core.left_out.hybrid import BRANCHES, hybrid
from gating_core.left_out.linear import (
    elu_features,
    exponential_features,
    linear_attention,
    linear_chunked,
    linear_recurrent,
    linear_weights,
)
from gating_core.left_out.recall import RULES, Recall, RecallRequest, Rule, draw_pairs, recall

__all__ = [
    "BRANCHES",
    "RULES",
    "Recall",
    "RecallRequest",
    "Rule",
    "delta_chunked",
    "delta_recurrent",
    "delta_states",
    "delta_weights",
    "draw_pairs",
    "elu_features",
    "exponential_features",
    "gated_output",
    "hybrid",
    "linear_attention",
    "linear_chunked",
    "linear_recurrent",
    "linear_weights",
    "log_decays",
    "recall",
    "unit_length",
]
