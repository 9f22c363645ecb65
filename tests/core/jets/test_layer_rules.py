"""Rules for what transformer layers are made of: within their bounds of 50 digits and more."""

import itertools
import math

import mpmath
import pytest
import torch
import torch.nn.functional as F
from hypothesis import example, given
from hypothesis import strategies as st
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gating_core.attention.mechanisms import feature_map, relative_features
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.jets.jet import Jet, MissingRule
from gating_core.jets.second_order import followed, nested_jet, second_order_jet, taylor_jet
from tests.core import exact
from tests.core.jets import exact_layers as mp
from tests.profiles import fuzz

POINTS = torch.tensor([[0.81, 0.37], [0.4, 0.38], [-0.52, 0.66]], dtype=torch.float64)
NEGATIVE = -math.inf
SMALLEST = torch.finfo(torch.float64).min


def rng(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=rng(seed), dtype=torch.float64)


W, B = normal(6, seed=1).exp(), normal(6, seed=2)
W_, B_ = mp.row(W), mp.row(B)
MATRIX = normal(6, 3, seed=3)


def affine(x):
    return [y * w + b for y, w, b in zip(x, W_, B_, strict=True)]


def matrices(x, n: int):
    """n x n, well-conditioned: the identity and a product of what moves."""
    a, b = x[..., :n].sin(), x[..., -n:]
    return 2 * torch.eye(n, dtype=x.dtype) + a[..., :, None] * b[..., None, :] * b[..., :, None]


def matrices_(x, n: int):
    a, b = [mpmath.sin(y) for y in x[:n]], x[-n:]
    return [[2 * (i == j) + a[i] * b[j] * b[i] for j in range(n)] for i in range(n)]


def solution_(x, n: int):
    a, right = matrices_(x, n), [mpmath.cos(y) for y in x[:n]]
    whole = mp.determinant(a)
    replaced = ([[*r[:j], y, *r[j + 1 :]] for r, y in zip(a, right, strict=True)] for j in range(n))
    return [mp.determinant(b) / whole for b in replaced]


def partial_sums(x):
    return [sum(x[: i + 1]) for i in range(len(x))]


def flat(table):
    return [x for line in table for x in line]


def each(function):
    return lambda x: [function(y) for y in x]


def in_place(x):
    h = x * 1
    h += h.tanh()
    h[:, 0].mul_(h[:, 1])
    h[:, 2:4] = h[:, :2] ** 2
    h[:, 4] -= 1
    F.relu(h, inplace=True)
    return h


def in_place_(x):
    h = [y + mpmath.tanh(y) for y in x]
    h[0] *= h[1]
    h[2:4] = [h[0] ** 2, h[1] ** 2]
    h[4] -= 1
    return [max(y, mpmath.mpf(0)) for y in h]


def into_zeros(x):
    out = torch.zeros(len(x), 4, dtype=x.dtype)
    out[:, :2] = x[:, :2].sin()
    out[:, 3] = x[:, 2] * x[:, 3]
    return out


def into_a_copy(x):
    states = B.clone().expand(len(x), 2, 6).clone()
    states[:, -1] = x
    return states.softmax(1).flatten(1)


FILTERS, TABLE = normal(2, 2, 2, seed=11), normal(4, 3, seed=12)


def convolution_(padded):
    """Two channels, steps of two."""
    return [
        b + sum(w * padded[c][at + i] for c in (0, 1) for i, w in enumerate(of_output[c]))
        for of_output, b in zip(map(mp.rows, FILTERS), W_, strict=False)
        for at in (0, 2)
    ]


def lstm_cell_(x):
    rows = mp.rows(TABLE)
    z = [sum(w * y for w, y in zip(r, x[:3], strict=True)) + b + c
         for r, b, c in zip(rows, B_[:4], W_[:4], strict=True)]  # fmt: skip
    i, f, o = (1 / (1 + mpmath.exp(-z[at])) for at in (0, 1, 3))
    cell = f * x[3] + i * mpmath.tanh(z[2])
    return [o * mpmath.tanh(cell), cell]


