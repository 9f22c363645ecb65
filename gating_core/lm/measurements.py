"""Bundled measurements of the trained models over the bundled verses, and times.

They were made once. Commit `4f3f2763` has the code that trained the models and made `MEASURED`,
commit `1f4177a5` that of `EFFICIENT` and `TIMES`. Shapes: N texts, L layers of H heads.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from gating_core.lm.shipped import FOLDER, MODELS, SEEDS, is_current
from gating_core.records import load_record

MEASURED, EFFICIENT = FOLDER / "measured.safetensors", FOLDER / "efficient.safetensors"
TIMES = FOLDER / "times.safetensors"
STRENGTHS = tuple(round(0.1 * k, 1) for k in range(11))  # λ at which losses are measured
SHUT = 0.1  # a gate below this is called shut
SINK = 0.3  # the importance from which on Gu et al. call a first key a sink
QUANTITIES = ("calibration", "classwise", "loss", "prediction", "attention")  # of "confidence."
BEFORE, CORNERS = "The l", "eao"  # the prompt of "wiring.total", and the characters after it
QUARTILES = (25, 50, 75)
Arrays = dict[str, np.ndarray]
Model = tuple[str, int]  # name and seed
Seconds = dict[str, tuple[float, ...]]  # by what was timed: of each repeat


@dataclass(frozen=True, eq=False)
class Measured:
    """The measurements of one model."""

    digest: str  # of the file that was measured
    rows: tuple[str, ...]  # what was measured
    arrays: Arrays  # by "row.name"


def load_measured(path: Path = MEASURED) -> dict[Model, Arrays]:
    """The measurements of every model whose weights are those that were measured.

    - "sinks.": ``by_text`` (N, L) and ``by_head`` (L, H), the mean share of the first character in
      later characters' weights (Qiu et al., arXiv 2505.06708); ``metric`` (L, H), the share of
      texts with a sink: the mean weight of the first key over all queries is above `SINK` (Gu et
      al., arXiv 2410.10781); ``value_ratio`` (L, H), the length of the first value over the mean
      length of the others (Guo et al., arXiv 2410.13835).
    - "gates." of gated models: ``shut`` (L, H), the share of gate values below `SHUT`.
    - "strengths.": ``sums`` (n, N), the loss of each text in nats at `STRENGTHS`, without a gate at
      1 alone; ``counts`` (N,), the characters of each text.
    - "ranks.": ``outputs`` (3, L, H), effective ranks (the exponential of the entropy of the
      singular values over their sum; Roy and Vetterli, EUSIPCO 2007) of a head's outputs over all
      texts, not centred: before the gate, after it, and after W_O.
    - "confidence.": ``bins`` (3, 15), mean confidence, frequency and count of the most probable
      character in bins of equal mass; ``range`` (2, 15), the frequency's 95 % interval over texts;
      ``values`` (5,) and ``resamples`` (5, R) of `QUANTITIES`: expected calibration error, the same
      by class (Kull et al., NeurIPS 2019), loss, and the mean entropies of predictions and of
      attention weights, in nats.
    - "wiring." of models without a gate, after Kim et al., arXiv 2510.14614: ``links`` (L, N), the
      added loss, in nats a character, when a block's MLP reads no attention; ``gradients`` (L, M),
      the norm of the gradient of a text's mean loss by each attention output; ``total`` (L,),
      ``total_error`` and ``complete``, ∫|K| dA of each block's output where the embedding of the
      character after `BEFORE` moves on the plane through those of `CORNERS`.
    """
    stored = load_record(dict[str, Measured], path, "holds no measurements")
    return {
        (name, seed): found.arrays
        for name, seed in product(MODELS, SEEDS)
        if (found := stored.get(f"{name}-{seed}")) and is_current(name, seed, found.digest)
    }


def load_efficient() -> dict[Model, Arrays]:
    """The measurements of models whose attention leaves something out, by name and seed.

    A hook on a model's weights does the same to its losses. Losses are in nats, of the N verses
    that fill a context, from the 33rd character on. Shapes: K sizes k, C certificates, E budgets, P
    policies, W windows, G distances γ of anchors. Models with a sink logit have the first alone.

    - "truncation.": ``sums`` (K + 1, N), with all heads truncated to each of `SIZES`, the last with
      none; ``counts`` (N,). By head (L, H), over the queries from the 65th on of every fourth text:
      ``needed``, the median k for a tail mass of 5 %, and its upper decile ``needed_high``;
      ``rule``, the same by the Gaussian approximation, and ``sigma``; ``certified`` (C, L, H);
      ``histogram`` (L, H, b) of standardised scores.
    - "certificates.": ``rates`` (E, C + 2, L, H), of the ``rows`` of each text's last query, which
      sees n keys, the share for which the exact mass, a certificate or boxes of 16 keys keep fewer
      than n / 2 keys.
    - "eviction.": ``sums`` (P, b, N), of the characters after a prefill of which each head keeps a
      budget of keys; ``full`` and ``counts`` (N,). ``errors`` (P, b, L, H): the mean squared change
      of outputs over the mean squared output, with ``error_half_widths`` over texts.
    - "correction.": ``sums`` (W, 1 + G, N) in a window with four sinks, without correction and with
      each γ; ``full`` and ``counts`` (N,). ``cosines`` (W, 1 + G, L, H) of outputs with those of
      full attention, ``ratios`` (W, G, L, H) of squared errors with and without correction, and
      ``changes`` (W, lags, L, H).
    """
    return load_measured(EFFICIENT)


@dataclass(frozen=True)
class AttentionTimes:
    """Seconds of each kind of attention on one core, by length."""

    lengths: tuple[int, ...]  # tokens
    seconds: tuple[Seconds, ...]

    def ratios(self, way: str) -> np.ndarray:
        """(lengths, 3): quartiles of the time of a kind divided by that of softmax attention."""
        shares = [np.array(x[way]) / np.array(x["softmax"]) for x in self.seconds]
        return np.percentile(shares, QUARTILES, axis=-1).T

    def crossing(self, way: str) -> int | None:
        """The shortest length from which on a kind's median time is less; None: there is none."""
        slower = np.flatnonzero(self.ratios(way)[:, 1] >= 1)
        first = slower[-1] + 1 if len(slower) else 0
        return self.lengths[first] if first < len(self.lengths) else None


@dataclass(frozen=True)
class Times:
    """Processor seconds of a token and of a training step by architecture, and of attention.

    Of one machine and of untrained weights, on which no time depends. What is compared took turns
    in each repeat, so that ratios are of one repeat.
    """

    tokens: Seconds
    steps: Seconds
    attention: AttentionTimes


def load_times() -> Times:
    """Return the bundled times; ``ValueError`` for a file of another kind."""
    return load_record(Times, TIMES, "holds no times")
