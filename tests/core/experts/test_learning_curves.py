"""Learning curves: how many points are needed, and "no difference" where there is none."""

from functools import cache

import numpy as np
import pytest
import scipy.stats

from gating_core.claims import THRESHOLDS
from gating_core.claims.statistics import paired
from gating_core.experts import (
    COUNTS,
    CurvesRequest,
    LearningCurves,
    accuracies_at,
    load_curves,
)
from gating_core.experts.learning_curves import (
    BETTER,
    EQUAL,
    FEW,
    INCONCLUSIVE,
    NO_ADVANTAGE,
    WORSE,
    needed,
)
from gating_core.randomness import normal
from gating_core.tasks import make_task
from gating_core.training.recipe import Recipe
from gating_core.training.trainer import train_ensemble
from tests.each import each

REQUEST = CurvesRequest()
COUNT = np.array(COUNTS, dtype=float)


@cache
def shipped():
    return load_curves()


def simulated(seed, gain=0.0, deviation=0.004, start=0.8, seeds=16):
    """Curves that rise to .98, where the gate gains so much everywhere."""
    rise = start + (0.98 - start) * (1 - (25 / COUNT) ** 0.7)
    noise = deviation * normal((seed,), "noise", (2, seeds, len(COUNT)), 1.0)[0].numpy()
    accuracy = rise + noise + np.array([0.0, gain])[:, None, None]
    return LearningCurves(CurvesRequest(seed_count=seeds), COUNT, accuracy)


# --- The number of points that is needed ----------------------------------------------------------


def test_the_number_needed_lies_where_the_line_crosses():
    accuracy = np.array([[0.5, 0.7, 0.9, 1.0], [0.95, 0.8, 0.9, 1.0], [0.5, 0.6, 0.7, 0.8],
                         [0.5, 0.9, 0.6, 0.95]])  # fmt: skip
    found = needed(np.array([10.0, 100.0, 1000.0, 10000.0]), accuracy, 0.8)
    assert found.points == pytest.approx([100 * 10**0.5, 10, 10000, 10 * 10**0.75])
    assert found.reached.tolist() == [True, True, True, True]
    assert found.inside.tolist() == [True, False, True, True]
    never = needed(np.array([10.0, 100.0]), np.array([[0.5, 0.79]]), 0.8)
    assert (never.points.item(), never.reached.item(), never.inside.item()) == (100, False, False)
    assert never.log2 is None


@each(range(5))
def test_a_curve_linear_in_log_n_is_inverted_exactly(seed):
    rates = 0.03 + 0.02 * np.abs(normal((seed,), "rates", (8, 1), 1.0)[0].numpy())
    found = needed(COUNT, 0.7 + rates * np.log(COUNT / 25), 0.78)
    assert found.points == pytest.approx((25 * np.exp(0.08 / rates))[:, 0])


def test_a_shift_of_the_data_is_the_ratio():
    """The gate needs half: its curve is that of twice as many points."""

    def curve(counts):
        return 0.98 - 0.4 * counts**-0.4

    seeds = 0.002 * normal((0,), "seeds", (16, 1), 1.0)[0].numpy()
    curves = LearningCurves(
        REQUEST, COUNT, np.stack([curve(COUNT) + seeds, curve(2 * COUNT) + seeds])
    )
    ratio = curves.ratio(0.93)
    assert ratio.word == BETTER
    assert ratio.measured.mean == pytest.approx(-1, abs=0.05)
    assert ratio.bounded == 0
    swapped = LearningCurves(REQUEST, COUNT, curves.accuracy[::-1]).ratio(0.93)
    assert swapped.word == WORSE
    assert swapped.measured.mean == pytest.approx(-ratio.measured.mean)


def test_a_level_that_one_of_both_never_reaches_bounds_the_ratio():
    curves = simulated(0, gain=0.3, start=0.5)
    low = LearningCurves(REQUEST, COUNT, curves.accuracy - np.array([0.3, 0.3])[:, None, None])
    ratio = low.ratio(0.9)
    assert ratio.word == BETTER
    assert ratio.bounded == 16
    assert ratio.against == 0  # all bounds are on the side that is farther from one
    neither = low.ratio(0.999)
    assert (neither.word, neither.measured) == (FEW, None)


def test_seeds_whose_true_ratio_may_lie_on_the_other_side_are_inconclusive():
    """The gated model of two seeds never gets there, and all others are far ahead."""
    curves = simulated(0, gain=0.3, start=0.5)
    accuracy = curves.accuracy - np.array([0.3, 0.3])[:, None, None]
    accuracy[0, :2] += 0.3
    accuracy[1, :2] -= 0.3
    ratio = LearningCurves(REQUEST, COUNT, accuracy).ratio(0.9)
    assert ratio.against == 2
    assert ratio.word == INCONCLUSIVE


