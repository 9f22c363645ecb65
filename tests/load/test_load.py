"""Six visitors at once, and a class: no errors, nobody sees another's numbers, all votes count."""

import numpy as np
import pytest

from tests.load.report import SLIGHT, WARM_UP_SECONDS, growth
from tests.load.session import in_a_thread
from tests.load.visitors import EVERYTHING, QUICK, hold, hold_class
from tests.profiles import SOAK

VISITORS, SECONDS = 6, 90.0
STUDENTS, QUESTIONS = (300, 100) if SOAK else (30, 2)  # of a class


@pytest.mark.soak  # a minute
def test_six_visitors_meet_no_error_and_no_numbers_of_others(server):
    record = in_a_thread(hold(server.url, server.pid, VISITORS, SECONDS, EVERYTHING, QUICK))
    assert not record.errors, record
    assert not record.crossed, record
    assert record.seconds["trainings"], record
    assert not record.late, record


@pytest.mark.soak
def test_a_class_follows_its_teacher_and_every_vote_counts_once(server):
    room = in_a_thread(hold_class(server.url, STUDENTS, QUESTIONS))
    assert all(room.goals.values()), "\n".join([str(room), str(room.goals), *room.errors])


@pytest.mark.parametrize("true", [0.0, 12.0])
def test_growth_of_memory_is_found_behind_warm_up_and_noise(true):
    """A server that fills its caches first, then grows by ``true`` MB a minute."""
    seconds = np.arange(900.0)
    noise = np.random.default_rng(5).normal(0, 4, len(seconds))
    megabytes = 1500 * np.minimum(seconds / WARM_UP_SECONDS, 1) + true * seconds / 60 + noise
    samples = [*zip(seconds, megabytes, strict=True)]
    result = growth(samples)
    assert result.low <= true <= result.high
    assert result.high - result.low < 4
    assert result.flat == (true < SLIGHT)
    assert growth(samples[: int(WARM_UP_SECONDS)]) is None
