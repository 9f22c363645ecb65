"""Bundled models whose attention is replaced by one that costs less: the table and its files.

The new attention imitated the old by layer, then all weights trained on; commit `1f4177a5` has the
code that did it. For every row and seed the losses of each text are bundled, with and without each
branch of hybrid attention; for the first seed weights are bundled too. Shapes: N texts that are
measured.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from gating_core.lm.config import ModelConfig
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import FOLDER, MODELS, SEEDS, is_current, model_of
from gating_core.records import load_record, tensors_of

CONVERTED = FOLDER / "conversions.safetensors"  # losses
WEIGHTS = FOLDER / "conversions"  # of `WEIGHTS_SEED`
WEIGHTS_SEED = 0
Row = tuple[str, int]  # name and seed


@dataclass(frozen=True)
class Conversion:
    """The replacement for the attention of a bundled model.

    First the new parameters of its attention learned to imitate the old attention, layer by layer;
    then all weights were trained on.
    """

    base: str = "none"  # of MODELS
    attention: str = "softmax"
    window: int | None = None

    @property
    def config(self) -> ModelConfig:
        """The configuration of the converted model."""
        return replace(MODELS[self.base], attention=self.attention, window=self.window)


CONVERSIONS = {
    # Trained on for as long: the reference of all others.
    "softmax": Conversion(),
    "window_16": Conversion(window=16),
    "hybrid_16": Conversion(attention="linear_exponential", window=16),
    "linear": Conversion(attention="linear_exponential"),
    # Nine in ten steps of training on do without the window, later half of them, at last none.
    "dropped_16": Conversion(attention="linear_exponential", window=16),
    "elu_16": Conversion(attention="linear_elu", window=16),
    "window_4": Conversion(window=4),
    "hybrid_4": Conversion(attention="linear_exponential", window=4),
    "dropped_4": Conversion(attention="linear_exponential", window=4),
    "elu_4": Conversion(attention="linear_elu", window=4),
    "delta": Conversion(attention="delta"),
    "gated_softmax": Conversion("g1_channel"),
    "gated_window_16": Conversion("g1_channel", window=16),
    "gated_hybrid_16": Conversion("g1_channel", attention="linear_exponential", window=16),
}


@dataclass(frozen=True, eq=False)
class Converted:
    """The results of a conversion."""

    base: str  # the digest of the base model's file
    # (N,) nats of each text: "whole", of hybrids also "without_window", "without_linear", and with
    # outputs set to zero "zero_linear" and "zero_both"; of linear attention alone also with a
    # window added, as "added_16.whole". "before." names those before all weights trained on.
    losses: dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class _Table:
    counts: np.ndarray  # (N,) characters of each text
    rows: dict[str, Converted]  # by name and seed


def load_converted() -> tuple[dict[Row, Converted], np.ndarray]:
    """All conversions of models that have not changed since, and the characters of each text."""
    table = load_record(_Table, CONVERTED, "holds no conversions")
    return {
        (name, seed): row
        for name, seed in product(CONVERSIONS, SEEDS)
        if (row := table.rows.get(f"{name}-{seed}"))
        and is_current(CONVERSIONS[name].base, seed, row.base)
    }, table.counts


def load_conversion(name: str) -> LanguageModel:
    """The converted model of the first seed; ``ValueError`` where there is no such file."""
    path = WEIGHTS / f"{name}-{WEIGHTS_SEED}.safetensors"
    with tensors_of(path, "holds no converted model") as (weights, _):
        return model_of(weights, CONVERSIONS[name].config)
