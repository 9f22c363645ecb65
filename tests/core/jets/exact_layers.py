"""What transformer layers are made of, number by number over mpmath: a second implementation."""

from __future__ import annotations

from collections.abc import Callable

import mpmath as m
import torch

Row = list


def row(x: torch.Tensor) -> list:
    return [m.mpf(number) for number in x.tolist()]


def rows(x: torch.Tensor) -> list:
    return [row(part) for part in x]


def mean(x: Row) -> m.mpf:
    return sum(x) / len(x)


def normed(x: Row, eps: float = 1e-5) -> Row:
    middle = mean(x)
    size = m.sqrt(mean([(y - middle) ** 2 for y in x]) + m.mpf(eps))
    return [(y - middle) / size for y in x]


def length(x: Row) -> m.mpf:
    return m.sqrt(sum(y * y for y in x))


def softmax(z: Row) -> Row:
    powers = [m.exp(x) for x in z]
    return [x / sum(powers) for x in powers]


def gelu(x: m.mpf) -> m.mpf:
    return x * m.erfc(-x / m.sqrt(2)) / 2


def gelu_tanh(x: m.mpf) -> m.mpf:
    return x / 2 * (1 + m.tanh(m.sqrt(2 / m.pi) * (x + m.mpf(0.044715) * x**3)))


def elu(x: m.mpf, alpha: float = 1.0) -> m.mpf:
    return x if x > 0 else m.mpf(alpha) * m.expm1(x)


def determinant(a: list) -> m.mpf:
    """By all signed products, unlike our cofactors."""
    n, total = len(a), m.mpf(0)

    def signed(columns: list[int], left: list[int], sign: int) -> None:
        nonlocal total
        if not left:
            product = m.mpf(sign)
            for i, j in enumerate(columns):
                product *= a[i][j]
            total += product
        for i, j in enumerate(left):
            signed([*columns, j], left[:i] + left[i + 1 :], sign * (-1) ** i)

    signed([], list(range(n)), 1)
    return total


def linear(weight: torch.Tensor, bias: torch.Tensor | None, x: Row) -> Row:
    out = [sum(w * y for w, y in zip(line, x, strict=True)) for line in rows(weight)]
    return out if bias is None else [y + b for y, b in zip(out, row(bias), strict=True)]


def attention(q: list, k: list, v: list, seen: Callable[[int, int], bool]) -> list:
    """One head: query i attends to the keys j with ``seen(i, j)`` alone."""
    out = []
    for i, query in enumerate(q):
        at = [j for j in range(len(k)) if seen(i, j)]
        scores = [sum(a * b for a, b in zip(query, k[j], strict=True)) for j in at]
        p = softmax([s / m.sqrt(len(query)) for s in scores])
        out.append([sum(w * v[j][c] for w, j in zip(p, at, strict=True)) for c in range(len(v[0]))])
    return out


def multi_head(layer: torch.nn.MultiheadAttention, x: list, seen: Callable) -> list:
    """Self-attention of `torch.nn.MultiheadAttention`."""
    width, heads = layer.embed_dim, layer.num_heads
    d = width // heads
    weights, biases = layer.in_proj_weight.chunk(3), layer.in_proj_bias.chunk(3)
    q, k, v = ([linear(w, b, y) for y in x] for w, b in zip(weights, biases, strict=True))
    parts = [
        attention(*([y[h * d : (h + 1) * d] for y in z] for z in (q, k, v)), seen)
        for h in range(heads)
    ]
    joined = [[y for part in parts for y in part[i]] for i in range(len(x))]
    return [linear(layer.out_proj.weight, layer.out_proj.bias, y) for y in joined]


def encoder_layer(layer: torch.nn.TransformerEncoderLayer, x: list, seen: Callable) -> list:
    """`torch.nn.TransformerEncoderLayer` with ReLU or GELU."""

    def norm(part: torch.nn.LayerNorm, y: Row) -> Row:
        scaled = zip(normed(y, part.eps), row(part.weight), row(part.bias), strict=True)
        return [z * w + b for z, w, b in scaled]

    def forward(y: Row) -> Row:
        hidden = linear(layer.linear1.weight, layer.linear1.bias, y)
        relu = layer.activation is torch.nn.functional.relu
        hidden = [max(z, m.mpf(0)) if relu else gelu(z) for z in hidden]
        return linear(layer.linear2.weight, layer.linear2.bias, hidden)

    def plus(a: list, b: list) -> list:
        return [[s + t for s, t in zip(y, z, strict=True)] for y, z in zip(a, b, strict=True)]

    if layer.norm_first:
        x = plus(x, multi_head(layer.self_attn, [norm(layer.norm1, y) for y in x], seen))
        return plus(x, [forward(norm(layer.norm2, y)) for y in x])
    x = [norm(layer.norm1, y) for y in plus(x, multi_head(layer.self_attn, x, seen))]
    return [norm(layer.norm2, y) for y in plus(x, [forward(y) for y in x])]
