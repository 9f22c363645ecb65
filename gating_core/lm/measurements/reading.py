"""Everything that the layers of a model compute for one text, as arrays.

Shapes: L layers, H heads of d channels, T characters with the line break before the text, V
characters of the alphabet, D width.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.characters import decode, encode
from gating_core.lm.generate import generate, next_probabilities
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import load_model


@dataclass(frozen=True, eq=False)
class Reading:
    """The activations of a model on one text; float32 throughout."""

    text: str  # T characters, the line break first
    weights: np.ndarray  # (L, H, T, T)
    values: np.ndarray  # (L, H, T, d), after a gate at G2
    gates: np.ndarray | None  # (L, H, T, d or 1), strength included; None without a gate
    ungated: np.ndarray  # (L, H, T, d): values mixed as if there were no gate
    mixed: np.ndarray  # (L, H, T, d)
    outputs: np.ndarray  # (L, T, D): after the projection
    logits: np.ndarray  # (T, V): of the character after each

    @property
    def opened(self) -> np.ndarray | None:
        """(L, H, T): the mean gate of a head's channels at each character."""
        return None if self.gates is None else self.gates.mean(-1)


@torch.no_grad()
def read_text(model: LanguageModel, text: str, strength: float = 1.0) -> Reading:
    """Read ``text``; ``strength`` (0 to 1) scales the gates.

    ``ValueError`` for unknown characters, and for more of them than the context holds.
    """
    numbers = encode(text)
    logits, records = model.record(numbers[None], strength=strength)
    gates = [record.gate for record in records if record.gate is not None]

    def stacked(name: str) -> np.ndarray:
        return np.stack([getattr(record, name)[0].numpy() for record in records])

    heads = model.config.heads
    return Reading(
        text=decode(numbers),
        gates=np.stack(
            [gate[0].unflatten(-1, (heads, -1)).transpose(0, 1).numpy() for gate in gates]
        )
        if gates
        else None,
        outputs=stacked("output"),
        logits=logits[0].numpy(),
        **{name: stacked(name) for name in ("weights", "values", "ungated", "mixed")},
    )


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
    written = generate(model, request.text, request.seed, request.temperature, request.strength)
    for drawn in written:
        yield drawn.character
