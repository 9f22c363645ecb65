"""The shipped results of the page *Mixture of experts*: writing and reading their files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from gating_core.assets import ASSETS
from gating_core.experts.learning_curves import CurvesRequest, LearningCurves
from gating_core.experts.sample_efficiency import ARRAYS, Learned, SampleRequest
from gating_core.experts.students import GATES, Sizes
from gating_core.export.weights import save_tensors, tensors_of

FOLDER = ASSETS / "experts"
SAMPLES, CURVES = FOLDER / "samples.safetensors", FOLDER / "curves.safetensors"


def save_samples(results: dict[str, Learned], path: Path) -> None:
    """Write results of one request by gate: arrays are called ``GATE.NAME``."""
    tensors = {
        f"{gate}.{name}": getattr(result, name)
        for gate, result in results.items()
        for name in ARRAYS
    }
    request = next(iter(results.values())).request
    non_identifiable = {gate: result.non_identifiable for gate, result in results.items()}
    save_tensors(path, tensors, {"request": asdict(request), "non_identifiable": non_identifiable})


def load_samples(path: Path = SAMPLES) -> dict[str, Learned]:
    """Read a file of `save_samples`; ``ValueError`` for any other."""
    with tensors_of(path, "holds no errors of experts") as (tensors, about):
        fields = about["request"]
        request = SampleRequest(
            **fields | {"sizes": Sizes(**fields["sizes"]), "decades": tuple(fields["decades"])}
        )
        learned = {
            gate: Learned(
                request,
                gate,
                **{name: tensors[f"{gate}.{name}"] for name in ARRAYS},
                non_identifiable=about["non_identifiable"][gate],
            )
            for gate in GATES
        }
    return learned


def save_curves(curves: LearningCurves, path: Path) -> None:
    """Write learning curves."""
    tensors = {"counts": curves.counts, "accuracy": curves.accuracy}
    save_tensors(path, tensors, {"request": asdict(curves.request)})


def load_curves(path: Path = CURVES) -> LearningCurves:
    """Read a file of `save_curves`; ``ValueError`` for any other."""
    with tensors_of(path, "holds no learning curves") as (tensors, about):
        request = CurvesRequest(**about["request"])
        curves = LearningCurves(request, tensors["counts"], tensors["accuracy"])
    return curves
