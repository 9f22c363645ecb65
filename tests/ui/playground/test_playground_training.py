"""What of a run is measured first, and what waits for others' first pictures?"""

import pytest

from gating_core.experiments.comparison import Setting, final_curvature, train_setting
from gating_core.experiments.comparison.along import curvature_along
from ui.playground import training
from ui.playground.training import Wish
from ui.work.pool import Rank
from ui.work.runs import Shown


@pytest.fixture(scope="module")
def shown():
    *_, run = train_setting(Setting(seed_count=3, steps=2, points=64))
    return Shown(run)


@pytest.fixture
def asked(monkeypatch):
    """What is asked of the workers, in order."""
    asked = []

    def together(function, run, name, member, rank):
        asked.append((function, name, member, rank))
        yield None

    monkeypatch.setattr(training, "together", together)
    return asked


def test_nobody_who_waits_for_a_first_picture_waits_for_other_seeds(shown, asked):
    wish = Wish("picked", "1")
    assert not any(wish.measure(shown))
    names = shown.run.setting.compared
    assert asked[:4] == [
        *((curvature_along, name, 1, Rank.FIRST) for name in names),
        *((final_curvature, name, 1, Rank.REST) for name in names),
    ]
    assert asked[4:] == [
        (curvature_along, name, member, Rank.REST) for member in (0, 2) for name in names
    ]


def test_whoever_turns_to_another_seed_in_the_middle_is_served_that_one(shown, asked):
    wish = Wish("picked", "1")
    work = wish.measure(shown)
    next(work)
    wish.picked = "2"
    assert not any(work)
    names = shown.run.setting.compared
    assert asked[1:3] == [(curvature_along, name, 2, Rank.FIRST) for name in names]
    assert len(asked) == len(set(asked)) == 6 + 2
