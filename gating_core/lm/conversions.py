"""Shipped models whose attention is replaced by one that costs less, a row each, and their files.

For every row and seed the losses of each text are shipped, with and without each branch of hybrid
attention; for the first seed weights are shipped too. Shapes: N texts, the shipped verses.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path

import numpy as np

from gating_core.lm.config import ModelConfig
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import FOLDER, MODELS, SEEDS, is_current, model_of
from gating_core.lm.training import LanguageRecipe
from gating_core.records import load_record, save_record, tensors_of

CONVERTED = FOLDER / "conversions.safetensors"  # losses
WEIGHTS = FOLDER / "conversions"  # of `WEIGHTS_SEED`
WEIGHTS_SEED = 0
Row = tuple[str, int]  # name and seed


@dataclass(frozen=True)
class Conversion:
    """The replacement for the attention of a shipped model.

    First the new parameters of its attention learn to imitate the old attention, layer by layer;
    then all weights are trained on. ``drops``: pairs of a share of that training and the
    probability, from there on, that a step leaves out the window.
    """

    base: str = "none"  # of MODELS
    attention: str = "softmax"
    window: int | None = None
    drops: tuple[tuple[float, float], ...] = ((0.0, 0.0),)
    ships_weights: bool = True  # of the first seed, some .95 MB

    @property
    def config(self) -> ModelConfig:
        """The configuration of the converted model."""
        return replace(MODELS[self.base], attention=self.attention, window=self.window)


FALLING = ((0.0, 0.9), (0.4, 0.5), (0.75, 0.0))
CONVERSIONS = {  # a further conversion is one more row
    # Trained on equally long: the reference of all others.
    "softmax": Conversion(ships_weights=False),
    "window_16": Conversion(window=16),
    "hybrid_16": Conversion(attention="linear_exponential", window=16),
    "linear": Conversion(attention="linear_exponential"),
    "dropped_16": Conversion(attention="linear_exponential", window=16, drops=FALLING),
    "elu_16": Conversion(attention="linear_elu", window=16),
    "window_4": Conversion(window=4),
    "hybrid_4": Conversion(attention="linear_exponential", window=4),
    "dropped_4": Conversion(attention="linear_exponential", window=4, drops=FALLING),
    "elu_4": Conversion(attention="linear_elu", window=4),
    "delta": Conversion(attention="delta"),
    "gated_softmax": Conversion("g1_channel", ships_weights=False),
    "gated_window_16": Conversion("g1_channel", window=16, ships_weights=False),
    "gated_hybrid_16": Conversion(
        "g1_channel", attention="linear_exponential", window=16, ships_weights=False
    ),
}


@dataclass(frozen=True)
class ConversionRecipe:
    """The training configuration of a transfer of attention, and of the training after it."""

    transfer_steps: int = 150
    transfer_batch: int = 8
    transfer_rate: float = 5e-3  # of Adam, half a cosine down to zero
    training: LanguageRecipe = field(
        default_factory=lambda: LanguageRecipe(
            steps=250, batch=16, learning_rate=5e-4, warmup=20, weight_decay=0.01
        )
    )


@dataclass(frozen=True, eq=False)
class Converted:
    """The results of a conversion."""

    base: str  # the digest of the base model's file
    recipe: ConversionRecipe
    seconds: float  # of processor time, measuring included
    share: tuple[tuple[float, ...], ...]  # (L, H): w of the window; empty without linear attention
    losses: dict[str, np.ndarray]  # (N,) nats of each text, by measurement (`measure_conversion`)


@dataclass(frozen=True, eq=False)
class _Table:
    counts: np.ndarray  # (N,) characters of each text
    rows: dict[str, Converted]  # by name and seed


def load_converted(path: Path = CONVERTED) -> tuple[dict[Row, Converted], np.ndarray | None]:
    """All conversions of models that have not changed since, and the characters of each text."""
    if not path.exists():
        return {}, None
    table = load_record(_Table, path, "holds no conversions")
    return {
        (name, seed): row
        for name, seed in product(CONVERSIONS, SEEDS)
        if (row := table.rows.get(f"{name}-{seed}"))
        and is_current(CONVERSIONS[name].base, seed, row.base)
    }, table.counts


def save_converted(
    converted: Mapping[Row, Converted], counts: np.ndarray, path: Path = CONVERTED
) -> None:
    """Write what `load_converted` reads; a kill leaves the old file or the new."""
    rows = {
        f"{name}-{seed}": replace(
            row, losses={k: x.astype(np.float32) for k, x in row.losses.items()}
        )
        for (name, seed), row in converted.items()
    }
    new = path.with_suffix(".new")
    save_record(new, _Table(counts, rows))
    os.replace(new, path)


def weights_path(name: str, folder: Path = WEIGHTS) -> Path:
    """The file of a conversion's weights."""
    return folder / f"{name}-{WEIGHTS_SEED}.safetensors"


def load_conversion(name: str, folder: Path = WEIGHTS) -> LanguageModel:
    """The converted model of the first seed; ``ValueError`` where there is no such file."""
    with tensors_of(weights_path(name, folder), "holds no converted model") as (weights, _):
        return model_of(weights, CONVERSIONS[name].config)
