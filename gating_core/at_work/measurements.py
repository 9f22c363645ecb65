"""The measurements that are made of every shipped model over the shipped verses, a row each.

A measurement takes a model and N texts and returns named arrays; none where it does not apply.
Shapes: N texts, L layers, H heads, V characters that there are, n strengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import torch

from gating_core.at_work.batches import Arrays, batches
from gating_core.at_work.confidence import confidence
from gating_core.at_work.gate_statistics import SHUT, histogram, means_by_character
from gating_core.at_work.head_ranks import ranks
from gating_core.at_work.sinks import first_shares, first_value_ratios, sink_share
from gating_core.at_work.wiring import wiring
from gating_core.language import CHARACTERS, LanguageModel, text_losses

STRENGTHS = tuple(round(0.1 * k, 1) for k in range(11))  # λ at which losses are measured


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
    return {"by_text": _array(share.mean(-1)), "by_head": _array(share.mean(0)),
            "metric": _array(sunk.mean(0)), "value_ratio": _array(ratio.mean(0))}  # fmt: skip


def gates(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Statistics of gate values; no arrays for a model without gates.

    ``histogram`` (L, H, bins): values from 0 to 1 of all channels of a head. ``shut`` (L, H): the
    share of values below `SHUT`. ``by_character`` (V, L, H): the mean at each character, NaN where
    it was never read; ``counts`` (V,): how often each was read.
    """
    if model.config.gate is None:
        return {}
    depth, heads = model.config.depth, model.config.heads
    bins, shut = [], []
    sums, counts = torch.zeros(depth, len(CHARACTERS), heads), torch.zeros(len(CHARACTERS))
    for batch in batches(model, texts):
        rows, by_layer = batch.rows, []
        for layer, record in enumerate(batch.layers):
            assert record.gate is not None
            by_head = record.gate.unflatten(-1, (heads, -1))
            by_layer.append(histogram(record.gate, rows.counted).unflatten(0, (heads, -1)).sum(1))
            shut.append((by_head[rows.counted] < SHUT).float().mean(-1).sum(0))
            means, read = means_by_character(by_head.mean(-1), rows.counted, rows.read,
                                             len(CHARACTERS))  # fmt: skip
            sums[layer] += torch.where(read[:, None] > 0, means * read[:, None], 0.0)
        counts += read
        bins.append(torch.stack(by_layer))
    shares = torch.stack(shut).view(-1, depth, heads).sum(0) / counts.sum()
    means = (sums / counts[:, None]).transpose(0, 1)
    return {"histogram": torch.stack(bins).sum(0).numpy().astype(np.int32), "shut": _array(shares),
            "by_character": _array(means), "counts": _array(counts)}  # fmt: skip


def strengths(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """``sums`` (n, N): the loss of each text in nats at each λ; one row for an ungated model.

    ``counts`` (N,): the characters of each text.
    """
    used = STRENGTHS if model.config.gate is not None else STRENGTHS[-1:]
    results = [text_losses(model, texts, strength=strength) for strength in used]
    sums, counts = zip(*results, strict=True)
    return {"sums": _array(torch.stack(sums)), "counts": _array(counts[0])}


Measurements = Mapping[str, Callable[[LanguageModel, Sequence[str]], Arrays]]
MEASUREMENTS: Measurements = {
    "sinks": sinks,
    "gates": gates,
    "strengths": strengths,
    "ranks": ranks,
    "confidence": confidence,
    "wiring": wiring,
}


def _layers(parts: Iterator[torch.Tensor]) -> torch.Tensor:
    """(B, L, H) from (B, H) of each layer."""
    return torch.stack(list(parts), 1)


def _array(x: torch.Tensor) -> np.ndarray:
    return x.float().numpy()