MASKED = torch.tensor([True, False, True, False, False, True])
ORDER = torch.tensor([3, 0, 5, 5])
RULES = {  # of six numbers: by torch, and number by number
    "layer_norm": (
        lambda x: F.layer_norm(x, (6,), W, B, 0.25),
        lambda x: affine(mp.normed(x, 0.25))),
    "LayerNorm": (nn.LayerNorm(6, dtype=torch.float64), mp.normed),
    "layer_norm over two axes": (
        lambda x: F.layer_norm(x.reshape(-1, 2, 3), (2, 3), eps=0.1).flatten(1),
        lambda x: mp.normed(x, 0.1)),
    "rms_norm": (
        lambda x: F.rms_norm(x, (6,), W),
        lambda x: [y * w / mpmath.sqrt(mp.mean([z * z for z in x]) + 2.0**-52)
                   for y, w in zip(x, W_, strict=True)]),
    "group_norm": (lambda x: F.group_norm(x, 2, W, B),
                   lambda x: affine(mp.normed(x[:3]) + mp.normed(x[3:]))),
    "instance_norm": (lambda x: F.instance_norm(x.reshape(-1, 2, 3)).flatten(1),
                      lambda x: mp.normed(x[:3]) + mp.normed(x[3:])),
    "batch_norm": (
        lambda x: F.batch_norm(x.sin(), B, W, W, B),
        lambda x: [(mpmath.sin(y) - b) / mpmath.sqrt(w + mpmath.mpf(1e-5)) * w + b
                   for y, w, b in zip(x, W_, B_, strict=True)]),
    "gelu": (F.gelu, each(mp.gelu)),
    "gelu by tanh": (lambda x: F.gelu(x, approximate="tanh"), each(mp.gelu_tanh)),
    "elu": (lambda x: F.elu(x, 0.5), each(lambda y: mp.elu(y, 0.5))),
    "celu": (lambda x: F.celu(x, 0.5), each(lambda y: y if y > 0 else mpmath.expm1(2 * y) / 2)),
    "selu": (F.selu, each(lambda y: mpmath.mpf(1.0507009873554804934193349852946)
                          * mp.elu(y, 1.6732632423543772848170429916717))),
    "relu": (lambda x: F.relu(x) * x, each(lambda y: y * y if y > 0 else 0 * y)),
    "leaky_relu": (
        lambda x: F.leaky_relu(x, 0.25) * x,
        each(lambda y: y * y if y > 0 else y * y / 4)),
    "relu6": (lambda x: F.relu6(9 * x), each(lambda y: min(max(9 * y, 0 * y), 6 + 0 * y))),
    "hardtanh": (
        lambda x: F.hardtanh(x, -0.5, 0.25),
        each(lambda y: min(max(y, -0.5), 0.25) + 0 * y)),
    "clamp": (
        lambda x: x.clamp(min=0.125).clamp_max(1.0),
        each(lambda y: min(max(y, 0.125), 1) + 0 * y)),
    "maximum": (lambda x: torch.maximum(x, x.sin() * 2), each(lambda y: max(y, 2 * mpmath.sin(y)))),
    "minimum": (
        lambda x: torch.minimum(x, B),
        lambda x: [min(y, b) for y, b in zip(x, B_, strict=True)]),
    "softplus": (lambda x: F.softplus(x, 4.0), each(lambda y: mpmath.log1p(mpmath.exp(4 * y)) / 4)),
    "softplus with a threshold": (
        lambda x: F.softplus(x, 1.0, 0.5),
        each(lambda y: y if y > 0.5 else mpmath.log1p(mpmath.exp(y)))),
    "log_softmax": (lambda x: F.log_softmax(8 * x, -1),
                    lambda x: each(mpmath.log)(mp.softmax([8 * y for y in x]))),
    "logsumexp": (lambda x: x.square().logsumexp(-1, True),
                  lambda x: [mpmath.log(sum(mpmath.exp(y * y) for y in x))]),
    "largest subtracted": (
        lambda x: (x - x.max(-1, keepdim=True).values) * x.amin(-1, keepdim=True),
        lambda x: [(y - max(x)) * min(x) for y in x]),
    "einsum": (
        lambda x: torch.einsum(
            "nij,jk,nik->nk", x.reshape(-1, 2, 3), MATRIX[:3], x.sin().reshape(-1, 2, 3)),
        lambda x: [sum(x[3 * i + j] * mpmath.mpf(MATRIX[j, k].item()) * mpmath.sin(x[3 * i + k])
                       for i in range(2) for j in range(3)) for k in range(3)]),
    "einsum with dots": (
        lambda x: torch.einsum("...i,...i", x, x.cos())[:, None],
        lambda x: [sum(y * mpmath.cos(y) for y in x)]),
    "cat, stack, split and chunk": (
        lambda x: torch.cat([torch.stack(x.split([2, 4], -1)[1].sin().chunk(2, -1), 0)
                             .transpose(0, 1).flatten(1), x[:, :1]], -1),
        lambda x: [*each(mpmath.sin)(x[2:]), x[0]]),
    "index arrays": (
        lambda x: torch.cat([x[:, ORDER], x.reshape(-1, 2, 3)[:, [0, 1], [1, 1]]], -1).sin(),
        lambda x: each(mpmath.sin)([x[3], x[0], x[5], x[5], x[1], x[4]])),
    "index arrays apart": (
        lambda x: (x * x).reshape(-1, 1, 2, 3)[
            torch.arange(len(x))[:, None], :, [0, 1, 1]].flatten(1),
        lambda x: each(lambda y: y * y)(x[:3] + x[3:] + x[3:])),
    "slices": (lambda x: x.sin()[..., 3:].narrow(-1, 0, 3),
               lambda x: each(mpmath.sin)(x[3:])),
    "mask as index": (lambda x: x.sin()[:, MASKED], lambda x: each(mpmath.sin)([x[0], x[2], x[5]])),
    "in place": (in_place, in_place_),
    "a sum into zeros": (lambda x: torch.zeros(6).double().addcmul_(x[0], x[0].sin())[None],
                         lambda x: [y * mpmath.sin(y) for y in x]),
    "into zeros": (
        into_zeros,
        lambda x: [mpmath.sin(x[0]), mpmath.sin(x[1]), 0 * x[0], x[2] * x[3]]),
    "into a copy": (
        into_a_copy,
        lambda x: [mp.softmax([b, y])[i] for i in (0, 1) for y, b in zip(x, B_, strict=True)]),
    "masked_fill": (lambda x: x.sin().masked_fill(MASKED, 2.0),
                    lambda x: [2 + 0 * y if hidden else mpmath.sin(y)
                               for y, hidden in zip(x, MASKED, strict=True)]),
    "expand": (
        lambda x: x.sin()[:, None].expand(-1, 2, -1).flatten(1),
        lambda x: each(mpmath.sin)(x) * 2),
    "repeat_interleave": (lambda x: x.sin().repeat_interleave(2, -1),
                          lambda x: [mpmath.sin(y) for y in x for _ in (0, 1)]),
    "embedding": (
        lambda x: F.embedding(ORDER, x.sin().transpose(0, 1)).transpose(0, 1),
        lambda x: each(mpmath.sin)([x[i] for i in ORDER])),
    "norm": (lambda x: x * x.norm(dim=-1, keepdim=True), lambda x: [y * mp.length(x) for y in x]),
    "norm of order 1": (lambda x: x * torch.linalg.vector_norm(x, 1, -1, True),
                        lambda x: [y * sum(map(abs, x)) for y in x]),
    "normalize": (lambda x: F.normalize(x, dim=-1), lambda x: [y / mp.length(x) for y in x]),
    "norm of tiny numbers": (lambda x: (x * 2.0**-600).norm(dim=-1, keepdim=True) * 2.0**600 * x,
                             lambda x: [y * mp.length(x) for y in x]),
    "hypot": (lambda x: torch.hypot(x[:, :3], x[:, 3:]),
              lambda x: [mp.length([y, z]) for y, z in zip(x[:3], x[3:], strict=True)]),
    "atan2": (lambda x: torch.atan2(x[:, :3], x[:, 3:]),
              lambda x: [mpmath.atan2(y, z) for y, z in zip(x[:3], x[3:], strict=True)]),
    "cumsum": (lambda x: x.sin().cumsum(-1), lambda x: partial_sums(each(mpmath.sin)(x))),
    "cumprod": (lambda x: torch.cat([x[:, :1] * 0, x], -1).add(0.5).cumprod(-1),
                lambda x: [mpmath.fprod([0.5, *[y + 0.5 for y in x[:i]]]) + 0 * x[0]
                           for i in range(7)]),
    **{
        f"det of {n} x {n}": (
            lambda x, n=n: torch.linalg.det(matrices(x, n))[:, None],
            lambda x, n=n: [mp.determinant(matrices_(x, n))],
        ) for n in (1, 2, 3, 4)
    },
    "slogdet": (lambda x: torch.slogdet(matrices(x, 3)).logabsdet[:, None],
                lambda x: [mpmath.log(abs(mp.determinant(matrices_(x, 3))))]),
    "inv": (lambda x: (torch.linalg.inv(matrices(x, 4)) @ x[:, :4, None].cos()).squeeze(-1),
            lambda x: solution_(x, 4)),
    "solve": (
        lambda x: torch.linalg.solve(matrices(x, 3), x[:, :3].cos()),
        lambda x: solution_(x, 3)),
    "addmm": (lambda x: torch.addmm(MATRIX[0], x.sin(), MATRIX, beta=2, alpha=0.5),
              lambda x: [2 * b + sum(mpmath.sin(y) * w for y, w in zip(x, c, strict=True)) / 2
                         for b, c in zip(mp.row(MATRIX[0]), mp.rows(MATRIX.T), strict=True)]),
    "var": (lambda x: x * x.var(-1, unbiased=False, keepdim=True),
            lambda x: [y * mp.mean([(z - mp.mean(x)) ** 2 for z in x]) for y in x]),
    "matmul with a vector": (
        lambda x: (x.sin() @ W)[:, None],
        lambda x: [sum(mpmath.sin(y) * w for y, w in zip(x, W_, strict=True))]),
    "convolution": (
        lambda x: F.conv1d(x.sin().reshape(-1, 2, 3), FILTERS, W[:2], 2, 1).flatten(1),
        lambda x: convolution_([[0, *each(mpmath.sin)(y), 0] for y in (x[:3], x[3:])])),
    "LSTM cell": (
        lambda x: torch.cat(torch.lstm_cell(
            x[:, :2], (x[:, 2:3], x[:, 3:4]), TABLE[:, :2], TABLE[:, 2:], B[:4], W[:4]), -1),
        lambda x: lstm_cell_(x)),
    "average pool": (lambda x: F.avg_pool1d(x.sin()[:, None], 3, 1)[:, 0],
                     lambda x: [mp.mean(each(mpmath.sin)(x[i : i + 3])) for i in range(4)]),
    "attention": (
        lambda x: F.scaled_dot_product_attention(*[x.reshape(-1, 1, 3, 2)] * 3).flatten(1),
        lambda x: flat(mp.attention(*[[x[:2], x[2:4], x[4:]]] * 3, lambda i, j: True))),
    "causal attention": (
        lambda x: F.scaled_dot_product_attention(
            *[x.reshape(-1, 3, 2)] * 3, is_causal=True).flatten(1),
        lambda x: flat(mp.attention(*[[x[:2], x[2:4], x[4:]]] * 3, lambda i, j: j <= i))),
}  # fmt: skip


