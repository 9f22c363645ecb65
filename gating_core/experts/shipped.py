"""The shipped results of the page *Mixture of experts*: writing and reading their files."""

from __future__ import annotations

from pathlib import Path

from gating_core.assets import ASSETS
from gating_core.experts.learning_curves import LearningCurves
from gating_core.experts.sample_efficiency import Learned
from gating_core.records import load_record, save_record

FOLDER = ASSETS / "experts"
SAMPLES, CURVES = FOLDER / "samples.safetensors", FOLDER / "curves.safetensors"


def save_samples(results: dict[str, Learned], path: Path) -> None:
    """Write results by gate."""
    save_record(path, results)


def load_samples(path: Path = SAMPLES) -> dict[str, Learned]:
    """Read a file of `save_samples`; ``ValueError`` for any other."""
    return load_record(dict[str, Learned], path, "holds no errors of experts")


def save_curves(curves: LearningCurves, path: Path) -> None:
    """Write learning curves."""
    save_record(path, curves)


def load_curves(path: Path = CURVES) -> LearningCurves:
    """Read a file of `save_curves`; ``ValueError`` for any other."""
    return load_record(LearningCurves, path, "holds no learning curves")
