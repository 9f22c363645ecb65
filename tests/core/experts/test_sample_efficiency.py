"""Errors of experts: measured right, and falling as theory says."""

import itertools
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.experts import (
    GATES,
    SampleRequest,
    Sizes,
    expert_errors,
    expert_maps,
    gathered,
    learn,
    load_samples,
    slope,
)
from gating_core.experts.students import PARAMETER_SCALE, Student, expected, make_design
from gating_core.randomness import normal
from tests.each import each

LEARNED = ("elementwise G1", "elementwise G2")  # by theory, and by no others
SMALL = Sizes(model_dim=3, channels=2, tokens=2)


@cache
def shipped():
    return load_samples()


def some_maps(seed, *axes, count=3):
    value, projection = (
        normal((seed,), name, (*axes, 1, *shape), 1.0)[0]
        for name, shape in (("v", (4, count)), ("o", (count, 4)))
    )
    return value, projection


# --- Matching -------------------------------------------------------------------------------------


@given(st.permutations(range(4)), st.integers(0, 99), st.floats(0.01, 100), st.booleans())
def test_matching_feels_neither_order_nor_scale(order, seed, scale, flip):
    (value, projection), (true_value, true_projection) = (some_maps(s, count=4) for s in (seed, 7))
    truth = expert_maps(true_value, true_projection)
    errors = expert_errors(expert_maps(value, projection), truth)
    factor = -scale if flip else scale
    moved = expert_maps(value[..., order] * factor, projection[..., order, :] / factor)
    assert expert_errors(moved, truth) == pytest.approx(errors, rel=1e-9)
    others = expert_errors(expert_maps(value, projection), truth[list(order)])
    assert others == pytest.approx(errors[list(order)], rel=1e-9)
    assert expert_errors(truth[list(order)], truth) == pytest.approx(0, abs=1e-12)


@each([(seed, extra) for seed in range(8) for extra in (0, 1, 2)])
def test_matching_is_the_best_of_all(seed, extra):
    found = expert_maps(*some_maps(seed, count=3 + extra))
    truth = expert_maps(*some_maps(seed + 100))
    costs = (truth[:, None] - found[None]).flatten(2).norm(dim=-1)
    best = min(
        sum(costs[i, j] for i, j in enumerate(chosen))
        for chosen in itertools.permutations(range(3 + extra), 3)
    )
    assert expert_errors(found, truth).sum() == pytest.approx(float(best), rel=1e-12)


def test_matching_goes_over_leading_axes():
    found, truth = expert_maps(*some_maps(0, 2, 5)), expert_maps(*some_maps(1, 2, 5))
    assert found.shape == (2, 5, 3, 4, 4)
    errors = expert_errors(found, truth)
    assert errors.shape == (2, 5, 3)
    assert errors[1, 4] == pytest.approx(expert_errors(found[1, 4], truth[1, 4]))


# --- What theory expects --------------------------------------------------------------------------


@each(
    [
        (gate, sizes)
        for gate in GATES
        for sizes in (SMALL, Sizes(heads=2, channels=2), Sizes(learned_routing=True))
    ]
)
def test_only_two_gates_make_experts_identifiable(gate, sizes):
    """And outputs are learned with any: the slope is -1/2 for those, 0 for all other experts."""
    teacher = Student(sizes, gate, teaches=True)
    vector = normal((3,), "theory", (teacher.parameter_count,), PARAMETER_SCALE)[0]
    theory = expected(teacher, vector, make_design(sizes, 3))
    assert np.isfinite(theory.expert) == (gate in LEARNED)
    assert 0 < theory.prediction < 1


def test_without_a_gate_the_non_identifiable_directions_are_those_of_the_group():
    """H c^2: one invertible matrix for each head (`W_V R`, `R^-1 W_O`)."""
    for heads, channels in ((1, 3), (2, 2)):
        sizes = Sizes(heads=heads, channels=channels)
        teacher = Student(sizes, teaches=True)
        vector = normal((1,), "x", (teacher.parameter_count,), PARAMETER_SCALE)[0]
        theory = expected(teacher, vector, make_design(sizes, 0))
        assert theory.non_identifiable == heads * channels**2


