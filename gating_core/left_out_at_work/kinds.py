"""Attention that leaves something out, as kinds that a language model's blocks may have instead.

They mix by the fused kernel of softmax attention, with a mask: with nothing left out the outputs
are the model's own, bit for bit. They keep no weights, so models read without records.

Shapes: B texts, H heads, T queries, n keys, d channels; queries are the last T of the n places.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

from gating_core.language import AttentionKind, LanguageModel, with_attention
from gating_core.language.attention_kinds import scaled_products
from gating_core.left_out import anchors, corrected, top_k, window_mask

# Which keys each query may use, (T, n) or (B, H, T, n), from queries, keys and the causal mask.
Choice = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
Mixture = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def truncated(model: LanguageModel, k: int) -> LanguageModel:
    """``model`` with every query of every head mixing its ``k`` largest weights alone."""

    def choice(queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = scaled_products(queries, keys).masked_fill(~mask, -torch.inf)
        return top_k(scores, k)

    return with_attention(model, [_choosing(choice)] * model.config.depth)


def windowed(
    model: LanguageModel, window: int, sinks: int, gamma: int | None = None
) -> LanguageModel:
    """``model`` in a window with sinks, with delta correction every ``gamma`` queries if given.

    Reads whole texts, without a cache.
    """

    def mix(
        queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        length = keys.shape[-2]
        sparse = _mixed(queries, keys, values, window_mask(length, window, sinks))
        if gamma is None:
            return sparse
        at = anchors(length, gamma)
        full = _mixed(queries[..., at, :], keys, values, mask[at])
        return corrected(sparse, full, gamma)

    return with_attention(model, [_kind(mix)] * model.config.depth)


def with_kept_keys(model: LanguageModel, kept: list[torch.Tensor]) -> LanguageModel:
    """``model`` that goes on after a prefill of P characters, of whose keys some have left.

    ``kept`` has (B, H, P) bool for each block; the keys of later characters all stay.
    """
    return with_attention(model, [_choosing(_without(of)) for of in kept])


def _without(kept: torch.Tensor) -> Choice:
    def choice(queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        later = keys.shape[-2] - kept.shape[-1]
        return functional.pad(kept, (0, later), value=True)[..., None, :] & mask

    return choice


def _choosing(choice: Choice) -> AttentionKind:
    """Softmax attention to chosen keys."""
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
