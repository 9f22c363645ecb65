"""When a test calls a surface flat, and when it is certain of curvature."""

import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet

GRID = square_grid(21)


def field_of(function, points=GRID.points) -> CurvatureField:
    return curvature(second_order_jet(function, points))


def warp(p):
    """A nonlinear change of chart that keeps (-1, 1)^2 inside itself."""
    u, v = p.unbind(-1)
    return torch.stack([torch.sin(u) + 0.1 * v * v, torch.tanh(v) + 0.1 * u * v], -1) * 0.85


def through_logs(chart):
    """The same weights, written as a softmax of logarithms: rounding has somewhere to enter."""

    def function(p):
        weights = torch.softmax(chart.weights(warp(p)).log(), -1).unsqueeze(1)
        heads = chart.model.config.heads
        return chart.model.run(None, torch.cat([weights] * heads, 1) if heads > 1 else weights)

    return function


def assert_flat(function, bound="estimate"):
    """|K| within its error wherever resolved; the error itself small: a lazy one cannot pass."""
    jet = second_order_jet(function, GRID.points, bound)
    field = curvature(jet)
    assert field.bound_kind == bound
    resolved = field.resolved
    assert resolved.double().mean() >= 0.98
    assert (field.gaussian.abs() <= field.gaussian_error)[resolved].all()
    low, high = jet.value.amin(-2), jet.value.amax(-2)
    diameter2 = (high - low).square().sum(-1, keepdim=True)
    assert (field.gaussian_error * diameter2)[resolved].median() < 1e-9


def curved(function) -> torch.Tensor:
    """Which members are certain to curve somewhere, by rigorous bounds."""
    field = curvature(second_order_jet(function, GRID.points, "rigorous"))
    assert field.bound_kind == "rigorous"
    return (~field.flat & field.resolved).any(-1)
