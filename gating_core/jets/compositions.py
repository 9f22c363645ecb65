"""Fused operations as compositions of simpler ones: attention, layers that normalise, matrices.

They serve jets, and `torch.func`: torch's own second forward derivatives of some are wrong
(layer_norm, instance_norm, det, solve, sinc and cumprod at 0), and others have none.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch

from gating_core.jets.bounded import Bounded, value_of
from gating_core.jets.jet import RULES, Jet, MissingRule, axes_of, call, composed, rounded

# --- Attention ------------------------------------------------------------------------------------


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
        given = attn_mask.detach() if isinstance(attn_mask, torch.Tensor) else attn_mask
        nothing = (given == -math.inf).all(-1, keepdim=True)
        scores = scores + (attn_mask.masked_fill(nothing, 0.0) if nothing.any() else attn_mask)
    weights = call("softmax", scores, -1)
    return (weights.masked_fill(nothing, 0.0) if nothing.any() else weights) @ value


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
    alone, padding = query.ndim == 2, _additive(key_padding_mask)
    if alone:
        query, key, value = (x[:, None] for x in (query, key, value))
    if padding is not None:
        padding = padding[None, None, None] if alone else padding[:, None, None]
    _, batch, width = query.shape
    causal = is_causal and padding is None and not need_weights
    mask = _additive(None if causal else attn_mask)
    if mask is not None:
        mask = mask[None] if mask.ndim == 2 else mask.unflatten(0, (batch, num_heads))

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
        more.append((torch.zeros(1, batch, width, dtype=q.dtype),) * 2)
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
    out = _linear(heads.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    if alone:
        return out.squeeze(1), None if weights is None else weights.squeeze(0)
    return out, weights


def _linear(x: Any, weight: Any, bias: Any) -> Any:
    return x @ weight.transpose(-1, -2) if bias is None else x @ weight.transpose(-1, -2) + bias


def _additive(mask: Any) -> Any:
    """A mask that is added to scores: -inf where one of booleans is true."""
    if mask is None or mask.dtype != torch.bool:
        return mask
    return torch.zeros(mask.shape, dtype=torch.float64).masked_fill(mask, -math.inf)


composed("glu")(lambda x, dim=-1: (parts := x.chunk(2, dim))[0] * parts[1].sigmoid())
# Padding is kept, which `torch.nn.TransformerEncoder` drops for speed.
RULES["_nested_tensor_from_mask_left_aligned"] = lambda *args: False


# --- Normalisation --------------------------------------------------------------------------------


@composed("layer_norm")
def layer_norm(
    x: Any,
    shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Deviations from the mean over the last axes, by their standard deviation."""
    over = tuple(range(-len(shape), 0))
    centred = x - x.mean(over, keepdim=True)
    x = centred * (centred.square().mean(over, keepdim=True) + eps).rsqrt()
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


