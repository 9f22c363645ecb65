"""Do the statistics keep their word where the truth is known, no effect included?"""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gating_core.claims.correlations import Group, pooled_correlation
from gating_core.claims.statistics import (
    equivalence,
    equivalence_power,
    holm,
    paired,
    seeds_for_power,
)

SEEDS = tuple(range(16))
T_15 = 2.131449545559323  # 97.5 % of Student's t with 15 degrees of freedom, from a table


def rng(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def slack(count: int, share: float = 0.05) -> int:
    """The number of false alarms in ``count`` that a right test exceeds once in a thousand."""
    return int(stats.binom.ppf(0.999, count, share))


# --- Paired differences ---------------------------------------------------------------------------


def test_the_interval_is_the_textbooks():
    values = rng(0).normal(1.0, 2.0, 16)
    found = paired(SEEDS, values)
    mean = sum(values) / 16
    deviation = (sum((x - mean) ** 2 for x in values) / 15) ** 0.5
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert found.deviation == pytest.approx(deviation, rel=1e-12)
    assert found.low == pytest.approx(mean - T_15 * deviation / 4, rel=1e-9)
    assert found.high == pytest.approx(mean + T_15 * deviation / 4, rel=1e-9)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(mean) * 4 / deviation, 15), rel=1e-9)


def test_the_worst_seed_is_named():
    values = np.full(16, 0.2)
    values[11] = -0.4
    found = paired(range(100, 116), values)
    assert found.worst == (111, -0.4)
    assert paired((3, 4, 5), (1.0, 1.0, 2.0)).worst == (3, 1.0)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.0])
def test_equal_differences_have_no_spread(value):
    found = paired(SEEDS, np.full(16, value))
    assert (found.low, found.mean, found.high) == pytest.approx((value,) * 3, abs=1e-15)
    assert found.deviation == 0
    assert found.p == (1.0 if value == 0 else 0.0)


def test_differences_that_only_rounding_tells_apart_are_equal():
    values = [0.3 - 0.2, 0.4 - 0.3, 0.9 - 0.8]
    assert np.ptp(values) > 0
    assert paired((0, 1, 2), values).deviation == 0


def test_of_one_seed_there_is_a_mean_and_no_more():
    found = paired((7,), (0.5,))
    assert found.mean == 0.5
    assert np.isnan([found.low, found.high, found.deviation, found.p]).all()
    assert found.worst == (7, 0.5)


@pytest.mark.parametrize(
    ("seeds", "values"), [((), ()), ((1, 2), (1.0,)), ((1, 2), (1.0, np.nan)), ((1,), (np.inf,))]
)
def test_what_is_no_list_of_differences_is_refused(seeds, values):
    with pytest.raises(ValueError, match="differences"):
        paired(seeds, values)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "draw",
    [
        lambda r: r.normal(0, 1, 16),
        lambda r: r.uniform(-1, 1, 16),
        lambda r: r.integers(-3, 4, 16) / 1000,  # accuracies of a thousand points, with ties
    ],
)
def test_without_an_effect_alarms_are_rare(draw):
    runs = 400
    found = [paired(SEEDS, draw(rng(seed))) for seed in range(runs)]
    assert sum(x.p <= 0.05 for x in found) <= slack(runs)
    assert sum(not x.low <= 0 <= x.high for x in found) <= slack(runs)
    assert sum(x.p <= 0.05 for x in found) >= runs * 0.05 / 2, (
        "and not so rare that it sees nothing"
    )


# --- Equivalence ----------------------------------------------------------------------------------


def test_the_power_of_equivalence_is_that_of_the_theory():
    """Section 6 of the theory: 97 % at a standard deviation of 1 point, 24 % at 2."""
    assert round(equivalence_power(0.01, 16, 0.01), 2) == 0.97
    assert round(equivalence_power(0.02, 16, 0.01), 2) == 0.24


@pytest.mark.parametrize(("deviation", "count"), [(0.01, 16), (0.02, 16), (0.015, 32), (0.01, 5)])
def test_the_power_is_how_often_it_succeeds(deviation, count):
    runs = 4000
    draws = rng(1).normal(0, deviation, (runs, count))
    low = stats.ttest_1samp(draws, -0.01, axis=1, alternative="greater").pvalue
    high = stats.ttest_1samp(draws, 0.01, axis=1, alternative="less").pvalue
    share = np.mean(np.maximum(low, high) <= 0.05)
    power = equivalence_power(deviation, count, 0.01)
    assert share == pytest.approx(power, abs=4 * np.sqrt(power * (1 - power) / runs))


