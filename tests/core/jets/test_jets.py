"""Second derivatives are exact, whatever the function is written in."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.jets.elementary import FUNCTIONS
from gating_core.jets.jet import RULES, Jet, MissingRule
from gating_core.jets.second_order import nested_jet, second_order_jet
from gating_core.jets.softmax import shifted_softmax

POSITIVE = {"log", "sqrt", "rsqrt", "reciprocal"}


def points(count: int = 7, k: int = 2, seed: int = 0) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.rand(count, k, generator=rng, dtype=torch.float64) * 2 - 1


def relative(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().max() / b.abs().max().clamp(min=1e-300))


def test_layout_of_derivatives_is_the_documented_one():
    jet = second_order_jet(lambda p: torch.stack([p[:, 0] ** 2 * p[:, 1]], -1), points())
    u, v = points().unbind(-1)
    assert jet.first.shape == (7, 1, 2)
    assert jet.second.shape == (7, 1, 2, 2)
    torch.testing.assert_close(jet.first[:, 0], torch.stack([2 * u * v, u * u], -1))
    torch.testing.assert_close(jet.second[:, 0, 0, 0], 2 * v)
    torch.testing.assert_close(jet.second[:, 0, 0, 1], 2 * u)
    torch.testing.assert_close(jet.second[:, 0, 1, 0], 2 * u)
    torch.testing.assert_close(jet.second[:, 0, 1, 1], torch.zeros(7, dtype=torch.float64))


@pytest.mark.sampled(18)
@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_of_one_variable_against_torch_func(name, k):
    def function(p):
        inner = (p * p).sum(-1, keepdim=True) + p[:, :1] * p[:, 1:2] - 0.3 * p
        inner = inner * inner + 0.5 if name in POSITIVE else inner
        if name == "rsqrt":
            return inner.rsqrt()
        if hasattr(torch, name):
            return getattr(torch, name)(inner)
        # torch's own silu has no second forward derivative without gradients: written out.
        return (
            inner * torch.sigmoid(inner)
            if isinstance(inner, torch.Tensor) and name == "silu"
            else getattr(torch.nn.functional, name)(inner)
        )

    a, b = second_order_jet(function, points(k=k)), nested_jet(function, points(k=k))
    assert relative(a.stack, b.stack) < 1e-13


OPERATIONS = {
    "product": lambda p: p[:, :1] * p * p[:, 1:],
    "quotient": lambda p: (1 + p) / (2 + p[:, :1] * p[:, 1:]),
    "power": lambda p: (p + 2) ** 3 + (p + 2) ** -1.5 + p**1 + p**0,
    "subtraction both ways": lambda p: (1 - p) - (p - 2) * 3 - p,
    "matmul left and right": lambda p: (
        torch.ones(2, 7, 7, dtype=torch.float64) @ (p @ torch.eye(2, dtype=torch.float64))
    ),
    "matmul of two": lambda p: (p.unsqueeze(-1) @ p.unsqueeze(-2)).flatten(-2),
    "linear": lambda p: torch.nn.functional.linear(p, torch.full((4, 2), 0.3).double()).sin(),
    "reductions": lambda p: p * p.sum(-1, keepdim=True) + p.mean(dim=-1, keepdim=True) ** 2,
    "joins": lambda p: torch.cat([p, torch.stack([p[:, 0], p[:, 1] ** 2], -1)], -1),
    "join with a constant": lambda p: torch.cat([p * p, torch.ones(7, 1).double()], -1),
    "layout": lambda p: (
        p.unsqueeze(0)
        .transpose(0, 1)
        .permute(0, 2, 1)
        .reshape(7, 2)
        .flatten(0)
        .unflatten(0, (7, 2))
    ),
    "indexing": lambda p: (p * p)[:, [1, 0]] * p.select(-1, 0).unsqueeze(-1),
    "unbind and chunk": lambda p: torch.cat([*(p**2).chunk(2, -1)], -1) * p.unbind(-1)[1][:, None],
    "where": lambda p: torch.where(p > 0, p * p, p**3),
    "expand": lambda p: p[:, :1].expand(7, 3) * torch.ones(5, 7, 3, dtype=torch.float64),
    "softmax": lambda p: torch.softmax(p @ torch.tensor([[3.0, -2, 1], [1, 4, 0]]).double(), -1),
    "functional softmax": lambda p: torch.nn.functional.softmax(p * 5, dim=-1),
    "log of softmax": lambda p: torch.softmax(p * 3, -1).log(),
    "constant": lambda p: torch.ones(7, 3, dtype=torch.float64),
}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_operations_against_torch_func(name):
    function = OPERATIONS[name]
    a = second_order_jet(function, points(), check=False)  # some are for seven points alone
    b = nested_jet(function, points(), check=False)
    assert a.stack.shape == b.stack.shape
    assert relative(a.stack, b.stack) < 1e-13
    assert name == "constant" or isinstance(function(Jet.coordinates(points())), Jet)


def test_an_operation_without_a_rule_falls_back_with_the_same_numbers():
    def function(p):
        return torch.erf(p) * p

    assert "erf" not in RULES
    with pytest.raises(MissingRule):
        function(Jet.coordinates(points()))
    a = second_order_jet(function, points(), "rigorous")
    assert a.bound_kind == "estimate"
    slope = 2 / torch.pi**0.5 * torch.exp(-(points() ** 2))
    expected = slope * (2 - 2 * points() ** 2)
    torch.testing.assert_close(a.second[:, 0, 0, 0], expected[:, 0], rtol=1e-13, atol=1e-14)


def test_a_model_has_rules_for_all_its_operations():
    config = AttentionConfig(
        model_dim=4,
        value_count=5,
        heads=2,
        depth=2,
        residual=True,
        norm="pre",
        output_projection=True,
        gate=GateConfig(granularity="headwise", strength=0.3),
    )
    model = build_attention(config, (0, 1))
    assert isinstance(model(Jet.coordinates(points())), Jet)
    a, b = second_order_jet(model, points()), nested_jet(model, points())
    assert a.value.shape == (2, 7, 4)
    assert relative(a.stack, b.stack) < 1e-12


@given(seed=st.integers(0, 10**6), scale=st.floats(1, 300))
def test_saturated_softmax_keeps_relative_accuracy(seed, scale):
    """Against mpmath at 60 digits: every weight's second derivative, to its own size."""
    import mpmath

    rng = torch.Generator().manual_seed(seed)
    matrix = torch.randn(2, 3, generator=rng, dtype=torch.float64) * scale
    point = torch.rand(1, 2, generator=rng, dtype=torch.float64)
    jet = second_order_jet(lambda p: torch.softmax(p @ matrix, -1), point)
    with mpmath.workdps(60):
        a = mpmath.matrix(matrix.T.tolist())
        x = mpmath.matrix(point[0].tolist())
        z = a * x
        top = max(z)
        powers = [mpmath.exp(value - top) for value in z]
        total = sum(powers)
        p = [value / total for value in powers]
        mean = sum(p[i] * a[i, 0] for i in range(3))
        spread = sum(p[i] * (a[i, 0] - mean) ** 2 for i in range(3))
        for i in range(3):
            exact = p[i] * ((a[i, 0] - mean) ** 2 - spread)
            size = p[i] * ((abs(a[i, 0] - mean)) ** 2 + spread)
            # 1e-12: exp of logits of size 300 alone loses 300 eps.
            assert abs(jet.second[0, i, 0, 0].item() - exact) <= 1e-12 * size + 1e-300


