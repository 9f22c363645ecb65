"""Does a row say of a model what is found when that model is looked at alone?"""

import math
from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from gating_core.attention import build_attention, weight_chart
from gating_core.attention.stack import restore
from gating_core.claims import STUDY_VERSION, ModelRow, training
from gating_core.claims.selection import ModelUnit, StackUnit
from gating_core.claims.training import FINER_GRID, GRID, measured, unit_rows
from gating_core.experiments.comparison import Setting, train_setting
from gating_core.experiments.depth import DepthRequest
from gating_core.geometry import measure_surface, paper_proxy, square_grid

SETTING = Setting(
    task="xor",
    points=100,
    train_share=0.4,
    model_dim=8,
    seed=3,
    seed_count=3,
    steps=60,
    batch_size=16,
)
UNIT = ModelUnit("base", SETTING)


@pytest.fixture(scope="module")
def run():
    *_, found = train_setting(SETTING)
    return found


@pytest.fixture(scope="module")
def rows():
    return unit_rows(UNIT)


def test_there_is_a_row_for_every_key_in_order(rows):
    assert [row.key for row in rows] == list(UNIT.keys.values())
    assert [(row.variant, row.seed) for row in rows] == list(UNIT.keys)
    assert {row.code for row in rows} == {STUDY_VERSION}
    assert {row.together for row in rows} == {6}
    assert {row.error for row in rows} == {None}


def test_a_row_says_what_training_has_found(rows, run):
    for row in rows:
        variant, place = run.variants[row.variant], row.seed - SETTING.seed
        ensemble = variant.ensemble
        assert row.parameters == ensemble.parameter_count
        assert row.train_accuracy == ensemble.train_accuracy[-1, place]
        assert row.test_accuracy == ensemble.test_accuracy[-1, place]
        assert row.train_loss == ensemble.train_loss[-1, place]
        assert row.test_loss == variant.test_loss[-1, place]
        assert row.seconds > 0


def alone(run, row):
    ensemble = run.variants[row.variant].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    return model.member(row.seed - SETTING.seed)


def test_a_row_says_what_one_finds_on_the_model_alone(rows, run):
    """Together or alone products are summed in other orders: equal to 1e-9, not to the bit."""
    for row in rows:
        model = alone(run, row)
        finer = row.total_complete and not row.flat and coarse_doubt(model)
        surface = measure_surface(model, square_grid(FINER_GRID if finer else GRID))
        assert row.flat == (row.variant == "ungated")
        assert row.total_curvature == pytest.approx(surface.total[0], rel=1e-9)
        assert row.total_error >= surface.total_error[0] * (1 - 1e-6)
        assert row.total_complete == surface.complete[0]
        assert row.resolved_share == surface.resolved.mean()
        decided = np.where(surface.decided, surface.gaussian, 0.0)
        area = surface.area_element * surface.quadrature
        assert row.positive_share == pytest.approx((area * (decided > 0)).sum() / area.sum())
        assert row.negative_share == pytest.approx((area * (decided < 0)).sum() / area.sum())
        shares = row.positive_share + row.negative_share + row.undecided_share
        assert shares == pytest.approx(1.0)
        assert row.largest_curvature == pytest.approx(
            np.abs(surface.gaussian[surface.resolved]).max(), rel=1e-9, abs=row.largest_bound
        )
        assert 0 <= row.positive_curvature <= row.total_curvature * (1 + 1e-12)


def coarse_doubt(model):
    surface = measure_surface(model, square_grid(GRID))
    return surface.total_error[0] > 0.1 * surface.total[0]


def test_the_proxies_are_the_limit_of_finite_differences(rows, run):
    for row in rows:
        proxy = paper_proxy(alone(run, row), square_grid(GRID).points)
        assert row.proxy == pytest.approx(proxy.mean.item(), rel=1e-4)
        assert row.normalised_proxy == pytest.approx(proxy.normalised.item(), rel=1e-4)


def test_ungated_charts_are_flat_and_the_test_of_it_is_not_empty(rows):
    for row in rows:
        assert row.chart_flat == (row.variant == "ungated")
        if row.variant == "ungated":
            assert 0 < row.chart_largest <= row.chart_bound
            assert row.chart_positive_share == 0
        else:
            assert row.chart_largest > 0