# --- Verdicts -------------------------------------------------------------------------------------


@pytest.mark.soak  # long
def test_no_difference_is_found_where_there_is_none():
    """Sixty studies: a false alarm among all their counts in at most one of twenty, with
    slack (the tail of the binomial), and "no difference" at nearly all counts."""
    words = [[one.word for one in simulated(seed).differences()] for seed in range(60)]
    alarms = sum(bool({BETTER, WORSE} & set(study)) for study in words)
    assert alarms <= scipy.stats.binom.ppf(0.999, 60, THRESHOLDS.level)
    assert np.mean([word == EQUAL for study in words for word in study]) > 0.95
    ratios = [simulated(seed).ratio(0.9).word for seed in range(60)]
    assert sum(word != INCONCLUSIVE for word in ratios) <= scipy.stats.binom.ppf(0.999, 60, 0.05)


def test_a_difference_is_found_where_there_is_one():
    for gain, word in ((0.03, BETTER), (-0.03, WORSE)):
        assert {one.word for one in simulated(1, gain).differences()} == {word}
        assert simulated(1, gain).ratio(0.9).word == word


def test_few_or_noisy_seeds_are_inconclusive():
    assert {one.word for one in simulated(0, seeds=4).differences()} == {FEW}
    assert simulated(0, seeds=4).ratio(0.9).word == FEW
    noisy = {one.word for one in simulated(2, deviation=0.05).differences()}
    assert noisy <= {FEW, NO_ADVANTAGE}
    assert FEW in noisy


def test_p_is_adjusted_and_intervals_are_the_studys():
    curves = simulated(3, gain=0.002)
    plain = scipy.stats.ttest_rel(curves.accuracy[1], curves.accuracy[0]).pvalue
    found = curves.differences()
    assert max(found, key=lambda one: one.p).p == pytest.approx(
        max(np.sort(plain)[-1], min(1, np.max(np.sort(plain) * np.arange(9, 0, -1))))
    )
    assert min(one.p for one in found) == pytest.approx(min(1, 9 * plain.min()))
    of = paired(range(16), curves.accuracy[1, :, 4] - curves.accuracy[0, :, 4])
    assert (found[4].measured.low, found[4].measured.high) == (of.low, of.high)


# --- Training -------------------------------------------------------------------------------------


@pytest.mark.soak
@each([("memory", "sigmoid"), ("tokens", "silu"), ("memory", "matched")])
def test_models_are_trained_as_any_ensemble_is(source, gate):
    request = CurvesRequest("xor", source, gate, seed=3, seed_count=3, steps=20)
    (ungated, gated), _ = accuracies_at((25, 100), request)
    task = make_task("xor", 25, seeds=(3, 4, 5), test_points=1000)
    for found, config in zip((ungated, gated), request.setting.configs.values(), strict=True):
        *_, last = train_ensemble(config, task, 20, Recipe(batch_size=25))
        assert found == pytest.approx(last.test_accuracy, abs=0.01)


@pytest.mark.soak  # long
def test_what_is_shipped_is_what_is_computed():
    whole = shipped()
    assert whole.request == REQUEST
    assert whole.accuracy.shape == (2, 16, len(COUNTS))
    (again,) = accuracies_at((50,), REQUEST)
    assert again == pytest.approx(whole.accuracy[:, :, 1], abs=0.02)  # float32, 800 steps
    assert again.mean() == pytest.approx(whole.accuracy[:, :, 1].mean(), abs=0.003)


# --- Wrong input ----------------------------------------------------------------------------------


@each([
    ({"gate": "ungated"}, "gate is 'ungated'"), ({"gate": "G1"}, "gate is 'G1'"),
    ({"task": "own"}, "task is 'own'"), ({"source": "x"}, "source is 'x'"),
    ({"seed_count": 1}, "seed_count is 1"), ({"steps": 0}, "steps is 0"),
    ({"gate": "value", "source": "memory"}, "needs 'tokens'"), ({"model_dim": 1}, "model_dim is 1"),
])  # fmt: skip
def test_other_requests_are_refused(fields, text):
    with pytest.raises(ValueError, match=text):
        CurvesRequest(**fields)


def test_other_levels_and_shapes_are_refused():
    with pytest.raises(ValueError, match="level is 1"):
        shipped().needed(1.0)
    with pytest.raises(ValueError, match=r"must be \(S, L\)"):
        needed(COUNT, np.ones(9), 0.9)
