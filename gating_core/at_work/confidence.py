"""Confidence of a model over texts: calibration, loss, and entropies in nats.

Shapes: N texts, n characters of all texts, V characters that there are, L layers, H heads, R
resamples of texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gating_core.at_work.batches import Arrays, batches
from gating_core.at_work.calibration import bootstrap_reliability, classwise_error
from gating_core.at_work.resampling import RESAMPLES, resampled_means, text_draws
from gating_core.language import LanguageModel, row_losses

# In the order of the arrays ``values`` and ``resamples``.
QUANTITIES = ("calibration", "classwise", "loss", "prediction", "attention")


def confidence(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Reliability of the most probable character, and five numbers with their resamples.

    ``bins`` (3, b): mean confidence, frequency and count in bins of equal mass; ``range`` (2, b):
    the frequency's 95 % interval over texts. ``values`` (5,) and ``resamples`` (5, R) are those of
    `QUANTITIES`: calibration error, classwise calibration error, loss, and the mean entropies of
    predictions and of attention weights, all in nats. ``entropy`` (L, H): the last by head.
    """
    depth, heads = model.config.depth, model.config.heads
    all_probabilities, targets, sums, counts = [], [], [], []
    for batch in batches(model, texts):
        counted = batch.rows.counted
        all_probabilities.append(batch.logits.double().softmax(-1)[counted].numpy())
        targets.append(batch.rows.targets[counted].numpy())
        losses = row_losses(batch.logits, batch.rows.targets)
        entropies = prediction_entropies(batch.logits)
        by_layer = [
            attention_entropies(x.weights).transpose(1, 2) for x in batch.layers
        ]  # (B, T, H)
        by_character = torch.cat([losses[..., None], entropies[..., None], *by_layer], -1).double()
        sums.append((by_character * counted[..., None]).sum(1).numpy())
        counts.append(counted.sum(1).numpy())
    lengths = np.concatenate(counts)
    groups = np.repeat(np.arange(len(texts)), lengths)
    probabilities, labels = np.concatenate(all_probabilities), np.concatenate(targets)
    best = probabilities.argmax(-1)
    top = bootstrap_reliability(probabilities.max(-1), best == labels, groups, RESAMPLES)
    classes = [bootstrap_reliability(column, labels == label, groups, RESAMPLES).errors
               for label, column in enumerate(probabilities.T)]  # fmt: skip
    totals = np.concatenate(sums)
    # Loss and entropies: (N, 3), the last the mean over heads.
    summed = np.stack([totals[:, 0], totals[:, 1], totals[:, 2:].mean(1)], -1)
    means = resampled_means(summed, lengths, text_draws(len(texts))).T
    values = [top.whole.error, classwise_error(probabilities, labels),
              *summed.sum(0) / lengths.sum()]  # fmt: skip
    return {name: np.asarray(array, np.float32) for name, array in {
        "bins": np.stack([top.whole.confidence, top.whole.frequency, top.whole.counts]),
        "range": top.frequency_ends,
        "values": values,
        "resamples": np.stack([top.errors, np.mean(classes, 0), *means]),
        "entropy": (totals[:, 2:].sum(0) / lengths.sum()).reshape(depth, heads),
    }.items()}  # fmt: skip


def attention_entropies(weights: torch.Tensor) -> torch.Tensor:
    """(..., T): the entropy of each query's weights (..., T, n), divided by their sum.

    At most the logarithm of the number of visible keys; NaN where all weights are zero.
    """
    return torch.special.entr(weights / weights.sum(-1, keepdim=True)).sum(-1)


def prediction_entropies(logits: torch.Tensor) -> torch.Tensor:
    """(...): the entropy of the softmax of ``logits`` (..., V)."""
    return torch.special.entr(logits.softmax(-1)).sum(-1)
