"""Is what the load test says of its figures right: slopes, percentiles, promises?"""

import os

import numpy as np
import pytest

from tests.load import memory
from tests.load.figures import FIRST_PAINT, Record, Trained, goals, late, table


def samples(slope, noise=0.0, minutes=15, warm_up=500.0):
    """A server that fills its caches first, then grows by ``slope`` MB a minute."""
    seconds = np.arange(60 * minutes, dtype=float)
    rough = np.random.default_rng(5).normal(0, noise, len(seconds)) if noise else 0.0
    filling = warm_up * np.minimum(seconds / memory.WARM_UP_SECONDS, 1)
    return list(zip(seconds, 1000 + filling + slope * seconds / 60 + rough, strict=True))


@pytest.mark.parametrize("true", [0.0, 0.5, 12.0])
def test_a_slope_is_found_behind_the_warm_up_and_noise(true):
    found = memory.slope(samples(true, noise=4.0))
    assert found.low <= true <= found.high
    assert found.high - found.low < 4
    assert found.flat == (true < memory.SLIGHT)


def test_of_a_run_that_ends_with_the_warm_up_nothing_is_said():
    assert memory.slope(samples(12.0, minutes=5)) is None


def test_a_process_is_counted_with_its_children():
    assert os.getpid() in memory.processes(os.getppid())
    assert memory.resident(os.getppid()) > memory.resident(os.getpid()) > 10
    assert memory.resident(2**22 + 1) == 0  # no such process


def good():
    record = Record(trainings=[Trained(20.0, False), Trained(None, True)])
    for seconds in (0.1, 0.2, 0.3):
        record.add("λ", seconds, view=True)
    record.add(FIRST_PAINT, 3.0)
    return record


FLAT = memory.Slope(1.0, -0.5, 2.5, 900, 910)


def test_promises_are_kept():
    assert all(goals(good(), FLAT).values())


@pytest.mark.parametrize(
    ("spoil", "broken"),
    [
        (lambda r: r.errors.update(["TimeoutError"]), "no error"),
        (lambda r: r.crossed.append("seed 5"), "nobody sees another's numbers"),
        (lambda r: [r.add("λ", 0.6, view=True) for _ in range(9)], "views: median below 0.5 s"),
        (lambda r: r.add("λ", 30.0, view=True), "views: 95 % below 2 s"),
        (lambda r: r.add(FIRST_PAINT, 5.5), "first paint below 5 s"),
        (lambda r: r.trainings.append(Trained(31.0, False)),
         "trainings end within 30 s, or their place is shown"),
        (lambda r: r.trainings.append(Trained(None, False)),
         "trainings end within 30 s, or their place is shown"),
    ],
)  # fmt: skip
def test_a_promise_that_is_broken_is_the_one_that_is_named(spoil, broken):
    record = good()
    spoil(record)
    assert [text for text, kept in goals(record, FLAT).items() if not kept] == [broken]


def test_growing_memory_is_named():
    growing = memory.Slope(12.0, 8.0, 16.0, 900, 1020)
    assert [x for x, kept in goals(good(), growing).items() if not kept] == ["memory does not grow"]


def test_a_table_has_a_line_an_action_and_its_ratio():
    alone = Record()
    alone.add("λ", 0.1, view=True)
    lines = table(good(), alone).splitlines()
    (line,) = [x for x in lines if x.startswith("  λ")]
    assert line.split() == ["λ", "3", "0.20", f"{late([0.1, 0.2, 0.3]):.2f}", "0.10", "2.0"]
    assert "trainings: 2, of which 1 ended" in lines[-2]
