"""The file of the shipped measurements, and the models that are measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gating_core.lm import LanguageModel, excerpt_texts, shipped
from gating_core.lm.approximations.delta_correction import correction
from gating_core.lm.approximations.eviction import eviction
from gating_core.lm.approximations.models import long_texts
from gating_core.lm.approximations.top_k import fire_rates, truncation
from gating_core.lm.measurements import stored as files
from gating_core.lm.measurements.batches import Arrays
from gating_core.lm.measurements.stored import Measurements, Model
from gating_core.lm.shipped import FOLDER


def certificates(model: LanguageModel, _: Sequence[str]) -> Arrays:
    """Measure `fire_rates` over all verses: short ones have last queries, too."""
    return fire_rates(model, excerpt_texts())


MEASURED = FOLDER / "efficient.safetensors"
MODELS = ("none", "g1_channel", "g1_head", "g2")  # without a gate, and with one
MEASUREMENTS: Measurements = {
    "truncation": truncation,
    "certificates": certificates,
    "eviction": eviction,
    "correction": correction,
}


def measure_missing() -> Iterator[tuple[Model, list[str]]]:
    """Measure the shipped models that lack a measurement, over the long texts.

    Yields each model with the names of the measurements that were made.
    """
    models = [model for model in shipped() if model[0] in MODELS]
    yield from files.measure_missing(MEASURED, MEASUREMENTS, models, long_texts())


def load_measured() -> dict[Model, Arrays]:
    """The measurements of all models that have every one, by name and seed."""
    return files.load_measured(MEASURED, MEASUREMENTS)