class Rounded(TorchDispatchMode):
    """All that is computed is off by up to `SHIFT` of itself, at random."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if all(x.alias_info is None or x.alias_info.is_write for x in func._schema.returns):
            for x in tree_leaves(out):
                if isinstance(x, torch.Tensor) and x.is_floating_point():
                    drawn = torch.rand(x.shape, generator=DRAWN, dtype=x.dtype)
                    x.mul_(1 + SHIFT * (2 * drawn - 1))
        return out


SHIFT, DRAWN = 1e-9, rng(0)
EPSILON = 2.0**-53


def check_tight(function, points, jet):
    """The bound is no excuse: 1e-8 of the largest derivative, or what rounding makes of it.

    That is seen by Monte Carlo arithmetic (Parker, 1997). An inverse near a singular matrix, or a
    norm of two numbers, which is nearly their sign, is the small difference of large terms. Bounds
    add up the terms' own, as if these were independent: once for a value, up to three times for a
    second derivative. Up to 3e4 times what rounding does was measured, less than 1e3 for most.
    """
    sizes = jet.stack.abs().amax(1, keepdim=True).clamp(min=1.0)
    if (jet.errors <= 1e-8 * sizes).all():
        return
    with torch.no_grad():
        plain, moved = second_order_jet(function, points, check=False).stack, torch.zeros(())
        for _ in range(6):
            with Rounded():
                other = second_order_jet(function, points, check=False).stack
            moved = torch.maximum(moved, (other - plain).abs().amax(1, keepdim=True))
    assert (jet.errors <= 1e5 * moved * EPSILON / SHIFT).all()


@pytest.mark.parametrize("name", RULES)
@given(seed=st.integers(0, 10**6), size=st.sampled_from([0.3, 1.0, 3.0]))
@fuzz(3, soak=100)
@example(seed=27, size=3.0)  # nearly singular matrices
def test_a_rule_is_within_its_bound_of_50_digits(name, seed, size):
    """Value and derivatives, at a random point and under a random map; the bound is no excuse."""
    by_torch, by_number = RULES[name]
    plane, offset = size * normal(2, 6, seed=seed), size * normal(6, seed=seed + 1)
    point = POINTS[seed % 3]

    def numbers(m, u, v):
        columns = zip(mp.rows(plane.T), mp.row(offset), strict=True)
        return by_number([a * u + b * v + c for (a, b), c in columns])

    def mapped(p):
        return by_torch(p @ plane + offset)

    with torch.no_grad():
        jet = second_order_jet(mapped, point[None], "rigorous", False)
    assert jet.bound_kind == "rigorous"
    coefficients = exact.jet(numbers, *point.tolist())
    with mpmath.workdps(exact.DIGITS):
        for c, line in enumerate(coefficients):
            for i, number in enumerate(line):
                gap = abs(mpmath.mpf(jet.stack[c, i, 0].item()) - number)
                assert gap <= jet.errors[c, i, 0].item() + exact.OWN_ERROR, (c, i)
    check_tight(mapped, point[None], jet)


# --- Masks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("hidden", [NEGATIVE, SMALLEST])
@pytest.mark.parametrize("how", ["added", "filled", "chosen"])
def test_a_masked_weight_and_its_derivatives_are_zero(hidden, how):
    plane, seen = normal(2, 6), ~MASKED

    def logits(p):
        z = 3 * (p @ plane).sin()
        if how == "added":
            return z + torch.zeros(6).double().masked_fill(MASKED, hidden)
        return z.masked_fill(MASKED, hidden) if how == "filled" else torch.where(seen, z, hidden)

    jet = second_order_jet(lambda p: torch.softmax(logits(p), -1), POINTS, "rigorous")
    alone = second_order_jet(
        lambda p: torch.softmax(3 * (p @ plane).sin()[:, seen], -1), POINTS, "rigorous"
    )
    assert (jet.stack[:, MASKED] == 0).all()
    assert (jet.errors[:, MASKED] < 1e-280).all()
    assert ((jet.stack[:, seen] - alone.stack).abs() <= jet.errors[:, seen] + alone.errors).all()
    assert jet.errors.max() < 1e-12
    cells = taylor_jet(
        lambda p: torch.softmax(logits(p), -1), POINTS, torch.full_like(POINTS, 0.01)
    )
    assert cells.second is not None
    assert cells.second.bound.isfinite().all()
    assert (cells.second.bound[..., MASKED] < 1e-280).all()


def test_a_row_that_is_masked_altogether():
    """Softmax has no number for it, attention gives zeros: both as torch."""
    mask = torch.zeros(3, 3).double()
    mask[0] = NEGATIVE

    def scores(p):
        return (p[:, :1, None] * normal(3, 3)).sin() + mask

    jet = second_order_jet(lambda p: scores(p).softmax(-1).flatten(1), POINTS, "rigorous", False)
    assert jet.value[:, :3].isnan().all()
    assert jet.errors[:, :3].isinf().all()
    assert jet.errors[:, 3:].isfinite().all()

    def attention(p, mask):
        x = p[:, None, :1] * normal(3, 2)
        return F.scaled_dot_product_attention(x, x, x, attn_mask=mask).flatten(1)

    for given_mask in (mask, mask == 0):
        jet = second_order_jet(lambda p, mask=given_mask: attention(p, mask), POINTS, "rigorous")
        assert (jet.stack[:, :2] == 0).all()
        assert jet.errors.max() < 1e-12


def test_an_overflow_is_no_mask():
    """-inf by overflow is not exact: nothing is known of its weight."""
    jet = second_order_jet(
        lambda p: torch.softmax(torch.cat([p * -1e200 * 1e200, p], -1), -1),
        POINTS[:2],
        "rigorous",
        check=False,
    )
    assert jet.errors[0, 0].isinf().all()


# --- Kinks ----------------------------------------------------------------------------------------

KINKS = {  # a function of one variable with a kink at 0, and its smoothness there
    "relu": (F.relu, 0),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.1), 0),
    "maximum": (lambda x: torch.maximum(x, 2 * x), 0),
    "clamp": (lambda x: x.clamp(min=0), 0),
    "elu": (F.elu, 1),
    "elu with a kink": (lambda x: F.elu(x, 2.0), 0),
    "celu": (lambda x: F.celu(x, 0.5), 1),
    "sign": (torch.sign, -1),
    "norm": (lambda x: x.norm(dim=-1, keepdim=True).expand(-1, 2), 0),
}


@pytest.mark.parametrize("name", KINKS)
def test_at_a_kink_nothing_is_known_of_what_jumps(name):
    function, smooth = KINKS[name]
    points = torch.tensor([[0.0, 0.0], [0.5, -0.5]], dtype=torch.float64)
    jet = second_order_jet(lambda p: function(p), points, "rigorous", check=False)
    known = jet.errors[..., 0].isfinite()
    assert known[0].all() == (smooth >= 0) or name == "sign"
    assert known[1].all() == (smooth >= 1)
    assert not known[3, 0] or name == "norm"
    assert jet.errors[..., 1].isfinite().all()
    if name == "norm":
        return
    centres = torch.tensor([[0.02, -0.01], [0.5, -0.5]], dtype=torch.float64)
    for degree in (0, 2):
        cells = taylor_jet(function, centres, torch.full_like(centres, 0.05), degree)
        shares = torch.linspace(-1, 1, 41, dtype=torch.float64)[:, None, None]
        gap = (function(centres + 0.05 * shares) - cells.value.value).abs()
        assert (gap <= cells.value.bound + 1e-15).all()
        assert cells.value.bound.max() < 3
        if cells.first is not None:
            bounds = cells.first.bound.amax(0)
            assert bounds[0].isfinite().all() == (smooth >= 1)
            assert bounds[1].isfinite().all()


def test_values_that_are_no_numbers_stay_so():
    jet = second_order_jet(lambda p: F.relu((p - 2).log()), POINTS, "rigorous", check=False)
    assert jet.errors.isinf().all()
    estimate = second_order_jet(lambda p: F.relu((p - 2).log()), POINTS, check=False)
    assert estimate.value.isnan().all()


def test_on_its_branch_cut_nothing_is_known_of_an_angle():
    points = torch.tensor([[-1.0, 0.0], [-1.0, 0.1], [1.0, 0.0]], dtype=torch.float64)
    jet = second_order_jet(
        lambda p: torch.cat([p, torch.atan2(p[:, 1:], p[:, :1])], -1), points, "rigorous", False
    )
    assert jet.errors[1, 2].isfinite().tolist() == [False, True, True]
    assert jet.errors[0, 2, 0] > 2 * math.pi - 1e-9


# --- In place -------------------------------------------------------------------------------------

VIEWS = {
    "row": lambda x: x[:, 1],
    "slice": lambda x: x[..., 1:],
    "transposed": lambda x: x.transpose(-1, -2),
    "flat": lambda x: x.reshape(-1),
    "index array": lambda x: x[:, [0, 1]],
    "piece": lambda x: x.chunk(2, -1)[-1],
    "same": lambda x: x,
    "contiguous": lambda x: x.contiguous(),
    "copy": lambda x: x.clone(),
    "first power": lambda x: x**1,
}
CHANGES = {
    "add": lambda x: x.add_(1),
    "multiply": lambda x: x.mul_(x),
    "slice": lambda x: x[..., :1].sin_(),
    "assign": lambda x: x.__setitem__((..., 0), 0.5),
    "operator": lambda x: x.__iadd__(0.25),
    "zero": lambda x: x.zero_(),
}


STEPS = st.tuples(
    st.sampled_from(sorted(VIEWS)), st.integers(0, 9), st.sampled_from([*CHANGES, ""])
)


@given(steps=st.lists(STEPS, min_size=1, max_size=5))
@fuzz(50, soak=5000)
def test_changes_in_place_are_seen_by_all_who_share_the_memory(steps):
    """Random programs of views and changes give torch's values, or are refused."""

    def program(p):
        tensors = [p * 2]
        for view, at, change in steps:
            x = tensors[at % len(tensors)]
            if x.ndim > 1 and x.shape[-1] > 1:
                x = VIEWS[view](x)
                tensors.append(x)
            if change:
                CHANGES[change](x)
        return torch.cat([x.reshape(-1)[:2] for x in tensors])

    exact_values = program(POINTS.clone())
    try:
        jet = program(Jet.coordinates(POINTS))
        assert torch.equal(jet.value, exact_values)
    except MissingRule:
        pass


