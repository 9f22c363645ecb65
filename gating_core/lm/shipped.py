"""The table of trained models, a row each, and their files.

A file holds weights in half precision; models compute in float32. Its card holds the training data,
the recipe, and the losses of the rounded weights on the bundled verses.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gating_core.assets import ASSETS, is_left_out, read_asset
from gating_core.attention import GateConfig
from gating_core.lm.model import LanguageModel, ModelConfig
from gating_core.records import tensors_of

FOLDER = ASSETS / "models"
SEEDS = (0, 1, 2)
MODELS = {
    "none": ModelConfig(),
    "g1_channel": ModelConfig(gate=GateConfig()),
    "g1_head": ModelConfig(gate=GateConfig(granularity="headwise")),
    "g2": ModelConfig(gate=GateConfig(position="G2")),
    "sink_logit": ModelConfig(attention="softmax_sink"),
    "fal": ModelConfig(topology="fal"),
    "fal_plus": ModelConfig(topology="fal_plus"),
    "parallel": ModelConfig(topology="parallel"),
}


@dataclass(frozen=True)
class Card:
    """The training data, recipe and losses of a shipped model."""

    name: str
    seed: int
    verses: int  # trained on, in each language
    characters: int  # in all verses that are trained on
    recipe: dict[str, Any]  # of AdamW; linear warm-up, then half a cosine down to zero
    losses: dict[str, float]  # nats a character on the shipped verses, by language and "both"
    seconds: float  # of processor time


def model_path(name: str, seed: int, folder: Path = FOLDER) -> Path:
    """The file of a row of the table."""
    return folder / f"{name}-{seed}.safetensors"


def digest(name: str, seed: int) -> str:
    """A hash of a model's file in sixteen letters, by which measurements are tied to weights."""
    return hashlib.sha256(read_asset(model_path(name, seed))).hexdigest()[:16]


def is_current(name: str, seed: int, stored: str) -> bool:
    """Return whether what was measured belongs to a model, by the ``stored`` digest of its file.

    Weights that an installed library leaves out are taken for those that were measured.
    """
    path = model_path(name, seed)
    return is_left_out(path) or (path.exists() and digest(name, seed) == stored)


def shipped() -> list[tuple[str, int]]:
    """Name and seed of the models whose files there are, in the table's order."""
    return [model for model in product(MODELS, SEEDS) if model_path(*model).exists()]


def model_of(weights: dict[str, np.ndarray], config: ModelConfig) -> LanguageModel:
    """The model with these ``weights`` by name, in float32; ``ValueError`` if they do not fit."""
    model = LanguageModel(config)
    try:
        model.load_state_dict(
            {name: torch.from_numpy(array).float() for name, array in weights.items()}
        )
    except RuntimeError as error:
        raise ValueError(f"these are no weights of this model: {error}") from error
    return model.requires_grad_(False)


def load_model(name: str, seed: int, folder: Path = FOLDER) -> tuple[LanguageModel, Card]:
    """A bundled model and its card; ``ValueError`` where there is no such file."""
    with tensors_of(model_path(name, seed, folder), "holds no language model") as (weights, about):
        config = about["config"]
        if config["gate"] is not None:
            config["gate"] = GateConfig(**config["gate"])
        config["topology"] = config.pop("wiring")  # the name in the files, which stays
        return model_of(weights, ModelConfig(**config)), Card(**about["card"])
