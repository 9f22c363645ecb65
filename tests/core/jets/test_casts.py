"""Casts to lower precision are refused, or left out and named."""

import re

import pytest
import torch
from torch import nn

from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.jets.second_order import second_order_jet
from gating_core.proved.prove import Budget, prove_curvature

POINTS = square_grid(5).points


class RMSNorm(nn.Module):
    """As in published models: computed in float32 whatever comes in."""

    def __init__(self, width: int, single: bool):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)
        self.single = single

    def forward(self, h):
        kind = h.dtype
        h = h.to(torch.float32) if self.single else h
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * h.to(kind)


class Layer(nn.Module):
    """Attention of a token that moves in a plane, with its softmax in float32."""

    def __init__(self, width: int = 8, single: bool = True):
        super().__init__()
        self.embed = nn.Linear(2, width)
        self.norm = RMSNorm(width, single)
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.context = nn.Parameter(torch.randn(5, width))
        self.single = single

    def forward(self, x):
        h = torch.cat([self.context.expand(len(x), -1, -1), self.embed(x)[:, None]], 1)
        h = self.norm(h)
        logits = self.q(h[:, -1:]) @ self.k(h).transpose(1, 2)
        kind = torch.float32 if self.single else None
        weights = nn.functional.softmax(logits, dim=-1, dtype=kind).to(h.dtype)
        return (weights @ self.v(h))[:, 0]


SOME = POINTS[::3][:8]  # where values are compared


def layers(dtype):
    """The layer with weights in ``dtype``, and the same without casts, in float64."""
    with torch.random.fork_rng():
        torch.random.manual_seed(0)
        cast = Layer().to(dtype).requires_grad_(False)
    plain = Layer(single=False).double().requires_grad_(False)
    plain.load_state_dict(cast.state_dict())
    return cast, plain


@pytest.mark.parametrize(
    ("dtype", "at_most"),
    [
        (torch.float64, 1e-6),
        (torch.float32, 1e-6),
        (torch.bfloat16, 0.05),
        (torch.float16, 0.01),
    ],
)
def test_a_layer_as_published_is_carried_in_float64(dtype, at_most):
    cast, plain = layers(dtype)
    with pytest.raises(ValueError, match=re.escape('pass casts="carry"')):
        second_order_jet(cast, POINTS)
    jet, exact = (
        second_order_jet(cast, POINTS, "rigorous", casts="carry"),
        second_order_jet(plain, POINTS),
    )
    torch.testing.assert_close(jet.stack, exact.stack, rtol=1e-12, atol=1e-12)
    assert jet.bound_kind == "rigorous"
    (note,) = jet.notes
    assert all(f"{call}(torch.float32)" in note for call in ("to", "softmax"))
    assert (f"to({dtype})" in note) == (dtype != torch.float64)  # what it casts back to
    assert (f"weights in {dtype}, widened exactly" in note) == (dtype != torch.float64)
    difference = float(re.search(r"by up to (\S+) of", note)[1])
    own = cast(SOME.to(dtype)).double()
    assert difference == pytest.approx(
        float((own - plain(SOME)).abs().max() / plain(SOME).abs().max()),
        rel=0.1,
    )
    assert 0 < difference < at_most


WEIGHT = torch.linspace(-1, 1, 12).reshape(2, 6).double()
OTHER = torch.linspace(0, 1, 36).reshape(6, 6)


def written_in_place(x):
    h = (x @ WEIGHT).sin()
    return h.float().mul_(2).double() + h


def into_a_buffer(x):
    out = torch.zeros(len(x), 6)
    out[:, :3] = (x @ WEIGHT)[:, :3].sin()
    return out.double()


CAST = {  # a function that casts, the same that does not, and the cast as the note names it
    "float": (lambda h: h.float().sin().double(), torch.sin, "float()"),
    "half": (lambda h: h.half().sin().double(), torch.sin, "half()"),
    "bfloat16": (lambda h: h.bfloat16().sin().double(), torch.sin, "bfloat16()"),
    "type": (lambda h: h.type(torch.float16).type(h.dtype), lambda h: h, "type(torch.float16)"),
    "type by name": (
        lambda h: h.type("torch.FloatTensor").type("torch.DoubleTensor").sin(),
        torch.sin,
        "type(torch.float32)",
    ),
    "type_as": (lambda h: h.type_as(OTHER).sin().type_as(h), torch.sin, "type_as(torch.float32)"),
    "to a tensor": (lambda h: h.to(OTHER).sin().to(h), torch.sin, "to(torch.float32)"),
    "to by keyword": (
        lambda h: h.to(dtype=torch.float32).sin().to(dtype=h.dtype),
        torch.sin,
        "to(torch.float32)",
    ),
    "softmax": (
        lambda h: torch.softmax(h, -1, dtype=torch.float32).to(h.dtype),
        lambda h: h.softmax(-1),
        "softmax(torch.float32)",
    ),
    "softmax of a tensor": (
        lambda h: h.softmax(-1, torch.float32).double(),
        lambda h: h.softmax(-1),
        "softmax(torch.float32)",
    ),
    "sum": (
        lambda h: h + h.sin().sum(-1, keepdim=True, dtype=torch.float32),
        lambda h: h + h.sin().sum(-1, keepdim=True),
        "sum(torch.float32)",
    ),
}