@pytest.mark.parametrize(("deviation", "count"), [(0.01, 2), (0.01, 16), (0.03, 300), (0.2, 16)])
def test_the_power_is_that_of_another_quadrature(deviation, count):
    """Over the variance, adaptively, where ours goes over the deviation."""
    error, t = deviation / np.sqrt(count), stats.t.ppf(0.95, count - 1)

    def share(w: float) -> float:
        near = (0.01 - t * error * np.sqrt(w / (count - 1))) / error
        return max(0.0, stats.norm.cdf(near) - stats.norm.cdf(-near))

    end = (count - 1) * (0.01 / (t * error)) ** 2
    wanted = stats.chi2(count - 1).expect(share, lb=0, ub=end, epsabs=1e-10, limit=200)
    assert equivalence_power(deviation, count, 0.01) == pytest.approx(wanted, abs=1e-7)


def test_unequal_deviations_have_unequal_power():
    quiet, loud = (equivalence(SEEDS, s * rng(2).normal(0, 0.01, 16), 0.01) for s in (1, 2))
    assert quiet.power > 0.8 > 0.5 > loud.power


@given(st.integers(0, 10_000), st.floats(0.001, 0.03), st.floats(-0.02, 0.02))
def test_two_tests_are_one_interval(seed, deviation, mean):
    """Equivalent exactly when the 90 % interval lies within the margin."""
    found = equivalence(SEEDS, rng(seed).normal(mean, deviation, 16), 0.01)
    inside = found.interval[0] > -0.01 and found.interval[1] < 0.01
    assert found.equivalent == inside
    assert found.no_advantage == (found.interval[1] < 0.01)
    assert found.paired.low < found.interval[0] < found.interval[1] < found.paired.high


@pytest.mark.soak  # long
@pytest.mark.parametrize("mean", [0.01, -0.01])
def test_a_difference_at_the_margin_is_rarely_called_equivalent(mean):
    runs = 400
    found = [equivalence(SEEDS, rng(seed).normal(mean, 0.005, 16), 0.01) for seed in range(runs)]
    assert runs * 0.02 <= sum(x.equivalent for x in found) <= slack(runs)


@pytest.mark.parametrize(("value", "verdict", "below"), [
    (0.0, True, True), (0.009, True, True), (0.01, False, False), (-0.01, False, True),
    (-0.5, False, True),
])  # fmt: skip
def test_equivalence_of_equal_differences_is_a_comparison(value, verdict, below):
    found = equivalence(SEEDS, np.full(16, value), 0.01)
    assert (found.equivalent, found.no_advantage, found.power) == (verdict, below, 1.0)


def test_one_seed_shows_no_equivalence():
    found = equivalence((0,), (0.0,), 0.01)
    assert not found.equivalent
    assert np.isnan(found.power)


@pytest.mark.parametrize("margin", [0.0, -0.01, np.inf, np.nan])
def test_a_margin_must_be_positive(margin):
    with pytest.raises(ValueError, match="margin"):
        equivalence(SEEDS, np.zeros(16), margin)


def test_so_many_seeds_have_the_power_and_no_fewer():
    count = seeds_for_power(0.02, 0.01, 0.05, 0.8)
    assert equivalence_power(0.02, count, 0.01) >= 0.8 > equivalence_power(0.02, count - 1, 0.01)
    assert seeds_for_power(1.0, 0.01, 0.05, 0.8) is None


# --- Holm -----------------------------------------------------------------------------------------


def closed(p: list[float]) -> list[float]:
    """Closed testing with Bonferroni's tests: the slow definition that Holm's method shortens."""
    every = range(len(p))
    sets = [s for size in every for s in combinations(every, size + 1)]
    return [max(min(1.0, len(s) * min(p[j] for j in s)) for s in sets if i in s) for i in every]


@given(st.lists(st.floats(0, 1), max_size=7))
def test_holm_is_closed_testing(p):
    assert holm(p) == pytest.approx(closed(p), rel=1e-12)


def test_what_is_not_tested_does_not_count():
    assert holm([0.01, np.nan, 0.03]) == pytest.approx([0.02, np.nan, 0.03], nan_ok=True)
    assert not len(holm([]))


def test_over_eight_tasks_without_an_effect_one_alarm_is_rare():
    runs = 1000
    p = stats.ttest_1samp(rng(3).normal(0, 1, (runs, 8, 16)), 0, axis=-1).pvalue
    alarms = sum((holm(row) <= 0.05).any() for row in p)
    assert runs * 0.02 <= alarms <= slack(runs)


# --- Correlation ----------------------------------------------------------------------------------


def groups(seed: int, slope: float, count: int = 16, shared: float = 0.5) -> list[Group]:
    """Six groups of 16 seeds whose noise has a part in common: groups are not independent."""
    r = rng(seed)
    common_x, common_y = r.normal(0, 1, (2, count))
    made = []
    for place in range(6):
        x = shared * common_x + np.sqrt(1 - shared**2) * r.normal(0, 1, count)
        noise = shared * common_y + np.sqrt(1 - shared**2) * r.normal(0, 1, count)
        made.append(
            Group(
                f"task {place % 3}", f"variant {place // 3}", np.arange(count), x, slope * x + noise
            )
        )
    return made


