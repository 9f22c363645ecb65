"""Top-k in language models: losses with all heads truncated, and how many keys a head needs.

Shapes: N texts, L layers, H heads, K sizes k, C certificates, b bins.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from gating_core.at_work.batches import Arrays, batches
from gating_core.language import LanguageModel, causal_mask
from gating_core.left_out import CERTIFICATES, masses, needed_share, smallest_k, standardised
from gating_core.left_out_at_work.kinds import truncated
from gating_core.left_out_at_work.losses import late_losses

SIZES = (1, 2, 4, 8, 16, 32)  # k; in arrays the untruncated model comes after them
EPSILON = 0.05  # the mass that may be left out
FIRST_QUERY = 64  # the first whose heads are measured
EVERY = 4  # one text in as many is measured head by head, to save time
BINS = np.linspace(-6.0, 6.0, 49)  # of standardised scores; those beyond count in the last bins


def truncation(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Measure losses, and heads, under truncation.

    ``sums`` (K + 1, N): the loss of each text in nats, from its 33rd character on, with all heads
    truncated to k, the last with none; ``counts`` (N,). Of the queries from `FIRST_QUERY` on of
    every fourth text, by head (L, H): ``needed``, the median k for a mass of 5 % left out, and its
    upper decile ``needed_high``; ``rule``, the median of what the Gaussian rule says, and
    ``sigma``; ``certified`` (C, L, H), the median k that each certificate allows; ``histogram``
    (L, H, b) of standardised scores.
    """
    models = [*(truncated(model, k) for k in SIZES), model]
    losses = [late_losses(each, texts) for each in models]
    columns: dict[str, list[torch.Tensor]] = {}
    bins = []
    for batch in batches(model, texts[::EVERY]):
        for name, column in _heads(torch.stack([x.scores for x in batch.layers])).items():
            columns.setdefault(name, []).append(column)
        bins.append(_histogram(torch.stack([x.scores for x in batch.layers])))
    by_head = {name: torch.cat(parts, -1) for name, parts in columns.items()}
    medians = {name: column.quantile(0.5, -1).numpy() for name, column in by_head.items()}
    return {
        "sums": torch.stack([sums for sums, _ in losses]).float().numpy(),
        "counts": losses[0][1].float().numpy(),
        **medians,
        "needed_high": by_head["needed"].quantile(0.9, -1).numpy(),
        "histogram": np.sum(bins, 0).astype(np.int32),
    }


def _late(scores: torch.Tensor) -> torch.Tensor:
    """(L, B, H, t, n): the rows of late queries, with -inf for later keys."""
    mask = causal_mask(*scores.shape[-2:])
    return scores.masked_fill(~mask, -torch.inf)[..., FIRST_QUERY:, :]


def _heads(scores: torch.Tensor) -> dict[str, torch.Tensor]:
    """(..., L, H, rows): the quantities of `truncation` by late row of scores (L, B, H, T, n)."""
    late = _late(scores)
    visible = (~late.isneginf()).sum(-1)
    sigma = standardised(late)[1]
    rule = (visible * needed_share(sigma, EPSILON)).clamp(min=1)
    certified = [
        smallest_k(certificate.curve(late), EPSILON) for certificate in CERTIFICATES.values()
    ]
    numbers = {"needed": smallest_k(masses(late), EPSILON), "sigma": sigma, "rule": rule,
               "certified": torch.stack(certified)}  # fmt: skip
    return {name: x.float().transpose(-3, -2).flatten(-2) for name, x in numbers.items()}


def _histogram(scores: torch.Tensor) -> np.ndarray:
    """(L, H, b) int64: standardised scores of late queries by head."""
    scaled = standardised(_late(scores))[0].clamp(BINS[0], BINS[-1])
    by_head = scaled.transpose(1, 2).flatten(2).numpy()
    return np.array([[np.histogram(head[~np.isnan(head)], BINS)[0] for head in layer]
                     for layer in by_head])  # fmt: skip
