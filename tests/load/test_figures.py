"""The figures of a load test: slopes, percentiles, goals."""

import numpy as np
import pytest

from tests.load import figures
from tests.load.figures import FIRST_PAINT, Record, Slope, Trained, goals, slope


def samples(growth, noise=0.0, minutes=15, warm_up=500.0):
    """A server that fills its caches first, then grows by ``growth`` MB a minute."""
    seconds = np.arange(60 * minutes, dtype=float)
    rough = np.random.default_rng(5).normal(0, noise, len(seconds)) if noise else 0.0
    filling = warm_up * np.minimum(seconds / figures.WARM_UP_SECONDS, 1)
    return list(zip(seconds, 1000 + filling + growth * seconds / 60 + rough, strict=True))


@pytest.mark.parametrize("true", [0.0, 0.5, 12.0])
def test_a_slope_is_found_behind_the_warm_up_and_noise(true):
    result = slope(samples(true, noise=4.0))
    assert result.low <= true <= result.high
    assert result.high - result.low < 4
    assert result.flat == (true < figures.SLIGHT)


def test_a_run_that_ends_with_the_warm_up_has_no_slope():
    assert slope(samples(12.0, minutes=5)) is None


def good():
    record = Record(trainings=[Trained(20.0, False), Trained(None, True)])
    for seconds in (0.1, 0.2, 0.3):
        record.add("λ", seconds, view=True)
    record.add(FIRST_PAINT, 3.0)
    return record


FLAT = Slope(1.0, -0.5, 2.5, 900, 910)


def test_goals_are_reached():
    assert all(goals(good(), FLAT).values())


@pytest.mark.parametrize(
    ("spoil", "missed"),
    [
        (lambda r: r.errors.update(["TimeoutError"]), "no error"),
        (lambda r: r.crossed.append("seed 5"), "nobody sees another's numbers"),
        (lambda r: [r.add("λ", 0.6, view=True) for _ in range(9)], "views: median below 0.5 s"),
        (lambda r: r.add("λ", 30.0, view=True), "views: 95 % below 2 s"),
        (lambda r: r.add(FIRST_PAINT, 5.5), "first paint below 5 s"),
        (lambda r: r.trainings.append(Trained(31.0, False)),
         "trainings end within 30 s, or their position is shown"),
        (lambda r: r.trainings.append(Trained(None, False)),
         "trainings end within 30 s, or their position is shown"),
    ],
)  # fmt: skip
def test_a_goal_that_is_missed_is_named(spoil, missed):
    record = good()
    spoil(record)
    assert [text for text, ok in goals(record, FLAT).items() if not ok] == [missed]


def test_growing_memory_is_named():
    growing = Slope(12.0, 8.0, 16.0, 900, 1020)
    assert [x for x, ok in goals(good(), growing).items() if not ok] == ["memory does not grow"]