def test_gated_charts_are_those_of_the_model(rows, run):
    for row in rows:
        if row.variant == "sigmoid":
            surface = measure_surface(weight_chart(alone(run, row)), square_grid(15))
            known = np.abs(surface.gaussian[surface.resolved]).max()
            assert row.chart_largest == pytest.approx(known, rel=1e-6)
            assert row.chart_bound == pytest.approx(surface.largest_error[0], rel=1e-2)


@pytest.mark.parametrize(
    "varied", [dict(depth=2), dict(source="tokens"), dict(residual=True, heads=2)]
)
def test_a_model_without_an_attention_weight_chart_says_nothing_of_one(varied):
    setting = replace(SETTING, seed_count=1, steps=1, variants=("sigmoid",), **varied)
    (row,) = unit_rows(ModelUnit("base", setting))
    assert row.error is None
    assert row.total_curvature > 0
    chart = [getattr(row, x.name) for x in fields(ModelRow) if x.name.startswith("chart_")]
    assert chart == [None] * 4


def test_one_member_without_a_chart_does_not_cost_the_others_theirs():
    config = replace(SETTING, variants=("sigmoid",)).configs["sigmoid"]
    model = build_attention(config, (0, 1, 2))
    model.blocks[0].query.data[1] = 0.0  # all logits of member 1 are constant
    found = measured(model)
    assert [row["chart_flat"] is None for row in found] == [False, True, False]


def test_where_no_point_is_resolved_nothing_is_known_to_be_flat():
    config = replace(SETTING, variants=("sigmoid",)).configs["sigmoid"]
    model = build_attention(config, (0, 1))
    model.blocks[0].values.data[1] = 0.0  # member 1 is a point
    found = measured(model)
    assert [row["flat"] for row in found] == [False, None]
    assert [row["chart_flat"] for row in found] == [False, None]
    assert found[1]["largest_curvature"] is None
    assert found[1]["resolved_share"] == 0


# --- Failures ---


def test_what_diverges_is_one_row_and_all_others_are_trained_without_it():
    setting = replace(SETTING, learning_rate=1e3, optimiser="sgd", steps=4, seed_count=6)
    *_, run = train_setting(setting)
    assert run.divergence is not None
    unit = ModelUnit("base", setting)
    rows = unit_rows(unit)
    assert [row.key for row in rows] == list(unit.keys.values())
    failed = {(row.variant, row.seed) for row in rows if row.error}
    assert set(run.divergence.members) <= failed < set(unit.keys)
    for row in rows:
        if (row.variant, row.seed) in failed:
            assert "diverged at step" in row.error
            assert row.test_accuracy is None
            assert row.total_curvature is None
        else:
            assert row.together < 12
            assert 0 <= row.test_accuracy <= 1
            assert row.total_curvature >= 0


def test_seeds_that_diverge_are_left_out_and_their_neighbours_stay_together():
    gone = {("sigmoid", 4)}
    left = list(training._without(SETTING, gone))
    found = {(x.variants, x.seeds) for x in left}
    assert found == {
        (("ungated", "sigmoid"), (3,)),
        (("ungated",), (4,)),
        (("ungated", "sigmoid"), (5,)),
    }
    assert not list(
        training._without(SETTING, {(n, s) for n in SETTING.variants for s in SETTING.seeds})
    )


def test_what_cannot_be_measured_is_one_row(monkeypatch):
    def broken(model):
        if 4 in model.seeds:
            raise RuntimeError("no memory")
        return measured(model)

    monkeypatch.setattr(training, "measured", broken)
    rows = unit_rows(UNIT)
    assert {row.seed for row in rows if row.error} == {4}
    for row in rows:
        assert (row.total_curvature is None) == (row.seed == 4)
        if row.error:
            assert row.error == "it could not be measured: no memory"


# --- Stacks ---


def test_stacks_are_those_of_the_structured_regime():
    """K(0) = 4 L^2 eps^2 exactly; the proxy grows as L."""
    rows = unit_rows(StackUnit(DepthRequest(depth=16, seed=0, seed_count=3)))
    assert len(rows) == 48
    for row in rows:
        exact = 4 * row.depth**2 * row.strength**2
        assert abs(row.centre_curvature - exact) <= row.centre_bound + 4e-16 * exact
        assert row.small == (2 * row.depth * row.strength <= 0.05)
        assert math.isfinite(row.total_curvature)
    assert torch.tensor([row.proxy for row in rows]).gt(0).all()
