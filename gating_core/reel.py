"""How does one seed's model look at every snapshot? The snapshots are the members of an ensemble.

Shapes: T frames, N points, D model dimension, K classes.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.classifier import Classifier, build_classifier
from gating_core.runs import TrainedVariant
from gating_core.scores import PAUSE_SECONDS, block_size

MOST_FRAMES = 48


def thinned(count: int) -> np.ndarray:
    """At most `MOST_FRAMES` places among ``count``, the first and the last among them."""
    return np.linspace(0, count - 1, min(count, MOST_FRAMES)).round().astype(int)


@dataclass(frozen=True, eq=False)
class Reel:
    """Representations and logits at N points in T frames, float64, and the read-out's weights."""

    values: np.ndarray  # (T, N, D)
    logits: np.ndarray  # (T, N, K)
    weight: np.ndarray  # (T, D, K)
    bias: np.ndarray  # (T, K)


def frames_model(variant: TrainedVariant, member: int, frames: np.ndarray) -> Classifier:
    """A float64 ensemble of the ``member`` as it was in each of the ``frames`` (T,)."""
    seed, classes = variant.ensemble.seeds[member], variant.states["bias"].shape[-1]
    model = build_classifier(variant.ensemble.config, (seed,), classes)
    model.attention.seeds = (seed,) * len(frames)
    for name, parameter in model.named_parameters():
        parameter.data = torch.from_numpy(variant.states[name][frames, member]).double()
    return model


def reel(
    variant: TrainedVariant, member: int, frames: np.ndarray, points: torch.Tensor
) -> Generator[None, None, Reel]:
    """Evaluate all ``frames`` (T,) together at ``points`` (N, 2); gives way now and then."""
    model = frames_model(variant, member, frames)
    points = points.T.contiguous().T  # points last: several times faster
    values, logits = [], []
    resumed = time.perf_counter()
    for block in points.split(block_size(model)):
        values.append(model.attention(block))
        logits.append(model.read_out(values[-1]))
        if time.perf_counter() - resumed > PAUSE_SECONDS:
            yield
            resumed = time.perf_counter()
    return Reel(
        values=torch.cat(values, 1).numpy(),
        logits=torch.cat(logits, 1).numpy(),
        weight=model.weight.numpy(),
        bias=model.bias.numpy(),
    )
