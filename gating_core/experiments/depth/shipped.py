"""The shipped results about depth, and their files: trained stacks, and curves of gates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gating_core.assets import ASSETS
from gating_core.experiments.depth.curves import DepthResult, measure_regime, regime_result
from gating_core.experiments.depth.quantities import Quantities
from gating_core.experiments.depth.request import REGIMES, DepthRequest, TrainedRequest
from gating_core.experiments.depth.trained import TrainedDepths, trained_depths
from gating_core.records import load_record, save_record
from gating_core.training.trained import TrainedEnsemble

SHIPPED = ASSETS / "depth" / "trained.safetensors"
SHIPPED_GATES = SHIPPED.with_name("gates.safetensors")
GATES = ("aligned", "random")  # keys of REGIMES


@dataclass(frozen=True, eq=False)
class _Trained:
    """The parts that `trained_depths` combines."""

    request: TrainedRequest
    ensembles: dict[str, tuple[TrainedEnsemble, ...]]
    quantities: dict[str, Quantities]


def save_depths(trained: TrainedDepths, path: Path) -> None:
    """Write ``trained`` to a safetensors file."""
    quantities = {name: result.quantities for name, result in trained.results.items()}
    save_record(path, _Trained(trained.request, trained.ensembles, quantities))


def load_depths(path: Path) -> TrainedDepths:
    """Read a file of `save_depths`; ``ValueError`` for any other file."""
    stored = load_record(_Trained, path, "holds no trained stacks")
    return trained_depths(stored.request, stored.ensembles, stored.quantities)


def load_shipped() -> TrainedDepths:
    """Load the shipped stacks, trained and measured with the request's defaults."""
    return load_depths(SHIPPED)


def save_gates() -> None:
    """Measure the curves of `GATES` with the request's defaults, and write them."""
    results = {name: measure_regime(DepthRequest(), name) for name in GATES}
    save_record(SHIPPED_GATES, {name: result.quantities for name, result in results.items()})


def load_gates() -> dict[str, DepthResult]:
    """Return the curves that `save_gates` has written, by regime."""
    stored = load_record(dict[str, Quantities], SHIPPED_GATES, "holds no curves of gates")
    request = DepthRequest()
    return {
        name: regime_result(request, name, REGIMES[name].build(request), quantities)
        for name, quantities in stored.items()
    }