def test_pooling_is_the_textbooks():
    some = groups(0, 0.5)
    found = pooled_correlation(some)
    z = [np.arctanh(np.corrcoef(group.x, group.y)[0, 1]) for group in some]
    assert found.r == pytest.approx(np.tanh(np.mean(z)), rel=1e-12)
    without = [
        np.mean([np.arctanh(np.corrcoef(np.delete(g.x, s), np.delete(g.y, s))[0, 1]) for g in some])
        for s in range(16)
    ]
    pseudo = 16 * np.mean(z) - 15 * np.array(without)  # Tukey's way to the same error
    error = pseudo.std(ddof=1) / 4
    assert found.low == pytest.approx(np.tanh(np.mean(z) - T_15 * error), rel=1e-9)
    assert found.high == pytest.approx(np.tanh(np.mean(z) + T_15 * error), rel=1e-9)
    assert found.seed_count == 16
    assert found.group_count == 6


def test_groups_of_unequal_size_count_by_their_size():
    big, small = groups(1, 0.5)[:2]
    small = Group("b", "v", small.seeds[:8], small.x[:8], small.y[:8])
    found = pooled_correlation([big, small])
    z = [np.arctanh(np.corrcoef(group.x, group.y)[0, 1]) for group in (big, small)]
    assert found.r == pytest.approx(np.tanh((13 * z[0] + 5 * z[1]) / 18), rel=1e-12)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_r_is_scipys_to_the_last_bit_of_any_size(size):
    (one, *_) = groups(4, 0.5)
    some = [Group("t", "v", one.seeds, size * one.x, one.y)]
    assert pooled_correlation(some).groups[0].r == stats.pearsonr(size * one.x, one.y).statistic


def test_ranks_are_scipys_with_ties():
    r = rng(2)
    some = [Group("t", "v", np.arange(16), r.integers(0, 5, 16), r.integers(0, 5, 16))]
    found = pooled_correlation(some, "spearman")
    assert found.r == pytest.approx(stats.spearmanr(some[0].x, some[0].y).statistic, rel=1e-12)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("method", "shared"), [("pearson", 0.0), ("pearson", 0.9), ("spearman", 0.9)]
)
def test_without_a_relation_alarms_are_rare_though_groups_share_seeds(method, shared):
    runs = 100
    found = [pooled_correlation(groups(seed, 0.0, shared=shared), method) for seed in range(runs)]
    alarms = sum(not x.low <= 0 <= x.high for x in found)
    assert alarms <= slack(runs)
    naive = 1.96 / np.sqrt(6 * 13)
    if shared:  # what 1 / sqrt(sum of M - 3) would do
        assert sum(abs(np.arctanh(x.r)) > naive for x in found) > 2 * slack(runs)


def test_a_relation_within_is_seen_and_one_between_is_not():
    r = rng(4)
    levels = [(0.0, 0.6), (0.0, 0.62), (5.0, 0.9), (5.0, 0.92)]
    between = [
        Group(f"t{i}", f"v{i}", np.arange(16), x + r.normal(0, 1, 16), y + r.normal(0, 0.03, 16))
        for i, (x, y) in enumerate(levels)
    ]
    x, y = (np.concatenate([getattr(group, name) for group in between]) for name in "xy")
    assert np.corrcoef(x, y)[0, 1] > 0.8
    found = pooled_correlation(between)
    assert found.low < 0 < found.high
    within = pooled_correlation(groups(5, 1.0))
    assert within.low > 0.4


def test_groups_that_do_not_vary_have_no_correlation():
    (some,) = groups(6, 1.0)[:1]
    level = Group("t", "level", some.seeds, np.zeros(16), some.y)
    but_one = Group("t", "but one", some.seeds, np.eye(16)[3], some.y)
    few = Group("t", "few", some.seeds[:4], some.x[:4], some.y[:4])
    found = pooled_correlation([some, level, but_one, few])
    assert [group.r is None for group in found.groups] == [False, True, True, True]
    assert found.r == pooled_correlation([some]).r
    none = pooled_correlation([level])
    assert np.isnan([none.r, none.low, none.high]).all()
    assert np.isnan(pooled_correlation([]).r)


def test_a_perfect_relation_has_no_interval():
    (some,) = groups(7, 1.0)[:1]
    found = pooled_correlation([Group("t", "v", some.seeds, some.seeds, some.seeds**3)], "spearman")
    assert found.r == pytest.approx(1.0)
    assert np.isnan([found.low, found.high]).all()


def test_a_seed_that_a_group_lacks_leaves_it_as_it_is():
    one, other = groups(8, 0.5)[:2]
    other = Group("b", "v", other.seeds[1:], other.x[1:], other.y[1:])
    found = pooled_correlation([one, other])
    assert found.seed_count == 16
    assert found.low < found.r < found.high
