"""The words for what is known of a surface mean what they say."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from gating_core.geometry.classics import SURFACES
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral, grid_integral
from gating_core.geometry.surface import MeasuredSurface, diameter, measure_surface
from gating_core.geometry.verdict import (
    AT_POINTS,
    BENT,
    CURVED,
    FLAT,
    PROVED,
    SEEN,
    UNKNOWN,
)
from gating_core.jets.second_order import second_order_jet
from gating_core.theory.ungated import KeySurface

GRID = square_grid(11)
TORUS, PLANE = (measure_surface(SURFACES[name].chart, GRID) for name in ("torus", "warped plane"))


def with_errors(surface, error):
    return replace(surface, gaussian_error=np.full_like(surface.gaussian_error, error))


def half_gone(surface):
    gone = np.zeros_like(surface.resolved)
    gone[0, :5] = True
    return replace(
        surface,
        resolved=~gone,
        gaussian=np.where(gone, np.nan, surface.gaussian),
        gaussian_error=np.where(gone, np.inf, surface.gaussian_error),
    )


CASES = {
    "curved": TORUS,
    "flat": PLANE,
    "curved, errors as large as K": with_errors(TORUS, 0.2),
    "flat, as far as a large error says": with_errors(PLANE, 10.0),
    "curved, partly unresolved": half_gone(TORUS),
    "flat, partly unresolved": half_gone(PLANE),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_known_point_by_point(name):
    """Each word once more, by a walk over the points."""
    surface = CASES[name]
    values = surface.values[0]
    spans = [values[..., i].max() - values[..., i].min() for i in range(3)]
    diagonal = math.sqrt(sum(span**2 for span in spans))
    largest, zero_everywhere = 0.0, True
    for at in np.ndindex(surface.resolved.shape):
        k, error = surface.gaussian[at], surface.gaussian_error[at]
        decided = surface.resolved[at] and abs(k) > error
        zero = surface.resolved[at] and abs(k) <= error < 1e-3 / diagonal**2
        sign = math.copysign(1, k) if decided else 0 if zero else np.nan
        assert np.array_equal(surface.sign[at], sign, True)
        assert np.array_equal(surface.known[at], k if decided else 0 if zero else np.nan, True)
        assert np.array_equal(surface.signed[at], k if decided else np.nan, True)
        largest = max(largest, abs(k)) if decided else largest
        zero_everywhere = zero_everywhere and zero
    assert surface.largest_curvature[0] == largest
    assert surface.without_curvature[0] == zero_everywhere
    assert surface.diagonal[0] == pytest.approx(diagonal, rel=1e-14)


def test_a_proof_stands_above_what_was_measured():
    """Rounding cannot curve a surface that a theorem calls flat, resolved or not."""
    (verdict,) = replace(half_gone(TORUS), proof=("it is one",)).verdicts
    assert (verdict.word, verdict.flat, verdict.curved, verdict.undetermined) == ("flat", 1, 0, 0)


def test_a_few_points_that_know_little_do_not_spoil_a_sheet():
    """Flat asks for small errors at half of the points only, but for zero within all of them."""
    few, most = PLANE.gaussian_error.copy(), PLANE.gaussian_error.copy()
    few[0, :5], most[0, :6] = 10.0, 10.0
    assert replace(PLANE, gaussian_error=few).without_curvature[0]
    assert not replace(PLANE, gaussian_error=most).without_curvature[0]
    assert replace(PLANE, gaussian_error=most).typical_error[0] == 10.0


@pytest.mark.parametrize("scale", [1e-8, 1e8])
@pytest.mark.parametrize("name", ["torus", "warped plane"])
def test_words_have_no_unit(name, scale):
    one = measure_surface(SURFACES[name].chart, GRID)
    other = measure_surface(lambda p: scale * SURFACES[name].chart(p), GRID)
    for word in ("sign", "bends", "without_curvature"):
        np.testing.assert_array_equal(getattr(one, word), getattr(other, word))


def test_what_is_not_finite_has_no_place_in_the_box():
    """A cylinder over half of the chart is known to have K = 0 there, and nowhere else."""

    def half(p):
        u, v = p.unbind(-1)
        return torch.stack([u, v, torch.log(u)], -1)

    found = measure_surface(half, GRID)
    there = np.broadcast_to(GRID.axis > 0, (len(GRID.axis),) * 2)
    points = found.values[0][there]
    assert np.isfinite(points).all()
    assert not np.isfinite(found.values[0][~there]).all(-1).any()
    assert found.diagonal[0] == np.linalg.norm(points.max(0) - points.min(0))
    assert (found.known[0][there] == 0).all()
    assert np.isnan(found.known[0][~there]).all()


def test_of_a_mere_point_nothing_is_known():
    point = measure_surface(lambda p: torch.ones(len(p), 3, dtype=torch.float64), GRID)
    assert point.diagonal[0] == point.diameter[0] == point.largest_curvature[0] == 0
    assert np.isnan(point.known).all()
    assert point.verdicts[0].word == UNKNOWN


# --- How large is it? -----------------------------------------------------------------------------


@example(3, 700, 0, 1e6)  # in two blocks
@given(st.integers(0, 10**6), st.integers(2, 60), st.integers(-12, 0), st.floats(-1e3, 1e3))
def test_the_diameter_is_scipys_whatever_the_shape(seed, count, flatness, place):
    """Clouds, elongated ones, and the four corners of a square, whose ends are many."""
    rng = np.random.default_rng(seed)
    cloud = rng.standard_normal((count, 3)) * [1, 10.0**flatness, 1] + place
    for points in (cloud, np.sign(cloud - place), np.repeat(cloud[:1], count, 0)):
        farthest = pdist(points).max()
        assert diameter(torch.tensor(points)) == pytest.approx(farthest, rel=1e-11, abs=1e-12)


def test_nothing_has_a_diameter_where_a_point_is_nowhere():
    for nowhere in (math.nan, math.inf):
        points = torch.tensor([[0.0, 0.0], [nowhere, 1.0], [3.0, 4.0]], dtype=torch.float64)
        assert math.isnan(diameter(points))


# --- Is it worth quoting? -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "error", "found"),
    [
        (4.0, 2.0, True),
        (4.0, 2.1, False),
        (-4.0, 2.0, True),
        (0.0, 0.0, True),
        (0.01, 0.04, False),
        (4.0, math.inf, False),
        (math.nan, math.nan, False),
    ],
)
def test_a_total_is_settled_to_half_of_itself(value, error, found):
    of_integral = Integral(torch.tensor(value), torch.tensor(error), torch.tensor(True))
    assert bool(of_integral.quotable()) == found


def test_what_repeats_with_the_grid_is_seen_at_jittered_points():
    """Peaks in the middle of every square of this grid: at its points they underflow to zero."""

    def waves(points):
        valley = torch.cos(10 * torch.pi * points).sum(-1) + 2
        return torch.stack([points[:, 0], points[:, 1], torch.exp(-400 * valley)], -1)

    found = measure_surface(waves, GRID)
    (verdict,) = found.verdicts
    assert found.seems_zero[0]
    assert (found.verification.sign == -1).any()
    assert (verdict.word, verdict.knowledge) == (CURVED, AT_POINTS)
    assert verdict.points == 2 * GRID.weights.numel()


def test_how_a_verdict_is_known():
    assert (TORUS.verdicts[0].knowledge, TORUS.verification) == (AT_POINTS, None)
    assert PLANE.verdicts[0].knowledge == SEEN
    assert (PLANE.verification.sign == 0).all()
    nowhere = np.full_like(PLANE.verification.sign, np.nan)
    lost = replace(PLANE, verification=replace(PLANE.verification, sign=nowhere))
    assert (lost.verdicts[0].word, lost.verdicts[0].knowledge) == (UNKNOWN, None)
    estimate = measure_surface(SURFACES["torus"].chart, GRID, bound="estimate")
    assert estimate.verdicts[0].knowledge == SEEN
    proved = measure_surface(lambda p: torch.exp(p), GRID)
    assert proved.verdicts[0].knowledge == PROVED


WORDS = {
    "plane": (FLAT, SEEN),
    "warped plane": (FLAT, SEEN),
    "cylinder": (BENT, SEEN),
    "cone": (BENT, SEEN),
    "flat torus in R4": (BENT, SEEN),
    "saddle": (CURVED, AT_POINTS),
    "catenoid": (CURVED, AT_POINTS),
}


@pytest.mark.parametrize("bound", ["rigorous", "estimate"])
@pytest.mark.parametrize("name", WORDS)
def test_flat_bent_and_curved_are_three_words(name, bound):
    word, knowledge = WORDS[name]
    verdict = MeasuredSurface(SURFACES[name].chart, GRID, bound=bound).verdict
    assert verdict.word == word
    assert verdict.knowledge == (knowledge if bound == "rigorous" else SEEN)
    assert verdict.without_curvature == (word != CURVED)
    assert (verdict.flat == 1) == (word != CURVED)


def test_bending_beside_a_proof_that_k_is_zero():
    """The plane of three values is flat, proved; four values on collinear keys bend, proved."""
    keys = [[0.0, -1.0], [0.0, 0.5], [0.0, 2.0], [1.0, 0.0]]
    values = np.vstack([np.eye(3), [[0.3, -1, 2]]])

    class Keys(KeySurface):
        def four_slots(self):
            return [(self.keys.numpy(), self.values.numpy())]

    bent = Keys(keys, [0.1, 0.2, 0.3, 0.4], values)
    for bound, knowledge in (("rigorous", PROVED), ("estimate", SEEN)):
        verdict = MeasuredSurface(bent, GRID, bound=bound).verdict
        assert (verdict.word, verdict.knowledge, verdict.proof) == (BENT, knowledge, None)
        assert verdict.one_sign is not None
        assert verdict.flat == 1
    flat = MeasuredSurface(KeySurface(keys[1:], [0.1, 0.2, 0.3], values[1:]), GRID)
    assert (flat.verdict.word, flat.verdict.knowledge) == (FLAT, PROVED)
    assert float(flat.total.value) == float(flat.bending.value) == float(flat.bending.error) == 0
    found = MeasuredSurface(bent, GRID)
    assert float(found.total.value) == float(found.total.error) == 0
    assert float(found.bending.value) > 2 * float(found.bending.error) > 0


def test_bending_between_the_points_of_a_grid_is_seen_at_jittered_ones():
    """Ridges in step with the grid: K = 0 everywhere, and at its points II underflows."""

    def ridges(points):
        u, v = points.unbind(-1)
        return torch.stack([u, v, torch.exp(-400 * (torch.cos(10 * torch.pi * u) + 1))], -1)

    found = MeasuredSurface(ridges, GRID)
    assert not found.surface.bends[0]
    assert found.verdict.word == BENT


def test_bending_counts_what_holonomy_sees_and_the_points_do_not():
    """A peak between the points: at least twice its curvature is missing from total bending."""

    def peak(points):
        r2 = (points - 0.1).square().sum(-1, keepdim=True)
        return torch.cat([points, 0.2 * torch.exp(-r2 / 2 / 0.06**2)], -1)

    coarse, fine = MeasuredSurface(peak, GRID), MeasuredSurface(peak, square_grid(201))
    assert float(coarse.unseen) > 0.5 * float(coarse.total.value)
    assert float(coarse.bending.error) >= 2 * float(coarse.unseen)
    for name in ("total", "bending"):
        one, other = getattr(coarse, name), getattr(fine, name)
        assert abs(float(one.value - other.value)) <= float(one.error + other.error), name


@pytest.mark.parametrize("covariance", [None, 2.0, [0.5, 1.0, 2.0]])
def test_a_measured_surface_is_what_its_parts_are(covariance):
    """One jet for all, and each part as by its own function; also from a jet of several frames."""
    found = MeasuredSurface(SURFACES["torus"].chart, GRID, covariance)
    field = curvature(second_order_jet(found.function, GRID.points, "rigorous"), covariance)
    np.testing.assert_array_equal(found.surface.gaussian.ravel(), field.gaussian)
    assert float(found.surface.bending[0]) == float(
        grid_integral("bending", field, GRID.weights).value
    )
    assert float(found.total.error) >= float(found.surface.total_error[0])
    two = MeasuredSurface(lambda p: torch.stack([found.function(p)] * 2), GRID, covariance)
    given = MeasuredSurface(two.function, GRID, covariance, jet=two.jet)
    assert two.total.value.shape == given.bending.value.shape == (2,)
    for part in ("total", "bending"):
        assert torch.equal(getattr(given, part).value, getattr(found, part).value.expand(2))
