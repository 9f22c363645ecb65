"""The rigorous bounds hold at 200 digits, and are tight enough to be of use."""

import itertools
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.charts import weight_chart
from gating_core.attention.config import MECHANISMS, NORMS, AttentionConfig, GateConfig
from gating_core.attention.gates import GATE_GRANULARITIES, GATE_NAMES, GATE_POSITIONS
from gating_core.attention.stack import build_attention
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.curvature import curvature, second_fundamental_form
from gating_core.geometry.grid import square_grid
from gating_core.jets.bounded import Bounded
from gating_core.jets.elementary import FUNCTIONS
from gating_core.jets.jet import Jet
from gating_core.jets.second_order import nested_jet, second_order_jet
from tests.core import exact
from tests.profiles import SOAK


class Torch:
    """The mathematics of `exact`, on torch tensors."""

    sin, cos, exp, sqrt, cosh, sinh, tanh = (
        torch.sin,
        torch.cos,
        torch.exp,
        torch.sqrt,
        torch.cosh,
        torch.sinh,
        torch.tanh,
    )


def sphere(m, u, v):
    r = m.sqrt(u * u + v * v + 1)
    return [u / r, v / r, (0 * u + 1) / r]


def veronese(m, u, v):
    x, y, z = sphere(m, u, v)
    return [y * z, x * z, x * y, (x * x - y * y) / 2, (x * x + y * y - 2 * z * z) * 0.25]


SURFACES = {  # twelve closed forms in R^3, R^4 and R^5, over any namespace
    "warped plane": lambda m, u, v: [m.sinh(u) + v, v + u * v, m.sinh(u) * 2 - u * v + v],
    "sphere": sphere,
    "ellipsoid": lambda m, u, v: [2 * m.cos(u) * m.cos(v), m.sin(u) * m.cos(v), m.sin(v) / 2],
    "saddle": lambda m, u, v: [u, v, u * u - v * v],
    "monkey saddle": lambda m, u, v: [u, v, u * u * u - 3 * u * v * v],
    "torus": lambda m, u, v: [
        (2 + m.cos(v)) * m.cos(u), (2 + m.cos(v)) * m.sin(u), m.sin(v)],
    "cone": lambda m, u, v: [(v + 2) * m.cos(u), (v + 2) * m.sin(u), 2 * v],
    "catenoid": lambda m, u, v: [m.cosh(v) * m.cos(u), m.cosh(v) * m.sin(u), 0 * u + v],
    "pseudosphere": lambda m, u, v: [
        m.cos(u) / m.cosh(v + 1.5), m.sin(u) / m.cosh(v + 1.5), v - m.tanh(v + 1.5)],
    "flat torus in R4": lambda m, u, v: [m.cos(u), m.sin(u), 2 * m.cos(v), 2 * m.sin(v)],
    "graph of exp z in C2": lambda m, u, v: [u, v, m.exp(u) * m.cos(v), m.exp(u) * m.sin(v)],
    "veronese in R5": veronese,
}  # fmt: skip


def as_torch(function):
    return lambda p: torch.stack(
        [x if x.ndim else x.expand(len(p)) for x in function(Torch, *p.unbind(-1))], -1
    )


def sample(count: int, seed: int) -> torch.Tensor:
    rng = torch.Generator().manual_seed(seed)
    return torch.rand(count, 2, generator=rng, dtype=torch.float64) * 2 - 1


def check_point(jet, field, form, at: int, coefficients, member: tuple = ()) -> None:
    """Every number at one point, within its bound of the 200-digit one."""
    with mpmath.workdps(exact.DIGITS):
        for c, row in enumerate(coefficients):
            for i, number in enumerate(row):
                where = (c, *member, i, at)
                if jet.errors[where].isinf():  # nothing is claimed, as where a gate is zero
                    continue
                gap = abs(mpmath.mpf(jet.stack[where].item()) - number)
                assert gap <= jet.errors[where].item() + exact.OWN_ERROR, ("jet", c, i)
        if not field.resolved[(*member, at)]:
            return
        found = exact.geometry(coefficients)
        for name, value, error in (
            ("gaussian", field.gaussian, field.gaussian_error),
            ("bending", field.bending, field.bending_error),
            ("area", field.area_element, field.area_error),
        ):
            gap = abs(mpmath.mpf(value[(*member, at)].item()) - found[name])
            assert gap <= error[(*member, at)].item() + exact.OWN_ERROR, name
        mean = form.mean_vector[(*member, at)].tolist()
        gap = mpmath.sqrt(
            sum((mpmath.mpf(x) - y) ** 2 for x, y in zip(mean, found["mean"], strict=True))
        )
        assert gap <= form.mean_error[(*member, at)].item() + exact.OWN_ERROR, "mean vector"
        if len(mean) == 3:
            (k1, k2), e = (x[(*member, at)] for x in form.principal_curvatures())
            h = mpmath.sqrt(exact.dot(found["mean"], found["mean"]))
            root = mpmath.sqrt(max(h * h - found["gaussian"], mpmath.mpf(0)))
            true = sorted([h + root, h - root])
            for sign in (1, -1):  # the normal may point either way
                pair = sorted([sign * mpmath.mpf(k1.item()), sign * mpmath.mpf(k2.item())])
                if all(
                    abs(x - y) <= e.item() + exact.OWN_ERROR
                    for x, y in zip(pair, true, strict=True)
                ):
                    return
            raise AssertionError("principal curvatures")


