"""The bundled results of the page *Mixture of experts*."""

from __future__ import annotations

from gating_core.assets import ASSETS
from gating_core.experts.learning_curves import LearningCurves
from gating_core.experts.sample_efficiency import Learned
from gating_core.records import load_record

FOLDER = ASSETS / "experts"
SAMPLES, CURVES = FOLDER / "samples.safetensors", FOLDER / "curves.safetensors"


def load_samples() -> dict[str, Learned]:
    """The bundled errors of experts, by gate."""
    return load_record(dict[str, Learned], SAMPLES, "holds no errors of experts")


def load_curves() -> LearningCurves:
    """The bundled learning curves."""
    return load_record(LearningCurves, CURVES, "holds no learning curves")
