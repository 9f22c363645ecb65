"""What may be left out of the language models' attention, and what does that cost them?"""

from gating_core.left_out_at_work.attention_time import AttentionTimes, load_attention_times
from gating_core.left_out_at_work.correction import GAMMAS, LAGS, SINKS, WINDOWS
from gating_core.left_out_at_work.eviction import BUDGETS, POLICIES, PREFILL, Policy, key_worth
from gating_core.left_out_at_work.heads import head_specimen
from gating_core.left_out_at_work.kinds import truncated, windowed, with_kept_keys
from gating_core.left_out_at_work.live_correction import (
    GAMMA_STEPS,
    GAPS,
    PAIRS,
    RETRIEVAL_SEEDS,
    SHORTEST,
    WINDOW_STEPS,
    Correction,
    CorrectionRequest,
    correct_head,
    correct_slow,
    retrieve,
)
from gating_core.left_out_at_work.live_linear import (
    CHEAPER,
    RECALL_PAIRS,
    Cheaper,
    LinearRequest,
    RecallCurves,
    cheaper,
    converted_losses,
    recall_curves,
)
from gating_core.left_out_at_work.live_top_k import Certified, RowAt, RowCurves, row_at, row_curves
from gating_core.left_out_at_work.losses import FIRST, late_losses, long_texts
from gating_core.left_out_at_work.measured import MODELS, load_measured
from gating_core.left_out_at_work.truncation import BINS, EPSILON, FIRST_QUERY, SIZES

__all__ = [
    "BINS",
    "BUDGETS",
    "CHEAPER",
    "EPSILON",
    "FIRST",
    "FIRST_QUERY",
    "GAMMAS",
    "GAMMA_STEPS",
    "GAPS",
    "LAGS",
    "MODELS",
    "PAIRS",
    "POLICIES",
    "PREFILL",
    "RECALL_PAIRS",
    "RETRIEVAL_SEEDS",
    "SHORTEST",
    "SINKS",
    "SIZES",
    "WINDOWS",
    "WINDOW_STEPS",
    "AttentionTimes",
    "Certified",
    "Cheaper",
    "Correction",
    "CorrectionRequest",
    "LinearRequest",
    "Policy",
    "RecallCurves",
    "RowAt",
    "RowCurves",
    "cheaper",
    "converted_losses",
    "correct_head",
    "correct_slow",
    "head_specimen",
    "key_worth",
    "late_losses",
    "load_attention_times",
    "load_measured",
    "long_texts",
    "recall_curves",
    "retrieve",
    "row_at",
    "row_curves",
    "truncated",
    "windowed",
    "with_kept_keys",
]
