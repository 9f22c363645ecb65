"""Ratios of the bundled times are of one repeat."""

import pytest

from gating_core.lm.shipped import MODELS
from gating_core.lm.times import AttentionTimes, load_times


def test_ratios_are_of_one_repeat_and_the_crossing_is_for_good():
    seconds = {
        "softmax": ((1.0, 2.0, 4.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)),
        "linear": ((0.5, 1.0, 2.0), (3.0, 3.0, 3.0), (1.0, 1.0, 1.0)),
        "window": ((1.0, 2.0, 4.0),) * 3,
    }
    by_length = tuple({way: rows[i] for way, rows in seconds.items()} for i in range(3))
    times = AttentionTimes((2, 4, 8), by_length)
    assert times.ratios("linear")[:, 1].tolist() == [0.5, 3, 0.5]
    assert times.crossing("linear") == 8
    assert times.crossing("window") is None
    assert times.ratios("linear")[0].tolist() == [0.5] * 3


def test_times_of_every_architecture_are_bundled():
    bundled = load_times()
    assert [*bundled.tokens] == [*bundled.steps] == [*MODELS]
    assert bundled.attention.lengths[-1] == 16384
    assert bundled.attention.ratios("softmax")[:, 1] == pytest.approx(1)
    assert bundled.attention.crossing("window") is not None
