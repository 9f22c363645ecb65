"""What of a run is measured first, and what waits for others' first pictures?"""

import pytest

from gating_core.experiments.comparison import (
    Setting,
    along_cost,
    final_curvature,
    train_setting,
)
from gating_core.experiments.comparison.run_curvature import curvature_along
from ui.decision_boundary import training
from ui.decision_boundary.training import Wish
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

    monkeypatch.setattr(training, "shared_stream", together)
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


def test_where_other_seeds_would_take_long_the_shown_one_alone_is_measured(
    shown, asked, monkeypatch
):
    names = shown.run.setting.compared
    monkeypatch.setattr(training, "OTHERS_COST", 2 * along_cost(shown.run))
    assert Wish().others(shown.run)
    monkeypatch.setattr(training, "OTHERS_COST", 2 * along_cost(shown.run) - 1)
    wish = Wish("picked", "1")
    assert not wish.others(shown.run)
    assert not any(wish.measure(shown))
    assert [(function, member) for function, _, member, _ in asked] == [
        *((curvature_along, 1) for _ in names),
        *((final_curvature, 1) for _ in names),
    ]


def test_who_asks_for_other_seeds_gets_them_though_it_takes_long(shown, asked, monkeypatch):
    monkeypatch.setattr(training, "OTHERS_COST", 0.0)
    wish = Wish("picked", "1", all_of=shown.run.setting)
    assert not any(wish.measure(shown))
    assert [member for _, _, member, _ in asked[4:]] == [0, 0, 2, 2]


def test_it_costs_more_where_the_run_is_longer_and_the_model_larger(shown):
    def run(**more):
        *_, found = train_setting(Setting(seed_count=1, points=64, **more))
        return found

    least = along_cost(run(steps=2))
    assert along_cost(run(steps=20)) > 2 * least
    assert along_cost(run(steps=2, depth=3)) > 2 * least
    assert along_cost(shown.run) == least  # of one seed
