"""The gated delta rule: linear attention whose state decays and is corrected by each token.

For each token ``S <- a S``, then ``S <- S + b (v - S k) kᵀ``, and ``o = S q / √d``, with q and k of
unit length. a = 1 is the delta rule; without ``- S k`` it is unnormalised linear attention. Source:
Yang, Kautz and Hatamizadeh, *Gated Delta Networks*, arXiv 2412.06464, and the public code of
Qwen3-Next, whose a, b and output `log_decays`, a sigmoid and `gated_output` are.

The same outputs in two ways: by chunks, between which there is the state, and from weights. Shapes:
T tokens (or T queries, the last of n), d channels of keys, e of values; dots stand for texts or
heads.
A state is (..., e, d); a decay a is given as log a <= 0.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from gating_core.checks import check_integer
from gating_core.efficient.rows import MOST

CHUNK = 64  # tokens
EPSILON = 1e-6  # added to squared lengths, and to means of squares


def unit_length(x: torch.Tensor) -> torch.Tensor:
    """(..., d): x / √(|x|² + ε), finite for x = 0 too."""
    return x * (x.square().sum(-1, keepdim=True) + EPSILON).rsqrt()


def log_decays(logits: torch.Tensor, log_rate: torch.Tensor) -> torch.Tensor:
    """Return log a = -exp(A) softplus(logit), shaped as ``logits``; A = ``log_rate``, by head."""
    return -log_rate.exp() * functional.softplus(logits)


def gated_output(mixed: torch.Tensor, gate: torch.Tensor, gain: torch.Tensor) -> torch.Tensor:
    """(..., e): RMSNorm(o) ⊙ SiLU(z), o = ``mixed``, z = ``gate``, the norm's ``gain`` (e,)."""
    return functional.rms_norm(mixed, mixed.shape[-1:], gain, EPSILON) * functional.silu(gate)


def delta_chunked(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    log_decay: torch.Tensor,
    step: torch.Tensor,
    state: torch.Tensor | None = None,
    chunk: int = CHUNK,
) -> tuple[torch.Tensor, torch.Tensor]:
    """(..., T, e): the outputs, in chunks of ``chunk`` tokens, and the state after the last one.

    Takes queries and keys (..., T, d), which are scaled to unit length here, values (..., T, e),
    ``log_decay`` (..., T), ``step`` b (..., T), and the ``state`` before the first token (None:
    zeros). A token with log a = 0 and b = 0 does not change the state: so texts of different
    lengths can be padded and read together. ``ValueError`` where sizes do not fit or something is
    not finite, log a > 0, or b is not from 0 to 1.
    """
    check_integer("chunk", chunk, 1, MOST)
    state = _check(queries, keys, values, log_decay, step, state)
    outputs = []
    parts = (
        *(x.split(chunk, -2) for x in (queries, keys, values)),
        *(x.split(chunk, -1) for x in (log_decay, step)),
    )
    for q, k, v, a, b in zip(*parts, strict=True):
        read, state = _chunk(q, k, v, a, b, state)
        outputs.append(read)
    return torch.cat(outputs, -2), state


def delta_weights(
    queries: torch.Tensor, keys: torch.Tensor, log_decay: torch.Tensor, step: torch.Tensor
) -> torch.Tensor:
    """(..., T, n): the weights of the values in the outputs, from a state of zeros.

    For queries (..., T, d) of the last T of n tokens, whose keys are (..., n, d). Weights can be
    negative, and need not add up to one. ``ValueError`` where sizes do not fit; the tensors'
    contents are not checked.
    """
    shape = keys.shape[:-1]
    if (
        min(queries.ndim, keys.ndim) < 2
        or queries.shape[-1] != keys.shape[-1]
        or queries.shape[-2] > shape[-1]
        or log_decay.shape[-1:] != shape[-1:]
        or step.shape[-1:] != shape[-1:]
    ):
        shapes = [tuple(x.shape) for x in (queries, keys, log_decay, step)]
        raise ValueError(
            f"queries, keys, log_decay and step have the shapes {shapes};"
            " they must be (..., T, d), (..., n, d), T <= n, (..., n) and (..., n)"
        )
    q, k = unit_length(queries), unit_length(keys)
    decay = _decays(log_decay)
    ahead = k.shape[-2] - q.shape[-2]
    read = (q @ k.mT * decay[..., ahead:, :]).tril(ahead) * q.shape[-1] ** -0.5
    # W (I + b L) = read, then W diag(b), where b L holds each token's corrections of earlier ones.
    corrections = step[..., None] * (k @ k.mT * decay).tril(-1)
    solved = torch.linalg.solve_triangular(
        corrections,
        read,
        upper=False,
        left=False,
        unitriangular=True,  # the diagonal counts as 1
    )
    return solved * step[..., None, :]


