"""Eviction: which keys of a prefill are kept, and what that changes, in a head and in models.

A model reads the first `PREFILL` characters of a text in full; then every head keeps a budget of
their keys. The next characters attend to these and to their own keys. In one head over one text the
prefill is a share of it. Shapes: N texts, L layers, H heads, P policies, b budgets; of a head T
tokens, n keys of the prefill, d channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

import gating_core.efficient as efficient
from gating_core.lm.approximations.models import with_kept_keys, with_later
from gating_core.lm.attention import KeyValueCache
from gating_core.lm.losses import Arrays, Batch, batches, row_losses
from gating_core.lm.model import BlockRecord, LanguageModel

PREFILL = 96  # characters
BUDGETS = (8, 16, 24, 32, 48)  # keys of the prefill that each head keeps
PREFILL_SHARE = 0.75  # of a text
SHORTEST_CACHE = 24  # tokens, so that a budget can be smaller than the prefill
LONGEST = 512  # tokens read one by one


@dataclass(frozen=True)
class Policy:
    """An eviction policy: the rule by which a head chooses the keys that it keeps."""

    title: str  # as within a sentence
    score: str  # a row of `gating_core.efficient.POLICIES`
    protects: bool = True  # half of the budget for the most recent keys
    first: int = 0  # keys at the beginning that are kept too

    def kept(self, worth: torch.Tensor, budget: int) -> torch.Tensor:
        """(..., n) bool: the keys to keep, by their ``worth`` (..., n)."""
        return efficient.kept_keys(worth, budget, protected(budget, self.protects), self.first)


def protected(budget: int, protects: bool) -> int:
    """Return how many recent keys are kept whatever their score: half of the budget, or none."""
    return budget // 2 if protects else 0


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
        cache = KeyValueCache()
        with torch.no_grad():
            model(batch.rows.read[:, :PREFILL], cache=cache)
        fulls.append(_losses(model, batch, cache))
        counts.append(batch.rows.counted[:, PREFILL:].sum(-1))
        outputs = [_late_outputs(record) for record in batch.layers]
        sizes.append(torch.stack([output.square().sum((2, 3)) for output in outputs]))
        losses, moved = [], []  # by policy and budget
        for policy, budget in product(POLICIES.values(), BUDGETS):
            kept = [policy.kept(by_score[policy.score], budget) for by_score in worth]
            losses.append(_losses(with_kept_keys(model, kept), batch, cache))
            fewer = [_late_outputs(*both) for both in zip(batch.layers, kept, strict=True)]
            moved.append(
                torch.stack(
                    [(x - y).square().sum((2, 3)) for x, y in zip(fewer, outputs, strict=True)]
                )
            )
        table = len(POLICIES), len(BUDGETS)
        sums.append(torch.stack(losses).unflatten(0, table))
        changes.append(torch.stack(moved).unflatten(0, table))
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
    from scipy.special import stdtrit  # here: it takes a tenth of a second, no page needs it

    over, under = over.double(), under.double()
    count, total = under.shape[dim], under.sum(dim)
    result = over.sum(dim) / total
    if count < 2:
        return result, torch.full_like(result, torch.inf)
    residuals = over - result.unsqueeze(dim) * under
    spread = (residuals.square().sum(dim) * count / (count - 1)).sqrt() / total
    return result, float(stdtrit(count - 1, 0.975)) * spread


def key_worth(layers: Sequence[BlockRecord]) -> list[dict[str, torch.Tensor]]:
    """The worth (B, H, n) of the prefill's keys to its own queries: by layer, then by score."""
    names = {policy.score for policy in POLICIES.values()}
    return [
        {
            name: efficient.key_scores(
                efficient.causal(record.scores[..., :PREFILL, :PREFILL]),
                record.values[..., :PREFILL, :],
                name,
            )
            for name in names
        }
        for record in layers
    ]


