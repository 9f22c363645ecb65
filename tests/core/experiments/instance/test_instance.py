"""An instance agrees with the definitions point by point, and its picture with it."""

import itertools
import math
from dataclasses import replace
from functools import cache

import mpmath
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.experiments import instance
from gating_core.experiments.instance import (
    CHOSEN_SEEDS,
    COLOURINGS,
    NEAR_DEGENERATE,
    ModelInstance,
    build_instance,
    chart_of,
    chosen_config,
    elongation,
    instance_values,
)
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import (
    CurvatureField,
    FundamentalForm,
    curvature,
    second_fundamental_form,
)
from gating_core.geometry.grid import square_grid
from gating_core.geometry.verdict import POINT_TYPES, point_types
from gating_core.jets.second_order import second_order_jet
from tests.core import exact
from ui.drawing.colours import QUANTILE, colour_scale

measure_instance = cache(instance.measure_instance)
SIGMOID = AttentionConfig(gate=GateConfig())
FULL = ((2.0, 0.3, 0.0, 0.1), (0.3, 1.0, -0.2, 0.0), (0.0, -0.2, 0.7, 0.2), (0.1, 0.0, 0.2, 3.0))
VALUES = ((1.0, 0.5, -0.25), (-1.5, 0.75, 0.5), (0.25, -1.0, 2.0))
EVERYTHING = AttentionConfig(
    model_dim=4,
    value_count=3,
    heads=2,
    depth=2,
    residual=True,
    norm="post",
    output_projection=True,
    gate=GateConfig("tanh", "headwise", "G5", 0.4),
)
INSTANCES = {
    "ungated": ModelInstance(AttentionConfig(), 72),
    "gated": ModelInstance(SIGMOID, 72),
    "four dimensions, full covariance": ModelInstance(
        AttentionConfig(model_dim=4, value_count=4, gate=GateConfig()), 3, covariance=FULL
    ),
    "everything": ModelInstance(EVERYTHING, 5),
    "pre-normalised, gated queries": ModelInstance(
        AttentionConfig(norm="pre", gate=GateConfig("silu", position="G4")), 1
    ),
    "tokens, gated keys": ModelInstance(
        AttentionConfig(source="tokens", value_count=3, gate=GateConfig(position="G3")), 2
    ),
    "weights": ModelInstance(SIGMOID, 4, chart="weights"),
    "weights, n = 4": ModelInstance(
        AttentionConfig(model_dim=5, value_count=4, gate=GateConfig("silu")), 6, chart="weights"
    ),
    "sharp": ModelInstance(SIGMOID, 72, sharpness=3.0),
    "dragged": ModelInstance(SIGMOID, 72, values=VALUES),
}
SPOTS = [(0, 0), (1, 3), (2, 2)]  # rows and columns of a grid of five


def by_definition(instance):
    """(y, looks) at a point, number by number, in the coordinates that the metric makes plain."""
    chart = chart_of(instance)

    def function(m, u, v):
        if instance.chart == "inputs":
            y, looks = exact.attention(m, chart, [u, v])
        else:
            y, looks = exact.on_weight_chart(m, chart, [u, v])
        if instance.covariance is not None:
            factor = mpmath.cholesky(mpmath.matrix([list(row) for row in instance.covariance]))
            y = list(mpmath.lu_solve(factor, mpmath.matrix(y)))
        return y, looks

    return function


def principal_curvatures(jet):
    """Both, larger first, along the normal y_u x y_v: at 200 digits no cancellation matters."""
    _, a, b, *seconds = jet
    with mpmath.workdps(exact.DIGITS):
        normal = [a[i - 2] * b[i - 1] - a[i - 1] * b[i - 2] for i in range(3)]
        length = mpmath.sqrt(exact.dot(normal, normal))
        p, q, r = (exact.dot(y, normal) / length for y in seconds)
        e, f, g = exact.dot(a, a), exact.dot(a, b), exact.dot(b, b)
        mean = (e * r - 2 * f * q + g * p) / (2 * (e * g - f * f))
        root = mpmath.sqrt(mean**2 - (p * r - q * q) / (e * g - f * f))
        return mean + root, mean - root


