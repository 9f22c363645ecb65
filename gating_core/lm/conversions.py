"""Models whose attention is replaced by one that costs less, and a head by each kind of attention.

The new attention imitated the old by layer, then all weights trained on; commit `1f4177a5` has the
code that did it. For every row and seed the losses of each text are bundled, with and without each
branch of hybrid attention; for the first seed weights are bundled too.

Shapes: S seeds, N texts that are measured, T characters with the line break before them, d
channels, W kinds of attention.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import torch

from gating_core.characters import encode
from gating_core.checks import check_number
from gating_core.lm.attention_kinds import ExponentialAttention
from gating_core.lm.efficient.delta_correction import window_mask
from gating_core.lm.efficient.linear import delta_weights, elu_features, hybrid, linear_weights
from gating_core.lm.efficient.rows import kept_weights
from gating_core.lm.efficient.samples import HeadSample, causal, late_cosine
from gating_core.lm.generate import read_head
from gating_core.lm.model import LanguageModel, ModelConfig
from gating_core.lm.shipped import FOLDER, MODELS, SEEDS, is_current, load_model, model_of
from gating_core.records import load_record, tensors_of

CONVERTED = FOLDER / "conversions.safetensors"  # losses
WEIGHTS = FOLDER / "conversions"  # of `WEIGHTS_SEED`
WEIGHTS_SEED = 0
CONVERTED_WINDOWS = (4, 16)


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


def converted_losses() -> tuple[dict[str, dict[str, np.ndarray]], np.ndarray]:
    """Losses (S, N) of texts in nats, by conversion and then by part; and characters (N,).

    Of each conversion whose models, one for each seed, have not changed since. Controls of hybrids
    are measured for `WEIGHTS_SEED` alone.
    """
    table = load_record(_Table, CONVERTED, "holds no conversions")
    results = {}
    for name, conversion in CONVERSIONS.items():
        rows = [table.rows[f"{name}-{seed}"] for seed in SEEDS]
        seeded = zip(SEEDS, rows, strict=True)
        if all(is_current(conversion.base, seed, row.base) for seed, row in seeded):
            results[name] = {
                part: np.stack([row.losses[part] for row in rows if part in row.losses])
                for part in sorted(rows[0].losses)
            }
    return results, table.counts


def load_conversion(name: str) -> LanguageModel:
    """The converted model of the first seed; ``ValueError`` where there is no such file."""
    path = WEIGHTS / f"{name}-{WEIGHTS_SEED}.safetensors"
    with tensors_of(path, "holds no converted model") as (weights, _):
        return model_of(weights, CONVERSIONS[name].config)


# --- One head by every kind of attention ----------------------------------------------------------


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


def head_by_kind(head: HeadSample, request: LinearRequest) -> HeadByKind:
    """Mix the values of a head by each kind of attention."""
    length = len(head.values)
    mask = window_mask(length, length)
    softmax = head.scores.softmax(-1)
    window = kept_weights(head.scores, window_mask(length, request.window))
    linear = linear_weights(elu_features(head.queries), elu_features(head.keys), mask)
    log_decay = torch.full((length,), -1 / request.memory, dtype=head.values.dtype)
    step = torch.full_like(log_decay, request.step)
    delta = delta_weights(head.queries, head.keys, log_decay, step)
    weights = torch.stack([softmax, window, linear, hybrid(window, linear, request.share), delta])
    outputs = weights @ head.values
    return HeadByKind(weights.float().numpy(), late_cosine(outputs, outputs[0]).numpy())


@torch.no_grad()
def converted_head(text: str, layer: int, head: int, window: int) -> HeadByKind:
    """Return a head of the converted models of the first seed, with learned parameters.

    Features are exponential and learned; w, and decay and step of the delta rule, are learned too.
    Cosines are those with the outputs of the model before its conversion. ``ValueError`` where
    conversions are not bundled, as with a ``window`` other than those of `CONVERTED_WINDOWS`.
    """
    if window not in CONVERTED_WINDOWS:
        raise ValueError(f"window is {window}; it must be one of {CONVERTED_WINDOWS}")
    models = [load_conversion(name) for name in (f"hybrid_{window}", "delta")]
    mixture, delta = (model.record(encode(text)[None])[1][layer] for model in models)
    learned = cast(ExponentialAttention, models[0].layers[layer].attention.learned)
    base = read_head(load_model("none", WEIGHTS_SEED)[0], text, layer, head)
    softmax, length = base.scores.softmax(-1).float(), len(base.values)
    features = learned.features(mixture.queries, mixture.keys)
    weights = torch.stack(
        [
            kept_weights(causal(mixture.scores), window_mask(length, window))[0, head],
            linear_weights(*features, window_mask(length, length))[0, head],
            mixture.weights[0, head],
            delta.weights[0, head],
        ]
    )
    values = torch.stack([*3 * [mixture.values[0, head]], delta.values[0, head]])
    cosine = late_cosine(weights @ values, softmax @ base.values.float())
    return HeadByKind(
        torch.cat([softmax[None], weights]).numpy(), np.array([1.0, *cosine.tolist()])
    )
