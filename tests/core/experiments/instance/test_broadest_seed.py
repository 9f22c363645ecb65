"""The model that a page shows first is the one that its rule selects."""

import os

import numpy as np
import pytest

from gating_core.attention.stack import build_attention
from gating_core.experiments.instance.measured import measure_instance
from gating_core.experiments.instance.model import (
    CHOSEN_SEEDS,
    NEAR_DEGENERATE,
    SEEDS,
    ModelInstance,
    breadth,
    chosen_config,
    elongation,
    seed_scores,
)

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
CANDIDATES = SEEDS if SOAK else 32  # evenly over all


def select_seed(config, seeds):
    """The first of equals: a broad one if there is any, then the largest product."""
    broad, merit = seed_scores(config, seeds)
    return seeds[int(np.argmax(np.where(broad, 1.0 + merit, merit)))]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("depth", CHOSEN_SEEDS)
def test_the_table_has_what_the_rule_selects(depth):
    chosen = CHOSEN_SEEDS[depth]
    seeds = sorted({*range(0, SEEDS, SEEDS // CANDIDATES), chosen})
    assert select_seed(chosen_config(depth), seeds) == chosen


@pytest.mark.sampled(2)
@pytest.mark.parametrize("depth", range(1, 7))
def test_both_sheets_of_a_chosen_model_are_broad(depth):
    """As the page measures them, on another grid and one by one."""
    instance = ModelInstance(chosen_config(depth), CHOSEN_SEEDS[depth])
    for side in (instance.ungated, instance):
        sheet = measure_instance(side, 61).surface.values[0]
        assert breadth(sheet) > 1 / NEAR_DEGENERATE
        assert elongation(sheet) < NEAR_DEGENERATE


def test_broad_models_come_before_all_others():
    config, seeds = chosen_config(2), range(64)
    broad, merit = seed_scores(config, seeds)
    assert 0 < broad.sum() < len(seeds)
    assert merit[~broad].max() > merit[broad].min()
    assert broad[select_seed(config, seeds)]
    assert ((merit >= 0) & (merit <= 1)).all()


def test_a_seed_has_the_same_merit_in_any_company():
    config = chosen_config(2)
    alone, among = seed_scores(config, [30])[1], seed_scores(config, range(24, 34))[1][6]
    np.testing.assert_allclose(alone, among, rtol=1e-9)
    assert build_attention(config, (30,)).blocks  # and it is one that can be built


@pytest.mark.parametrize("times", [1.0, 12.0, 1e5])
def test_a_rectangle_is_as_elongated_as_it_says(times):
    side = np.linspace(-1, 1, 21)
    across, along = np.meshgrid(side, times * side)
    sheet = np.stack([across, along, np.zeros_like(across)], -1)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    assert elongation(sheet @ turn + 5.0) == pytest.approx(times, rel=1e-6)
    huge = 1e200 * (sheet @ turn)
    huge[0, 0] = np.nan
    assert elongation(huge) == pytest.approx(times, rel=0.1)


@pytest.mark.parametrize("share", [1.0, 0.3, 0.02])
def test_a_rectangle_is_as_broad_as_it_says_and_a_hook_of_it_no_broader(share):
    along, across = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, share, 41))
    flat = np.stack([along, across, np.zeros_like(along)], -1)
    assert breadth(flat) == pytest.approx(share, rel=0.06)  # the grid's ends count in full
    turn = np.pi * along
    hook = np.stack([(1 + across) * np.cos(turn), (1 + across) * np.sin(turn), 0 * turn], -1)
    assert elongation(hook) < 3
    assert breadth(hook) < 2 * share


def test_the_elongation_of_a_point_is_one_and_of_a_line_infinite():
    assert elongation(np.ones((4, 4, 3))) == 1
    assert elongation(np.full((4, 4, 3), np.inf)) == 1  # no finite point
    assert elongation(np.linspace(0, 1, 9)[:, None] * np.array([1.0, 0.0, 0.0])) == np.inf


def test_a_sheet_that_overflows_is_no_broad_one():
    axis = np.linspace(0, 1, 9)
    sheet = np.stack([*np.meshgrid(axis, axis), np.zeros((9, 9))], -1)
    assert breadth(1e307 * sheet) == pytest.approx(breadth(sheet))
    for lost in (np.inf, np.nan):
        broken = sheet.copy()
        broken[2, 3, 1] = lost
        assert breadth(broken) == 0
        assert elongation(broken) < NEAR_DEGENERATE