# --- What is measured ---


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", INSTANCES)
def test_everything_measured_is_what_the_definitions_say(name):
    instance = INSTANCES[name]
    function = by_definition(instance)
    found = measure_instance(instance, 5)
    surface = found.surface
    points = second_order_jet(chart_of(instance), square_grid(5).points, "rigorous")
    form = second_fundamental_form(points, instance.covariance)
    mean_error = form.mean_error.reshape(5, 5).numpy()
    assert np.median(mean_error) < 1e-4 * (1 + np.median(found.mean_norm))
    slacks = [0.0]
    for row, column in SPOTS:
        u, v = surface.axis[column], surface.axis[row]
        jet = exact.jet(lambda m, u, v: function(m, u, v)[0], u, v)
        wanted = exact.geometry(jet)
        at = (0, row, column)
        error = surface.gaussian_error[at]
        assert abs(wanted["gaussian"] - surface.gaussian[at]) <= error
        assert error < 1e-6 * (1 + abs(wanted["gaussian"]))
        size = mpmath.sqrt(exact.dot(wanted["mean"], wanted["mean"]))
        assert abs(size - found.mean_norm[row, column]) <= mean_error[row, column]
        assert surface.area_element[at] == pytest.approx(float(wanted["area"]), rel=1e-9)
        if instance.covariance is None:
            np.testing.assert_allclose(surface.values[at], np.array(jet[0], float), rtol=1e-10)
        if instance.config.model_dim == 3:
            slack = found.principal_error[row, column]
            for got, k in zip(found.principal[row, column], principal_curvatures(jet), strict=True):
                assert abs(k - got) <= slack
            slacks.append(slack / (1 + np.abs(found.principal[row, column]).max()))
        _, looks = function(math, float(u), float(v))
        for layer, (weights, gate) in enumerate(looks):
            np.testing.assert_allclose(found.weights[layer][:, row, column], weights, rtol=1e-9)
            if gate is not None:
                np.testing.assert_allclose(found.gates[layer][:, row, column], gate, rtol=1e-9)
    assert np.median(slacks) < 1e-4  # a bound that says something


def test_what_is_replaced_is_replaced_and_nothing_else():
    own = build_attention(SIGMOID, (72,))
    sharp = build_instance(INSTANCES["sharp"])
    dragged = build_instance(INSTANCES["dragged"])
    for name, parameter in own.named_parameters():
        times = 3.0 if name.endswith("keys") else 1.0
        assert torch.equal(dict(sharp.named_parameters())[name], times * parameter)
        wanted = {"layers.0.values": VALUES}.get(name)
        new = parameter if wanted is None else torch.tensor([wanted], dtype=torch.float64)
        assert torch.equal(dict(dragged.named_parameters())[name], new)


def test_the_ungated_twin_shares_everything_but_the_gate():
    twin = INSTANCES["dragged"].ungated
    assert twin.config == replace(SIGMOID, gate=None)
    assert (twin.seed, twin.values) == (72, VALUES)
    assert twin.ungated == twin


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (dict(chart="sideways"), "chart is 'sideways'"),
        (dict(seed=-1), "seed is -1"),
        (dict(sharpness=0.0), "sharpness is 0.0"),
        (dict(sharpness=math.nan), "sharpness is nan"),
        (dict(values=VALUES[:2]), "values has shape"),
        (dict(values=((math.nan,) * 3,) * 3), "values contains NaN"),
        (dict(config=replace(SIGMOID, source="tokens"), values=VALUES), "a model of tokens"),
        (dict(config=replace(SIGMOID, value_count=2), chart="weights"), "value_count is 2"),
        (dict(covariance=((1.0, 2.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 1.0))), "positive definite"),
    ],
)
def test_what_cannot_be_is_refused(change, words):
    with pytest.raises(ValueError, match=words):
        measure_instance(replace(INSTANCES["gated"], **change), 5)


@pytest.mark.parametrize("change", [dict(position="G4"), dict(strength=0.0)], ids=str)
def test_a_layer_whose_weights_are_prescribed_still_has_its_place_among_the_gates(change):
    config = replace(SIGMOID, depth=2, gate=GateConfig(**change))
    found = measure_instance(ModelInstance(config, 4, chart="weights"), 5)
    assert [gate.shape for gate in found.gates] == [(3, 5, 5)] * 2
    assert (found.gates[0] == 1).all()  # the weights are given, or there is no gate