@pytest.mark.parametrize("name", sorted(SURFACES))
def test_no_violation_on_closed_forms(name):
    function = SURFACES[name]
    points = sample(6, 1)
    jet = second_order_jet(as_torch(function), points, "rigorous")
    field, form = curvature(jet), second_fundamental_form(jet)
    assert field.bound_kind == "rigorous"
    assert field.resolved.all()
    for at, (u, v) in enumerate(points.tolist()):
        check_point(jet, field, form, at, exact.jet(function, u, v))


def saturated(config: AttentionConfig, seed: int, scale: float, collapse: float = 0, steep=1.0):
    """A random model: logits ``scale`` times as large, one slot favoured, gates ``steep``."""
    model = build_attention(config, (seed,))
    for layer in model.blocks:
        layer.sharpen(scale)
        if config.source == "memory":
            layer.bias.data[:, :, 0] += collapse
        if layer.gate is not None:
            layer.gate.weight.data *= steep
    return model


def check_model(function, at_200_digits, points: torch.Tensor) -> None:
    """Jet and curvature of the first member at every point, within their bounds."""
    jet = second_order_jet(function, points, "rigorous")
    field, form = curvature(jet), second_fundamental_form(jet)
    assert field.bound_kind == "rigorous"
    for at, (u, v) in enumerate(points.tolist()):
        coefficients = exact.jet(lambda m, u, v: at_200_digits(m, function, [u, v])[0], u, v)
        check_point(jet, field, form, at, coefficients, member=(0,))


GATES = st.builds(
    GateConfig,
    kind=st.sampled_from(GATE_NAMES),
    position=st.sampled_from(GATE_POSITIONS),
    granularity=st.sampled_from(GATE_GRANULARITIES),
    strength=st.floats(0, 1),
)


@given(
    seed=st.integers(0, 10**6),
    scale=st.floats(1, 40),
    collapse=st.sampled_from([0.0, 20.0, 30.0]),
    steep=st.floats(1, 40),
    source=st.sampled_from(tuple(MECHANISMS)),
    heads=st.integers(1, 3),
    width=st.integers(1, 3),
    n=st.integers(2, 5),
    depth=st.integers(1, 2),
    residual=st.booleans(),
    norm=st.sampled_from(NORMS),
    projection=st.booleans(),
    gate=st.none() | GATES,
)
def test_no_violation_on_random_models(
    seed, scale, collapse, steep, source, heads, width, n, depth, residual, norm, projection, gate
):
    config = AttentionConfig(
        source=source,
        model_dim=max(2, heads * width) // heads * heads,
        value_count=n,
        heads=heads,
        depth=depth,
        residual=residual,
        norm=norm,
        output_projection=projection,
        gate=gate,
    )
    model = saturated(config, seed, scale, collapse, steep)
    check_model(model, exact.attention, sample(1, seed))


@given(
    seed=st.integers(0, 10**6),
    scale=st.floats(1, 10),
    steep=st.floats(1, 10),
    heads=st.integers(1, 3),
    n=st.integers(3, 5),
    depth=st.integers(1, 2),
    residual=st.booleans(),
    norm=st.sampled_from(["none", "post"]),
    projection=st.booleans(),
    gate=st.none() | GATES,
)
def test_no_violation_on_weight_charts(
    seed, scale, steep, heads, n, depth, residual, norm, projection, gate
):
    position = gate.position if gate else None
    residual &= position != "G4"
    heads = 1 if residual or position in ("G1", "G5") else heads
    config = AttentionConfig(
        model_dim=6,
        value_count=n,
        heads=heads,
        depth=depth,
        residual=residual,
        norm=norm,
        output_projection=projection,
        gate=gate,
    )
    chart = weight_chart(saturated(config, seed, scale, 0.0, steep))
    check_model(chart, exact.on_weight_chart, sample(1, seed))


