"""The shipped curves of aligned and random gates, shown before anything is measured."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from gating_core.experiments.depth.curves import (
    STRUCTURED_LIMIT,
    DepthResult,
    depth_result,
    measure_regimes,
)
from gating_core.experiments.depth.regimes import REGIMES, Sheets
from gating_core.experiments.depth.request import DepthRequest
from gating_core.experiments.depth.trained import SHIPPED, quantities_of, quantity_tensors
from gating_core.export.weights import tensor_file, tensors_and_metadata

GATES = ("aligned", "random")  # keys of REGIMES
SHIPPED_GATES = SHIPPED.with_name("gates.safetensors")


def save_gates(path: Path = SHIPPED_GATES) -> None:
    """Measure the curves of `GATES` with the request's defaults, and write them."""
    results = [x for x in measure_regimes(DepthRequest(), GATES) if isinstance(x, DepthResult)]
    tensors: dict[str, np.ndarray] = {}
    for result in results:
        tensors |= quantity_tensors(result, f"{result.regime}.")
    about = {
        "request": asdict(DepthRequest()),
        "bound_kinds": {x.regime: x.bound_kind for x in results},
    }
    path.write_bytes(tensor_file(tensors, about))


def load_gates(path: Path = SHIPPED_GATES) -> dict[str, DepthResult]:
    """Return the curves that `save_gates` has written, by regime."""
    tensors, about = tensors_and_metadata(path.read_bytes())
    request, results = DepthRequest(), {}
    for name in GATES:
        layers = REGIMES[name].build(request)
        assert isinstance(layers, Sheets)
        quantities = quantities_of(tensors, f"{name}.", about["bound_kinds"][name])
        depths = np.arange(1, request.depth + 1)
        small, eps = layers.size <= STRUCTURED_LIMIT, layers.eps.numpy()
        results[name] = depth_result(name, request, quantities, depths, small, eps, layers.size)
    return results
