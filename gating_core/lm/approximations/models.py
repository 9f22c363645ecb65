"""Language models that leave keys out of their attention, their losses, and their heads.

Such attention uses the fused kernel of softmax attention with a mask: with no key left out the
outputs are those of the model, bit for bit. It returns no weights, so these models cannot fill
records. Losses are those from a text's 33rd character on: before it there are few keys to leave
out. Only texts that fill the context are used: short ones have no more keys than a large budget.

Shapes: N texts, B of a batch, H heads, T queries, n keys, d channels; queries are the last T of the
n positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch.nn import functional

from gating_core.characters import encode
from gating_core.checks import check_integer
from gating_core.efficient import HeadSample, anchors, corrected, dense_tail, top_k, window_mask
from gating_core.lm.attention_kinds import (
    ATTENTION_KINDS,
    AttentionKind,
    causal_mask,
    scaled_products,
)
from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.model import LanguageModel, with_attention

CONTEXT = 128  # characters, of all shipped models; the line break before a text included
FIRST = 32  # the first query whose loss counts
# From queries, keys and the causal mask: the keys of each query, bool (T, n) or (B, H, T, n).
Choice = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def truncated(model: LanguageModel, k: int) -> LanguageModel:
    """Return ``model`` with top-k attention: every query mixes its ``k`` largest weights alone.

    A sink logit stays in the denominator.
    """

    def choice(queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = scaled_products(queries, keys).masked_fill(~mask, -torch.inf)
        return top_k(scores, k)

    def scores(queries: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        kept = choice(queries, keys, causal_mask(queries.shape[-2], keys.shape[-2]))
        return scaled_products(queries, keys).masked_fill(~kept, -torch.inf)

    if model.config.attention == "softmax_sink":  # which no fused kernel computes
        kind = replace(ATTENTION_KINDS["softmax_sink"], scores=scores)
        return with_attention(model, [kind] * model.config.depth)
    return with_attention(model, [_choosing(choice)] * model.config.depth)


def windowed(
    model: LanguageModel, window: int, sinks: int, gamma: int | None = None
) -> LanguageModel:
    """Return ``model`` with attention to a window and sinks.

    With ``gamma``, delta correction at every ``gamma``-th query, with a `dense_tail`. The model
    reads whole texts, without a cache.
    """

    def mix(
        queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        length = keys.shape[-2]
        sparse = _mixed(queries, keys, values, window_mask(length, window, sinks))
        if gamma is None:
            return sparse
        tail = dense_tail(length, gamma)
        anchor_queries = anchors(length, gamma, tail)
        full = _mixed(queries[..., anchor_queries, :], keys, values, mask[anchor_queries])
        return corrected(sparse, full, gamma, tail)

    return with_attention(model, [_kind(mix)] * model.config.depth)


def with_kept_keys(model: LanguageModel, kept: list[torch.Tensor]) -> LanguageModel:
    """Return ``model``, to read on after a prefill of P characters, of whose keys some are kept.

    ``kept`` has a mask (B, H, P) bool for each block; all keys of later characters are kept.
    """

    def choice(
        kept: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        return with_later(kept, keys.shape[-2])[..., None, :] & mask

    return with_attention(model, [_choosing(partial(choice, mask)) for mask in kept])


def with_later(kept: torch.Tensor, length: int) -> torch.Tensor:
    """(..., n): the ``kept`` keys (..., P) bool of a prefill, and all later ones of n."""
    return functional.pad(kept, (0, length - kept.shape[-1]), value=True)


def _choosing(choice: Choice) -> AttentionKind:
    """Softmax attention to the keys of a ``choice``."""
    return _kind(
        lambda queries, keys, values, mask: _mixed(
            queries, keys, values, choice(queries, keys, mask)
        )
    )


def _kind(mix: Callable[..., torch.Tensor]) -> AttentionKind:
    return AttentionKind("softmax attention that leaves something out", _no_weights, fused=mix)


def _no_weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    raise ValueError("attention that leaves something out keeps no weights; read without records")


def _mixed(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    return functional.scaled_dot_product_attention(queries, keys, values, attn_mask=mask)


def long_texts() -> list[str]:
    """The shipped verses that fill a context, the English ones first."""
    return [text for text in excerpt_texts() if len(text) >= CONTEXT - 1]


@torch.no_grad()
def read_head(
    model: LanguageModel, text: str, layer: int, head: int, strength: float = 1.0
) -> HeadSample:
    """Queries, keys and values (T, d) of a head that reads ``text``, in float64.

    T includes the line break before the text. Values are those that are mixed, after a gate at G2;
    ``strength`` (0 to 1) scales all gates, those of earlier layers too. ``ValueError`` for a layer
    or head that does not exist, and as in `LanguageModel.forward`.
    """
    check_integer("layer", layer, 0, model.config.depth - 1)
    check_integer("head", head, 0, model.config.heads - 1)
    record = model.record(encode(text)[None], strength=strength)[1][layer]
    parts = (x[0, head].double() for x in (record.queries, record.keys, record.values))
    return HeadSample(*parts)


def late_cosine(outputs: torch.Tensor, full: torch.Tensor, tail: int = 0) -> torch.Tensor:
    """(...): the mean cosine of ``outputs`` (..., T, d) with those of full attention (T, d).

    Over the queries from `FIRST` on, in a short text from its middle on, without the last ``tail``;
    NaN if there are none.
    """
    length = full.shape[-2]
    late = slice(first_late(length), length - tail)
    return functional.cosine_similarity(outputs, full, dim=-1)[..., late].mean(-1)


def first_late(length: int) -> int:
    """The first query of `late_cosine` in a text of ``length`` tokens."""
    return min(FIRST, length // 2)
