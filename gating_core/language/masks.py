"""Which keys a query sees. Shapes: T queries, the last of the n places, and n keys."""

from __future__ import annotations

import torch

from gating_core.left_out import window_mask


def causal_mask(queries: int, keys: int, window: int | None = None) -> torch.Tensor:
    """(T, n) bool, true where a query sees a key: itself and what stands before it.

    With a ``window``, that many keys at most.
    """
    if window is not None:
        return window_mask(keys, window)[keys - queries :]
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
