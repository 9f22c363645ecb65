"""Confidence of a model over texts: calibration, loss, and entropies in nats.

Calibration is the distance between predicted probabilities and the frequencies of events. Shapes: N
texts, or predictions, V characters that there are, or classes, n bins, G groups (verses) of
predictions that belong together, R resamples, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.lm.losses import Arrays, batches, row_losses
from gating_core.lm.measurements.resampling import (
    RESAMPLES,
    ends,
    resampled_means,
    text_draws,
)
from gating_core.lm.model import LanguageModel

BINS = 15
# In the order of the arrays ``values`` and ``resamples``.
QUANTITIES = ("calibration", "classwise", "loss", "prediction", "attention")


def confidence(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Reliability of the most probable character, and five numbers with their resamples.

    ``bins`` (3, b): mean confidence, frequency and count in bins of equal mass; ``range`` (2, b):
    the frequency's 95 % interval over texts. ``values`` (5,) and ``resamples`` (5, R) are those of
    `QUANTITIES`: calibration error, classwise calibration error, loss, and the mean entropies of
    predictions and of attention weights, all in nats.
    """
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
    classes = [
        bootstrap_reliability(column, labels == label, groups, RESAMPLES).errors
        for label, column in enumerate(probabilities.T)
    ]
    totals = np.concatenate(sums)
    # Loss and entropies: (N, 3), the last the mean over heads.
    summed = np.stack([totals[:, 0], totals[:, 1], totals[:, 2:].mean(1)], -1)
    means = resampled_means(summed, lengths, text_draws(len(texts))).T
    values = [
        top.whole.error,
        classwise_error(probabilities, labels),
        *summed.sum(0) / lengths.sum(),
    ]
    return {
        name: np.asarray(array, np.float32)
        for name, array in {
            "bins": np.stack([top.whole.confidence, top.whole.frequency, top.whole.counts]),
            "range": top.frequency_ends,
            "values": values,
            "resamples": np.stack([top.errors, np.mean(classes, 0), *means]),
        }.items()
    }


def attention_entropies(weights: torch.Tensor) -> torch.Tensor:
    """(..., T): the entropy of each query's weights (..., T, n), divided by their sum.

    At most the logarithm of the number of visible keys; NaN where all weights are zero.
    """
    return torch.special.entr(weights / weights.sum(-1, keepdim=True)).sum(-1)


def prediction_entropies(logits: torch.Tensor) -> torch.Tensor:
    """(...): the entropy of the softmax of ``logits`` (..., V)."""
    return torch.special.entr(logits.softmax(-1)).sum(-1)


# --- Calibration ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Reliability:
    """Mean confidence and frequency of predictions in bins of equal mass."""

    confidence: np.ndarray  # (n,) mean probability that the model gave
    frequency: np.ndarray  # (n,) share of events that occurred
    counts: np.ndarray  # (n,)

    @property
    def error(self) -> float:
        """The expected calibration error: mean distance of the two, weighted by the counts."""
        distances = np.abs(self.confidence - self.frequency)
        return float(np.average(distances, weights=self.counts))


def equal_mass_bins(confidences: np.ndarray, bins: int = BINS) -> np.ndarray:
    """(N,) the bin of each of N confidences, from least to most confident.

    Equal confidences share a bin, so bins hold N / bins predictions each only where all differ.
    """
    edges = np.percentile(confidences, 100 * np.linspace(0, 1, bins + 1)[1:-1])
    return np.searchsorted(edges, confidences)


def reliability(confidences: np.ndarray, came: np.ndarray, bins: int = BINS) -> Reliability:
    """The reliability diagram of N predictions, where ``came`` (N,) says which events occurred.

    Empty bins are left out. ``ValueError`` for no predictions and for shapes that differ.
    """
    sums = _sums(confidences, came, np.zeros(len(confidences), int), bins)[:, 0]
    counts, confidence, frequency = sums[:, sums[0] > 0]
    return Reliability(confidence / counts, frequency / counts, counts)


def classwise_error(probabilities: np.ndarray, labels: np.ndarray, bins: int = BINS) -> float:
    """The mean over V classes of the calibration error of each class's probability (N, V).

    Kull et al., *Beyond temperature scaling*, NeurIPS 2019, with bins of equal mass. Classes that
    never occur and never get any probability have error 0.
    """
    errors = [
        reliability(probabilities[:, label], labels == label, bins).error
        for label in range(probabilities.shape[1])
    ]
    return float(np.mean(errors))


@dataclass(frozen=True, eq=False)
class ResampledReliability:
    """A reliability diagram of predictions, and of as many resamples of their groups."""

    whole: Reliability
    errors: np.ndarray  # (R,) calibration errors
    frequencies: np.ndarray  # (R, n), NaN where a resample has no predictions in a bin

    @property
    def frequency_ends(self) -> np.ndarray:
        """(2, n): the ends of the frequencies' 95 % intervals."""
        return ends(self.frequencies)


def bootstrap_reliability(
    confidences: np.ndarray, came: np.ndarray, groups: np.ndarray, resamples: int = 1000
) -> ResampledReliability:
    """Resample groups (verses) with replacement, in the bins of all predictions.

    ``groups`` (N,) numbers the group of each prediction from 0. Predictions of one verse depend on
    each other, so verses are drawn, not predictions. The calibration error of a resample is biased
    upwards, as that of few predictions is: use differences, or state the bias.
    """
    sums = _sums(confidences, came, groups, BINS)
    sums = sums[..., sums[0].sum(0) > 0]
    draws = text_draws(sums.shape[1], resamples)
    counts, confidence, frequency = (draws @ part for part in sums.astype(float))
    with np.errstate(invalid="ignore"):
        frequencies = np.where(counts > 0, frequency / counts, np.nan)
    errors = np.abs(confidence - frequency).sum(-1) / counts.sum(-1)
    return ResampledReliability(reliability(confidences, came), errors, frequencies)


def _sums(confidences: np.ndarray, came: np.ndarray, groups: np.ndarray, bins: int) -> np.ndarray:
    """(3, G, n): sums of predictions, of confidences, and of events, by group and bin."""
    if not len(confidences) or not len(confidences) == len(came) == len(groups):
        raise ValueError(
            f"{len(confidences)} confidences, {len(came)} events, {len(groups)} groups; there must"
            " be equally many, and at least one"
        )
    sums = np.zeros((3, int(groups.max()) + 1, bins))
    cells = (groups, equal_mass_bins(confidences, bins))
    for part, values in zip(sums, (np.ones(len(came)), confidences, came), strict=True):
        np.add.at(part, cells, values)
    return sums
