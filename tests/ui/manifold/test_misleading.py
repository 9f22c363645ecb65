"""Every picture of the gallery misleads, and the number beside it does not."""

import math
import re

import numpy as np
import pytest

from gating_core.experiments.instance.measured import measure_instance
from gating_core.geometry.classics import SURFACES
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from ui.common.formatting import figures
from ui.manifold.misleading import CASES, SMALL_STEP, STRETCH, largest_text, misleading_picture
from ui.manifold.model import resolve

WITH_MODEL = [name for name, case in CASES.items() if case.request is not None]


@pytest.fixture(scope="module")
def made():
    return {name: misleading_picture(name) for name in CASES}


@pytest.fixture(scope="module")
def ungated():
    """What the Manifold page shows on the left for each case's request."""
    found = {}
    for name in WITH_MODEL:
        resolved = resolve(CASES[name].request)
        found[name] = measure_instance(resolved.variants[0], resolved.grid)
    return found


def drawn(case) -> np.ndarray:
    """The K (or |K|) that a heatmap's pixels stand for."""
    return np.array(case.figure.data[0].customdata, dtype=float)[..., 0]


def ends(case) -> tuple[str, ...]:
    return case.figure.data[0].colorbar.ticktext


def zero_with_bound(text: str) -> float:
    """The bound of "at most bound"."""
    assert text.startswith("at most ")
    return float(text.removeprefix("at most "))


# --- The seven cases ------------------------------------------------------------------------------


def test_n6_the_slice_curves_and_the_space_does_not(made, ungated):
    case, page = made["flat space, curved slice"], ungated["flat space, curved slice"]
    surface = page.surface
    np.testing.assert_array_equal(drawn(case), surface.gaussian[0])
    largest = np.abs(surface.gaussian[0]).max()
    assert largest > 10
    assert largest > 1e6 * surface.gaussian_error[0].max()
    assert figures(largest) in case.lie
    assert any(trace.name == "K = 0" for trace in case.figure.data)
    assert zero_with_bound(case.number) < 1e-15
    assert page.hull_dimension == 3
    assert "flat piece of 3 dimensions" in case.doubt
    assert np.linalg.matrix_rank(page.values - page.values.mean(0)) == 3


def test_own_range_is_rounding_that_is_not_zero(made, ungated):
    case, surface = made["noise on its own scale"], ungated["noise on its own scale"].surface
    field = drawn(case)
    assert surface.flat[0]
    assert len(np.unique(field)) > 3000  # noise, not one value
    assert np.abs(field).max() > 0
    assert (np.abs(field) <= surface.gaussian_error[0]).all()
    assert np.abs(field).max() < 1e-6  # what the page's own scale draws grey
    assert min((field > 0).mean(), (field < 0).mean()) > 0.25  # as many colours as one likes
    place = np.array(case.figure.data[0].z)
    assert ((place <= 0) | (place >= 1)).mean() > 0.05  # and as strong
    assert zero_with_bound(case.number) < 1e-9


def test_step_finds_curvature_on_a_flat_sheet(made, ungated):
    case, surface = made["step too small"], ungated["step too small"].surface
    assert surface.flat[0]
    found = drawn(case)
    assert np.abs(found).max() > 1e9 * surface.largest_error[0]
    assert (np.abs(found) > surface.gaussian_error[0]).mean() > 0.99
    weights = square_grid(61).weights.numpy()
    total = (np.abs(found) * surface.area_element[0] * weights).sum()
    assert total > 0.5  # no speck: it would pass for a real one
    assert figures(total, 2) in case.lie
    assert zero_with_bound(case.number) < 1e-15
    usual = float(re.search(r"at most (\S+?)\.$", case.doubt)[1])
    assert usual < 1e-9  # the method is not at fault, the step is
    assert figures(SMALL_STEP, 1) in case.drawn


