"""Checks of the queries, keys and values of a text."""

from __future__ import annotations

import torch


def check_tokens(
    queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, **per_token: torch.Tensor
) -> None:
    """``ValueError`` unless sizes fit: (..., T, d) twice, (..., T, e), and (..., T) per token.

    T must be at least 1, and all must be finite and of one floating type.
    """
    shape = queries.shape
    if queries.ndim < 2 or not shape[-2] or keys.shape != shape or values.shape[:-1] != shape[:-1]:
        raise ValueError(
            f"queries, keys and values have the shapes {tuple(shape)}, {tuple(keys.shape)} and"
            f" {tuple(values.shape)}; they must be (..., T, d), (..., T, d) and (..., T, e), T > 0"
        )
    for name, tensor in per_token.items():
        if tensor.shape != shape[:-1]:
            raise ValueError(
                f"{name} has the shape {tuple(tensor.shape)}; it must be {tuple(shape[:-1])}"
            )
    tensors = {"queries": queries, "keys": keys, "values": values} | per_token
    for name, tensor in tensors.items():
        if tensor.dtype is torch.bool:
            continue
        if tensor.dtype != queries.dtype or not tensor.is_floating_point():
            raise ValueError(
                f"{name} are {tensor.dtype} and queries {queries.dtype};"
                " both must be of one floating type"
            )
        if not tensor.isfinite().all():
            raise ValueError(f"{name} contain NaN or infinite values; all must be finite")
