"""Measure gates in language models: sinks, rank, sparse gates, calibration, wiring."""

from gating_core.at_work.bigram_backcopy import (
    KINDS,
    ToyRequest,
    ToyResult,
    ToyTraining,
    draw_texts,
)
from gating_core.at_work.calibration import (
    BINS,
    Reliability,
    ResampledReliability,
    bootstrap_reliability,
    classwise_error,
    equal_mass_bins,
    reliability,
)
from gating_core.at_work.confidence import (
    QUANTITIES,
    attention_entropies,
    prediction_entropies,
)
from gating_core.at_work.gates import SHUT, histogram, means_by_character, shut_shares
from gating_core.at_work.measured import STRENGTHS, load_measured, measure
from gating_core.at_work.rank import (
    effective_rank,
    gated_map_singular_values,
    map_singular_values,
    output_singular_values,
    value_output_maps,
)
from gating_core.at_work.reading import (
    Reading,
    WriteRequest,
    probabilities_after,
    read_text,
    write_on,
)
from gating_core.at_work.resampling import (
    PairedDifference,
    ends,
    loss_difference,
    paired_difference,
    text_draws,
)
from gating_core.at_work.sinks import (
    EPSILON,
    first_shares,
    first_value_ratios,
    importances,
    sink_share,
)
from gating_core.at_work.step_time import StepTime, load_times
from gating_core.at_work.toy import SERIES, ToyRun, joined, load_toy, train_toy
from gating_core.at_work.wiring import BEFORE, CORNERS, attention_gradients, link_costs

__all__ = [
    "BEFORE",
    "BINS",
    "CORNERS",
    "EPSILON",
    "KINDS",
    "QUANTITIES",
    "SERIES",
    "SHUT",
    "STRENGTHS",
    "PairedDifference",
    "Reading",
    "Reliability",
    "ResampledReliability",
    "StepTime",
    "ToyRequest",
    "ToyResult",
    "ToyRun",
    "ToyTraining",
    "WriteRequest",
    "attention_entropies",
    "attention_gradients",
    "bootstrap_reliability",
    "classwise_error",
    "draw_texts",
    "effective_rank",
    "ends",
    "equal_mass_bins",
    "first_shares",
    "first_value_ratios",
    "gated_map_singular_values",
    "histogram",
    "importances",
    "joined",
    "link_costs",
    "load_measured",
    "load_times",
    "load_toy",
    "loss_difference",
    "map_singular_values",
    "means_by_character",
    "measure",
    "output_singular_values",
    "paired_difference",
    "prediction_entropies",
    "probabilities_after",
    "read_text",
    "reliability",
    "shut_shares",
    "sink_share",
    "text_draws",
    "train_toy",
    "value_output_maps",
    "write_on",
]
