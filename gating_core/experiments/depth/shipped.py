"""Which trained stacks are shipped, and how do they become a file and a file become them?

Tensors are called ``VARIANT.DEPTH.NAME``, as in the file of a trained ensemble, and what was
measured ``VARIANT.found.PART.QUANTITY``. The request stands in the metadata as JSON.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gating_core.attention.config import GateConfig
from gating_core.experiments.depth.quantities import QUANTITIES, Measured
from gating_core.experiments.depth.request import TrainedRequest
from gating_core.experiments.depth.trained import VARIANTS, TrainedDepths, trained_depths
from gating_core.export.weights import (
    ensemble_from_tensors,
    ensemble_tensors,
    tensor_file,
    tensors_and_metadata,
)

SHIPPED = Path(__file__).resolve().parents[3] / "assets" / "depth" / "trained.safetensors"


def save_depths(trained: TrainedDepths, path: Path) -> None:
    """Write ``trained`` to a safetensors file."""
    tensors: dict[str, np.ndarray] = {}
    kinds = {}
    for variant in VARIANTS:
        for depth, ensemble in zip(trained.request.depths, trained.ensembles[variant], strict=True):
            tensors |= ensemble_tensors(ensemble, f"{variant}.{depth}.")
        result = trained.results[variant]
        kinds[variant] = result.bound_kind
        tensors[f"{variant}.found.unresolved"] = result.unresolved
        tensors[f"{variant}.found.proved"] = result.proved
        for name, curve in result.curves.items():
            tensors[f"{variant}.found.values.{name}"] = curve.values
            tensors[f"{variant}.found.errors.{name}"] = curve.errors
            tensors[f"{variant}.found.known.{name}"] = curve.known
    path.parent.mkdir(parents=True, exist_ok=True)
    about = {"request": asdict(trained.request), "bound_kinds": kinds}
    path.write_bytes(tensor_file(tensors, about))


def load_depths(path: Path) -> TrainedDepths:
    """Read what `save_depths` wrote; ``ValueError`` if the file is none of these."""
    try:
        tensors, about = tensors_and_metadata(path.read_bytes())
        asked: dict[str, Any] = about["request"]
        request = TrainedRequest(
            **asked | {"depths": tuple(asked["depths"]), "gate": GateConfig(**asked["gate"])}
        )
        ensembles = {
            variant: tuple(
                ensemble_from_tensors(
                    tensors,
                    request.stack(depth, VARIANTS[variant], request.arrangement),
                    request.seeds,
                    f"{variant}.{depth}.",
                )
                for depth in request.depths
            )
            for variant in VARIANTS
        }
        found = {
            variant: Measured(
                values=_by_quantity(tensors, f"{variant}.found.values."),
                errors=_by_quantity(tensors, f"{variant}.found.errors."),
                known=_by_quantity(tensors, f"{variant}.found.known."),
                unresolved=tensors[f"{variant}.found.unresolved"],
                proved=tensors[f"{variant}.found.proved"],
                bound_kind=about["bound_kinds"][variant],
            )
            for variant in VARIANTS
        }
    except (OSError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{path.name} holds no trained stacks: {error}") from error
    return trained_depths(request, ensembles, found)


def _by_quantity(tensors: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    return {name: tensors[prefix + name] for name in QUANTITIES}


def load_shipped() -> TrainedDepths:
    """The stacks that are shipped, trained and measured with the request's defaults."""
    return load_depths(SHIPPED)
