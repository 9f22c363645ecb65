"""The picture of two models draws what was measured, and its verdicts say it."""

import re

import numpy as np
import pytest
import torch

from gating_core.experiments.comparison import StrengthSweep, cut_of
from gating_core.geometry import Integral, measure_surface, square_grid
from gating_core.geometry.classics import SURFACES
from tests.pairs import small_pair
from ui.drawing import palette
from ui.landing.details import learning_curves
from ui.landing.pair import curvature_colours, pair_of, verdicts
from ui.landing.picture import MeasuredPair

AXIS = np.linspace(-1, 1, 21)


@pytest.fixture(scope="module")
def pair():
    return small_pair()


@pytest.mark.parametrize("colouring", ["class", "curvature"])
def test_what_is_drawn_is_what_the_core_measured(pair, colouring):
    """A picture is the surface, moved, turned and made larger, with its planes."""
    _, left, right = pair
    drawn, scale = pair_of(MeasuredPair(left, right, True), colouring)
    measured = np.c_[right.frames.values.reshape(-1, 3), np.ones(right.frames.values[..., 0].size)]
    fit = np.linalg.lstsq(measured, drawn.sides[1].values.reshape(-1, 3), rcond=None)[0]
    unit = np.cbrt(np.linalg.det(fit[:3]))  # positive: no mirror image
    np.testing.assert_allclose(fit[:3] @ fit[:3].T, unit**2 * np.eye(3), atol=1e-9)
    for side, model in zip(drawn.sides, (left, right), strict=True):
        frames, data = model.frames, side.classified
        placed = frames.values @ fit[:3] + fit[3]
        np.testing.assert_allclose(side.values, placed, atol=1e-9)
        placed = model.value_vectors @ fit[:3] + fit[3]
        np.testing.assert_allclose(side.corners, placed, atol=1e-9)
        away = np.einsum("trcd,td->trc", side.values, data.planes[:, :3])
        away += data.planes[:, 3, None, None]
        steepness = np.linalg.norm(frames.normal, axis=-1)[:, None, None]
        np.testing.assert_allclose(away * steepness / unit, frames.margin, atol=1e-6)
        np.testing.assert_array_equal(side.signed, frames.margin)
        np.testing.assert_array_equal(data.chart, model.data.points)
        assert [*data.labels] == [*model.data.labels]
        assert len(set(data.colours)) == 2
        # Flat surfaces are drawn level, as are the values.
        assert side.flat[0]
        np.testing.assert_allclose(np.r_[side.values[0, ..., 2].ravel(), side.corners[:, 2]],
                                   side.corners[0, 2], atol=1e-6)  # fmt: skip
        if colouring == "class":
            np.testing.assert_allclose(side.shares, 1 / (1 + np.exp(-frames.margin)), atol=1e-9)
            np.testing.assert_array_equal(side.shares, side.gaussian)
        else:
            np.testing.assert_array_equal(side.gaussian, model.surface.known)
            inside = np.abs(side.gaussian) < scale.ends[1]
            shown = np.sinh((2 * side.shares[inside] - 1) * scale.high) * scale.soft
            np.testing.assert_allclose(shown, side.gaussian[inside], atol=1e-9)
    assert drawn.symbol == {"class": "p(class 1)", "curvature": "K"}[colouring]
    assert [len(side.values) for side in drawn.sides] == [1, 3]


def test_without_its_gate_the_right_surface_is_drawn_as_the_left_one(pair):
    left, right = pair_of(MeasuredPair(*pair[1:], True))[0].sides
    np.testing.assert_array_equal(left.values[0], right.values[0])
    np.testing.assert_array_equal(left.corners, right.corners)
    np.testing.assert_array_equal(left.lines, right.lines)
    np.testing.assert_array_equal(left.classified.planes[0], right.classified.planes[0])


def test_where_there_is_no_surface_to_see_maps_stand_alone_by_class(pair):
    drawn, scale = pair_of(MeasuredPair(*pair[1:], False), "curvature")
    assert drawn.alone
    assert (drawn.symbol, scale.ends) == ("p(class 1)", (0.0, 1.0))


def test_colours_of_k_are_symmetric_and_say_what_they_cut_off(pair):
    _, left, right = pair
    drawn, scale = pair_of(MeasuredPair(left, right, True), "curvature")
    low, high = scale.ends
    assert low == -high
    assert drawn.ends[1] == f"K = {drawn.ends[0].removeprefix('K = −')}"
    known = right.surface.known[-1]
    assert scale.beyond == (np.abs(known[~np.isnan(known)]) > high * (1 + 1e-9)).mean()
    assert 0 < scale.beyond < 0.03


def test_a_flat_surface_is_not_drawn_in_amplified_rounding():
    flat = measure_surface(SURFACES["plane"].chart, square_grid(21))
    scale = curvature_colours(flat)
    assert scale.ends[1] == pytest.approx(palette.COLOUR_RANGE_FLOOR)
    assert scale.beyond == 0.0


def test_a_constant_sphere_is_not_blank():
    sphere = measure_surface(SURFACES["sphere by gating"].chart, square_grid(21))
    scale = curvature_colours(sphere)
    assert abs(scale.ends[1] - 1 / 0.49) < 1e-9
    assert scale.low == -scale.high
    assert scale.apply(sphere.known).min() == pytest.approx(scale.high)


def test_learning_curves_show_every_seed(pair):
    ungated, gated = (variant.ensemble for variant in pair[0].variants.values())
    figure = learning_curves({"a": ungated, "b": gated}, {"a": "#000000", "b": "#ffffff"})
    assert len(figure.data) == 4
    steps = len(ungated.steps)
    assert len(figure.data[0].x) == 2 * (steps + 1)  # two other seeds, a gap after each
    np.testing.assert_array_equal(figure.data[1].y, ungated.train_loss[:, ungated.best])


def test_a_verdict_says_how_it_is_cut_and_what_is_known_of_a_total(pair):
    right, nan = pair[2], float("nan")
    parts = torch.tensor([[nan, 7.0, 7.0], [nan, 0.5, 3.0]], dtype=torch.float64)
    total = Integral(*parts, torch.tensor([True] * 3))
    nothing = np.zeros(0)
    sweep = StrengthSweep(0, nothing, nothing, total, np.array([True, False, True]))
    flat, waits, doubtful = verdicts(right, sweep, True)
    assert flat[0].startswith("Flat, ")
    assert flat[1].startswith("Flat (proved: it lies in the plane of three fixed values) · total")
    assert "total curvature 0 ·" in flat[1]
    assert " · total curvature is being measured … · " in waits[1]
    assert "total curvature 7 ± 3, not converged to 10\u00a0%, " in doubtful[1]
    assert "of it on 1\u00a0% of the area · " in doubtful[1]
    for (word, known), margin in zip((flat, waits, doubtful), right.frames.margin, strict=True):
        assert known.endswith("\u00a0% test accuracy, classifier refitted")
        cut = cut_of(margin, AXIS)
        straight = "a straight line" if word.startswith("Flat") else cut.text
        assert word.endswith(f"cut in {straight}" if cut.count else "not cut")
    for word, known in verdicts(right, sweep, False):
        assert "ecision boundary" in word
        assert re.fullmatch("Seed [0-9]+: [^·]+", known)
