"""The curvature formula agrees with the geometry of any gate; its special cases are theorems."""

import mpmath
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet
from gating_core.theory.curvature_formula import (
    GatedSheet,
    curvature_terms,
    curvature_terms_at,
    sheet,
)
from gating_core.theory.formula import parse_formula
from gating_core.theory.gallery import sphere_case
from tests.core import exact
from tests.core.flat import warp

GRID = square_grid(9)
SMALL = 1e-6  # of |II|^2: bounds of K that are larger would let a curved surface pass
numbers = st.floats(-2, 2)
coefficients = st.lists(numbers, min_size=6, max_size=6)
strengths = st.sampled_from([0.0, 0.3, 1.0])


def positive_gate(kind, c):
    """A random gate: positive and smooth on the chart, in four families."""
    a, b, d, e, f, g = c
    quadratic = f"{a}*u+{b}*v+{d}*u^2+{e}*u*v+{f}*v^2+{g}"
    texts = {
        "sigmoid": f"sigmoid({quadratic})",
        "exp": f"exp(0.5*({quadratic}))",
        "ratio": f"1/(0.3+({quadratic})^2)",
        "waves": f"2.5+sin({a}*u+{b}*v)+cos({d}*u-{e}*v)*tanh({f}*v+{g})",
    }
    return parse_formula(texts[kind])


def field_of(function):
    field = curvature(second_order_jet(function, GRID.points, "rigorous"))
    assert field.bound_kind == "rigorous"
    return field


def assert_zero(function):
    """|K| within its bound at every point; the bound itself small, or this would test nothing."""
    field = field_of(function)
    assert field.resolved.all()
    assert field.flat.all()
    size = (field.mean_norm.square() + 1e-3).max()
    assert field.gaussian_error.median() < SMALL * size


@given(kind=st.sampled_from(["sigmoid", "exp", "ratio", "waves"]), c=coefficients, s=strengths)
def test_the_formula_is_the_geometry_of_any_positive_gate(kind, c, s):
    gate = positive_gate(kind, c)
    by_formula, field = (
        curvature_terms(gate, GRID.points, s)["gaussian"],
        field_of(GatedSheet(gate, s)),
    )
    gap = (by_formula.value - field.gaussian).abs()
    assert (gap <= by_formula.bound + field.gaussian_error)[field.resolved].all()
    assert field.resolved.all()
    assert by_formula.bound.isfinite().all()


def test_another_formula_would_be_seen():
    """The comparison has teeth: with rho^3 in place of rho^4 it fails."""
    gate = parse_formula("1/(3+u^2+2*v^2)")
    terms, field = curvature_terms(gate, GRID.points), field_of(GatedSheet(gate))
    by_formula = terms["gaussian"]
    wrong = by_formula.value / terms["rho"].value
    assert ((wrong - field.gaussian).abs() > by_formula.bound + field.gaussian_error).all()


@pytest.mark.parametrize("text", ["1/(3+u^2-v*u)", "0.4+0.5*exp(-3*(u^2+v^2))", "sigmoid(u*v+u)"])
def test_every_number_of_the_formula_is_within_its_bound(text):
    """At 200 digits, by differences of 1/g written anew."""
    gate = parse_formula(text)
    known = {
        "1/(3+u^2-v*u)": lambda m, u, v: [3 + u**2 - u * v],
        "0.4+0.5*exp(-3*(u^2+v^2))": lambda m, u, v: [
            1 / (m.mpf(0.4) + m.exp(-3 * (u * u + v * v)) / 2)
        ],
        "sigmoid(u*v+u)": lambda m, u, v: [1 + m.exp(-u * v - u)],
    }[text]
    u, v = 0.31, -0.47
    found = curvature_terms_at(gate, u, v)
    with mpmath.workdps(exact.DIGITS):
        rho, a, b, aa, ab, bb = (row[0] for row in exact.jet(known, u, v))
        x, y = mpmath.mpf(u), mpmath.mpf(v)
        foot = rho - x * a - y * b
        true = dict(
            gate=1 / rho,
            rho=rho,
            rho_u=a,
            rho_v=b,
            rho_uu=aa,
            rho_uv=ab,
            rho_vv=bb,
            hessian=aa * bb - ab**2,
            foot=foot,
            normal_square=a**2 + b**2 + foot**2,
            gaussian=rho**4 * (aa * bb - ab**2) / (a**2 + b**2 + foot**2) ** 2,
        )
        for name, number in true.items():
            own = found[name]
            assert abs(mpmath.mpf(own.value) - number) <= own.error + exact.OWN_ERROR, name
            assert own.error < 1e-11, name
        image = exact.geometry(
            exact.jet(lambda m, u, v: [x / known(m, u, v)[0] for x in (u, v, m.mpf(1))], u, v)
        )
        gap = abs(mpmath.mpf(found["gaussian"].value) - image["gaussian"])
        assert gap <= found["gaussian"].error + exact.OWN_ERROR


