"""A model that reads one text, and writes on, for a page.

Shapes: L layers, H heads, T characters with the line break before the text, V
characters of the alphabet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.characters import encode
from gating_core.lm.generate import generate, next_probabilities
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import load_model


@dataclass(frozen=True, eq=False)
class Reading:
    """Arrays that pages show of a model that reads a text; float32 throughout."""

    weights: np.ndarray  # (L, H, T, T)
    opened: np.ndarray | None  # (L, H, T): the mean gate of a head's channels; None: no gate
    logits: np.ndarray  # (T, V): of the character after each


@torch.no_grad()
def read_text(model: LanguageModel, text: str, strength: float = 1.0) -> Reading:
    """Read ``text``; ``strength`` (0 to 1) scales the gates.

    ``ValueError`` for unknown characters, and for more of them than the context holds.
    """
    logits, blocks = model.record(encode(text)[None], strength=strength)
    gates = [
        block.gate[0].unflatten(-1, (model.config.heads, -1)).transpose(0, 1).numpy()
        for block in blocks
        if block.gate is not None
    ]
    weights = np.stack([block.weights[0].numpy() for block in blocks])
    return Reading(weights, np.stack(gates).mean(-1) if gates else None, logits[0].numpy())


def probabilities_after(reading: Reading, temperature: float) -> np.ndarray:
    """(V,) the probabilities of the character that follows the text."""
    return next_probabilities(torch.from_numpy(reading.logits[-1]), temperature).numpy()


@dataclass(frozen=True)
class WriteRequest:
    """The text to write: by which model, after which beginning, and with which settings."""

    name: str  # of the model
    model_seed: int
    text: str  # the beginning
    temperature: float
    strength: float  # λ of the gates
    seed: int  # of the characters that are drawn


def write_on(request: WriteRequest) -> Iterator[str]:
    """Yield the characters that a shipped model writes after the beginning, one by one."""
    model, _ = load_model(request.name, request.model_seed)
    return generate(model, request.text, request.seed, request.temperature, request.strength)
