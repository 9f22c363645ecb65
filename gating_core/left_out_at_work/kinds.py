"""Attention that leaves keys out, as kinds of attention for the blocks of a language model.

They use the fused kernel of softmax attention with a mask: with no key left out the outputs are
those of the model, bit for bit. They return no weights, so such a model cannot fill records.

Shapes: B texts, H heads, T queries, n keys, d channels; queries are the last T of the n positions.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from gating_core.language import AttentionKind, LanguageModel, with_attention
from gating_core.language.attention_kinds import scaled_products
from gating_core.left_out import anchors, corrected, top_k, window_mask

# From queries, keys and the causal mask: the keys of each query, bool (T, n) or (B, H, T, n).
Choice = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
Mixture = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def truncated(model: LanguageModel, k: int) -> LanguageModel:
    """Return ``model`` with top-k attention: every query mixes its ``k`` largest weights alone."""

    def choice(queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = scaled_products(queries, keys).masked_fill(~mask, -torch.inf)
        return top_k(scores, k)

    return with_attention(model, [_choosing(choice)] * model.config.depth)


def windowed(
    model: LanguageModel, window: int, sinks: int, gamma: int | None = None
) -> LanguageModel:
    """Return ``model`` with attention to a window and sinks.

    With ``gamma``, delta correction at every ``gamma``-th query. The model reads whole texts,
    without a cache.
    """

    def mix(
        queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        length = keys.shape[-2]
        sparse = _mixed(queries, keys, values, window_mask(length, window, sinks))
        if gamma is None:
            return sparse
        anchor_queries = anchors(length, gamma)
        full = _mixed(queries[..., anchor_queries, :], keys, values, mask[anchor_queries])
        return corrected(sparse, full, gamma)

    return with_attention(model, [_kind(mix)] * model.config.depth)


def with_kept_keys(model: LanguageModel, kept: list[torch.Tensor]) -> LanguageModel:
    """Return ``model``, to read on after a prefill of P characters, of whose keys some are kept.

    ``kept`` has a mask (B, H, P) bool for each block; all keys of later characters are kept.
    """
    return with_attention(model, [_choosing(_keeping(mask)) for mask in kept])


def _keeping(kept: torch.Tensor) -> Choice:
    """The choice of the ``kept`` keys (B, H, P) of a prefill, and all later ones."""

    def choice(queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        later = keys.shape[-2] - kept.shape[-1]
        return functional.pad(kept, (0, later), value=True)[..., None, :] & mask

    return choice


def _choosing(choice: Choice) -> AttentionKind:
    """Softmax attention to the keys of a ``choice``."""
    return _kind(lambda queries, keys, values, mask: _mixed(
        queries, keys, values, choice(queries, keys, mask)))  # fmt: skip


def _kind(mix: Mixture) -> AttentionKind:
    return AttentionKind("softmax attention that leaves something out", _no_weights, fused=mix)


def _no_weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    raise ValueError("attention that leaves something out keeps no weights; read without records")


def _mixed(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)