@composed("var")
def var(
    x: Any,
    dim: Any = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: int | None = None,
) -> Any:
    """The variance over an axis, or several."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    axes = axes_of(x, dim)
    less = int(unbiased) if correction is None else correction
    count = math.prod(x.shape[axis] for axis in axes)
    if count <= less:
        raise MissingRule(f"variance of {count} numbers")
    deviations = (x - x.mean(axes, keepdim=True)).square()
    return deviations.sum(axes, keepdim=keepdim) / (count - less)


@composed("linalg_vector_norm")
def vector_norm(
    x: Any, ord: float = 2, dim: Any = None, keepdim: bool = False, **options: Any
) -> Any:
    """The norm of order 2, 1 or infinity; squares neither overflow nor underflow."""
    if options.get("dtype") not in (None, torch.float64):
        raise MissingRule("a norm in a lower precision")
    axes = axes_of(x, dim)
    if ord == 1:
        return x.abs().sum(axes, keepdim=keepdim)
    if ord == math.inf and len(axes) == 1:
        return x.abs().amax(axes[0], keepdim=keepdim)
    if ord != 2:
        raise MissingRule(f"a norm of order {ord}")
    # A constant of the size of the largest entry, by which a division is exact.
    value = value_of(x.value) if isinstance(x, Jet) else x.detach()
    largest = value.abs().amax(axes, keepdim=True)
    exponent = torch.frexp(torch.where(largest.isfinite(), largest, 1.0)).exponent
    scale = torch.ldexp(torch.ones_like(largest), exponent.clamp(-1000, 1000))
    root = (x / scale).square().sum(axes, keepdim=True).sqrt() * scale
    for axis in () if keepdim else sorted(axes, reverse=True):
        root = root.squeeze(axis)
    return root


composed("std")(lambda x, *args, **options: var(x, *args, **options).sqrt())
composed("cdist")(  # of every row of one from every row of the other
    lambda x1, x2, p=2.0, compute_mode=None: vector_norm(x1.unsqueeze(-2) - x2.unsqueeze(-3), p, -1)
)
composed("hypot", for_tensors=False)(  # without overflow or underflow
    lambda a, b: vector_norm(call("stack", call("broadcast_tensors", a, b), -1), 2, -1)
)


@composed("atan2", "arctan2", for_tensors=False)
def atan2(y: Any, x: Any) -> Any:
    """The angle of (x, y): an arc tangent of the smaller by the larger, and a constant."""
    y, x = call("broadcast_tensors", y, x)
    b, a = value_of(y.value), value_of(x.value)
    wide = a.abs() >= b.abs()
    side = call("sign", y)  # not known on the branch cut, where the angle jumps
    turn = (side / 2).where(~wide, side.where(a < 0, 0.0))
    return (y.where(wide, -x) / x.where(wide, y)).atan() + turn * rounded(math.pi, x)


# --- Products -------------------------------------------------------------------------------------


@composed("cumprod")
def cumprod(x: Any, dim: int, **options: Any) -> Any:
    """Partial products along an axis, one after the other: right also where a factor is zero."""
    products: list[Any] = []
    for factor in x.unbind(dim):
        products.append(products[-1] * factor if products else factor)
    return call("stack", products, dim)


@composed("prod", for_tensors=False)
def prod(x: Any, dim: int | None = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """Compute the product of a jet along ``dim``, or of all its numbers."""
    if dim is None:
        x, dim = x.reshape(-1), 0
    factors = list(x.unbind(dim))
    if not factors:
        raise MissingRule("prod of no factors")
    while len(factors) > 1:
        products = [a * b for a, b in zip(factors[::2], factors[1::2], strict=False)]
        factors = products + factors[len(factors) - len(factors) % 2 :]
    return factors[0].unsqueeze(dim) if keepdim else factors[0]


PI_REST = 1.2246467991473532e-16  # pi - math.pi
NEAR = 0.5  # radians: nearer to 0 the series of sin(y) / y is used
SERIES = [(-1) ** n / math.factorial(2 * n + 1) for n in range(15)]  # its rest is below 1e-38
WIDEST = 0.01  # error of an argument for which the series' rest was estimated


@composed("sinc", "special_sinc")
def sinc(x: Any) -> Any:
    """Compute sin(pi x) / (pi x) of a tensor or a jet; near 0 by its series (pytorch #196703)."""
    y = x * math.pi + x * PI_REST
    value = y.value if isinstance(y, Jet) else y
    if isinstance(value, Bounded) and bool((value.bound > WIDEST).any()):
        raise MissingRule("sinc on wide cells")
    near = value_of(value).abs() < NEAR
    zero, one = torch.zeros((), dtype=x.dtype), torch.ones((), dtype=x.dtype)
    small, large = call("where", near, y, zero), call("where", near, one, y)
    square, series = small * small, SERIES[-1]
    for coefficient in SERIES[-2::-1]:
        series = series * square + coefficient
    return call("where", near, series, large.sin() / large)


# --- Determinants and inverses of small matrices, by cofactors ------------------------------------

LARGEST = 4  # rows of a matrix whose cofactors are taken


class LogDeterminant(NamedTuple):
    """The result of ``slogdet``."""

    sign: Any
    logabsdet: Any


def _entries(a: Any) -> list[list[Any]]:
    n = a.shape[-1]
    if a.ndim < 2 or a.shape[-2] != n or not 0 < n <= LARGEST:
        raise MissingRule(f"a matrix of {tuple(a.shape[-2:])}, which is larger than {LARGEST}")
    return [list(row.unbind(-1)) for row in a.unbind(-2)]


def _determinant(rows: list[list[Any]]) -> Any:
    """The determinant, by cofactors of the first row."""
    if len(rows) == 1:
        return rows[0][0]
    total: Any = None
    for j, x in enumerate(rows[0]):
        term = x * _determinant([row[:j] + row[j + 1 :] for row in rows[1:]])
        total = term if total is None else total - term if j % 2 else total + term
    return total


@composed("det", "linalg_det")
def det(a: Any) -> Any:
    """The determinant."""
    return _determinant(_entries(a))


@composed("slogdet", "linalg_slogdet")
def slogdet(a: Any) -> LogDeterminant:
    """Sign and logarithm of the size of the determinant."""
    d = det(a)
    return LogDeterminant(call("sign", d), d.abs().log())


@composed("inverse", "linalg_inv")
def inverse(a: Any) -> Any:
    """The transposed cofactors by the determinant."""
    rows = _entries(a)
    n = len(rows)
    if n == 1:
        return a.reciprocal()

    def cofactor(i: int, j: int) -> Any:
        minor = _determinant([r[:j] + r[j + 1 :] for k, r in enumerate(rows) if k != i])
        return -minor if (i + j) % 2 else minor

    columns = [[cofactor(i, j) for i in range(n)] for j in range(n)]
    total = sum(
        (x * y[0] for x, y in zip(rows[0][1:], columns[1:], strict=True)),
        rows[0][0] * columns[0][0],
    )
    adjugate = call("stack", [call("stack", column, -1) for column in columns], -2)
    return adjugate / total[..., None, None]


@composed("linalg_solve")
def solve(a: Any, b: Any, *, left: bool = True) -> Any:
    """The inverse times the right-hand sides, which may be one vector for each matrix."""
    if b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1]):
        return (inverse(a) @ b[..., None]).squeeze(-1)
    return inverse(a) @ b if left else b @ inverse(a)


composed("logdet")(lambda a: det(a).log())
