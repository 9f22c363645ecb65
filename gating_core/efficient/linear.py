"""Linear attention: the weight of a key is phi(q) · phi(k), for a feature map phi that is positive.

The same outputs in three ways: from weights, by a state that is read and written token by token,
and by chunks, within which there are weights and between which there is the state. Source:
Katharopoulos et al., *Transformers are RNNs*, arXiv 2006.16236, equations 4 to 12. And its mixture
with softmax attention in a window: `hybrid`.

Shapes: T tokens (or T queries of n keys), d channels, e channels of values, f features; dots stand
for texts, heads, seeds. A state is S = sum phi(k) vᵀ (..., f, e) and z = sum phi(k) (..., f).
"""

from __future__ import annotations

import torch

from gating_core.attention.linear import feature_map
from gating_core.checks import check_integer
from gating_core.efficient.rows import MOST, check_mask

CHUNK = 64  # tokens
State = tuple[torch.Tensor, torch.Tensor]


def elu_features(x: torch.Tensor) -> torch.Tensor:
    """(..., d): elu(d^-1/4 x) + 1 of queries or keys x (..., d).

    The factor is a half of softmax attention's 1 / √d. Source: as above, equation 7.
    """
    return feature_map(x * x.shape[-1] ** -0.25)


def exponential_features(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """(..., 2d): softmax(x W) and softmax(-x W), for x (..., d) and learned W (..., d, d).

    Source: Zhang et al., *The Hedgehog & the Porcupine*, arXiv 2402.04347. ``ValueError`` where
    sizes do not fit.
    """
    if not x.ndim or weight.ndim < 2 or weight.shape[-2] != x.shape[-1]:
        raise ValueError(
            f"x has shape {tuple(x.shape)} and weight {tuple(weight.shape)};"
            " they must be (..., d) and (..., d, d)"
        )
    logits = x @ weight
    return torch.cat((logits.softmax(-1), (-logits).softmax(-1)), -1)


def linear_weights(
    query_features: torch.Tensor, key_features: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """(..., T, n): phi(q) · phi(k), divided by its sum over the keys where ``mask`` is true.

    For features (..., T, f) and (..., n, f), and a mask (T, n) or (..., T, n). A query that sees no
    key, or whose products are all 0, has weights of 0. ``ValueError`` for sizes that do not fit
    and a mask that is not bool; the features' contents are not checked.
    """
    queries, keys = query_features.shape, key_features.shape
    if len(queries) < 2 or len(keys) < 2 or queries[-1] != keys[-1]:
        raise ValueError(
            f"features have the shapes {tuple(queries)} and {tuple(keys)};"
            " they must be (..., T, f) and (..., n, f)"
        )
    check_mask("mask", mask, (*queries[:-1], keys[-2]))
    products = (query_features @ key_features.mT).masked_fill(~mask, 0)
    return products / _divisors(products.sum(-1, keepdim=True))


def linear_attention(
    query_features: torch.Tensor, key_features: torch.Tensor, values: torch.Tensor
) -> torch.Tensor:
    """(..., T, e): causal linear attention in its quadratic form.

    ``ValueError`` for features (..., T, f) and values (..., T, e) that do not fit or are not
    finite, and for negative features, here and in the other two forms.
    """
    _check(query_features, key_features, values)
    length = values.shape[-2]
    mask = torch.ones(length, length, dtype=torch.bool, device=values.device).tril()
    return linear_weights(query_features, key_features, mask) @ values


def linear_recurrent(
    query_features: torch.Tensor,
    key_features: torch.Tensor,
    values: torch.Tensor,
    state: State | None = None,
) -> tuple[torch.Tensor, State]:
    """(..., T, e): `linear_attention`, computed token by token, and the state after the last one.

    ``state`` is that before the first token (None: zeros).
    """
    total, mass = _check(query_features, key_features, values, state)
    outputs = []
    for q, k, v in zip(
        query_features.unbind(-2), key_features.unbind(-2), values.unbind(-2), strict=True
    ):
        total = total + k[..., :, None] * v[..., None, :]
        mass = mass + k
        read = (q[..., None, :] @ total).squeeze(-2)
        outputs.append(read / _divisors((q * mass).sum(-1, keepdim=True)))
    return torch.stack(outputs, -2), (total, mass)


def linear_chunked(
    query_features: torch.Tensor,
    key_features: torch.Tensor,
    values: torch.Tensor,
    state: State | None = None,
    chunk: int = CHUNK,
) -> tuple[torch.Tensor, State]:
    """(..., T, e): `linear_recurrent`, in chunks of ``chunk`` tokens, and the last state."""
    check_integer("chunk", chunk, 1, MOST)
    total, mass = _check(query_features, key_features, values, state)
    outputs = []
    for q, k, v in zip(
        query_features.split(chunk, -2),
        key_features.split(chunk, -2),
        values.split(chunk, -2),
        strict=True,
    ):
        products = (q @ k.mT).tril()
        sums = products.sum(-1, keepdim=True) + q @ mass[..., None]
        outputs.append((products @ v + q @ total) / _divisors(sums))
        total = total + k.mT @ v
        mass = mass + k.sum(-2)
    return torch.cat(outputs, -2), (total, mass)


def _check(
    query_features: torch.Tensor,
    key_features: torch.Tensor,
    values: torch.Tensor,
    state: State | None = None,
) -> State:
    """Return the ``state`` to begin with; ``ValueError`` as `linear_attention` says."""
    check_tokens(query_features, key_features, values)
    if (query_features < 0).any() or (key_features < 0).any():
        raise ValueError("features are negative somewhere; weights must be positive")
    no_mass = torch.zeros_like(key_features[..., 0, :])
    empty = no_mass[..., None] * values[..., :1, :], no_mass
    if state is None:
        return empty
    shapes, fitting = [tuple(x.shape) for x in state], [tuple(x.shape) for x in empty]
    if shapes != fitting:
        raise ValueError(f"state has the shapes {shapes}; they must be {fitting}")
    return state


def _divisors(sums: torch.Tensor) -> torch.Tensor:
    """``sums``, which are not negative, as divisors: at least the smallest normal number."""
    return sums.clamp_min(torch.finfo(sums.dtype).tiny)


BRANCHES = {"window": 0.0, "linear": 1.0}  # w that ablates that branch


def hybrid(window: torch.Tensor, linear: torch.Tensor, share: torch.Tensor | float) -> torch.Tensor:
    """Mix two branches of one shape, with ``share`` w, which broadcasts to it.

    Where w is 0 or 1 everywhere, one branch is returned as it is: NaN in the other does not matter.
    ``ValueError`` for branches of different shapes, and for a share that is not from 0 to 1.
    """
    if window.shape != linear.shape:
        raise ValueError(
            f"window has the shape {tuple(window.shape)} and linear {tuple(linear.shape)};"
            " they must have the same"
        )
    share = torch.as_tensor(share, dtype=window.dtype, device=window.device)
    if not ((share >= 0) & (share <= 1)).all():
        raise ValueError("share must be from 0 to 1 everywhere")
    if (share == 0).all():
        return linear
    return window if (share == 1).all() else share * window + (1 - share) * linear


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
        if tensor.dtype != queries.dtype or not tensor.is_floating_point():
            raise ValueError(
                f"{name} are {tensor.dtype} and queries {queries.dtype};"
                " both must be of one floating type"
            )
        if not tensor.isfinite().all():
            raise ValueError(f"{name} contain NaN or infinite values; all must be finite")