def test_a_change_through_another_layout_is_an_estimate():
    def function(p):
        h = p.sin()
        h.view(-1).mul_(2)
        return h

    jet = second_order_jet(function, POINTS, "rigorous")
    assert jet.bound_kind == "estimate"
    torch.testing.assert_close(jet.value, 2 * POINTS.sin())


# --- Layers ---------------------------------------------------------------------------------------

T, WIDTH = 3, 4
CAUSAL = torch.full((T, T), NEGATIVE, dtype=torch.float64).triu(1)
STATES, DIRECTIONS = normal(T, WIDTH, seed=5), normal(2, WIDTH, seed=6)


def states(p):
    """(N, T, width): a context, of which a mixture moves."""
    return torch.cat([STATES[:-1] + p[:, None, :1], (STATES[-1] + p @ DIRECTIONS)[:, None]], 1)


def states_(u, v):
    fixed = [[y + u for y in line] for line in mp.rows(STATES[:-1])]
    moved = [
        s + u * a + v * b
        for s, (a, b) in zip(mp.row(STATES[-1]), mp.rows(DIRECTIONS.T), strict=True)
    ]
    return [*fixed, moved]


def encoder(norm_first: bool, activation: str):
    torch.manual_seed(7)
    layer = nn.TransformerEncoderLayer(
        WIDTH,
        2,
        5,
        norm_first=norm_first,
        activation=activation,
        batch_first=True,
        dtype=torch.float64,
    )
    return layer.eval()