def test_equal_weights_have_the_entropy_log_n_and_one_that_takes_all_has_none():
    field = COLOURINGS["entropy"].field
    even = measure_instance(ModelInstance(AttentionConfig(value_count=5), 1, chart="weights"), 5)
    entropy = field(even, -1, None)
    assert entropy[2, 2] == pytest.approx(math.log(5), rel=1e-14)
    assert (entropy <= math.log(5) * (1 + 1e-14)).all()
    p = even.weights[0][0, 0, 0]
    assert entropy[0, 0] == pytest.approx(-sum(x * math.log(x) for x in p))
    sharp = measure_instance(ModelInstance(SIGMOID, 72, sharpness=100.0), 5)
    assert 0 <= field(sharp, -1, None).min() < 1e-3


def test_heads_and_channels_are_chosen_and_averaged():
    config = replace(EVERYTHING, gate=GateConfig("tanh", "headwise"))
    found = measure_instance(ModelInstance(config, 5), 5)
    for name, stacks in (("gate", found.gates), ("entropy", None)):
        field = COLOURINGS[name].field
        for layer in (0, -1):
            parts = [field(found, layer, part) for part in range(2)]
            np.testing.assert_allclose(field(found, layer, None), sum(parts) / 2, rtol=1e-14)
            np.testing.assert_array_equal(field(found, layer, 7), field(found, layer, None))
            if stacks:
                np.testing.assert_array_equal(parts[1], stacks[layer][1])
    ungated = measure_instance(INSTANCES["ungated"], 5)
    assert (COLOURINGS["gate"].field(ungated, -1, None) == 1).all()


def test_the_flat_space_has_the_dimension_of_the_value_differences():
    wanted = {
        2: AttentionConfig(),
        3: AttentionConfig(value_count=6),
        4: AttentionConfig(model_dim=4, heads=2),
        None: AttentionConfig(source="tokens"),
        1: AttentionConfig(value_count=2),
    }
    for dimension, config in wanted.items():
        assert measure_instance(ModelInstance(config), 3).hull_dimension == dimension


# --- What kind of points ---


def types(found):
    return {POINT_TYPES[code] for code in np.unique(found.types)}


def test_an_average_of_three_fixed_values_is_planar_on_both_charts():
    for chart, depth in itertools.product(("inputs", "weights"), (1, 3)):
        instance = ModelInstance(AttentionConfig(depth=depth), 72, chart=chart)
        found = measure_instance(instance, 11)
        # Deep stacks shrink: their bend is bounded, but not by a thousandth of 1 / diameter.
        assert types(found) <= ({"planar"} if depth == 1 else {"planar", "undetermined"})
        assert found.surface.without_curvature[0]
        assert (found.verdict.flat, found.verdict.undetermined) == (1, 0)
        assert found.verdict.proof


@pytest.mark.parametrize("dim", [3, 5])
def test_normalisation_makes_a_sphere_without_any_gate(dim):
    config = AttentionConfig(model_dim=dim, norm="post")
    found = measure_instance(ModelInstance(config, 72), 11)
    assert types(found) == {"elliptic"}
    gap = np.abs(found.surface.gaussian[0] - 1 / dim)
    assert (gap <= found.surface.gaussian_error[0] + 1e-15).all()
    np.testing.assert_allclose(found.mean_norm, dim**-0.5, rtol=1e-6)


def test_types_are_the_signs_of_k_where_they_are_decided():
    for name in ("gated", "four dimensions, full covariance", "everything", "sharp"):
        found = measure_instance(INSTANCES[name], 21)
        surface = found.surface
        decided = surface.resolved[0] & (np.abs(surface.gaussian[0]) > surface.gaussian_error[0])
        named = np.where(surface.gaussian[0] > 0, "elliptic", "hyperbolic")
        assert (np.array(POINT_TYPES)[found.types] == named)[decided].all()
        assert decided.any()
        assert not set(found.types[~decided]) & {0, 1}


EVERYWHERE = {
    "plane": "planar", "warped plane": "planar", "cylinder": "parabolic", "cone": "parabolic",
    "flat torus in R4": "parabolic", "sphere by gating": "elliptic", "ellipsoid": "elliptic",
    "paraboloid": "elliptic", "saddle": "hyperbolic", "catenoid": "hyperbolic",
    "helicoid": "hyperbolic", "pseudosphere": "hyperbolic", "graph of z^2 in C2": "hyperbolic",
}  # fmt: skip


def types_of(chart, bound="rigorous"):
    jet = second_order_jet(chart, square_grid(11).points, bound)
    codes = point_types(curvature(jet), second_fundamental_form(jet))
    return {POINT_TYPES[code] for code in codes.unique()}