@each(GATES)
def test_errors_are_as_large_as_theory_says(gate):
    """At the largest n; the median of twelve repeats, which have 60 residuals or more each."""
    learned = shipped()[gate]
    for name, near in (
        (("prediction", 0.15), ("expert", 0.4)) if gate in LEARNED else (("prediction", 0.15),)
    ):
        theory = getattr(learned, f"{name}_theory")[:, -1]
        ratio = np.median(getattr(learned, name)[:, -1] / theory)
        assert ratio == pytest.approx(1, abs=near), name


# --- Slopes and the table -------------------------------------------------------------------------


def test_the_slope_of_a_power_is_its_exponent():
    counts = 10.0 ** np.arange(3, 8)
    found = slope(counts, np.array([[5.0], [0.1]]) * counts**-0.5)
    assert found.values == pytest.approx([-0.5, -0.5], abs=1e-12)
    assert found.mean.half_width < 1e-12
    wavy = slope(counts, np.exp(normal((0,), "w", (4, 5), 1.0)[0].numpy()) * counts**-0.25)
    fits = np.polyfit(
        np.log(counts),
        np.log(np.exp(normal((0,), "w", (4, 5), 1.0)[0].numpy()) * counts**-0.25).T,
        1,
    )[0]
    assert wavy.values == pytest.approx(fits, rel=1e-9)


@each(GATES)
def test_all_predict_alike_and_two_learn_their_experts(gate):
    slopes = shipped()[gate].slopes
    prediction, expert = slopes["prediction"].mean, slopes["expert"].mean
    assert prediction.mean == pytest.approx(-0.5, abs=0.06)
    if gate in LEARNED:
        assert expert.mean + expert.half_width < -0.4
    else:
        assert abs(expert.mean) < 0.1


@pytest.mark.soak
@pytest.mark.parametrize(("gate", "seeds"), [
    ("headwise G1", (4,)), pytest.param("elementwise G1", (6, 9), marks=pytest.mark.soak),
])  # fmt: skip
def test_what_is_shipped_is_what_is_computed(gate, seeds):
    """Some repeats alone; others had a part in the shipped batch, which rounds differently."""
    parts = [*learn(seeds, SampleRequest(), gate)]
    again, whole = gathered(parts), shipped()[gate]
    assert again.request == whole.request
    for name in ("prediction", "expert") if gate in LEARNED else ("prediction",):
        assert getattr(again, name) == pytest.approx(getattr(whole, name)[list(seeds)], rel=0.02)
    for name in ("prediction_theory", "size"):
        assert getattr(again, name) == pytest.approx(getattr(whole, name)[list(seeds)], rel=1e-9)
    assert again.non_identifiable == whole.non_identifiable


def test_fits_are_as_good_as_the_noise_allows():
    """All but one in a hundred, and they say so: such a fit is a flat line by mistake."""
    missed = np.concatenate([~learned.reached.ravel() for learned in shipped().values()])
    assert missed.mean() < 0.01
    assert all(learned.excess.mean() < 1 for learned in shipped().values() if learned.reached.all())


def test_a_student_with_one_expert_too_many_is_measured_too():
    request = SampleRequest(Sizes(3, 1, 2, 2, one_too_many=True), decades=(4, 5), repeats=2)
    *parts, last = learn(request.seeds, request, "none")
    learned = gathered([*parts, last])
    assert learned.expert.shape == (2, 2)
    assert np.isnan(learned.expert_theory).all()
    assert learned.reached.all()


# --- Wrong input ----------------------------------------------------------------------------------


@each([
    ({"sizes": None}, "sizes is None"), ({"noise": 0.0}, "noise is 0"),
    ({"noise": float("nan")}, "noise is nan"), ({"decades": (3, 3)}, "they must rise"),
    ({"decades": (5, 4)}, "they must rise"), ({"decades": (3, 9)}, "decades is 9"),
    ({"repeats": 1}, "repeats is 1"), ({"seed": -1}, "seed is -1"),
])  # fmt: skip
def test_other_requests_are_refused(fields, text):
    with pytest.raises(ValueError, match=text):
        SampleRequest(**fields)


def test_other_arrays_are_refused():
    with pytest.raises(ValueError, match="no less than E"):
        expert_errors(torch.zeros(2, 4, 4), torch.zeros(3, 4, 4))
    with pytest.raises(ValueError, match=r"must be \(R, L\)"):
        slope(np.ones(3), np.ones((2, 4)))
    with pytest.raises(ValueError, match="all must be positive"):
        slope(np.array([1.0, 10.0]), np.array([[0.0, 1.0]]))
