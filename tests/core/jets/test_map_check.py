"""Every function that is no map is refused in one sentence, and no other."""

import numpy as np
import pytest
import torch
from hypothesis import example, given

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from gating_core.jets.map_check import check_map
from gating_core.jets.second_order import second_order_jet
from gating_core.theory.formula import FormulaError, parse_formula
from tests.core.theory.test_formula import TEXTS

GRID = square_grid(21)


def net(units=16, activation=torch.nn.Tanh):
    with torch.random.fork_rng():
        torch.random.manual_seed(3)
        layers = torch.nn.Linear(2, units), activation(), torch.nn.Linear(units, 3)
        return torch.nn.Sequential(*layers).double()


BASE = net()
HIDDEN = net(3)


def with_dropout():
    return torch.nn.Sequential(BASE[0], torch.nn.Dropout(0.5), *BASE[1:])


def through_a_slice(x):
    """As code that fills a tensor of torch's default precision."""
    out = torch.empty(len(x), 3)
    out[:] = BASE(x)
    return out.double()


class Rounded(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.float().double()


def in_single_precision(x):
    """As attention that casts its logits down for softmax, and back."""
    weights = torch.softmax(HIDDEN(x), -1, dtype=torch.float32).to(x.dtype)
    return weights @ torch.tensor([[1.0, 0, 0], [0, 1, 0], [1, 1, 1]], dtype=torch.float64)


ALONE = "a point alone than among others"
REFUSED = {  # a function that is no map, and part of the sentence
    "centred": (lambda x: BASE(x - x.mean(0)), ALONE),
    "scaled by the batch": (lambda x: BASE(x / x.abs().amax(0)), ALONE),
    "scaled by its spread": (lambda x: BASE(x / (x.std(0, correction=0) + 1)), ALONE),
    "its variance": (lambda x: BASE(x) * (1 + x.var(0, correction=0).sum()), ALONE),
    "centred unless alone": (
        lambda x: BASE(x - x.mean(0) if len(x) > 1 else x),
        ALONE,
    ),
    "sorted": (lambda x: BASE(x.sort(0).values), ALONE),
    "batch statistics": (
        torch.nn.Sequential(BASE[0], torch.nn.BatchNorm1d(16).double(), *BASE[1:]),
        "at a single point",
    ),
    "dropout": (with_dropout(), "other values when it is called again"),
    "noise": (
        lambda x: BASE(x) + torch.randn(len(x), 3, dtype=torch.float64) / 100,
        "other values when it is called again",
    ),
    "a little noise": (
        lambda x: BASE(x) * (1 + 1e-9 * torch.rand(len(x), 1, dtype=torch.float64)),
        "other values when it is called again",
    ),
    "numpy inside": (
        lambda x: torch.cat([x, torch.from_numpy(np.tanh(x[:, :1].numpy()))], -1),
        "cannot be differentiated by torch.func",
    ),
    "item": (
        lambda x: torch.stack([torch.stack([a, b, b * float(a)]) for a, b in x]),
        "derivatives are not those of its values",
    ),
    "detached": (
        lambda x: torch.cat([x, x[:, :1].detach() ** 2], -1),
        "derivatives are not those of its values",
    ),
    "hidden single precision": (in_single_precision, "torch.float32 on the way"),
    "a cast and back": (lambda x: BASE(x.float().double()), "torch.float32 on the way"),
    "a slice": (through_a_slice, "torch.float32 on the way"),
    "compiled": (
        torch.nn.Sequential(torch.jit.script(Rounded()), *BASE),
        "torch.float32 on the way",
    ),
    "single precision, complex": (
        lambda x: torch.view_as_real((1j * BASE(x)).to(torch.complex64).exp()).double().flatten(1),
        "torch.complex64 on the way, so that errors of its derivatives are unknown; let it compute"
        " in torch.float64",
    ),
    "bfloat16 inside": (lambda x: BASE(x).bfloat16().double(), "torch.bfloat16 on the way"),
    "single precision out": (lambda x: BASE(x).float(), "returned torch.float32"),
    "whole numbers": (lambda x: (x > 0).long(), "returned torch.int64"),
    "complex": (lambda x: BASE(x).to(torch.complex128), "returned torch.complex128"),
    "float32 weights": (torch.nn.Linear(2, 3), "convert it with double()"),
    "tuple": (lambda x: (BASE(x), x), "returned a tuple"),
    "dictionary": (lambda x: {"y": BASE(x)}, "returned a dict"),
    "nothing": (lambda x: None, "returned a NoneType"),
    "array": (lambda x: BASE(x).detach().numpy(), "returned a ndarray"),
    "no channels": (lambda x: BASE(x).sum(-1), "must be (..., 8, D)"),
}


@pytest.mark.sampled(14)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_map_is_refused_in_one_sentence(name):
    function, said = REFUSED[name]
    with pytest.raises(ValueError, match="function") as caught, torch.no_grad():
        measure_surface(function, GRID)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize("points", [[[0.25, 0.5]], [[0.25, 0.0], [0.5, 0.0], [1.0, 0.0]]])
def test_derivatives_are_checked_at_one_point_and_along_a_line_too(points):
    points = torch.tensor(points, dtype=torch.float64)
    with pytest.raises(ValueError, match="derivatives are not those of its values"):
        second_order_jet(REFUSED["detached"][0], points)

    def within(x):
        if not ((x >= points.amin(0)) & (x <= points.amax(0))).all():
            raise ValueError("not defined beyond the points")
        return torch.cat([x, x**2], -1)

    assert second_order_jet(within, points).second[..., 2, 0, 0].eq(2).all()


def test_what_cannot_be_carried_is_not_told_to_be():
    with pytest.raises(ValueError, match=r"let it compute in torch\.float64$"):
        second_order_jet(REFUSED["single precision, complex"][0], GRID.points, casts="carry")


def test_switched_off_they_are_maps():
    for name in ("batch statistics", "dropout"):
        function, _ = REFUSED[name]
        with torch.no_grad():
            assert measure_surface(function.eval(), GRID).verdicts[0].word == "curved"
        function.train()


def test_a_function_that_maps_each_point_by_itself_is_measured_as_it_is():
    with torch.no_grad():
        each = measure_surface(lambda x: torch.func.vmap(BASE)(x), GRID)
        whole = measure_surface(BASE, GRID)
    assert each.bound_kind == whole.bound_kind == "rigorous"
    torch.testing.assert_close(torch.tensor(each.gaussian), torch.tensor(whole.gaussian))


@pytest.mark.parametrize(
    "activation",
    [torch.nn.ReLU, torch.nn.Tanh, torch.nn.Softplus, torch.nn.GELU, torch.nn.Hardtanh],
)
@pytest.mark.parametrize("scale", [1e-6, 1.0, 300.0])
def test_networks_are_maps_however_steep_or_kinked(activation, scale):
    function = net(16, activation)
    function[0].bias.data.zero_()  # so that every kink runs through the middle of the grid
    second_order_jet(lambda x: function(scale * x), GRID.points)


@pytest.mark.parametrize("name", SURFACES)
def test_surfaces_in_closed_form_are_maps(name):
    check_map(SURFACES[name].chart, GRID.points)


def test_attention_is_a_map_though_nobody_says_so():
    model = build_attention(AttentionConfig(depth=2, gate=GateConfig()), (0, 1))
    second_order_jet(lambda x: model(x), GRID.points)


@example(text="u / v")  # a pole nearer to a point than a step of the quotients
@given(text=TEXTS)
def test_formulas_are_maps(text):
    try:
        formula = parse_formula(text)
    except FormulaError:
        return
    second_order_jet(formula, GRID.points)
