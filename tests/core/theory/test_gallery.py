"""Every gate of the gallery is what its record says, every verdict what the numbers say."""

from dataclasses import replace
from functools import cache

import mpmath
import numpy as np
import pytest
import torch

from gating_core.geometry.grid import square_grid
from gating_core.geometry.verdict import AT_POINTS, PROVED, SEEN
from gating_core.jets.bounded import Bounded
from gating_core.theory.gallery import (
    GALLERY,
    own_case,
    sphere_case,
)
from gating_core.theory.measure import (
    BENT,
    FLAT,
    MIXED,
    NEGATIVE,
    POSITIVE,
    UNKNOWN,
    VERDICTS,
    measure_gate,
)
from tests.core import exact
from tests.core.theory.test_formula import Exact

GRID = square_grid(21)

# Section by section what theory says; of a visitor's it says nothing.
EXPECTED = {
    "sphere": POSITIVE, "constant": FLAT, "channelwise": FLAT, "projective": FLAT,
    "one direction": BENT, "two directions": BENT, "distance": BENT, "ruled": NEGATIVE,
    "ellipsoid": POSITIVE, "saddle": NEGATIVE, "bump": MIXED, "quadratic": POSITIVE,
    "monkey saddle": NEGATIVE, "rms norm": POSITIVE, "learned": MIXED,
}  # fmt: skip


@cache
def full(name):
    """A gate of the gallery, measured at full strength."""
    return measure_gate(GALLERY[name], 1.0, GRID)


def allowed_at_worst(found, reference):
    """The sum of both errors of K where they differ most."""
    gap = np.where(
        found.surface.resolved[0], np.abs(found.surface.gaussian[0] - reference.gaussian), -1
    )
    return (found.surface.gaussian_error[0] + reference.error).flat[gap.argmax()]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", EXPECTED)
def test_the_verdict_is_what_theory_says(name):
    assert full(name).verdict == EXPECTED[name]
    assert not full(name).fails.any()


@pytest.mark.parametrize("name", GALLERY)
def test_without_strength_everything_is_flat(name):
    found = measure_gate(GALLERY[name], 0.0, GRID)
    assert found.verdict == FLAT
    assert found.agrees(found.exact)
    assert np.abs(found.surface.gaussian).max() == 0


@pytest.mark.parametrize("name", [name for name, case in GALLERY.items() if case.exact])
def test_what_is_measured_is_the_exact_value(name):
    found = full(name)
    assert found.agrees(found.exact)
    assert allowed_at_worst(found, found.exact) < 1e-9 * (1 + np.abs(found.exact.gaussian).max())
    assert (found.exact.error < 1e-11 * (1 + np.abs(found.exact.gaussian))).all()
    moved = replace(found.exact, gaussian=found.exact.gaussian + 1e-6)
    assert not found.agrees(moved)


@pytest.mark.parametrize("name", [name for name, case in GALLERY.items() if case.exact])
def test_the_exact_value_is_exact(name):
    """Against the geometry of the image at 200 digits, its bound included."""
    case, points = GALLERY[name], [(0.31, -0.77), (-0.52, 0.18), (1.0, -1.0)]

    def image(m, u, v):
        factors = [formula.expression.at(Exact, u, v) for formula in case.formulas]
        factors = factors * 3 if case.scalar else factors
        return [x * g for x, g in zip((u, v, mpmath.mpf(1)), factors, strict=True)]

    columns = torch.tensor(points, dtype=torch.float64).unbind(-1)
    found = case.exact(*map(Bounded, columns))
    with mpmath.workdps(exact.DIGITS):
        for at, (u, v) in enumerate(points):
            true = exact.geometry(exact.jet(image, u, v))["gaussian"]
            gap = abs(mpmath.mpf(found.value[at].item()) - true)
            assert gap <= found.bound[at].item() + exact.OWN_ERROR


@pytest.mark.sampled(10)
@pytest.mark.parametrize("name", [name for name, case in GALLERY.items() if case.scalar])
@pytest.mark.parametrize("strength", [0.25, 1.0])
def test_formula_and_geometry_agree(name, strength):
    found = measure_gate(GALLERY[name], strength, GRID)
    assert found.agrees(found.terms)
    assert allowed_at_worst(found, found.terms) < 1e-8 * (1 + np.abs(found.terms.gaussian).max())


@pytest.mark.parametrize("name", [n for n, case in GALLERY.items() if case.at_every_strength])
@pytest.mark.parametrize("strength", [0.1, 0.7])
def test_what_holds_at_every_strength_does(name, strength):
    found = measure_gate(GALLERY[name], strength, GRID)
    assert found.agrees(found.exact)
    assert found.verdict in (FLAT, BENT)


def test_a_closed_form_is_not_claimed_where_it_does_not_hold():
    assert measure_gate(GALLERY["sphere"], 0.5, GRID).exact is None
    assert measure_gate(GALLERY["two directions"], 0.5, GRID).verdict == NEGATIVE