@pytest.mark.parametrize("name", CAST)
def test_every_cast_is_refused_or_carried(name):
    cast, plain, call = CAST[name]
    with pytest.raises(ValueError, match=re.escape('pass casts="carry"')):
        second_order_jet(lambda x: cast(x @ WEIGHT), POINTS, "rigorous")
    jet = second_order_jet(lambda x: cast(x @ WEIGHT), POINTS, "rigorous", casts="carry")
    exact = second_order_jet(lambda x: plain(x @ WEIGHT), POINTS, "rigorous")
    torch.testing.assert_close(jet.stack, exact.stack, rtol=1e-13, atol=1e-13)
    assert jet.bound_kind == "rigorous"
    assert call in jet.notes[0]


def test_what_is_written_in_place_stays_apart_from_what_was_cast():
    for function, exact in (
        (written_in_place, 3 * (POINTS @ WEIGHT).sin()),
        (into_a_buffer, torch.cat([(POINTS @ WEIGHT)[:, :3].sin(), torch.zeros(25, 3)], -1)),
    ):
        torch.testing.assert_close(
            second_order_jet(function, POINTS, casts="carry").value, exact.double()
        )


def test_weights_of_lower_precision_are_widened_and_noted():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.rand(6).bfloat16(), requires_grad=False)

        def forward(self, x):
            return self.scale * torch.sin(x @ WEIGHT.to(x.dtype))

    module = Scaled()
    jet = second_order_jet(module, POINTS, "rigorous")
    torch.testing.assert_close(jet.value, module.scale.double() * torch.sin(POINTS @ WEIGHT))
    assert "weights in torch.bfloat16, widened exactly; called with points" in jet.notes[0]
    assert not second_order_jet(module.double(), POINTS).notes


def test_every_result_carries_casts_and_names_them():
    def bent(x):
        return torch.cat([x, (x.float() ** 2).sum(-1, keepdim=True).double()], -1)

    def plain(x):
        return torch.cat([x, (x**2).sum(-1, keepdim=True)], -1)

    with pytest.raises(ValueError, match=re.escape('pass casts="carry"')):
        adaptive_integrals(bent)
    found = adaptive_integrals(bent, casts="carry", relative_tolerance=0.1)
    exact = adaptive_integrals(plain, relative_tolerance=0.1)
    assert float(found.absolute.value) == pytest.approx(float(exact.absolute.value), rel=1e-12)
    grid = square_grid(5)
    results = [
        found,
        measure_surface(bent, grid, casts="carry"),
        curvature(second_order_jet(bent, grid.points, casts="carry")),
        prove_curvature(bent, budget=Budget(cells=1), casts="carry"),
        second_order_jet(bent, grid.points, check=False, casts="carry"),
    ]
    for result in results:
        (note,) = result.notes
        assert note.startswith("computed in torch.float64: the casts float(); called with points")
    assert exact.notes == measure_surface(plain, grid).notes == ()


def test_a_weight_converted_as_published_is_carried():
    class Norm(nn.Module):
        """As in Gemma and Qwen3-Next: one plus a weight, which is widened on the way."""

        def __init__(self, dtype: torch.dtype):
            super().__init__()
            self.weight = nn.Parameter((torch.arange(6.0) / 7).to(dtype), requires_grad=False)

        def forward(self, x):
            h = (x @ WEIGHT + 1).float()
            h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
            return (h * (1.0 + self.weight.float())).type_as(x)

    for dtype in (torch.bfloat16, torch.float32):
        module = Norm(dtype)
        jet = second_order_jet(module, POINTS, "rigorous", casts="carry")
        h = POINTS @ WEIGHT + 1
        exact = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)
        assert jet.bound_kind == "rigorous"
        torch.testing.assert_close(
            jet.value, exact * (1 + module.weight.double()), rtol=1e-13, atol=0
        )
        assert f"the casts float() and weights in {dtype}, widened exactly;" in jet.notes[0]


def test_the_word_is_checked():
    with pytest.raises(ValueError, match="casts is 'drop'"):
        second_order_jet(torch.sin, POINTS, casts="drop")


def test_where_casts_change_no_value_the_note_says_so():
    def step(x):
        return torch.cat([x, x.square() + (x > 0.3) * 1.0], -1)  # of a comparison, in float32

    (note,) = (x for x in second_order_jet(step, POINTS, casts="carry").notes if "casts" in x)
    assert note.endswith("the function itself gives the same values")
