"""Eviction in language models: losses and outputs after keys of the prefill are evicted.

A model reads the first `PREFILL` characters of a text in full; then every head keeps a budget of
their keys. The next characters attend to these and to their own keys.

Shapes: N texts, L layers, H heads, P policies, b budgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from gating_core.at_work.batches import Arrays, Batch, batches
from gating_core.language import (
    AttentionRecord,
    KeyValueCache,
    LanguageModel,
    LayerCache,
    row_losses,
)
from gating_core.left_out import causal, kept_keys, key_scores, mixed
from gating_core.left_out_at_work.kinds import with_kept_keys

PREFILL = 96  # characters
BUDGETS = (8, 16, 24, 32, 48)  # keys of the prefill that each head keeps


@dataclass(frozen=True)
class Policy:
    """How a head chooses the keys that it keeps."""

    title: str  # as within a sentence
    score: str  # a row of `gating_core.left_out.POLICIES`
    protects: bool = True  # half of the budget for the most recent keys
    first: int = 0  # keys at the beginning that are kept too

    def kept(self, worth: torch.Tensor, budget: int) -> torch.Tensor:
        """(..., n) bool: the keys to keep, by their ``worth`` (..., n)."""
        recent = budget // 2 if self.protects else 0
        return kept_keys(worth, budget, recent, self.first)


POLICIES = {
    "recency": Policy("recency", "recency"),
    "sink_recency": Policy("sink and recency", "recency", first=1),
    "mass": Policy("mass", "mass"),
    "value": Policy("value", "value"),
    "key": Policy("key", "key"),
    "joint": Policy("value and key", "joint"),
    "exact": Policy("exact error", "exact"),
    "mass_unprotected": Policy("mass, nothing protected", "mass", protects=False),
    "joint_unprotected": Policy("value and key, nothing protected", "joint", protects=False),
}


def eviction(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Measure losses and output errors after eviction.

    ``sums`` (P, b, N): the loss of the characters after the prefill in nats, with each policy and
    budget; ``full`` (N,): with all keys; ``counts`` (N,): the number of these characters.
    ``errors`` (P, b, L, H): the mean squared change of the output, divided by the mean squared
    output, for the states of the full model; ``error_half_widths``, of their 95 % intervals over
    texts, see `ratios`.
    """
    sums, fulls, counts, changes, sizes = [], [], [], [], []
    for batch in batches(model, texts):
        worth = key_worth(batch.layers)
        cache = _prefilled(model, batch)
        fulls.append(_losses(model, batch, cache))
        counts.append(batch.rows.counted[:, PREFILL:].sum(-1))
        kept = [[[policy.kept(by_score[policy.score], budget) for by_score in worth]
                  for budget in BUDGETS]
                for policy in POLICIES.values()]  # fmt: skip
        sums.append(torch.stack([torch.stack([
            _losses(with_kept_keys(model, layers), batch, cache) for layers in budgets
        ]) for budgets in kept]))  # fmt: skip
        outputs = [_late_outputs(record) for record in batch.layers]
        changes.append(torch.stack([torch.stack([torch.stack([
            (_late_outputs(record, mask) - output).square().sum((2, 3))
            for record, mask, output in zip(batch.layers, layers, outputs, strict=True)
        ]) for layers in budgets]) for budgets in kept]))  # fmt: skip
        sizes.append(torch.stack([output.square().sum((2, 3)) for output in outputs]))
    errors, half_widths = ratios(torch.cat(changes, -2), torch.cat(sizes, -2), -2)
    return {
        "sums": torch.cat(sums, -1).float().numpy(),
        "full": torch.cat(fulls).float().numpy(),
        "counts": torch.cat(counts).float().numpy(),
        "errors": errors.float().numpy(),
        "error_half_widths": half_widths.float().numpy(),
    }


def ratios(over: torch.Tensor, under: torch.Tensor, dim: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ratios of sums along ``dim``, and half-widths of their 95 % intervals.

    Linearised, with Student's t; infinite for one term. Source: Cochran, *Sampling Techniques*, 3rd
    ed., section 6.4.
    """
    from scipy.special import (
        stdtrit,
    )  # imported here: it takes a tenth of a second, and no page needs it

    over, under = over.double(), under.double()
    count, total = under.shape[dim], under.sum(dim)
    result = over.sum(dim) / total
    if count < 2:
        return result, torch.full_like(result, torch.inf)
    residuals = over - result.unsqueeze(dim) * under
    spread = (residuals.square().sum(dim) * count / (count - 1)).sqrt() / total
    return result, float(stdtrit(count - 1, 0.975)) * spread


def key_worth(layers: Sequence[AttentionRecord]) -> list[dict[str, torch.Tensor]]:
    """The worth (B, H, n) of the prefill's keys to its own queries: by layer, then by score."""
    names = {policy.score for policy in POLICIES.values()}
    return [
        {name: key_scores(causal(record.scores[..., :PREFILL, :PREFILL]),
                          record.values[..., :PREFILL, :], name) for name in names}
        for record in layers
    ]  # fmt: skip


def _prefilled(model: LanguageModel, batch: Batch) -> KeyValueCache:
    cache = KeyValueCache()
    with torch.no_grad():
        model(batch.rows.read[:, :PREFILL], cache=cache)
    return cache


@torch.no_grad()
def _losses(model: LanguageModel, batch: Batch, cache: KeyValueCache) -> torch.Tensor:
    """(B,) float64: the summed loss of each text after the prefill, which the ``cache`` holds."""
    own = KeyValueCache([LayerCache(layer.parts) for layer in cache.layers], cache.length)
    logits = model(batch.rows.read[:, PREFILL:], cache=own)
    losses = row_losses(logits, batch.rows.targets[:, PREFILL:]).double()
    return torch.where(batch.rows.counted[:, PREFILL:], losses, 0.0).sum(-1)


def _late_outputs(record: AttentionRecord, kept: torch.Tensor | None = None) -> torch.Tensor:
    """(B, H, t, d): outputs after the prefill, from those keys of it that are ``kept`` (all)."""
    scores = causal(record.scores)[..., PREFILL:, :]
    if kept is not None:
        evicted = torch.nn.functional.pad(~kept, (0, scores.shape[-1] - PREFILL))
        scores = scores.masked_fill(evicted[..., None, :], -torch.inf)
    return mixed(scores, record.values)