@pytest.mark.parametrize("bound", ["rigorous", "estimate"])
@pytest.mark.parametrize("name", EVERYWHERE)
def test_classical_surfaces_have_the_types_of_the_textbook(name, bound):
    assert types_of(SURFACES[name].chart, bound) == {EVERYWHERE[name]}


def test_where_no_tangent_plane_is_known_nothing_is_decided():
    line = measure_instance(ModelInstance(AttentionConfig(value_count=2), 1), 11)
    assert types(line) == {"undetermined"}
    assert line.verdict.undetermined == 1
    point = measure_instance(ModelInstance(AttentionConfig(), values=((1.0, 2.0, 3.0),) * 3), 11)
    assert types(point) == {"undetermined"}
    assert point.verdict.undetermined == 1


@pytest.mark.parametrize(
    ("gaussian", "error", "bending", "bending_error", "resolved", "wanted"),
    [
        (2.0, 1e-9, 2.0, 1e-9, True, "elliptic"),
        (-2.0, 1e-9, 2.0, 1e-9, True, "hyperbolic"),
        (2.0, 3.0, 2.0, 1e-9, True, "undetermined"),  # K could be anything
        (-2.0, 3.0, 2.0, 1e-9, True, "undetermined"),
        (1e-12, 1e-9, 2.0, 1e-9, True, "parabolic"),
        (1e-12, 1e-9, 1e-4, 1e-9, True, "undetermined"),  # bends too little to call K zero
        (1e-12, 1e-9, 1e-4, 1e-3, True, "planar"),
        (2.0, 1e-9, 2.0, 1e-9, False, "undetermined"),
        (1e-12, 1e-9, 1e-4, 1e-3, False, "undetermined"),
        (math.nan, math.inf, math.nan, math.inf, False, "undetermined"),
    ],
)
def test_a_type_is_named_only_where_the_bounds_allow_it(
    gaussian, error, bending, bending_error, resolved, wanted
):
    def one(x):
        return torch.tensor([x], dtype=torch.float64)

    field = CurvatureField(
        one(gaussian),
        one(error),
        *map(one, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)),
        torch.tensor([resolved]),
        "rigorous",
    )
    form = torch.zeros(1, 3, 3, dtype=torch.float64)
    form[0, 2, 0] = bending
    errors = torch.tensor([[bending_error, 0.0, 0.0]], dtype=torch.float64)
    frame = torch.eye(3, 2, dtype=torch.float64).unsqueeze(0)
    second = FundamentalForm(frame, one(0.0), form, errors, form[..., 0] / 2, one(0.0), "rigorous")
    (code,) = point_types(field, second).tolist()
    assert POINT_TYPES[code] == wanted


def test_the_undetermined_share_is_one_of_area():
    surface = measure_instance(INSTANCES["gated"], 21).surface
    assert surface.quadrature.sum() == pytest.approx(4)
    errors = surface.gaussian_error.copy()
    errors[:, :4, 7:] = 1e9  # resolved or not: the sign is not known
    area = surface.area_element[0] * surface.quadrature
    share = area[:4, 7:].sum() / area.sum()
    assert surface.verdicts[0].undetermined == 0
    doubtful = replace(surface, gaussian_error=errors).verdicts[0]
    assert doubtful.undetermined == pytest.approx(share, rel=1e-12)
    assert doubtful.curved + doubtful.flat == pytest.approx(1 - share, rel=1e-12)


# --- Colours ---

FIELDS = st.lists(
    arrays(
        float,
        (4, 5),
        elements=st.one_of(
            st.just(math.nan), st.just(0.0), st.floats(-1e300, 1e300), st.floats(-3, 3)
        ),
    ),
    min_size=1,
    max_size=2,
)


@given(FIELDS, st.sampled_from(sorted(COLOURINGS)), st.booleans())
def test_a_scale_never_collapses_is_shared_and_says_what_it_cuts_off(fields, name, asinh):
    colouring = COLOURINGS[name]
    if colouring.range != "signed":
        fields = [np.abs(field) for field in fields]
    scale = colour_scale(colouring, fields, asinh)
    assert np.isfinite([scale.low, scale.high, *scale.ends]).all()
    assert scale.low < scale.high
    assert scale == colour_scale(colouring, fields[::-1], asinh)
    values = np.concatenate([field[np.isfinite(field)] for field in fields])
    shown = scale.apply(values)
    assert np.isfinite(shown).all()
    assert (np.diff(shown[np.argsort(values)]) >= 0).all()
    low, high = scale.ends
    rtol = 2e-3 if scale.log else 1e-9  # 1e-308 is below the smallest normal number
    back = scale.apply(np.array([low, high]))
    np.testing.assert_allclose(back, [scale.low, scale.high], rtol=rtol)
    if colouring.range == "signed":
        assert scale.low == -scale.high
        assert scale.high > 0
    if values.size:
        outside = ((values < low) | (values > high)) & ~np.isclose(values, high)
        outside &= ~np.isclose(values, low)
        assert outside.mean() <= scale.beyond + 1e-12
        assert scale.beyond <= 1 - QUANTILE + 1 / values.size + 1e-12 or len(fields) > 1