def places(cell):
    """The sum of the places of mechanism, granularity and position in their lists."""
    lists = MECHANISMS, GATE_GRANULARITIES, GATE_POSITIONS
    return sum([*names].index(name) for names, name in zip(lists, cell, strict=True))


CELLS = list(itertools.product(MECHANISMS, GATE_GRANULARITIES, GATE_POSITIONS))
# Every granularity at every position, each kind with each mechanism; `make soak` tries all.
EVERY_GATE = [
    (*cell, kind)
    for at, cell in enumerate(CELLS)
    for number, kind in enumerate(GATE_NAMES)
    if SOAK or ((at - number) % len(GATE_NAMES) == 0 and places(cell) % 2 == 0)
]


def assert_nested_agrees(function, points: torch.Tensor) -> None:
    """Nested forward mode, within the bounds and its own rounding."""
    jet, nested = second_order_jet(function, points, "rigorous"), nested_jet(function, points)
    assert jet.bound_kind == "rigorous"
    own = 1e-12 * nested.stack.abs().amax((1, 2, 3), keepdim=True)
    assert ((jet.stack - nested.stack).abs() <= jet.errors + own).all()


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("source", "granularity", "position", "kind"), EVERY_GATE)
def test_no_violation_at_any_gate(source, granularity, position, kind):
    """At 200 digits; and nested forward mode agrees, also on the other chart and in solids."""
    gate = GateConfig(kind, granularity, position, 0.8)
    config = AttentionConfig(source=source, model_dim=4, heads=2, depth=2, gate=gate)
    model = saturated(config, 11, 3.0, 1.0, 2.0)
    sweep = model.member(0, [0.3, 0.8])  # the strength is a tensor there
    check_model(sweep, exact.attention, sample(1, 4))
    assert_nested_agrees(model, sample(9, 5))
    solid = build_attention(replace(config, input_dim=3, norm="pre", residual=True), (1, 2))
    assert_nested_agrees(solid, torch.cat([sample(4, 6), sample(4, 7)[:, :1]], -1))
    if source == "memory":
        chart = weight_chart(build_attention(replace(config, heads=1, norm="post"), (1, 2)))
        assert_nested_agrees(chart, sample(4, 8))


@pytest.mark.parametrize("collapse", [0.0, 20.0, 30.0])
@pytest.mark.parametrize("scale", [1.0, 10.0, 40.0])
def test_the_bound_is_worth_having(scale, collapse):
    """Where the tangents are not nearly parallel, it is tiny against what K could have been."""
    ratios = []
    for seed in range(3):
        for gate in (None, GateConfig()):
            model = saturated(AttentionConfig(gate=gate), seed, scale, collapse)
            jet = second_order_jet(model, square_grid(21).points, "rigorous")
            field = curvature(jet)
            first, second = jet.first[0], jet.second[0]
            u, v = first[..., 0], first[..., 1]
            det = (u * u).sum(-1) * (v * v).sum(-1) - (u * v).sum(-1) ** 2
            sine = (det.clamp(min=0) / ((u * u).sum(-1) * (v * v).sum(-1))).sqrt()
            size = second.square().sum(-3).sqrt()
            could = (size[..., 0, 0] * size[..., 1, 1] + size[..., 0, 1] ** 2) / det
            wide = (sine > 0.1) & field.resolved[0]
            ratios.append((field.gaussian_error[0] / could)[wide])
    assert torch.cat(ratios).median() < 1e-9


@given(seed=st.integers(0, 10**6), n=st.integers(3, 16), dim=st.integers(3, 16))
def test_the_flatness_theorem_holds_with_bounds(seed, n, dim):
    chart = weight_chart(build_attention(AttentionConfig(model_dim=dim, value_count=n), (seed,)))
    points = square_grid(11).points

    def through_logs(p):
        p = torch.stack([torch.sin(p[:, 0]), torch.tanh(p[:, 1]) + 0.1 * p[:, 0] ** 2], -1) * 0.8
        return chart.model.run(None, torch.softmax(chart.weights(p).log(), -1).unsqueeze(1))

    jet = second_order_jet(through_logs, points, "rigorous")
    field = curvature(jet)
    assert field.bound_kind == "rigorous"
    resolved = field.resolved
    assert resolved.double().mean() >= 0.98
    assert field.flat[resolved].all()
    spread = (jet.value.amax(-2) - jet.value.amin(-2)).square().sum(-1)
    assert (field.gaussian_error * spread[..., None])[resolved].median() < 1e-9


