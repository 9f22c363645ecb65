"""Attention sinks: the weight that a text's characters put on one key, above all on the first.

Shapes: N texts, of which B make a batch, of T characters at most, L layers, H heads of d channels.
``counted`` (B, T) is true for the characters of a text and false behind its end
(`gating_core.lm.Rows`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from gating_core.lm.losses import Arrays, batches
from gating_core.lm.model import LanguageModel

EPSILON = 0.3  # the importance from which on Gu et al. call a first key a sink


def sinks(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Attention sinks: the weight of the first character, and the length of its value.

    ``by_text`` (N, L) and ``by_head`` (L, H): its mean share of later characters' weights.
    ``metric`` (L, H): the share of texts with a sink. ``value_ratio`` (L, H): the length of its
    value over the mean length of the others.
    """
    shares, metrics, ratios = [], [], []
    for batch in batches(model, texts):
        counted = batch.rows.counted
        shares.append(_layers(first_shares(x.weights, counted) for x in batch.layers))
        ratios.append(_layers(first_value_ratios(x.values, counted) for x in batch.layers))
        metric = _layers(sink_share(x.weights, counted)[None] for x in batch.layers)
        metrics.append(metric.expand(len(counted), -1, -1))
    share, ratio, sunk = map(torch.cat, (shares, ratios, metrics))
    return {
        "by_text": share.mean(-1).numpy(),
        "by_head": share.mean(0).numpy(),
        "metric": sunk.mean(0).numpy(),
        "value_ratio": ratio.mean(0).numpy(),
    }


def _layers(parts: Iterator[torch.Tensor]) -> torch.Tensor:
    """(B, L, H) from (B, H) of each layer."""
    return torch.stack(list(parts), 1)


def importances(weights: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """(B, H, T): the mean weight (B, H, T, T) of each key over the queries that see it.

    Key j is seen by the T - j queries from j on. Gu et al., *When Attention Sink Emerges*, arXiv
    2410.10781. 0 for a key behind the end of a text.
    """
    queries = counted[:, None, :, None].to(weights)
    viewers = counted.flip(-1).cumsum(-1).flip(-1)[:, None]
    return (weights * queries).sum(-2) / viewers.clamp(min=1)


def sink_share(
    weights: torch.Tensor, counted: torch.Tensor, epsilon: float = EPSILON
) -> torch.Tensor:
    """(H,): Sink_ε of each head, the share of texts whose first key is more important than ε.

    The mean over layers and heads is the metric of Gu et al., arXiv 2410.10781.
    """
    first = importances(weights, counted)[..., 0]
    return (first > epsilon).to(weights.dtype).mean(0)


def first_shares(weights: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """(B, H): the mean share of the first key in the weights of later queries.

    The first query is left out: it sees no other key. Each query's weights are divided by their
    sum, which is one for softmax attention. A query without any weight counts as 0; NaN for a text
    of one character. Qiu et al., arXiv 2505.06708, give the mean over heads by layer.
    """
    sums = weights.sum(-1)
    shares = torch.where(sums > 0, weights[..., 0] / sums, 0.0)[..., 1:]
    later = counted[:, None, 1:].to(weights)
    return (shares * later).sum(-1) / later.sum(-1)


def first_value_ratios(values: torch.Tensor, counted: torch.Tensor) -> torch.Tensor:
    """(B, H): the length of the first value over the mean length of the later ones (B, H, T, d).

    A sink that hardly changes outputs has a short value: Guo et al., *Active-Dormant Attention
    Heads*, arXiv 2410.13835. NaN for a text of one character.
    """
    lengths = values.norm(dim=-1)
    later = counted[:, None, 1:].to(values)
    return lengths[..., 0] / ((lengths[..., 1:] * later).sum(-1) / later.sum(-1))
