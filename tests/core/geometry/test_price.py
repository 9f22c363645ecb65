"""Prices are the integrals that they claim to be, and so are their gradients."""

from itertools import product

import mpmath
import pytest
import torch
from torch import nn

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.geometry.price import PRICES, SOFTENING, curvature_price
from tests.core import exact

GATED = AttentionConfig(model_dim=4, value_count=3, gate=GateConfig())
POINTS = torch.tensor([[0.3, -0.4], [-0.7, 0.2], [0.1, 0.9]], dtype=torch.float64)


def exact_price(function, of: str, softening: float):
    """A price at `POINTS` in 200 digits, by the Gram matrix of derivatives instead of a frame."""
    densities, values = [], []
    for point in POINTS.tolist():
        y, *d = exact.jet(function, *point)
        (e, f, _), (_, g, _), *_ = [[exact.dot(a, b) for b in d[:3]] for a in d[:2]]
        soft = softening * (e + g)
        det = (e + soft) * (g + soft) - f * f
        values.append(y)
        if of == "area":
            densities.append(mpmath.sqrt(det))
            continue
        gram = mpmath.matrix([[e, f], [f, g]])
        factor = (e * g - f * f) / det
        inverse = mpmath.matrix([[e + soft, f], [f, g + soft]]) ** -1

        def normal(a, b, d=d, gram=gram):  # of two second derivatives: 2, 3, 4 are uu, uv, vv
            left, right = (mpmath.matrix([exact.dot(d[x], t) for t in d[:2]]) for x in (a, b))
            return exact.dot(d[a], d[b]) - (left.T * gram**-1 * right)[0]

        if of == "K":
            densities.append(factor * abs(normal(2, 4) - normal(3, 3)) / mpmath.sqrt(det))
            continue
        order = [[2, 3], [3, 4]]
        norm = mpmath.fsum(
            inverse[i, k] * inverse[j, m] * normal(order[i][j], order[k][m])
            for i, j, k, m in product((0, 1), repeat=4)
        )
        densities.append(factor * norm * mpmath.sqrt(det))
    total = 4 * mpmath.fsum(densities) / len(densities)
    if of == "area":
        centre = [mpmath.fsum(x) / len(values) for x in zip(*values, strict=True)]
        away = [[a - b for a, b in zip(y, centre, strict=True)] for y in values]
        total /= mpmath.fsum(exact.dot(x, x) for x in away) / len(values)
    return total


@pytest.mark.parametrize("of", PRICES)
def test_price_and_gradient_are_those_of_central_differences_in_many_digits(of):
    model = build_attention(GATED, [7]).requires_grad_(True)
    price = curvature_price(model, POINTS, of)
    price.sum().backward()
    step = mpmath.mpf(10) ** -20

    def surface(name: str = "", index: tuple = (), by=0):
        def function(m, u, v):
            rows = {key: exact._read(m, x, 0) for key, x in model.named_parameters()}
            if name:
                row = rows[name]
                for i in index[:-1]:
                    row = row[i]
                row[index[-1]] += by
            hidden = exact._affine([u, v], rows["input_map"], rows["input_bias"])
            layer = {key.removeprefix("layers.0."): x for key, x in rows.items()}
            query = exact._affine(hidden, layer["query"])
            keys, values = layer["keys"], layer["values"]
            weights = exact.attention_weights(m, "memory", layer, 0, query, keys)
            gate = exact._affine(hidden, layer["gate.weight"], layer["gate.bias"])
            return [
                m.fsum(w * x[i] for w, x in zip(weights, values, strict=True)) / (1 + m.exp(-z))
                for i, z in enumerate(gate)
            ]

        return function

    with mpmath.workdps(exact.DIGITS):
        assert price.item() == pytest.approx(
            float(exact_price(surface(), of, SOFTENING)), rel=1e-12
        )
        for name, index in (
            ("input_map", (1, 2)),
            ("layers.0.values", (0, 3)),
            ("layers.0.keys", (2, 1)),
            ("layers.0.gate.weight", (0, 1)),
            ("layers.0.gate.bias", (2,)),
        ):
            ends = [exact_price(surface(name, index, x), of, SOFTENING) for x in (step, -step)]
            wanted = float((ends[0] - ends[1]) / (2 * step))
            found = model.get_parameter(name).grad[0][index].item()
            assert found == pytest.approx(wanted, rel=1e-9, abs=1e-12), name


def test_without_softening_the_price_is_that_of_the_exact_curvature():
    """The bias is of the order of ε, and never upwards, where the metric is regular."""
    model = build_attention(GATED, [7])
    with mpmath.workdps(exact.DIGITS):
        wanted = float(exact_price(lambda m, u, v: exact.attention(m, model, [u, v])[0], "K", 0.0))
    found = curvature_price(model, POINTS).item()
    assert wanted * (1 - 1e-3) < found < wanted


