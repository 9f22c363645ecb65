"""The shipped results about depth, and their files: trained stacks, and curves of gates.

Tensors of trained stacks are called ``VARIANT.DEPTH.NAME``, measured numbers
``VARIANT.found.PART.QUANTITY``; those of gates ``REGIME.PART.QUANTITY``. The request stands in the
metadata as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gating_core.assets import ASSETS
from gating_core.attention.config import GateConfig
from gating_core.experiments.depth.curves import (
    DepthResult,
    measure_regime,
    regime_result,
)
from gating_core.experiments.depth.quantities import QUANTITIES, Quantities
from gating_core.experiments.depth.request import REGIMES, DepthRequest, TrainedRequest
from gating_core.experiments.depth.trained import DEPTH_VARIANTS, TrainedDepths, trained_depths
from gating_core.export.weights import (
    ensemble_from_tensors,
    ensemble_tensors,
    save_tensors,
    tensors_of,
)

SURFACE_PARTS = ("unresolved", "proved")
QUANTITY_PARTS = ("values", "errors", "known")
SHIPPED = ASSETS / "depth" / "trained.safetensors"
SHIPPED_GATES = SHIPPED.with_name("gates.safetensors")
GATES = ("aligned", "random")  # keys of REGIMES


def quantity_tensors(result: DepthResult, prefix: str) -> dict[str, np.ndarray]:
    """Return what was measured, by names that begin with ``prefix``."""
    tensors = {f"{prefix}{part}": getattr(result, part) for part in SURFACE_PARTS}
    for name, curve in result.curves.items():
        tensors |= {f"{prefix}{part}.{name}": getattr(curve, part) for part in QUANTITY_PARTS}
    return tensors


def quantities_of(tensors: Mapping[str, np.ndarray], prefix: str, kind: str) -> Quantities:
    """Return what `quantity_tensors` names; ``kind`` is that of the bounds."""
    parts: dict[str, Any] = {
        part: {name: tensors[f"{prefix}{part}.{name}"] for name in QUANTITIES}
        for part in QUANTITY_PARTS
    }
    parts |= {part: tensors[prefix + part] for part in SURFACE_PARTS}
    return Quantities(**parts, bound_kind=kind)


def save_depths(trained: TrainedDepths, path: Path) -> None:
    """Write ``trained`` to a safetensors file."""
    tensors: dict[str, np.ndarray] = {}
    kinds = {}
    for variant in DEPTH_VARIANTS:
        for depth, ensemble in zip(trained.request.depths, trained.ensembles[variant], strict=True):
            tensors |= ensemble_tensors(ensemble, f"{variant}.{depth}.")
        kinds[variant] = trained.results[variant].bound_kind
        tensors |= quantity_tensors(trained.results[variant], f"{variant}.found.")
    save_tensors(path, tensors, {"request": asdict(trained.request), "bound_kinds": kinds})


def load_depths(path: Path) -> TrainedDepths:
    """Read a file of `save_depths`; ``ValueError`` for any other file."""
    ensembles, quantities = {}, {}
    with tensors_of(path, "holds no trained stacks") as (tensors, about):
        fields: dict[str, Any] = about["request"]
        request = TrainedRequest(
            **fields | {"depths": tuple(fields["depths"]), "gate": GateConfig(**fields["gate"])}
        )
        for variant, gated in DEPTH_VARIANTS.items():
            configs = [request.stack(n, gated, request.arrangement) for n in request.depths]
            ensembles[variant] = tuple(
                ensemble_from_tensors(tensors, config, request.seeds, f"{variant}.{config.depth}.")
                for config in configs
            )
            kind = about["bound_kinds"][variant]
            quantities[variant] = quantities_of(tensors, f"{variant}.found.", kind)
    return trained_depths(request, ensembles, quantities)


def load_shipped() -> TrainedDepths:
    """Load the shipped stacks, trained and measured with the request's defaults."""
    return load_depths(SHIPPED)


def save_gates() -> None:
    """Measure the curves of `GATES` with the request's defaults, and write them."""
    results = [measure_regime(DepthRequest(), name) for name in GATES]
    tensors: dict[str, np.ndarray] = {}
    for result in results:
        tensors |= quantity_tensors(result, f"{result.regime}.")
    kinds = {x.regime: x.bound_kind for x in results}
    save_tensors(SHIPPED_GATES, tensors, {"request": asdict(DepthRequest()), "bound_kinds": kinds})


def load_gates() -> dict[str, DepthResult]:
    """Return the curves that `save_gates` has written, by regime."""
    results, request = {}, DepthRequest()
    with tensors_of(SHIPPED_GATES, "holds no curves of gates") as (tensors, about):
        for name in GATES:
            quantities = quantities_of(tensors, f"{name}.", about["bound_kinds"][name])
            results[name] = regime_result(request, name, REGIMES[name].build(request), quantities)
    return results
