"""Ratios of twins to heads against loops, intervals against SciPy's, colours against totals."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from gating_core.real_heads import entropy_share, geometric_mean, twin_ratio
from gating_core.real_heads.measured import drawn_surface

DRAW = np.random.default_rng(0)
FOUND = {"total": DRAW.lognormal(size=(6, 12)), "error": np.full((6, 12), 1e-6),
         "entropy": DRAW.uniform(0, 4, (6, 12)),
         "sharp": DRAW.lognormal(0.5, 1, (8, 6, 12))}  # fmt: skip


def test_the_ratio_is_the_geometric_mean_and_its_interval_that_of_six_layers():
    found, means, by_seed, larger = twin_ratio(FOUND, "sharp"), [], [0.0] * 8, 0
    for layer in range(6):
        logs = []
        for head in range(12):
            ratios = [
                math.log(x[layer, head] / FOUND["total"][layer, head]) for x in FOUND["sharp"]
            ]
            by_seed = [a + b / 72 for a, b in zip(by_seed, ratios, strict=True)]
            larger += sum(ratios) < 0
            logs += ratios
        means.append(sum(logs) / 96)
    assert found.mean.value == pytest.approx(math.exp(sum(means) / 6))
    interval = stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert found.mean.low == pytest.approx(math.exp(interval.low))
    assert found.mean.high == pytest.approx(math.exp(interval.high))
    np.testing.assert_allclose(found.layers, np.exp(means))
    np.testing.assert_allclose(found.seeds, np.exp(by_seed))
    assert (found.heads, found.larger) == (72, larger)


def test_heads_that_are_the_same_in_a_layer_do_not_narrow_the_interval():
    """Twelve copies of one head a layer are six numbers, not seventy-two."""
    copied = {name: np.repeat(array[..., :1], 12, -1) for name, array in FOUND.items()}
    single = {name: array[..., :1] for name, array in FOUND.items()}
    many, few = (twin_ratio(each, "sharp").mean for each in (copied, single))
    assert (many.low, many.high) == pytest.approx((few.low, few.high))


def test_heads_that_are_not_known_to_curve_are_left_out():
    found = {name: array.copy() for name, array in FOUND.items()}
    found["total"][0] = found["error"][0] / 2  # a whole layer
    found["total"][1, 3] = 0.0
    found["sharp"][2, 4, 5] = 0.0  # one seed of one twin
    less = twin_ratio(found, "sharp")
    assert less.heads == 72 - 12 - 2
    assert np.isnan(less.layers).tolist() == [True, *[False] * 5]
    kept = twin_ratio({n: x[..., 1:, :] for n, x in found.items()}, "sharp")
    assert less.mean == kept.mean
    assert np.isfinite(less.mean.high)
    found["total"] = np.zeros((6, 12))
    assert twin_ratio(found, "sharp") is None
    assert math.isnan(entropy_share(found))


def test_one_layer_has_no_interval():
    only = twin_ratio({name: array[..., :1, :] for name, array in FOUND.items()}, "sharp").mean
    assert only.value > 0
    assert math.isnan(only.low)
    assert math.isnan(only.high)


def test_a_geometric_mean_of_ratios():
    mean = geometric_mean(np.array([0.5, 2.0, 8.0]))
    assert mean.value == pytest.approx(2)
    assert mean.low * mean.high == pytest.approx(4)
    half = stats.t.ppf(0.975, 2) * math.log(4) / math.sqrt(3)
    assert mean.high == pytest.approx(2 * math.exp(half))


def test_the_share_that_entropy_explains_is_the_squared_correlation():
    line = stats.linregress(FOUND["entropy"].ravel(), np.log(FOUND["total"]).ravel())
    assert entropy_share(FOUND) == pytest.approx(line.rvalue**2)
    exact = FOUND | {"total": np.exp(-2 * FOUND["entropy"])}
    assert entropy_share(exact) == pytest.approx(1)


@pytest.mark.parametrize("radius", [0.1, 1.0, 30.0])
def test_what_colours_a_sphere_is_its_total_whatever_its_size(radius):
    def cap(points):
        longitude, latitude = points.unbind(-1)
        level = latitude.cos()
        return radius * torch.stack(
            [level * longitude.cos(), level * longitude.sin(), latitude.sin()], -1
        )

    found, _ = drawn_surface(cap, "estimate")
    assert float(found.total.value) == pytest.approx(4 * math.sin(1), rel=1e-3)
    np.testing.assert_allclose(found.known, float(found.total.value), rtol=1e-6)
    np.testing.assert_allclose(found.signed, found.known)
    assert (found.error < 1e-6).all()