def test_linear_colours_end_at_the_quantile_of_the_side_with_most_to_show():
    rng = np.random.default_rng(0)
    fields = [rng.normal(size=(21, 21)), 5 * rng.normal(size=(21, 21))]
    scale = colour_scale(COLOURINGS["curvature"], fields)
    assert scale.high == np.quantile(np.abs(fields[1]), 0.9) == -scale.low
    # Of that side, as where it is shown alone.
    assert scale.beyond == (np.abs(fields[1]) > scale.high).mean() > 0
    assert scale == colour_scale(COLOURINGS["curvature"], fields[1:])
    assert colour_scale(COLOURINGS["size"], [np.abs(f) for f in fields]).low == 0


@pytest.mark.parametrize(("largest", "beyond"), [(2.05, 0.0), (3.0, 0.01)])
def test_the_asinh_scale_cuts_off_nothing_where_the_largest_is_hardly_more(largest, beyond):
    field = np.concatenate([np.full(99, 2.0), [largest]]).reshape(10, 10)
    scale = colour_scale(COLOURINGS["curvature"], [field], asinh=True)
    assert scale.ends[1] == pytest.approx(2 if beyond else largest)
    assert scale.beyond == beyond


def test_the_asinh_scale_cuts_off_the_largest_fiftieth_says_so_and_is_linear_near_zero():
    field = np.concatenate([np.linspace(-2, 2, 199), [1e36]]).reshape(8, 25)
    scale = colour_scale(COLOURINGS["curvature"], [field], asinh=True)
    end = np.quantile(np.abs(field), 0.98)
    assert scale.ends == pytest.approx((-end, end))
    assert scale.beyond == (np.abs(field) > end * (1 + 1e-9)).mean() <= 0.02
    small = 1e-4 * scale.soft
    assert scale.apply(np.array(small)) == pytest.approx(small / scale.soft, rel=1e-6)
    np.testing.assert_allclose(np.sinh(scale.apply(field)) * scale.soft, field, rtol=1e-9)


def test_bounds_are_coloured_by_powers_of_ten():
    scale = colour_scale(COLOURINGS["error"], [np.array([[2e-14, 3e-9, np.nan]])])
    assert (scale.low, scale.high, scale.log) == (-14, -8, True)
    assert scale.ends == pytest.approx((1e-14, 1e-8))
    assert scale.apply(np.array(1e-12)) == pytest.approx(-12)


# --- How long a surface is ------------------------------------------------------------------------


@pytest.mark.parametrize("times", [1.0, 12.0, 1e5])
def test_a_rectangle_is_as_elongated_as_it_says(times):
    side = np.linspace(-1, 1, 21)
    across, along = np.meshgrid(side, times * side)
    sheet = np.stack([across, along, np.zeros_like(across)], -1)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert elongation(sheet @ turn + 5.0) == pytest.approx(times, rel=1e-6)
    huge = 1e200 * (sheet @ turn)
    huge[0, 0] = np.nan
    assert elongation(huge) == pytest.approx(times, rel=0.1)


def test_the_elongation_of_a_point_is_one_and_of_a_line_infinite():
    assert elongation(np.ones((4, 4, 3))) == 1
    assert elongation(np.full((4, 4, 3), np.inf)) == 1  # no finite point
    assert elongation(np.linspace(0, 1, 9)[:, None] * np.array([1.0, 0.0, 0.0])) == np.inf


@pytest.mark.parametrize("depth", range(1, 7))
def test_both_surfaces_of_a_chosen_model_are_broad(depth):
    instance = ModelInstance(chosen_config(depth), CHOSEN_SEEDS[depth])
    for values in instance_values([instance.ungated, instance], 31):
        assert elongation(values) < NEAR_DEGENERATE