def check_curvature(function, by_number, points):
    """K and its jet within bounds of 50 digits, inside of no_grad and outside."""
    jet = second_order_jet(function, points, "rigorous")
    with torch.no_grad():
        again = second_order_jet(function, points, "rigorous")
    assert torch.equal(jet.stack, again.stack)
    k = curvature(jet)
    assert k.bound_kind == "rigorous"
    for at, (u, v) in enumerate(points.tolist()):
        true = exact.geometry(exact.jet(lambda m, u, v: by_number(u, v), u, v))["gaussian"]
        gap = abs(mpmath.mpf(k.gaussian[at].item()) - true)
        assert gap <= k.gaussian_error[at].item() <= 1e-6 * (1 + abs(k.gaussian[at].item()))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("norm_first", "activation"), [(True, "gelu"), (False, "relu")])
def test_curvature_of_an_encoder_layer_to_50_digits(norm_first, activation, causal):
    layer = encoder(norm_first, activation)
    mask = CAUSAL.clone()
    mask[2, 0] = NEGATIVE  # or the last token would see all
    seen = (mask == 0).tolist()
    check_curvature(
        lambda p: layer(states(p), src_mask=mask if causal else None)[:, -1],
        lambda u, v: mp.encoder_layer(layer, states_(u, v), lambda i, j: seen[i][j] or not causal)[
            -1
        ],
        POINTS[:1],
    )


@pytest.mark.parametrize("need_weights", [False, True])
def test_curvature_of_multi_head_attention_to_50_digits(need_weights):
    torch.manual_seed(8)
    layer = nn.MultiheadAttention(WIDTH, 2, batch_first=True, dtype=torch.float64).eval()
    check_curvature(
        lambda p: layer(*[states(p)] * 3, need_weights=need_weights, attn_mask=CAUSAL)[0][:, -1],
        lambda u, v: mp.multi_head(layer, states_(u, v), lambda i, j: j <= i)[-1],
        POINTS[:2],
    )


