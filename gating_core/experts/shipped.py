"""The shipped results of the page *Experts*: writing and reading their files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np

from gating_core.experts.learning_curves import CurvesRequest, LearningCurves
from gating_core.experts.sample_efficiency import ARRAYS, Learned, SampleRequest
from gating_core.experts.students import GATES, Sizes
from gating_core.export.weights import tensor_file, tensors_and_metadata

FOLDER = Path(__file__).resolve().parents[2] / "assets" / "experts"
SAMPLES, CURVES = FOLDER / "samples.safetensors", FOLDER / "curves.safetensors"


def save_samples(results: dict[str, Learned], path: Path) -> None:
    """Write results of one request by gate: arrays are called ``GATE.NAME``."""
    tensors = {
        f"{gate}.{name}": getattr(result, name)
        for gate, result in results.items()
        for name in ARRAYS
    }
    request = next(iter(results.values())).request
    undecided = {gate: result.undecided for gate, result in results.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tensor_file(tensors, {"request": asdict(request), "undecided": undecided}))


def load_samples(path: Path = SAMPLES) -> dict[str, Learned]:
    """Read a file of `save_samples`; ``ValueError`` for any other."""
    try:
        tensors, about = tensors_and_metadata(path.read_bytes())
        fields = about["request"]
        request = SampleRequest(
            **fields | {"sizes": Sizes(**fields["sizes"]), "decades": tuple(fields["decades"])}
        )
        return {
            gate: Learned(
                request, gate, **{name: tensors[f"{gate}.{name}"] for name in ARRAYS},
                undecided=about["undecided"][gate],
            )
            for gate in GATES
        }  # fmt: skip
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} holds no errors of experts: {error}") from error


def save_curves(curves: LearningCurves, path: Path) -> None:
    """Write learning curves."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tensors = {"counts": curves.counts, "accuracy": curves.accuracy}
    path.write_bytes(tensor_file(tensors, {"request": asdict(curves.request)}))


def load_curves(path: Path = CURVES) -> LearningCurves:
    """Read a file of `save_curves`; ``ValueError`` for any other."""
    try:
        tensors, about = tensors_and_metadata(path.read_bytes())
        request = CurvesRequest(**about["request"])
        return LearningCurves(request, tensors["counts"], np.asarray(tensors["accuracy"]))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} holds no learning curves: {error}") from error
