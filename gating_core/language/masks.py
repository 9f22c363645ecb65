"""Which keys a query sees. Shapes: T queries, the last of the n positions, and n keys."""

from __future__ import annotations

import torch

from gating_core.left_out import window_mask


def causal_mask(queries: int, keys: int, window: int | None = None) -> torch.Tensor:
    """(T, n) bool, true where a query sees a key: its own and those before it.

    With a ``window``, the last ``window`` of these only.
    """
    if window is not None:
        return window_mask(keys, window)[keys - queries :]
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
