"""Four keys decide one sign of K: theorem and closed form against jets, 200 digits, and laws."""

import math

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.geometry.curvature import curvature
from gating_core.geometry.keys import COLLINEAR, CONVEX, INSIDE, LINE
from gating_core.jets.second_order import second_order_jet
from gating_core.theory import four_key_curvature, key_sign, with_sink
from tests.core import exact

seeds = st.integers(0, 10**6)
TRIANGLE = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]


def random_layer(seed, dim=3, scale=1.0):
    """Keys, biases, values and 40 points of the chart, in float64."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    points = 2 * torch.rand(40, 2, generator=generator, dtype=torch.float64) - 1
    return scale * draw(4, 2), draw(4) / 2, draw(4, dim), points


def surface(keys, biases, values):
    return lambda x: torch.softmax(x @ keys.mT + biases, -1) @ values


def measured(function, points, covariance=None):
    return curvature(second_order_jet(function, points, "rigorous"), covariance)


def random_covariance(seed, dim):
    factor = random_layer(seed, dim)[2][:1].mT * 0.5 + torch.eye(dim, dtype=torch.float64)
    return factor @ factor.mT


@given(seed=seeds, dim=st.integers(3, 8), scale=st.floats(0.1, 5), metric=st.booleans())
def test_closed_form_and_jets_agree_within_their_bounds(seed, dim, scale, metric):
    keys, biases, values, points = random_layer(seed, dim, scale)
    covariance = random_covariance(seed + 1, dim) if metric else None
    found = four_key_curvature(keys, biases, values, points, covariance)
    field = measured(surface(keys, biases, values), points, covariance)
    apart = (found.gaussian - field.gaussian).abs()
    assert (apart <= found.gaussian_error + field.gaussian_error)[field.resolved].all()
    assert (field.gaussian.sign() == found.sign)[field.decided].all()
    known = found.gaussian.abs() > found.gaussian_error
    assert (found.gaussian.sign() == found.sign)[known].all()


def test_the_bounds_are_narrow():
    """Otherwise agreement within them would show nothing."""
    for seed in range(20):
        keys, biases, values, points = random_layer(seed, 3 + seed % 6)
        found = four_key_curvature(keys, biases, values, points)
        assert (found.gaussian_error < 1e-9 * found.gaussian.abs()).all()
        assert measured(surface(keys, biases, values), points).decided.float().mean() > 0.9


def in_plain_numbers(keys, biases, values):
    """The surface number by number, for `tests.core.exact`."""
    a, b, w = keys.tolist(), biases.tolist(), values.tolist()

    def function(m, u, v):
        weights = [m.exp(a[i][0] * u + a[i][1] * v + b[i]) for i in range(4)]
        total = m.fsum(weights)
        return [m.fsum(weights[i] * w[i][d] for i in range(4)) / total for d in range(len(w[0]))]

    return function


@pytest.mark.parametrize("size", [0.01, 1.0, 8.0, 60.0])
@pytest.mark.parametrize("dim", [3, 5])
def test_k_at_200_digits_is_within_the_bound(dim, size):
    """Logits up to several hundred: weights of 1e-100 and less."""
    for seed in range(3):
        keys, biases, values, points = random_layer(seed, dim, size)
        found = four_key_curvature(keys, biases, values, points[:3])
        function = in_plain_numbers(keys, biases, values)
        for i, (u, v) in enumerate(points[:3].tolist()):
            with mpmath.workdps(exact.DIGITS):
                true = exact.geometry(exact.jet(function, u, v))["gaussian"]
                own = exact.OWN_ERROR * (1 + abs(true)) ** 2
                apart = abs(mpmath.mpf(float(found.gaussian[i])) - true)
                assert apart <= float(found.gaussian_error[i]) + own
                assert mpmath.sign(true) == found.sign


def barycentric_form(keys, biases, values, points, m_of=lambda p, w: 1 + p[:, 3:] * w / p[:, :3]):
    """The closed form as the issue writes it."""
    p = torch.softmax(points @ keys.mT + biases, 1)
    one = torch.ones(1, dtype=torch.float64)
    corners = torch.cat([keys[:3].mT, one.expand(1, 3)])
    w = torch.linalg.solve(corners, torch.cat([keys[3], one]))
    gram = (values[:3] - values[3]) @ (values[:3] - values[3]).mT
    m = m_of(p, w)
    quadratic = (m * torch.linalg.solve(gram, m.mT).mT).sum(1)
    return p[:, 3] ** 2 * w.prod() / (p[:, :3].prod(1) ** 2 * torch.linalg.det(gram) * quadratic**2)


def test_both_closed_forms_are_equal_and_a_wrong_one_is_not():
    for seed in range(20):
        layer = random_layer(seed, 3 + seed % 6)
        found = four_key_curvature(*layer)
        assert torch.allclose(found.gaussian, barycentric_form(*layer), rtol=1e-9, atol=0)
        wrong = barycentric_form(*layer, lambda p, w: 1 - p[:, 3:] * w / p[:, :3])
        assert not ((found.gaussian - wrong).abs() <= found.gaussian_error).any()


@given(seed=seeds, other=seeds, dim=st.integers(3, 8))
def test_biases_values_and_metric_do_not_change_the_sign(seed, other, dim):
    keys, _, _, _ = random_layer(seed)
    _, biases, values, points = random_layer(other, dim)
    covariance = random_covariance(other, dim)
    field = measured(surface(keys, 3 * biases, values), points, covariance)
    assert (field.gaussian.sign() == key_sign(keys).sign)[field.decided].all()


# --- The sign -------------------------------------------------------------------------------------


def inside_by_angles(keys):
    """Another way: a key is inside if the directions to the others leave no half plane free."""
    for i in range(4):
        angles = sorted(
            math.atan2(keys[j][1] - keys[i][1], keys[j][0] - keys[i][0]) for j in range(4) if j != i
        )
        gaps = [b - a for a, b in zip(angles, [*angles[1:], angles[0] + 2 * math.pi], strict=True)]
        if max(gaps) < math.pi:
            return True
    return False


@given(seed=seeds, order=st.permutations(range(4)))
def test_the_sign_is_that_of_the_arrangement_in_any_order(seed, order):
    keys = random_layer(seed)[0].tolist()
    found = key_sign([keys[i] for i in order])
    assert found == key_sign(keys)
    assert found.arrangement == (INSIDE if inside_by_angles(keys) else CONVEX)
    assert found.sign == (1 if inside_by_angles(keys) else -1)


@pytest.mark.parametrize("step", [-1, 0, 1])
def test_the_last_bit_of_a_key_decides(step):
    """A key in the middle of an edge, and one unit in the last place to either side of it."""
    y = 1.0 + step * 2.0**-53 * (1 if step < 0 else 2)
    keys = torch.tensor([[0, 0], [2, 2], [2, 0], [1, y]], dtype=torch.float64)
    found = key_sign(keys)
    assert found.sign == {-1: 1, 0: 0, 1: -1}[step]
    assert found.arrangement == {-1: INSIDE, 0: COLLINEAR, 1: CONVEX}[step]


@pytest.mark.parametrize("fourth", [[2.0, 0.0], [0.0, 0.0], [8.0, 0.0], [1.0, 3.0]])
def test_three_collinear_or_two_coinciding_keys_do_not_curve(fourth):
    keys = torch.tensor([*TRIANGLE, fourth], dtype=torch.float64)
    _, biases, values, points = random_layer(3)
    found = four_key_curvature(keys, biases, values, points)
    assert key_sign(keys).arrangement == COLLINEAR
    assert found.sign == 0
    assert not found.gaussian.any()
    assert not found.gaussian_error.any()
    field = measured(surface(keys, biases, values), points)
    assert (field.flat & field.resolved).all()


@pytest.mark.parametrize("keys", [[[0, 0], [1, 2], [2, 4], [-1, -2]], [[1, 1]] * 4,
                                  [[0, 0], [0, 0], [0, 0], [1, 0]]])  # fmt: skip
def test_keys_on_one_line_draw_no_surface(keys):
    assert key_sign(keys).sign is None
    assert key_sign(keys).arrangement == LINE
    _, biases, values, points = random_layer(0)
    with pytest.raises(ValueError, match="keys lie on one line; there is no surface"):
        four_key_curvature(keys, biases, values, points)


def test_dependent_values():
    keys, biases, values, points = random_layer(0)
    values = (values * 2**20).round()  # sums are exact
    values[3] = values[0] + 2 * (values[1] - values[0]) + 3 * (values[2] - values[0])
    for plane in (values, values[:, :2]):
        found = four_key_curvature(keys, biases, plane, points)
        assert found.sign == 0
        assert not found.gaussian.any()
        assert measured(surface(keys, biases, plane), points).flat.all()
    assert key_sign(keys).sign != 0
    values[2] = 2 * values[1] - values[0]
    values[3] = values[0]
    with pytest.raises(ValueError, match="values lie on one line; there is no surface"):
        four_key_curvature(keys, biases, values, points)


def test_values_that_are_nearly_dependent_leave_k_open_but_not_its_sign():
    keys, biases, values, points = random_layer(1)
    values[3] = values[:3].mean(0)
    values[3, 0] += 1e-15
    found = four_key_curvature(keys, biases, values, points)
    assert found.sign == key_sign(keys).sign
    assert (found.gaussian_error > found.gaussian.abs()).all()


@pytest.mark.parametrize("size", [1e-150, 1e-6, 1e130])
def test_k_scales_by_the_inverse_square_of_the_values(size):
    keys, biases, values, points = random_layer(2)
    found = four_key_curvature(keys, biases, values * size, points)
    unit = four_key_curvature(keys, biases, values, points).gaussian
    assert torch.allclose(found.gaussian * size * size, unit, rtol=1e-9, atol=0)
    assert (found.gaussian_error < 1e-6 * found.gaussian.abs()).all()


@given(seed=seeds, narrow=st.sampled_from([torch.float32, torch.float16, torch.bfloat16]))
def test_narrow_numbers_count_as_exact(seed, narrow):
    arguments = [x.to(narrow) for x in random_layer(seed, 4)]
    found = four_key_curvature(*arguments)
    wide = four_key_curvature(*(x.double() for x in arguments))
    assert torch.equal(found.gaussian, wide.gaussian)
    assert found.sign == wide.sign == key_sign(arguments[0]).sign


KEYS, BIASES, VALUES, POINTS = random_layer(5)


@pytest.mark.parametrize(("arguments", "message"), [
    ((KEYS[:3], BIASES, VALUES, POINTS), "keys must be four rows of two finite numbers"),
    ((KEYS * math.nan, BIASES, VALUES, POINTS), "keys contains NaN"),
    ((KEYS, BIASES[:3], VALUES, POINTS), "biases has shape"),
    ((KEYS, BIASES, VALUES[:, :1], POINTS), "values has shape"),
    ((KEYS, BIASES, VALUES[:3], POINTS), "values has shape"),
    ((KEYS, BIASES, VALUES / 0, POINTS), "values contains NaN or infinite"),
    ((KEYS, BIASES, VALUES, POINTS[:, :1]), "points has shape"),
    ((KEYS, BIASES, VALUES, torch.ones(2, 3)), "points has shape"),
])  # fmt: skip
def test_unusable_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        four_key_curvature(*arguments)


@pytest.mark.parametrize("keys", [None, 3, "keys", [[0, 0]] * 3, [[0, math.inf]] * 4, [[0]] * 4])
def test_unusable_keys_are_refused(keys):
    with pytest.raises(ValueError, match="keys must be four rows of two finite numbers"):
        key_sign(keys)


# --- Sinks, and exclusive attention ---------------------------------------------------------------


@pytest.mark.parametrize(("corner", "sign"), [
    ((-1.0, -1.0), 1),  # the origin lies in the triangle
    ((1.0, 1.0), 1),  # in the vertex cone of the first key
    ((-5.0, 0.5), 1),  # of the second
    ((-3.0, -3.0), -1),  # beyond the edge that faces the first key
    ((-1.0, 1.0), -1),  # beyond the edge below
    ((0.0, -1.0), 0),  # on an edge
    ((0.0, 2.0), 0),  # on an edge's line
])  # fmt: skip
@pytest.mark.parametrize("logit", [-3.0, 0.0, 2.0])
def test_where_the_origin_lies_decides_what_a_sink_does(corner, sign, logit):
    keys = torch.tensor(TRIANGLE, dtype=torch.float64) + torch.tensor(corner, dtype=torch.float64)
    _, biases, values, points = random_layer(7)
    sunk = with_sink(keys, biases[:3], values[:3], logit)
    found = four_key_curvature(*sunk, points / 4)
    assert found.sign == sign
    field = measured(surface(*sunk), points / 4)
    assert (field.gaussian.sign() == sign)[field.decided].all()
    assert field.decided.all() == bool(sign)


def test_exclusive_attention_is_flat_with_a_fixed_value_and_curves_with_a_moving_one():
    keys, biases, values, points = random_layer(0, 5)
    plain, fixed = surface(keys[:3], biases[:3], values[:3]), values[3]

    def exclusive(own):
        def function(x):
            y, v = plain(x), own(x)
            v = v / (v * v).sum(-1, keepdim=True).sqrt()
            return y - (y * v).sum(-1, keepdim=True) * v

        return measured(function, points)

    still = exclusive(lambda x: fixed + 0 * x[:, :1])
    assert (still.flat & still.resolved).all()
    moving = exclusive(lambda x: fixed + x @ values[:2])
    assert moving.decided.all()
