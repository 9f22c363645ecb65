"""Fused attention written out: the same for jets as for torch, whatever kernel it would choose."""

from __future__ import annotations

import math
from typing import Any

import torch

from gating_core.jets.jet import MissingRule, call, composed, rounded, rule


@composed("scaled_dot_product_attention")
def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(q k' / sqrt(d)) v; a row of which all is masked gives zeros, as in torch."""
    if dropout_p > 0:
        raise MissingRule("dropout while training")
    if is_causal and attn_mask is not None:
        raise MissingRule("a mask beside is_causal")
    if enable_gqa:
        key, value = (
            call("repeat_interleave", x, query.shape[-3] // x.shape[-3], -3) for x in (key, value)
        )
    scale = rounded(query.shape[-1] ** -0.5, query) if scale is None else scale
    scores = (query * scale) @ key.transpose(-1, -2)
    if is_causal:
        attn_mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    if attn_mask is None:
        return call("softmax", scores, -1) @ value
    if attn_mask.dtype == torch.bool:
        nothing = ~attn_mask.any(-1, keepdim=True)
        scores = scores.masked_fill(~(attn_mask | nothing), -math.inf)
    else:
        nothing = _minus_infinity(attn_mask).all(-1, keepdim=True)
        scores = scores + (attn_mask.masked_fill(nothing, 0.0) if nothing.any() else attn_mask)
    weights = call("softmax", scores, -1)
    return (weights.masked_fill(nothing, 0.0) if nothing.any() else weights) @ value


def _minus_infinity(mask: Any) -> torch.Tensor:
    return (mask.detach() if isinstance(mask, torch.Tensor) else mask) == -math.inf


@composed("multi_head_attention_forward")
def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Attention of (length, batch, channels) or (length, channels), and its weights."""
    if training and dropout_p > 0:
        raise MissingRule("dropout while training")
    if static_k is not None or static_v is not None:
        raise MissingRule("attention with static keys")
    if query.ndim == 2:
        padding = None if key_padding_mask is None else key_padding_mask[None]
        out, weights = multi_head_attention_forward(
            query[:, None],
            key[:, None],
            value[:, None],
            embed_dim,
            num_heads,
            in_proj_weight,
            in_proj_bias,
            bias_k,
            bias_v,
            add_zero_attn,
            dropout_p,
            out_proj_weight,
            out_proj_bias,
            training,
            padding,
            need_weights,
            attn_mask,
            use_separate_proj_weight,
            q_proj_weight,
            k_proj_weight,
            v_proj_weight,
            None,
            None,
            average_attn_weights,
            is_causal,
        )
        return out.squeeze(1), None if weights is None else weights.squeeze(0)
    _, batch, width = query.shape
    causal = is_causal and key_padding_mask is None and not need_weights
    mask = _additive(None if causal else attn_mask)
    if mask is not None:
        mask = mask[None] if mask.ndim == 2 else mask.unflatten(0, (batch, num_heads))
    padding = _additive(key_padding_mask)
    if padding is not None:
        padding = padding[:, None, None]

    matrices = (q_proj_weight, k_proj_weight, v_proj_weight)
    if not use_separate_proj_weight:
        matrices = in_proj_weight.chunk(3)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = (
        _linear(x, w, b) for x, w, b in zip((query, key, value), matrices, biases, strict=True)
    )
    more = []
    if bias_k is not None:
        more.append((bias_k.expand(1, batch, width), bias_v.expand(1, batch, width)))
    if add_zero_attn:
        zeros = torch.zeros(1, batch, width, dtype=q.dtype)
        more.append((zeros, zeros))
    for of_key, of_value in more:
        k, v = call("cat", [k, of_key]), call("cat", [v, of_value])
        mask, padding = (
            x if x is None else call("cat", [x, torch.zeros(*x.shape[:-1], 1, dtype=x.dtype)], -1)
            for x in (mask, padding)
        )
    mask = padding if mask is None else mask if padding is None else mask + padding

    q, k, v = (x.unflatten(-1, (num_heads, -1)).permute(1, 2, 0, 3) for x in (q, k, v))
    weights = None
    if need_weights:
        scores = (q * rounded((width // num_heads) ** -0.5, q)) @ k.transpose(-1, -2)
        weights = call("softmax", scores if mask is None else scores + mask, -1)
        heads = weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        heads = scaled_dot_product_attention(q, k, v, mask, is_causal=causal)
    heads = heads.permute(2, 0, 1, 3).flatten(2)
    return _linear(heads, out_proj_weight, out_proj_bias), weights


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    return x @ weight.transpose(-1, -2) if bias is None else x @ weight.transpose(-1, -2) + bias


def _additive(mask: Any) -> Any:
    """A mask that is added to scores: -inf where one of booleans is true."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(mask, -math.inf)


@composed("glu")
def glu(x: Any, dim: int = -1) -> Any:
    """One half of the channels, gated by the sigmoid of the other."""
    half, gate = x.chunk(2, dim)
    return half * gate.sigmoid()


@rule("_nested_tensor_from_mask_left_aligned")
def _never_left_aligned(*args: Any) -> bool:
    """Return False: padding is kept, which `torch.nn.TransformerEncoder` drops for speed."""
    return False