def midpoints(side: int) -> torch.Tensor:
    """(side², 2): the midpoints of equal cells of [-1, 1]²."""
    axis = (torch.arange(side, dtype=torch.float64) + 0.5) * 2 / side - 1
    return torch.cartesian_prod(axis, axis)


@pytest.mark.parametrize("of", PRICES)
def test_price_does_not_change_when_the_surface_is_scaled_moved_or_turned(of):
    model = build_attention(GATED, range(3))
    rng = torch.Generator().manual_seed(5)
    turn = torch.linalg.qr(torch.randn(6, 4, generator=rng, dtype=torch.float64)).Q.T
    moved = curvature_price(lambda x: 1e-3 * model(x) @ turn + 7.0, midpoints(7), of)
    torch.testing.assert_close(moved, curvature_price(model, midpoints(7), of), rtol=1e-9, atol=0)


def test_each_member_may_have_points_of_its_own_and_gets_the_same_price():
    model = build_attention(GATED, range(3)).requires_grad_(True)
    points = 2 * torch.rand(3, 48, 2, generator=torch.Generator().manual_seed(1)).double() - 1
    for of in PRICES:
        together = curvature_price(model, points, of)
        alone = torch.stack([curvature_price(model, points[i], of)[i] for i in range(3)])
        torch.testing.assert_close(together, alone, rtol=1e-10, atol=0)
        single = curvature_price(model.float(), points.float(), of)
        assert single.dtype == torch.float32
        torch.testing.assert_close(single.double(), together, rtol=2e-3, atol=0)
        model.double()


def test_planes_cost_nothing_whatever_their_coordinates():
    """Nor does a map into the plane: it folds, and is nowhere curved."""
    for config in (AttentionConfig(model_dim=5), AttentionConfig(model_dim=2, gate=GateConfig())):
        model = build_attention(config, range(8))
        model.blocks[0].sharpen(6.0)  # saturated: nearly everywhere tangents are nearly parallel
        for of in ("K", "bending"):
            assert (curvature_price(model, midpoints(15), of) < 1e-12).all()
        assert (curvature_price(model, midpoints(15), "area") > 0).all()


def test_prices_of_a_sphere_and_of_a_cylinder():
    half = torch.pi / 4

    def sphere(x):  # |u|, |v| < pi / 4 of longitude and latitude
        u, v = (half * x).unbind(-1)
        return 3 * torch.stack([u.cos() * v.cos(), u.sin() * v.cos(), v.sin()], -1)

    def cylinder(x):
        return torch.stack([x[..., 0].cos(), x[..., 0].sin(), x[..., 1]], -1)

    area = 4 * half * torch.sin(torch.tensor(half)).item()
    assert curvature_price(sphere, midpoints(31)).item() == pytest.approx(area, rel=1e-3)
    assert curvature_price(sphere, midpoints(31), "bending").item() == pytest.approx(
        2 * area, rel=1e-3
    )
    assert curvature_price(cylinder, midpoints(9)).item() < 1e-12
    assert curvature_price(cylinder, midpoints(9), "bending").item() == pytest.approx(4, rel=1e-3)


def test_any_layer_of_torch_has_a_gradient_and_what_torch_differentiates_wrongly_is_refused():
    layer = nn.Sequential(nn.Linear(2, 6), nn.GELU(), nn.LayerNorm(6), nn.Linear(6, 4)).double()
    curvature_price(layer, midpoints(5), "bending").backward()
    for parameter in layer.parameters():
        assert parameter.grad.isfinite().all()
    assert layer[0].weight.grad.abs().max() > 0
    with pytest.raises(ValueError, match="statistics of the batch"):
        curvature_price(lambda x: x - x.mean(0), midpoints(5))
    with pytest.raises(ValueError, match="derivative"):
        curvature_price(lambda x: torch.cat([x, x.detach().square()], -1), midpoints(5))


@pytest.mark.parametrize(
    ("layer", "points", "of", "text"),
    [
        (lambda x: x, midpoints(3), "torsion", "of"),
        (lambda x: x[:, :1], midpoints(3), "K", "D = 1"),
        (lambda x: x, torch.zeros(4, 3, dtype=torch.float64), "K", "3 coordinates"),
        (lambda x: x, torch.full((4, 2), torch.nan), "K", "finite"),
    ],
)
def test_wrong_inputs_are_named(layer, points, of, text):
    with pytest.raises(ValueError, match=text):
        curvature_price(layer, points, of)