ARITHMETIC = {  # over bounded tensors and over arrays of fractions alike
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "matmul": lambda a, b: a @ b,
    "sum": lambda a, b: a.sum(-1),
    "mean": lambda a, b: a.mean(-1),
    "times a number": lambda a, b: a * 7 + 3 * b,
}


@pytest.mark.parametrize("name", sorted(ARITHMETIC))
@pytest.mark.parametrize("doubts", [*itertools.product((0.0, 1e-9), repeat=2)])
def test_every_operation_bounds_its_error(name, doubts):
    """What it inherits and what it rounds, each alone and both, against exact fractions."""

    def fractions(x):
        return np.array([[Fraction(number) for number in row] for row in x.tolist()])

    rng = torch.Generator().manual_seed(3)
    values = [0.5 + torch.rand(5, 5, generator=rng, dtype=torch.float64) for _ in "ab"]
    errors = [doubt * x for doubt, x in zip(doubts, values, strict=True)]
    found = ARITHMETIC[name](
        *(Bounded(x, e if e.any() else None) for x, e in zip(values, errors, strict=True))
    )
    bound = np.vectorize(Fraction)(found.bound.numpy())
    for signs in itertools.product((-1, 1), repeat=2):
        moved = (
            fractions(x) + sign * fractions(e)
            for x, e, sign in zip(values, errors, signs, strict=True)
        )
        gap = abs(np.vectorize(Fraction)(found.value.numpy()) - ARITHMETIC[name](*moved))
        assert (gap <= bound).all()
    assert found.bound.max() < 30 * (sum(doubts) + 1e-15)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_bounds_its_error(name):
    """Perturbed inputs stay within the bound: value and both derivatives, against mpmath."""
    known = {
        "exp": mpmath.exp, "log": mpmath.log, "sqrt": mpmath.sqrt, "sin": mpmath.sin,
        "rsqrt": lambda z: 1 / mpmath.sqrt(z), "reciprocal": lambda z: 1 / z,
        "square": lambda z: z * z, "cos": mpmath.cos, "sinh": mpmath.sinh, "cosh": mpmath.cosh,
        "atan": mpmath.atan, "tanh": mpmath.tanh, "tan": mpmath.tan, "abs": abs,
        "sigmoid": lambda z: 1 / (1 + mpmath.exp(-z)),
        "silu": lambda z: z / (1 + mpmath.exp(-z)),
        "softplus": lambda z: mpmath.log(1 + mpmath.exp(z)),
        "gelu": lambda z: z * mpmath.ncdf(z),
    }[name]  # fmt: skip
    z = torch.tensor([0.003, 0.7, 1.9, 5.5, 21.0, 38.0], dtype=torch.float64)
    if name not in ("log", "sqrt", "rsqrt", "reciprocal"):
        z = torch.cat([z, -z])
    error = 1e-6 * z.abs()
    bounded = Bounded(z, error)
    with mpmath.workdps(exact.DIGITS):
        h = mpmath.mpf(10) ** -18
        for order, part in enumerate(FUNCTIONS[name](bounded)):
            for i, value in enumerate(z.tolist()):
                for shift in (-1, 0, 0.7, 1):
                    x = mpmath.mpf(value) + shift * mpmath.mpf(error[i].item())
                    true = (
                        known(x),
                        (known(x + h) - known(x - h)) / (2 * h),
                        (known(x + h) - 2 * known(x) + known(x - h)) / h**2,
                    )[order]
                    gap = abs(mpmath.mpf(part.value[i].item()) - true)
                    # The derivative at 200 digits is itself good to 1e-20 or so.
                    assert gap <= part.bound[i].item() + mpmath.mpf(10) ** -18, (order, value)


def test_at_a_kink_and_at_a_pole_nothing_is_known():
    """Of |z| where its sign is lost in z's error, of tan z where its cosine's is."""
    z = torch.tensor([0.0, 1e-9, -1e-9, 1e-9], dtype=torch.float64)
    doubt = torch.tensor([0.0, 2e-9, 1e-9, 1e-10], dtype=torch.float64)
    value, slope, bend = FUNCTIONS["abs"](Bounded(z, doubt))
    assert slope.bound.isinf().tolist() == [True, True, True, False]
    assert bend.bound.isinf().tolist() == [True, True, True, False]
    assert torch.equal(value.value, z.abs())
    assert (value.bound <= 2.1e-9).all()
    assert abs(Jet.coordinates(-sample(3, 0))).value.min() >= 0
    pole = Bounded(torch.tensor([torch.pi / 2, 1.5]).double(), torch.tensor([1e-6, 1e-6]).double())
    for part in FUNCTIONS["tan"](pole):
        assert part.bound.isinf().tolist() == [True, False]