PROFILES = ["sigmoid({s})", "exp({s})", "1/(1+({s})^2)", "0.2+({s})^2", "2.2+sin(3*({s}))"]


@given(profile=st.sampled_from(PROFILES), a=numbers, b=numbers, d=numbers, s=strengths)
def test_a_gate_of_one_coordinate_of_the_sheet_does_not_curve_it(profile, a, b, d, s):
    gate = parse_formula(profile.format(s=f"{a}*u+{b}*v+{d}"))
    assert_zero(GatedSheet(gate, s))
    by_formula = curvature_terms(gate, GRID.points, s)["gaussian"]
    assert (by_formula.value.abs() <= by_formula.bound).all()


@given(a=st.floats(-1, 1), b=st.floats(-1, 1), d=st.floats(2.5, 5))
def test_a_projective_gate_does_not_curve(a, b, d):
    gate = parse_formula(f"1/({d}+{a}*u+{b}*v)")
    assert_zero(GatedSheet(gate))
    assert_zero(lambda p: GatedSheet(gate)(warp(p)))


@given(
    a=st.lists(numbers, min_size=3, max_size=3),
    b=st.lists(numbers, min_size=3, max_size=3),
    along=st.lists(numbers, min_size=2, max_size=2),
    s=strengths,
)
def test_an_elementwise_gate_of_one_coordinate_never_curves_to_the_positive_side(a, b, along, s):
    coordinate = f"({along[0]}*u+{along[1]}*v)"
    gates = [parse_formula(f"sigmoid({x}*{coordinate}+{y})") for x, y in zip(a, b, strict=True)]
    field = field_of(GatedSheet(lambda p: torch.cat([gate(p) for gate in gates], -1), s))
    assert (field.gaussian <= field.gaussian_error)[field.resolved].all()


def test_at_strength_zero_there_is_no_gate():
    nowhere = parse_formula("log(0*u-1)")
    assert torch.equal(GatedSheet(nowhere, 0.0)(GRID.points), sheet(GRID.points))
    assert (curvature_terms(nowhere, GRID.points, 0.0)["gaussian"].value == 0).all()


def test_where_the_gate_is_no_number_the_formula_claims_nothing():
    found = curvature_terms(parse_formula("log(u)"), GRID.points)["gaussian"]
    left = GRID.points[:, 0] <= 0
    assert found.bound[left].isinf().all()
    assert found.bound[~left & (GRID.points[:, 0] < 0.9)].isfinite().all()


def test_wrong_gates_are_refused():
    with pytest.raises(ValueError, match="3 channels; the curvature formula is for a scalar"):
        curvature_terms(lambda p: sheet(p), GRID.points)
    with pytest.raises(ValueError, match="without an error rule"):
        curvature_terms(lambda p: torch.erf(p[:, :1]) + 2, GRID.points)
    with pytest.raises(ValueError, match=r"strength is 1\.5"):
        GatedSheet(sphere_case().gate, 1.5)
