"""Constants and branches that depend on the type of the numbers are those of the layer itself."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gating_core import measure, second_order_jet
from gating_core.geometry.verdict import AT_POINTS, SEEN

POINTS = torch.cartesian_prod(*[torch.linspace(-0.9, 0.9, 5, dtype=torch.float64)] * 2)
SIZE = 1e-3  # of hidden numbers: their squares are of the size of float32's eps


def finfo_of(x):
    return torch.finfo(x.dtype).eps


def branch(x):
    return {torch.float64: 1e-9, torch.float32: 1e-6, torch.bfloat16: 1e-4, torch.float16: 1e-5}[
        x.dtype
    ]


def after_operations(x):
    """The type goes through products, joins, softmax, indices, copies and changes in place."""
    h = torch.cat([x @ x.transpose(-1, -2).softmax(-1), x], -1)[:, :3].clone()
    h[:, :1] *= 2.0
    h = torch.where(h > 0, h, 0.5 * h).chunk(1)[0].unsqueeze(0)
    return torch.finfo(F.gelu(h + torch.zeros_like(h)).mean().sqrt().dtype).eps


def of_a_new_tensor(x):
    return torch.finfo((x.new_ones(()) * x).T.dtype).eps


ASKS = {f.__name__: f for f in (finfo_of, branch, after_operations, of_a_new_tensor)}


class Layer(nn.Module):
    """A norm between two maps, whose eps is what ``ask`` says of its input."""

    def __init__(self, ask, dtype):
        super().__init__()
        torch.manual_seed(7)
        self.first, self.last, self.ask = nn.Linear(2, 6), nn.Linear(6, 4), ask
        with torch.no_grad():
            for x in self.first.parameters():
                x.normal_(std=SIZE)
        self.to(dtype)

    def forward(self, x):
        h = self.first(x)
        if self.ask is F.rms_norm:
            return self.last(torch.tanh(F.rms_norm(h, (6,))))
        eps = self.ask(h) if callable(self.ask) else self.ask
        return self.last(torch.tanh(h * (h.square().mean(-1, keepdim=True) + eps).rsqrt()))


def exact(layer, eps):
    return Layer(eps, layer.first.weight.dtype).requires_grad_(False).double()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", [*ASKS, "rms_norm"])
def test_a_constant_follows_the_type_of_the_layer(name, dtype):
    layer = Layer(ASKS.get(name, F.rms_norm), dtype).requires_grad_(False)
    eps = ASKS[name](torch.ones(6, 6, dtype=dtype)) if name in ASKS else torch.finfo(
        torch.float64 if dtype == torch.float64 else torch.float32).eps  # fmt: skip
    right = second_order_jet(exact(layer, eps), POINTS, "rigorous")
    for bound in ("rigorous", "estimate"):
        jet = second_order_jet(layer, POINTS, bound, casts="carry")
        torch.testing.assert_close(jet.stack, right.stack, rtol=1e-9, atol=1e-9)
        assert jet.bound_kind == bound
        assert not jet.caveat


def test_modules_within_functions_have_their_own_type_too():
    layer, plane = Layer(F.rms_norm, torch.float32), torch.eye(2)
    norm = nn.RMSNorm(2)
    double = exact(layer, torch.finfo(torch.float32).eps)
    right = measure(double, POINTS).field.gaussian
    for function in (
        lambda uv: layer(uv.float()),
        lambda uv: layer(uv.float()).double(),
        lambda uv: layer(uv @ plane),
        lambda uv: layer(uv @ plane.double()),  # which cannot be called in any type
        torch.func.vmap(layer),
        nn.Sequential(layer),
    ):
        torch.testing.assert_close(measure(function, POINTS).field.gaussian, right)

    def block(uv):  # a norm first, whose type the plane does not show
        return layer(norm(SIZE * uv @ plane.double()))

    def spelled(uv):
        h = SIZE * uv
        h = h * (h.square().mean(-1, keepdim=True) + torch.finfo(torch.float32).eps).rsqrt()
        return double(h)

    torch.testing.assert_close(
        measure(block, POINTS).field.gaussian, measure(spelled, POINTS).field.gaussian
    )


def test_a_branch_or_a_mask_of_the_type_is_that_of_the_layer():
    torch.manual_seed(0)
    into, values = torch.randn(2, 5), torch.randn(5, 3)

    def attention(x, low):
        scores = x @ into.to(x.dtype)
        keep = torch.arange(5) < 4
        scores = scores.masked_fill(~keep, torch.finfo(x.dtype).min if low is None else low)
        scores = scores.double() if x.dtype == torch.float16 else scores * 2
        return (scores.softmax(-1) @ values.to(scores.dtype)).to(x.dtype)

    single = measure(lambda uv: attention(uv.float(), None), POINTS)
    double = measure(lambda uv: attention(uv, -torch.inf), POINTS)
    torch.testing.assert_close(single.field.gaussian, double.field.gaussian)
    assert single.knowledge == AT_POINTS


def test_values_beyond_the_rounding_of_the_layers_type_lower_the_verdict():
    torch.manual_seed(0)
    weight = torch.randn(2, 3)

    def bowl(x):
        return torch.cat([x, (x @ weight.to(x.dtype)).square().sum(-1, keepdim=True)], -1)

    def overflows(x):
        return bowl(x.half() * 300).double() / 300

    def another(x):  # asks another way than by its type
        return bowl(x) * (1.0 if x.element_size() == 8 else 1.1)

    for function in (overflows, lambda x: another(x.float())):
        found = measure(function, POINTS)
        assert found.knowledge == SEEN
        assert "seen at 25 points, not proved" in found.verdict
        assert "the layer itself gives values" in found.verdict
        assert "more than rounding explains" in found.verdict
    right = measure(lambda x: bowl(x.float()), POINTS)
    assert right.knowledge == AT_POINTS
    assert "explains" not in right.verdict