def spelled_out(layer, q, k, v, hidden=None):
    """Attention by matrix products and softmax alone; ``hidden`` (N, L, S) are masked."""
    width, heads = layer.embed_dim, layer.num_heads
    if layer._qkv_same_embed_dim:
        weights = layer.in_proj_weight.chunk(3)
    else:
        weights = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    biases = (0, 0, 0) if layer.in_proj_bias is None else layer.in_proj_bias.chunk(3)
    q, k, v = (x @ w.T + b for x, w, b in zip((q, k, v), weights, biases, strict=True))
    if layer.bias_k is not None:
        k, v = (
            torch.cat([x, b.expand(len(x), 1, width)], 1)
            for x, b in ((k, layer.bias_k), (v, layer.bias_v))
        )
    if layer.add_zero_attn:
        k, v = (torch.cat([x, torch.zeros(len(x), 1, width).double()], 1) for x in (k, v))
    parts = []
    for h in range(heads):
        own = slice(h * width // heads, (h + 1) * width // heads)
        z = q[..., own] @ k[..., own].transpose(-1, -2) / math.sqrt(width // heads)
        if hidden is not None:
            more = z.shape[-1] - hidden.shape[-1]
            all_hidden = torch.cat([hidden, torch.zeros(*hidden.shape[:-1], more).bool()], -1)
            z = torch.where(all_hidden, -700.0, z)  # exp(-700) is nothing against the others
        parts.append(torch.softmax(z, -1))
    out = torch.cat(
        [p @ v[..., h * width // heads : (h + 1) * width // heads] for h, p in enumerate(parts)], -1
    )
    out = out @ layer.out_proj.weight.T
    return (out if layer.out_proj.bias is None else out + layer.out_proj.bias), sum(parts) / heads


PADDING = torch.tensor([False, True, False])
LAYERS = {
    "packed": {}, "without bias": {"bias": False}, "separate": {"kdim": 3, "vdim": 2},
    "more keys": {"add_bias_kv": True, "add_zero_attn": True},
}  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("mask", ["none", "float", "bool", "causal"])
@pytest.mark.parametrize("kind", LAYERS)
def test_multi_head_attention_is_the_same_spelled_out(kind, mask, padded):
    """All weights, masks and layouts, with weights returned and not."""
    torch.manual_seed(9)
    options = LAYERS[kind]
    for first, needed in itertools.product((False, True), repeat=2):
        layer = nn.MultiheadAttention(WIDTH, 2, batch_first=first, dtype=torch.float64, **options)
        nn.init.normal_(layer.out_proj.weight)
        layer.eval()

        def parts(p):
            x = states(p)
            return x, x[..., : options.get("kdim", WIDTH)], x[..., : options.get("vdim", WIDTH)]

        def hidden(p):
            seen = torch.zeros(len(p), T, T).bool()
            seen = seen | (CAUSAL < 0) if mask != "none" else seen
            return seen | PADDING if padded else seen

        def own(p, layer=layer, first=first, needed=needed):
            given_mask = {"none": None, "float": CAUSAL}.get(mask, CAUSAL < 0)
            given_padding = PADDING.expand(len(p), -1) if padded else None
            if padded and mask == "float":
                given_padding = torch.zeros(len(p), T).double().masked_fill(PADDING, NEGATIVE)
            turned = (x if first else x.transpose(0, 1) for x in parts(p))
            out, weights = layer(
                *turned,
                need_weights=needed,
                attn_mask=given_mask,
                is_causal=mask == "causal" and kind != "more keys",  # which torch then hides
                key_padding_mask=given_padding,
            )
            out = (out if first else out.transpose(0, 1)).flatten(1)
            return torch.cat([out, weights.flatten(1)], -1) if needed else out

        def other(p, layer=layer, needed=needed):
            out, weights = spelled_out(layer, *parts(p), hidden(p))
            return torch.cat([out.flatten(1), weights.flatten(1)], -1) if needed else out.flatten(1)

        a, b = (second_order_jet(f, POINTS, "rigorous") for f in (own, other))
        assert a.bound_kind == b.bound_kind == "rigorous"
        assert ((a.stack - b.stack).abs() <= a.errors + b.errors).all()
        assert a.errors.max() < 1e-11


def modules():
    torch.manual_seed(10)
    options = {"dtype": torch.float64}
    layer = encoder(True, "gelu")
    stack = nn.TransformerEncoder(encoder(False, "gelu"), 2).eval()
    decoder = nn.TransformerDecoderLayer(WIDTH, 2, 5, batch_first=True, **options).eval()
    table = nn.Embedding(T, WIDTH, **options)
    norms = nn.Sequential(
        nn.LayerNorm(WIDTH, **options),
        nn.RMSNorm(WIDTH, **options),
        nn.GroupNorm(2, WIDTH, **options),
    )
    cell = nn.GRUCell(2, WIDTH, **options)
    filters = nn.Conv2d(2, 4, (2, 3), (1, 2), 1, groups=2, **options)
    transposed = nn.ConvTranspose1d(T, 2, 3, stride=2, dilation=2, **options)
    recurrent = [
        kind(WIDTH, 3, 2, batch_first=True, bidirectional=True, **options)
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
    ]
    padding = PADDING[None]
    return {
        "encoder layer, padded": lambda p: layer(
            states(p), src_key_padding_mask=padding.expand(len(p), -1))[:, -1],
        "encoder": lambda p: stack(states(p))[:, -1],
        "encoder, padded": lambda p: stack(
            states(p), src_key_padding_mask=padding.flip(0).expand(len(p), -1))[:, -1],
        "decoder layer": lambda p: decoder(
            states(p), STATES.expand(len(p), -1, -1), tgt_mask=CAUSAL, tgt_is_causal=True)[:, -1],
        "norms": lambda p: norms(states(p)[:, -1]),
        "embedding": lambda p: layer(states(p) + table(torch.arange(T)))[:, -1],
        "GRU cell": lambda p: cell(p, states(p)[:, 0]),
        "GRU cell from nothing": cell,
        **{type(layer).__name__: lambda p, layer=layer: layer(states(p))[0][:, -1]
           for layer in recurrent},
        "convolution": lambda p: filters(states(p)[:, :2].reshape(-1, 2, 2, 2)).flatten(1),
        "transposed convolution": lambda p: transposed(states(p)).flatten(1),
        "pools": lambda p: F.adaptive_avg_pool2d(F.max_pool2d(
            F.pad(states(p)[:, None], (1, 2), value=-9.0), 2, 1), (2, 3)).flatten(1),
        "grouped queries": lambda p: F.scaled_dot_product_attention(
            states(p).reshape(len(p), T, 4, 1).transpose(1, 2),
            *[states(p)[..., :2].reshape(len(p), T, 2, 1).transpose(1, 2)] * 2,
            enable_gqa=True, scale=0.3)[:, :, -1].flatten(1),
    }  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", modules())
def test_modules_are_rigorous_and_as_torch_func_has_them_written_out(name):
    function = modules()[name]
    for learning in (True, False):
        with torch.set_grad_enabled(learning):
            jet, nested = (
                second_order_jet(function, POINTS, "rigorous"),
                nested_jet(function, POINTS),
            )
        assert jet.bound_kind == "rigorous"
        own = 1e-12 * nested.stack.abs().amax((1, 2), keepdim=True).clamp(min=1)
        assert ((jet.stack - nested.stack).abs() <= jet.errors + own).all()
        check_tight(function, POINTS, jet)


def test_what_kernels_compute_has_gradients():
    """The same as functions with rules of their own: of weights, through value and derivatives."""
    torch.manual_seed(11)
    layer = nn.LSTM(2, 3, batch_first=True, dtype=torch.float64)
    jets = [second_order_jet(lambda p: layer(states(p)[..., :2])[0][:, -1], POINTS, bound, False)
            for bound in ("rigorous", "estimate")]  # fmt: skip
    jets.append(nested_jet(lambda p: layer(states(p)[..., :2])[0][:, -1], POINTS, False))
    ours, others, oracle = (
        torch.autograd.grad(jet.stack.square().sum(), list(layer.parameters())) for jet in jets
    )
    for a, b, c in zip(ours, others, oracle, strict=True):
        torch.testing.assert_close(a, c)
        torch.testing.assert_close(b, c)


def test_numbers_without_axes_are_added_up_and_compared():
    """A sum or a maximum of one number, and of all: axes that are not given are all axes."""

    def function(p):
        return torch.stack([torch.stack([(a * b).sum(), (q * q).amax(), q.amin((0,))])
                            for q in p for a, b in [q]])  # fmt: skip

    jet = second_order_jet(function, POINTS, "rigorous")
    x, y = POINTS.T
    assert jet.bound_kind == "rigorous"
    torch.testing.assert_close(jet.value, function(POINTS))
    torch.testing.assert_close(jet.second[:, 0, 0, 1], torch.ones(3).double())
    torch.testing.assert_close(jet.second[:, 1, 0, 0], 2 * (x.abs() > y.abs()).double())


# --- What was wrong -------------------------------------------------------------------------------


def test_a_surface_that_is_flat_by_layer_norm_is_flat():
    """Without an error rule, too: torch's own second derivatives gave -1.04 +- 1e-11."""
    a, b = normal(2, 6, seed=3), normal(6, 3, seed=4)
    points = square_grid(5).points

    def function(p):
        return F.layer_norm(p @ a, (6,), eps=0.25) @ b

    for bound in ("rigorous", "estimate"):
        k = curvature(second_order_jet(function, points, bound))
        assert (k.gaussian.abs() <= k.gaussian_error).all()
    k = curvature(second_order_jet(lambda p: function(p) + 0 * torch.erf(p[:, :1]), points))
    assert (k.gaussian.abs() <= k.gaussian_error).all()


def test_products_are_right_past_a_zero_factor():
    """In torch.func's place, too: torch's own cumprod has wrong second derivatives there."""
    point = torch.tensor([[0.0, 0.5]], dtype=torch.float64)

    def products(p):
        return torch.cat([p, p + 1, p[:, :1]], -1).cumprod(-1)

    jet = second_order_jet(products, point, "rigorous")
    v = 0.5  # of u, u v, u v (u + 1), u v (u + 1) (v + 1), u^2 v (u + 1) (v + 1)
    expected = torch.tensor([0, 0, 2 * v, 2 * v * (v + 1), 2 * v * (v + 1)]).double()
    assert jet.bound_kind == "rigorous"
    torch.testing.assert_close(jet.second[0, :, 0, 0], expected)
    nested = second_order_jet(lambda p: products(p) + 0 * torch.erf(p[:, :1]), point)
    torch.testing.assert_close(nested.stack, jet.stack)


def test_the_graph_of_a_determinant_is_curved():
    def graph(p):
        u, v = p[:, 0], p[:, 1]
        one = torch.ones_like(u)
        m = torch.stack([torch.stack([u + 2, v], -1), torch.stack([one, 2 * v + 3], -1)], -2)
        return torch.cat([p, torch.linalg.det(m)[:, None]], -1)

    point = torch.tensor([[-1.0, -1.0]], dtype=torch.float64)
    for function in (graph, lambda p: graph(p) + 0 * torch.erf(p[:, :1])):
        k = curvature(second_order_jet(function, point, "rigorous"))
        assert abs(k.gaussian.item() + 4 / 9) < 1e-9


REFUSED = {
    "dropout while training": lambda p: nn.MultiheadAttention(
        WIDTH, 2, 0.1, batch_first=True, dtype=torch.float64)(*[states(p)] * 3)[0][:, -1],
    "dropout in attention": lambda p: F.scaled_dot_product_attention(
        *[states(p)] * 3, None, 0.1)[:, 0],
    "two masks": lambda p: F.scaled_dot_product_attention(
        *[states(p)] * 3, CAUSAL, is_causal=True)[:, 0],
    "a matrix of 5 x 5": lambda p: torch.linalg.det(
        p[:, :1, None] * normal(5, 5) + torch.eye(5).double())[:, None] * p,
    "a norm of order 3": lambda p: p.norm(3, -1, True) * p,
    "a lower precision": lambda p: F.log_softmax(p, -1, dtype=torch.float32),
    "weights that vary": lambda p: F.conv1d(states(p), states(p)[:, :, :2]),
    "numbers at random": lambda p: torch.rand_like(p) + p,
    "entries added at indices": lambda p: p.index_add(0, ORDER[:1], p[:1]),
    "an embedding that changes its table": lambda p: F.embedding(
        ORDER[:2], p.transpose(0, 1), max_norm=1.0),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_said(name):
    with pytest.raises(MissingRule):
        followed(REFUSED[name], Jet.coordinates(POINTS, bounded=True))


def test_modules_ask_a_jet_what_they_ask_a_tensor():
    jet, tensor = Jet.coordinates(POINTS), POINTS
    for name in ("is_nested", "is_sparse", "is_cuda", "is_cpu", "requires_grad", "layout", "device",
                 "dtype", "shape", "ndim", "grad_fn"):  # fmt: skip
        assert getattr(jet, name) == getattr(tensor, name)
    assert jet.numel() == 6
    assert len(jet) == 3
    assert jet.is_floating_point()


def test_an_index_that_rounding_decides_is_not_rigorous():
    points = square_grid(5).points

    def function(x, name, gap):
        pair = torch.stack([x[:, 0] * 0.1 * 3, x[:, 0] * 0.3 + gap], -1)
        index = getattr(pair, name)(-1, keepdim=True).indices
        return torch.cat([x, torch.stack([x[:, 0] ** 2, x[:, 1] ** 2], -1).gather(-1, index)], -1)

    for name in ("max", "min"):
        kinds = [
            second_order_jet(lambda x, n=name, g=g: function(x, n, g), points, "rigorous")
            for g in (0.0, 1.0)
        ]
        assert [jet.bound_kind for jet in kinds] == ["estimate", "rigorous"]


@pytest.mark.parametrize(("features", "width"), [(feature_map, 1e-14), (relative_features, 0.1)])
def test_where_rounding_decides_of_weights_alone_it_is_one_or_the_other(features, width):
    """Compare a key of linear attention that is 0 but for rounding."""
    points, weight = square_grid(5).points, torch.tensor([0.1, -1.0], dtype=torch.float64)

    def function(x, side=0.0):
        key = weight * 3 - torch.tensor([0.1 + 0.2, 0.0], dtype=torch.float64)
        key = torch.tensor([side, -3.0], dtype=torch.float64) if side else key
        return torch.cat([x, x[:, :1] * x[:, 1:] * features(key)[:1]], -1)

    jet = second_order_jet(function, points, "rigorous")
    assert jet.bound_kind == "rigorous"
    assert jet.errors.max() < width
    for side in (1e-17, -1e-17):
        other = second_order_jet(lambda x, side=side: function(x, side), points, "rigorous")
        assert ((jet.stack - other.stack).abs() <= jet.errors + other.errors).all()
    with pytest.raises(MissingRule, match="a branch is decided by rounding"):
        followed(lambda x: x if weight[0] * 3 > 0.1 + 0.2 else -x, Jet.coordinates(points, True))


def test_the_largest_of_what_is_exactly_the_same_has_derivatives():
    """Exact ties: units that are dead, and a pool's padding."""
    points = square_grid(5).points - 0.1

    def function(x):
        return F.max_pool2d(F.relu(x[:, None, None].expand(-1, 1, 2, 2)), 2).flatten(1)

    jet = second_order_jet(function, points, "rigorous")
    assert jet.bound_kind == "rigorous"
    dead = (points < 0).all(-1)
    assert dead.any()
    assert not dead.all()
    assert (jet.errors[..., dead] < 1e-280).all()
    assert (jet.stack[..., dead] == 0).all()
    same = second_order_jet(lambda x: (x.sin() / 3)[:, [0, 0]].amax(-1, True), points, "rigorous")
    assert same.errors[1:].isinf().all()  # by rounding it may be either of two


def test_what_rounds_to_a_lower_precision_among_weights_is_not_rigorous():
    points = square_grid(5).points
    with torch.random.fork_rng():
        torch.random.manual_seed(0)
        weight = torch.randn(2, 6)

    def function(x, turn):
        return (x @ turn(weight)).sin()

    jet = second_order_jet(lambda x: function(x, lambda w: w.exp().double()), points, "rigorous")
    assert jet.bound_kind == "estimate"  # exp was rounded to float32
    assert jet.value.equal((points @ weight.exp().double()).sin())
    jet = second_order_jet(lambda x: function(x, lambda w: w.double().exp()), points, "rigorous")
    assert jet.bound_kind == "rigorous"


def test_softmax_in_a_lower_precision_is_not_rigorous_unchecked():
    points = square_grid(5).points

    def function(x):
        return torch.softmax(x.repeat(1, 2).sin(), -1, dtype=torch.float32).double()

    jet = second_order_jet(function, points, "rigorous", check=False)
    assert jet.bound_kind == "estimate"
    torch.testing.assert_close(jet.value, function(points), rtol=1e-6, atol=0)


ROWS = 3 + torch.eye(6).double()[:4]
SMOOTH = {  # what was refused although it is smooth, and the same spelled out
    "logsumexp over axes": (
        lambda h: h.reshape(-1, 2, 3).logsumexp((1, 2), keepdim=True)[:, 0],
        lambda h: h.exp().sum(-1, keepdim=True).log(),
    ),
    "glu": (F.glu, lambda h: h[:, :3] * h[:, 3:].sigmoid()),
    "cdist": (
        lambda h: torch.cdist(h[:, None], ROWS)[:, 0],
        lambda h: (h[:, None] - ROWS).square().sum(-1).sqrt(),
    ),
}


@pytest.mark.parametrize("name", SMOOTH)
def test_smooth_operations_are_rigorous_and_the_same_spelled_out(name):
    points = 0.5 * square_grid(3).points + 0.1
    weight = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(2, 6)
    short, spelled = (
        second_order_jet(lambda x, f=f: f((x @ weight).sin()), points, "rigorous")
        for f in SMOOTH[name]
    )
    assert short.bound_kind == "rigorous"
    assert bool(((short.stack - spelled.stack).abs() <= short.errors + spelled.errors).all())


def test_a_function_that_tells_tensors_from_jets_is_differentiated_by_torch():
    def function(x):
        return torch.cat([part for part in (x, x.sin()) if isinstance(part, torch.Tensor)], -1)

    points = square_grid(5).points
    torch.testing.assert_close(second_order_jet(function, points).value, function(points))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "operation",
    [torch.norm, lambda x: x.cumprod(0), lambda x: x.softmax(0), lambda x: x.logsumexp(0)],
    ids=["norm", "cumprod", "softmax", "logsumexp"],
)
def test_numbers_without_axes_are_left_to_torch(operation):
    points = square_grid(3).points + 2

    def function(x):
        return torch.stack([torch.stack([a, b, a * operation(a * b)]) for a, b in x])

    values = second_order_jet(function, points, "rigorous").value
    torch.testing.assert_close(values, function(points))
