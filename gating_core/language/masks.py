"""Which keys a query sees. Shapes: T queries, the last of the n places, and n keys."""

from __future__ import annotations

import torch


def causal_mask(queries: int, keys: int, window: int | None = None) -> torch.Tensor:
    """(T, n) bool, true where a query sees a key: itself and what stands before it.

    With a ``window``, that many keys at most.
    """
    mask = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return mask if window is None else mask.triu(keys - queries - window + 1)