def test_saturated_is_huge_in_k_and_ordinary_in_total(made, ungated):
    case, surface = made["saturated softmax"], ungated["saturated softmax"].surface
    largest = np.nanmax(drawn(case))
    assert largest > 1e30
    known = np.abs(surface.gaussian[0]) > surface.gaussian_error[0]
    np.testing.assert_allclose(
        drawn(case)[known], np.abs(surface.gaussian[0])[known], rtol=1e-10
    )  # through a logarithm
    at = np.unravel_index(np.nanargmax(drawn(case)), known.shape)
    assert surface.gaussian_error[0][at] < 1e-3 * largest  # huge and known
    assert figures(largest, 1) in case.lie
    value, error = map(float, case.number.split(" ± "))
    assert 0 < error < 0.1 * value
    assert value < 4 * math.pi


def test_stretched_draws_an_egg_of_a_sphere(made):
    case = made["stretched axes"]
    section = next(t for t in case.figure.data if t.name == "cross-section")
    np.testing.assert_allclose(np.hypot(section.x, section.y), 0.7, rtol=1e-14)
    assert case.figure.layout.yaxis.scaleratio == STRETCH != 1
    assert case.figure.layout.yaxis.scaleanchor == "x"
    # An ellipsoid of half axes a, a, c at heights z of the sphere, in closed form.
    c, z = STRETCH * 0.7, np.array([0.7, 0.7 / math.sqrt(1 + 2 * 3**2)])
    rho = 0.7**2 - z**2
    k = 1 / (0.7**2 * c) ** 2 / (rho / 0.7**4 + (STRETCH * z) ** 2 / c**4) ** 2
    assert f"K is {k[0] / k[1]:.0f} times" in case.lie
    assert case.number == "2.0408 to 2.0408"
    assert relative_spread(case) < 1e-12


def test_even_amplifies_the_last_digits_of_a_constant(made):
    case = made["colours without zero"]
    field, place = drawn(case), np.array(case.figure.data[0].z)
    assert (place.min(), place.max()) == (0, 1)  # every colour there is
    assert place.std() > 0.05
    assert (field.max() - field.min()) / field.max() < 1e-14
    assert ends(case)[0] == ends(case)[-1]  # the ends of the colours give it away
    assert case.number == "2.0408 to 2.0408"
    assert relative_spread(case) < 1e-14
    sphere = measure_surface(SURFACES["sphere by gating"].chart, square_grid(61))
    assert (np.abs(sphere.gaussian - 1 / 0.49) <= sphere.gaussian_error).all()


def test_norm_is_a_sphere_without_a_gate(made, ungated):
    case, page = made["normalisation"], ungated["normalisation"]
    assert page.instance.config.gate is None
    assert page.surface.shares.positive[0] == pytest.approx(1)
    assert "K > 0 on 100\u00a0%" in case.lie
    gap = np.abs(page.surface.gaussian[0] - 1 / 3)
    assert (gap <= page.surface.gaussian_error[0]).all()
    assert zero_with_bound(case.number) < 1e-6
    assert "without a gate" in case.number_name
    outline, rim, _ = case.figure.data
    np.testing.assert_allclose(np.hypot(outline.x, outline.y), math.sqrt(3))
    assert np.hypot(rim.x, rim.y).max() < math.sqrt(3) * (1 + 1e-12)  # within the ball
    # A good part of the ball, or nobody would see one.
    area = (page.surface.area_element[0] * page.surface.quadrature).sum()
    assert area / (4 * math.pi * 3) > 0.2


def relative_spread(case) -> float:
    return float(re.search(r"differ by (\S+) of K", case.doubt)[1])


# --- All of them ----------------------------------------------------------------------------------


def test_a_number_that_is_not_zero_is_not_called_zero():
    grid = square_grid(21)
    saddle, plane = (measure_surface(SURFACES[x].chart, grid) for x in ("saddle", "warped plane"))
    assert largest_text(saddle) == "4.00"
    assert largest_text(saddle, 0.5) == "2.00"
    assert zero_with_bound(largest_text(plane)) < 1e-15