def test_weights_computed_inside_the_function_are_followed_too():
    """Rounding of constants alone is in the bound: cancellation makes it all there is."""
    a = torch.tensor(0.1, dtype=torch.float64)

    def function(p):
        third = (a * 3).sqrt() * (a * 7).exp() - 1.1029777
        return torch.stack([p[:, 0], p[:, 1], third * p[:, 0] * p[:, 1]], -1)

    jet = second_order_jet(function, sample(3, 0), "rigorous")
    assert jet.bound_kind == "rigorous"
    with mpmath.workdps(exact.DIGITS):
        tenth = mpmath.mpf(0.1)
        true = mpmath.sqrt(tenth * 3) * mpmath.exp(tenth * 7) - mpmath.mpf(1.1029777)
        gap = abs(mpmath.mpf(jet.second[0, 2, 0, 1].item()) - true)
    assert 0 < float(gap) <= jet.errors[4, 2, 0].item() < 1e-13


def test_a_broken_rule_would_be_seen(monkeypatch):
    """The check has teeth: without the error of a product, a bound is violated."""
    monkeypatch.setattr(
        Bounded,
        "__mul__",
        lambda self, other: Bounded(
            self.value * (other.value if isinstance(other, Bounded) else other)
        ),
    )
    monkeypatch.setattr(Bounded, "__rmul__", Bounded.__mul__)
    points = sample(6, 1)
    jet = second_order_jet(as_torch(SURFACES["torus"]), points, "rigorous")
    field, form = curvature(jet), second_fundamental_form(jet)
    coefficients = [exact.jet(SURFACES["torus"], u, v) for u, v in points.tolist()]

    def check_all():
        for at, row in enumerate(coefficients):
            check_point(jet, field, form, at, row)

    with pytest.raises(AssertionError):
        check_all()


@pytest.mark.parametrize("covariance", [2.5, [0.5, 2.0, 3.0], "full"])
def test_bounds_hold_in_the_metric_of_any_gaussian(covariance):
    """Against 200 digits: K of the surface in coordinates whitened exactly."""
    if covariance == "full":
        covariance = [[2.0, 0.5, 0.25], [0.5, 1.0, -0.125], [0.25, -0.125, 0.75]]
    points = sample(5, 3)
    function = SURFACES["torus"]
    jet = second_order_jet(as_torch(function), points, "rigorous")
    field = curvature(jet, covariance)
    assert field.bound_kind == "rigorous"
    with mpmath.workdps(exact.DIGITS):
        rows = torch.as_tensor(covariance, dtype=torch.float64)
        full = torch.diag(rows.expand(3)) if rows.ndim < 2 else rows
        lower = mpmath.cholesky(mpmath.matrix(full.tolist()))
        for at, (u, v) in enumerate(points.tolist()):
            coefficients = [
                list(mpmath.lu_solve(lower, mpmath.matrix(row)))
                for row in exact.jet(function, u, v)
            ]
            true = exact.geometry(coefficients)["gaussian"]
            gap = abs(mpmath.mpf(field.gaussian[at].item()) - true)
            assert gap <= field.gaussian_error[at].item() < 1e-10


def test_jets_of_constants_and_blocks_carry_bounds():
    constant = second_order_jet(
        lambda p: torch.ones(len(p), 3, dtype=torch.float64), sample(4, 0), "rigorous"
    )
    assert constant.bound_kind == "rigorous"
    assert not curvature(constant).resolved.any()
    model = build_attention(AttentionConfig(gate=GateConfig()), (0, 1))
    many = square_grid(61).points  # several blocks
    whole = second_order_jet(model, many, "rigorous")
    part = second_order_jet(model, many[1000:1300], "rigorous")
    gap = (whole.stack[..., 1000:1300] - part.stack).abs()
    assert (gap <= whole.errors[..., 1000:1300] + part.errors).all()
    assert isinstance(model(Jet.coordinates(many)), Jet)


def test_integrals_take_rigorous_bounds():
    found = adaptive_integrals(as_torch(SURFACES["sphere"]), bound="rigorous")
    assert abs(float(found.gaussian.value) - 2 * torch.pi / 3) <= float(found.gaussian.error)