def test_plain_softmax_through_torch_func_would_lose_what_the_shift_keeps():
    z = torch.tensor([[40.0, 0.0, -3.0]], dtype=torch.float64)

    def logits(p):
        return z + p @ torch.tensor([[9.0, 1.0, 2.0], [0.5, -4.0, 1.0]], dtype=torch.float64)

    jet = nested_jet(lambda p: torch.softmax(logits(p), -1), torch.zeros(1, 2).double())
    exact = second_order_jet(lambda p: shifted_softmax(logits(p)), torch.zeros(1, 2).double())
    assert relative(jet.second, exact.second) < 1e-12


@pytest.mark.parametrize(
    ("points_", "message"),
    [
        (torch.zeros(0, 2), "N > 0"),
        (torch.zeros(3, 4), r"\(3, 4\)"),
        (torch.zeros(3), r"\(3,\)"),
        (torch.tensor([[0.0, float("nan")]]), "finite"),
    ],
)
def test_wrong_points_are_refused(points_, message):
    with pytest.raises(ValueError, match=message):
        second_order_jet(lambda p: p, points_)


@pytest.mark.parametrize("wrong", [lambda p: p.sum(), lambda p: p[:1], lambda p: p[:, 0]])
def test_a_callable_of_the_wrong_shape_is_refused(wrong):
    with pytest.raises(ValueError, match="function returned shape"):
        second_order_jet(wrong, points())


def test_an_error_of_the_function_itself_is_not_swallowed():
    def broken(p):
        raise TypeError("mine")

    with pytest.raises(ValueError, match=r"fails on points of shape .* mine") as caught:
        second_order_jet(broken, points())
    assert isinstance(caught.value.__cause__, TypeError)