def _chunk(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    log_decay: torch.Tensor,
    step: torch.Tensor,
    state: torch.Tensor,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs (..., C, e) of one chunk, and the state after it.

    The corrections u_i = b_i (v_i - S k_i), S decayed up to token i, solve the triangular
    system (I + b L) u = b (v - a_1 ... a_i S_0 k_i).
    """
    q, k = unit_length(queries), unit_length(keys)
    decay, since = _decays(log_decay), log_decay.cumsum(-1)[..., None].exp()
    corrections = step[..., None] * (k @ k.mT * decay).tril(-1)
    targets = step[..., None] * (values - since * (k @ state.mT))
    solved = torch.linalg.solve_triangular(corrections, targets, upper=False, unitriangular=True)
    outputs = since * (q @ state.mT) + (q @ k.mT * decay).tril() @ solved
    state = since[..., -1:, :] * state + (decay[..., -1, :, None] * solved).mT @ k
    return outputs * q.shape[-1] ** -0.5, state


def _decays(log_decay: torch.Tensor) -> torch.Tensor:
    """(..., T, T): the product of the decays of tokens j + 1 to i; 0 above the diagonal.

    Logarithms are summed anew for each j: differences of one cumulative sum would cancel.
    """
    length = log_decay.shape[-1]
    later = log_decay[..., :, None].expand(*log_decay.shape, length).tril(-1)
    return later.cumsum(-2).exp().tril()


def _check(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    log_decay: torch.Tensor,
    step: torch.Tensor,
    state: torch.Tensor | None,
) -> torch.Tensor:
    """Return the ``state`` to begin with; ``ValueError`` as `delta_chunked` says."""
    shape = queries.shape
    if queries.ndim < 2 or not shape[-2] or keys.shape != shape or values.shape[:-1] != shape[:-1]:
        raise ValueError(
            f"queries, keys and values have the shapes {tuple(shape)}, {tuple(keys.shape)} and"
            f" {tuple(values.shape)}; they must be (..., T, d), (..., T, d) and (..., T, e), T > 0"
        )
    per_token = {"log_decay": log_decay, "step": step}
    for name, tensor in per_token.items():
        if tensor.shape != shape[:-1]:
            raise ValueError(
                f"{name} has the shape {tuple(tensor.shape)}; it must be {tuple(shape[:-1])}"
            )
    for name, tensor in ({"queries": queries, "keys": keys, "values": values} | per_token).items():
        if tensor.dtype != queries.dtype or not tensor.is_floating_point():
            raise ValueError(
                f"{name} are {tensor.dtype} and queries {queries.dtype};"
                " both must be of one floating type"
            )
        if not tensor.isfinite().all():
            raise ValueError(f"{name} contain NaN or infinite values; all must be finite")
    if (log_decay > 0).any():
        raise ValueError("log_decay has positive values; a state can only decay")
    if ((step < 0) | (step > 1)).any():
        raise ValueError("step has values that are not from 0 to 1")
    empty = torch.zeros_like(values[..., 0, :, None] * keys[..., 0, None, :])
    if state is not None and state.shape != empty.shape:
        raise ValueError(
            f"state has the shape {tuple(state.shape)}; it must be {tuple(empty.shape)}"
        )
    return empty if state is None else state
