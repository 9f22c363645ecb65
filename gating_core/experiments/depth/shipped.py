"""The shipped results about depth, and their files: trained stacks, and curves of gates."""

from __future__ import annotations

from gating_core.assets import ASSETS
from gating_core.experiments.depth.curves import DepthResult, measure_regime, regime_result
from gating_core.experiments.depth.quantities import Quantities
from gating_core.experiments.depth.request import DepthRequest
from gating_core.experiments.depth.trained import TrainedDepths
from gating_core.records import load_record, save_record

SHIPPED = ASSETS / "depth" / "trained.safetensors"
SHIPPED_GATES = SHIPPED.with_name("gates.safetensors")
GATES = ("aligned", "random")  # keys of REGIMES


def load_shipped() -> TrainedDepths:
    """Load the shipped stacks, trained and measured with the request's defaults."""
    return load_record(TrainedDepths, SHIPPED, "holds no trained stacks")


def save_gates() -> None:
    """Measure the curves of `GATES` with the request's defaults, and write them."""
    results = {name: measure_regime(DepthRequest(), name) for name in GATES}
    save_record(SHIPPED_GATES, {name: result.quantities for name, result in results.items()})


def load_gates() -> dict[str, DepthResult]:
    """Return the curves that `save_gates` has written, by regime."""
    stored = load_record(dict[str, Quantities], SHIPPED_GATES, "holds no curves of gates")
    request = DepthRequest()
    return {name: regime_result(request, name, quantities) for name, quantities in stored.items()}