@torch.no_grad()
def _losses(model: LanguageModel, batch: Batch, cache: KeyValueCache) -> torch.Tensor:
    """(B,) float64: the summed loss of each text after the prefill, which the ``cache`` holds."""
    own = KeyValueCache(dict(cache.layers), cache.length)
    logits = model(batch.rows.read[:, PREFILL:], cache=own)
    losses = row_losses(logits, batch.rows.targets[:, PREFILL:]).double()
    return torch.where(batch.rows.counted[:, PREFILL:], losses, 0.0).sum(-1)


def _late_outputs(record: BlockRecord, kept: torch.Tensor | None = None) -> torch.Tensor:
    """(B, H, t, d): outputs after the prefill, from those keys of it that are ``kept`` (all)."""
    scores = efficient.causal(record.scores)[..., PREFILL:, :]
    mask = None if kept is None else with_later(kept, scores.shape[-1])[..., None, :]
    return efficient.mixed(scores, record.values, mask)


@dataclass(frozen=True)
class EvictionRequest:
    """A request for an eviction, one by one, the keys of the lowest score first."""

    policy: str = "mass"  # a row of `gating_core.efficient.POLICIES`
    budget: int = 16  # keys
    protects: bool = True  # half of the budget for the most recent keys


@dataclass(frozen=True, eq=False)
class Evicted:
    """One head with part of its keys."""

    prefill: int  # n
    length: int  # T
    kept: np.ndarray  # (2, P, n) bool: keys of the prefill; recent ones protected, and not
    seen_newest: float  # evicting at every step: the share of queries that see their own key
    reading_error: float  # evicting at every step: the error of the outputs
    budgets: np.ndarray  # (b,)
    errors: np.ndarray  # (2, P, b) of outputs after the prefill; protected, and not


def evict(
    sample: efficient.HeadSample, request: EvictionRequest, budgets: tuple[int, ...]
) -> Evicted:
    """Evict keys of a head by each policy; errors are squared, divided by the squared outputs.

    ``budgets`` are those of the curves. Of a text longer than 512 tokens the first 512 are read.
    ``ValueError`` for fewer than 24.
    """
    scores, values = _start(sample, LONGEST)
    length = len(values)
    prefill = int(PREFILL_SHARE * length)
    before, after = scores[:prefill, :prefill], scores[prefill:]
    output = efficient.mixed(after, values)
    worths = [
        efficient.key_scores(before, values[:prefill], policy) for policy in efficient.POLICIES
    ]

    def kept(worth: torch.Tensor, budget: int, protects: bool) -> torch.Tensor:
        return efficient.kept_keys(worth, budget, protected(budget, protects))

    def error(worth: torch.Tensor, budget: int, protects: bool) -> float:
        mask = with_later(kept(worth, budget, protects), length)
        return _error(efficient.mixed(after, values, mask), output)

    reading = efficient.kept_while_reading(
        scores, values, request.policy, request.budget, protected(request.budget, request.protects)
    )
    return Evicted(
        prefill=prefill,
        length=length,
        kept=np.stack(
            [
                torch.stack([kept(worth, request.budget, protects) for worth in worths]).numpy()
                for protects in (True, False)
            ]
        ),
        seen_newest=float(reading.diagonal().double().mean()),
        reading_error=_error(
            efficient.mixed(scores, values, reading), efficient.mixed(scores, values)
        ),
        budgets=np.array(budgets),
        errors=np.array(
            [
                [[error(worth, budget, protects) for budget in budgets] for worth in worths]
                for protects in (True, False)
            ]
        ),
    )


def _start(sample: efficient.HeadSample, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(T, T) causal scores and (T, d) values of at most the first ``most`` tokens."""
    if len(sample.values) < SHORTEST_CACHE:
        raise ValueError(
            f"the text has {len(sample.values)} tokens; it must have {SHORTEST_CACHE} at least"
        )
    short = sample.beginning(most)
    return short.scores, short.values


def _error(outputs: torch.Tensor, full: torch.Tensor) -> float:
    """The mean squared change of outputs (T, d), over the mean squared output."""
    return float((outputs - full).square().sum() / full.square().sum())