@pytest.mark.parametrize("radius", [0.2, 1.0, 3.7])
def test_the_sphere_has_the_radius_that_was_asked_for(radius):
    found = measure_gate(sphere_case(radius), 1.0, GRID)
    assert found.agrees(found.exact)
    np.testing.assert_allclose(found.exact.gaussian, radius**-2, rtol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(found.surface.values[0], axis=-1), radius, rtol=1e-14)
    assert not found.surface.without_curvature[0]


def test_the_learned_gate_is_near_the_spheres_and_its_curvature_is_not():
    values, wanted = (GALLERY[name].gate(GRID.points) for name in ("learned", "sphere"))
    assert 0.02 < (values - wanted).abs().max() < 0.03
    least, largest = full("learned").curvature_range
    assert least < -1 < 0 < 4 < largest


FAILING = {  # a gate, and where it fails
    "u": lambda u, v: u <= 0,
    "log(v+0.5)": lambda u, v: v <= 0.5,
    "1/(u-v)": lambda u, v: u <= v,
    "sqrt(0.3-u)": lambda u, v: u >= 0.3,
    "exp(400*u)": lambda u, v: np.abs(400 * u) > 12 * np.log(10),
    "-1": lambda u, v: u == u,
    "abs(u)": lambda u, v: u == 0,
    "sqrt(u^2+v^2)": lambda u, v: (u == 0) & (v == 0),
    "0": lambda u, v: u == u,
    "1/0": lambda u, v: u == u,
    "0/0*u": lambda u, v: u == u,
    "exp(exp(exp(9+u)))": lambda u, v: u == u,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("text", FAILING)
def test_a_gate_that_fails_says_where_and_the_rest_is_measured(text):
    found = measure_gate(own_case(text), 1.0, GRID)
    u, v = (x.reshape(21, 21).numpy() for x in GRID.points.unbind(-1))
    u, v = (np.where(abs(x) < 1e-12, 0.0, x) for x in (u, v))  # the middle is a rounding off
    assert np.array_equal(found.fails, FAILING[text](u, v))
    lost = found.fails | found.breaks
    assert not (found.surface.resolved[0] & lost).any()
    assert found.verdict in VERDICTS
    assert found.surface.resolved[0].any() == (not lost.all())
    assert (found.verdict == UNKNOWN) == lost.all()
    flat = measure_gate(own_case(text), 0.0, GRID)
    assert np.array_equal(flat.fails, found.fails)
    assert flat.verdict == FLAT


@pytest.mark.parametrize("sign", [1, -1])
def test_one_sign_is_not_said_where_there_is_hardly_a_gate(sign):
    """Unless it is proved of what there is."""
    looked = replace(full("sphere").looked, lost=0.6)
    assert looked.verdict(sign > 0, sign < 0).word == UNKNOWN
    proved = measure_gate(own_case("u*u+v*v-1.95"), 1.0, GRID)
    assert 0.9 < proved.fails.mean() < 1
    assert (proved.verdict, proved.whole.knowledge) == (NEGATIVE, PROVED)


def test_at_a_fold_there_is_no_gate():
    """At a kink there is no derivative; everywhere else this image is straight."""
    kink = float(GRID.axis[5])
    found = measure_gate(own_case(f"1/(3+abs(u-({kink!r})))"), 1.0, GRID)
    u = GRID.points[:, 0].reshape(21, 21).numpy()
    assert np.array_equal(found.breaks, u == kink)
    assert np.array_equal(found.surface.resolved[0], u != kink)
    assert not found.fails.any()
    assert ((found.surface.sign[0] == 0) == (u != kink)).all()
    assert not (abs(found.surface.sign) == 1).any()
    assert (found.verdict, found.whole.causes) == (FLAT, ("kink",))


def test_one_sign_is_not_said_of_a_surface_of_which_little_is_known():
    looked = full("sphere").looked
    error = looked.surface.gaussian_error.copy()
    error[:, :14] = 10.0
    grid = replace(looked.surface, verification=None)  # else its points say what the area is
    lost = replace(looked, surface=replace(grid, gaussian_error=error))
    assert lost.verdict(True, False).word == UNKNOWN
    error[:, 8:14] = 1e-12
    some = replace(looked, surface=replace(grid, gaussian_error=error))
    assert some.verdict(True, False).word == POSITIVE
    assert some.verdict(True, False).knowledge == AT_POINTS
    assert some.verdict(True, True).word == MIXED
    assert some.verdict(False, True).word == NEGATIVE


def test_what_is_not_proved_flat_is_seen_at_points_and_may_not_bend():
    looked = full("constant").looked
    said = looked.verdict(False, False)
    assert (said.word, said.knowledge, said.points) == (FLAT, SEEN, 2 * 21**2)
    bent = replace(looked.surface, bends=np.array([True]))
    assert replace(looked, surface=bent).verdict(False, False).word == BENT


def test_wrong_cases_are_refused():
    with pytest.raises(ValueError, match=r"radius is 0\.01"):
        sphere_case(0.01)
    with pytest.raises(ValueError, match="strength is 2"):
        measure_gate(GALLERY["constant"], 2, GRID)
