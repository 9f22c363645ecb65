"""One head with each kind of attention: weights, and how its outputs differ from softmax.

Shapes: T characters with the line break before them, d channels, W kinds of attention.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

import gating_core.efficient as efficient
from gating_core.characters import encode
from gating_core.checks import check_number
from gating_core.lm.approximations.heads import late_cosine, read_head
from gating_core.lm.attention_kinds import ExponentialAttention, LearnedAttention
from gating_core.lm.conversions import (
    CONVERSIONS,
    WEIGHTS_SEED,
    load_conversion,
    load_converted,
)
from gating_core.lm.model import BlockRecord
from gating_core.lm.shipped import SEEDS, load_model

CONVERTED_WINDOWS = (4, 16)
LEAST_DECAY = 0.5  # of the recall task, in which a decay is limited
RECALL_PAIRS = (2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)


@dataclass(frozen=True)
class LinearRequest:
    """Parameters of the kinds other than softmax, set by hand; conversions learn them instead."""

    window: int = 16  # keys, of the window and of the hybrid
    share: float = 0.5  # w: of the window in the hybrid
    memory: float = 32.0  # characters after which the state has decayed to 1 / e
    step: float = 0.5  # b of the delta rule

    def __post_init__(self) -> None:
        check_number("share", self.share, 0.0, 1.0)
        check_number("memory", self.memory, 1.0, 1e6)
        check_number("step", self.step, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class HeadByKind:
    """A head with each kind of attention; the features of linear attention are elu + 1."""

    # (W, T, T): softmax, in a window, linear, hybrid, and the delta rule, where some are negative.
    weights: np.ndarray
    cosine: np.ndarray  # (W,): of outputs with those of softmax attention, mean over late queries


def head_by_kind(head: efficient.HeadSample, request: LinearRequest) -> HeadByKind:
    """Mix the values of a head by each kind of attention."""
    length = len(head.values)
    mask = efficient.window_mask(length, length)
    softmax = head.scores.softmax(-1)
    window = efficient.kept_weights(head.scores, efficient.window_mask(length, request.window))
    linear = efficient.linear_weights(
        efficient.elu_features(head.queries), efficient.elu_features(head.keys), mask
    )
    log_decay = torch.full((length,), -1 / request.memory, dtype=head.values.dtype)
    step = torch.full_like(log_decay, request.step)
    delta = efficient.delta_weights(head.queries, head.keys, log_decay, step)
    weights = torch.stack(
        [softmax, window, linear, efficient.hybrid(window, linear, request.share), delta]
    )
    outputs = weights @ head.values
    return HeadByKind(weights.float().numpy(), late_cosine(outputs, outputs[0]).numpy())


@torch.no_grad()
def converted_head(text: str, layer: int, head: int, window: int) -> HeadByKind:
    """Return a head of the converted models of the first seed, with learned parameters.

    Features are exponential and learned; w, and decay and step of the delta rule, are learned too.
    Cosines are those with the outputs of the model before its conversion. ``ValueError`` where
    conversions are not shipped, as with a ``window`` other than those of `CONVERTED_WINDOWS`.
    """
    if window not in CONVERTED_WINDOWS:
        raise ValueError(f"window is {window}; it must be one of {CONVERTED_WINDOWS}")
    both, delta = (_record(name, text, layer) for name in (f"hybrid_{window}", "delta"))
    base = read_head(load_model("none", WEIGHTS_SEED)[0], text, layer, head)
    length = len(base.values)
    (learned, record), (_, delta_record) = both, delta
    assert isinstance(learned, ExponentialAttention)
    features = learned.features(record.queries, record.keys)
    linear = efficient.linear_weights(*features, efficient.window_mask(length, length))
    in_window = efficient.kept_weights(
        efficient.causal(record.scores), efficient.window_mask(length, window)
    )
    weights = torch.stack(
        [
            in_window[0, head],
            linear[0, head],
            record.weights[0, head],
            delta_record.weights[0, head],
        ]
    )
    values = torch.stack([*3 * [record.values[0, head]], delta_record.values[0, head]])
    softmax = base.scores.softmax(-1).float()
    cosine = late_cosine(weights @ values, softmax @ base.values.float())
    return HeadByKind(
        torch.cat([softmax[None], weights]).numpy(), np.array([1.0, *cosine.tolist()])
    )


def _record(name: str, text: str, layer: int) -> tuple[LearnedAttention, BlockRecord]:
    """The learned part of a converted model's attention in a layer, and the layer's record."""
    model = load_conversion(name)
    learned = model.layers[layer].attention.learned
    if learned is None:
        raise ValueError(f"{name} has learned no attention")
    return learned, model.record(encode(text)[None])[1][layer]


def recall_curves(channels: int, overlap: float, request: LinearRequest) -> dict[str, np.ndarray]:
    """(n, S): the share of 2 to 128 pairs whose value is the nearest, by rule; S seeds.

    Pairs are recalled from a state of ``channels``² numbers.

    ``overlap`` is the mean q·k of two keys; steps and decays are those of the ``request``.
    """
    decay = max(LEAST_DECAY, math.exp(-1 / request.memory))
    results = [
        efficient.recall(
            efficient.RecallRequest(
                channels, pairs, overlap=overlap, step=request.step, decay=decay
            )
        )
        for pairs in RECALL_PAIRS
    ]
    shares = {
        rule: [result[rule].recognised.double().mean(-1).numpy() for result in results]
        for rule in efficient.RULES
    }
    return {rule: np.stack(of) for rule, of in shares.items()}


def converted_losses() -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Losses (S, N) of texts in nats, by conversion and then by measurement; and characters (N,).

    Of each conversion that has all seeds.
    """
    converted, counts = load_converted()
    results = {}
    for name in CONVERSIONS:
        losses = [converted[name, seed].losses for seed in SEEDS if (name, seed) in converted]
        if len(losses) == len(SEEDS):
            # Controls of hybrids are measured for seeds whose weights are shipped.
            results[name] = {
                part: np.stack([by_part[part] for by_part in losses if part in by_part])
                for part in sorted(losses[0])
            }
    return results, counts
