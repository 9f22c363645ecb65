"""The shown seed is measured first; the rest waits for others' first pictures."""

import pytest

from gating_core.experiments.comparison import (
    Setting,
    along_cost,
    final_curvature,
    train_setting,
)
from gating_core.experiments.comparison.run_curvature import curvature_along
from tests.ui.decision_boundary.playing import QUICKLY
from ui.decision_boundary import training
from ui.decision_boundary.request import TYPICAL, WHO
from ui.decision_boundary.training import MeasurementRequest
from ui.work.pool import Rank
from ui.work.runs import Shown


@pytest.fixture(scope="module")
def shown():
    *_, run = train_setting(Setting(seed_count=3, steps=2, points=64))
    return Shown(run)


@pytest.fixture
def asked(monkeypatch):
    """What the workers are asked for, in order."""
    asked = []

    def shared_stream(function, run, name, member, rank):
        asked.append((function, name, member, rank))
        yield None

    monkeypatch.setattr(training, "shared_stream", shared_stream)
    return asked


def test_nobody_who_waits_for_a_first_picture_waits_for_other_seeds(shown, asked):
    request = MeasurementRequest("picked", "1")
    assert not any(request.measure(shown))
    names = shown.run.setting.compared
    assert asked[:4] == [
        *((curvature_along, name, 1, Rank.FIRST) for name in names),
        *((final_curvature, name, 1, Rank.REST) for name in names),
    ]
    assert asked[4:] == [
        (curvature_along, name, member, Rank.REST) for member in (0, 2) for name in names
    ]


def test_whoever_turns_to_another_seed_in_the_middle_is_served_that_one(shown, asked):
    request = MeasurementRequest("picked", "1")
    work = request.measure(shown)
    next(work)
    request.picked = "2"
    assert not any(work)
    names = shown.run.setting.compared
    assert asked[1:3] == [(curvature_along, name, 2, Rank.FIRST) for name in names]
    assert len(asked) == len(set(asked)) == 6 + 2


def test_where_other_seeds_would_take_long_the_shown_one_alone_is_measured(
    shown, asked, monkeypatch
):
    names = shown.run.setting.compared
    monkeypatch.setattr(training, "OTHERS_COST", 2 * along_cost(shown.run))
    assert MeasurementRequest().others(shown.run)
    monkeypatch.setattr(training, "OTHERS_COST", 2 * along_cost(shown.run) - 1)
    request = MeasurementRequest("picked", "1")
    assert not request.others(shown.run)
    assert not any(request.measure(shown))
    assert [(function, member) for function, _, member, _ in asked] == [
        *((curvature_along, 1) for _ in names),
        *((final_curvature, 1) for _ in names),
    ]


def test_who_asks_for_other_seeds_gets_them_though_it_takes_long(shown, asked, monkeypatch):
    monkeypatch.setattr(training, "OTHERS_COST", 0.0)
    request = MeasurementRequest("picked", "1", all_of=shown.run.setting)
    assert not any(request.measure(shown))
    assert [member for _, _, member, _ in asked[4:]] == [0, 0, 2, 2]


def test_it_costs_more_where_the_run_is_longer_and_the_model_larger(shown):
    def run(**more):
        *_, last = train_setting(Setting(seed_count=1, points=64, **more))
        return last

    least = along_cost(run(steps=2))
    assert along_cost(run(steps=20)) > 2 * least
    assert along_cost(run(steps=2, depth=3)) > 2 * least
    assert along_cost(shown.run) == least  # of one seed


def test_a_picked_seed_is_shown_if_it_is_one_of_the_run(shown):
    assert MeasurementRequest("picked", "2").member(shown.run) == 2
    typical = MeasurementRequest().member(shown.run)
    for request in (MeasurementRequest("picked", "8"), MeasurementRequest("nobody")):
        assert request.chosen(shown.run) == TYPICAL
        assert request.member(shown.run) == typical
    assert all(MeasurementRequest(which).member(shown.run) in range(3) for which in WHO)


def test_something_lacks_until_the_shown_seed_and_the_others_are_measured(shown, monkeypatch):
    request = MeasurementRequest("picked", "1")
    grown, names = shown, shown.run.setting.compared

    def measured(function, run, name, member, rank):
        yield (yield from function(run, name, member))

    for grid in QUICKLY:
        monkeypatch.setattr(*grid)
    monkeypatch.setattr(training, "shared_stream", measured)
    items = [item for item in request.measure(shown) if item is not None]
    for item in items:
        assert request.lacks(grown)
        grown = grown.grown([item])
    assert not request.lacks(grown)
    assert len(grown.along) == 3 * len(names)
    request.picked = "2"  # its end is not measured
    assert request.lacks(grown)
