"""The shown member is chosen by its rule, and what is said at every strength is true."""

import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_attention
from gating_core.experiments.comparison import presets, sweep
from gating_core.experiments.comparison.frames import strengths_model
from gating_core.experiments.comparison.presets import (
    PRESETS,
    load_preset,
    load_surface,
    load_sweep,
    save_surface,
)
from gating_core.experiments.comparison.run import train_setting
from gating_core.experiments.comparison.setting import FIRST_SETTING
from gating_core.experiments.comparison.sweep import (
    SOFTNESS,
    STRENGTHS,
    member_score,
    refitted,
    regularity,
    select_member,
    select_ungated,
    sweep_strengths,
)
from gating_core.geometry.adaptive import adaptive_integrals
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import measure_surface
from tests.core.experiments.comparison.runs import SETTINGS, run_of

SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"

corners = st.lists(st.floats(-3, 3), min_size=12, max_size=12).map(
    lambda x: np.array(x).reshape(3, 4)
)


@cache
def small():
    return run_of(replace(FIRST_SETTING, task="xor", steps=60, seed_count=4))


# --- The best plane -------------------------------------------------------------------------------


def penalised_loss(weight, bias, values, labels, scale):
    """Of logits values @ weight + bias, in torch, so that its gradient is a second opinion."""
    loss = torch.nn.functional.cross_entropy(values @ weight + bias, labels)
    slopes = weight * scale  # of the centred and scaled representations
    if weight.shape[1] == 2:
        slopes = slopes[:, 1] - slopes[:, 0]
    return loss + SOFTNESS / 2 * slopes.square().sum()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["two classes", "three classes"])
def test_the_refitted_plane_is_where_the_loss_has_no_slope(name):
    run = run_of(SETTINGS[name])
    ensemble = run.variants[run.setting.variants[1]].ensemble
    points, labels = run.task.train_points[0], torch.from_numpy(run.task.train_labels[0])
    given = strengths_model(ensemble, 0, [0.3, 1.0])
    found = refitted(given, points, labels.numpy())
    for version in range(2):
        values = found.attention(torch.from_numpy(points))[version]
        centre = values.mean(0)
        scale = (values - centre).square().sum(1).mean().sqrt()
        rest = values, labels, scale
        weight = found.weight[version].detach().clone().requires_grad_(True)
        bias = found.bias[version].detach().clone().requires_grad_(True)
        loss = penalised_loss(weight, bias, *rest)
        loss.backward()
        assert weight.grad.abs().max() < 1e-3 * scale
        assert bias.grad.abs().max() < 1e-3
        before = penalised_loss(given.weight[version], given.bias[version], *rest)
        assert loss <= before + 1e-6  # nothing that was trained is better


# --- The selected member --------------------------------------------------------------------------


@given(corners, st.floats(0.1, 10))
def test_regularity_is_one_of_an_equilateral_triangle_and_has_no_size(triangle, factor):
    found = regularity(triangle)
    assert 0 <= found <= 1 + 1e-12
    assert regularity(factor * triangle) == pytest.approx(found, abs=1e-6)
    a, b, c = np.eye(3)
    assert regularity(np.stack([a, b, c])) == pytest.approx(1)
    assert regularity(np.stack([a, b, (a + b) / 2])) == pytest.approx(0, abs=1e-7)


def test_the_selected_member_has_the_best_score_in_the_better_half():
    run = small()
    ensemble = run.variants["sigmoid"].ensemble
    half = ensemble.ranking[:2]
    found = select_member(run)
    assert found in half
    assert member_score(ensemble, found) == max(member_score(ensemble, int(m)) for m in half)


def test_test_points_do_not_choose(monkeypatch):
    run = small()
    blind = replace(run.task, test_labels=1 - run.task.test_labels)
    monkeypatch.setattr(sweep, "SCORE_GRID", 15)
    for select in (select_member, select_ungated):
        assert select(replace(run, task=blind)) == select(run)


@pytest.mark.parametrize("name", ["circle", "xor"])
def test_of_the_models_without_a_gate_the_one_is_selected_that_fills_the_broadest_triangle(name):
    """Each share by the determinant of the map from the square to barycentric coordinates."""
    run, grid = load_preset(name), square_grid(41)
    ensemble = run.variants["ungated"].ensemble
    half = ensemble.ranking[: len(ensemble.seeds) // 2].tolist()
    scores = []
    for member in half:
        model = strengths_model(ensemble, member).attention
        corners = model.blocks[-1].slot_values()[0].numpy()
        system = np.vstack([corners.T, np.ones(3)])
        places = np.column_stack([model(grid.points)[0].numpy(), np.ones(len(grid.points))])
        first, second, _ = np.linalg.lstsq(system, places.T)[0].reshape(3, 41, 41)
        sides = [np.gradient(x, axis=axis) for x in (first, second) for axis in (0, 1)]
        share = 2 * np.trapezoid(np.trapezoid(np.abs(sides[0] * sides[3] - sides[1] * sides[2])))
        scores.append(share * regularity(corners))
    assert select_ungated(run) == half[int(np.argmax(scores))]


# --- The sweep ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sweeps():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sweep, "SWEEP_POINTS", 400)
        return [*sweep_strengths(small())]


def test_without_the_gate_the_total_is_zero_by_proof(sweeps):
    total = sweeps[-1].total
    assert total.value[0] == total.error[0] == 0
    assert (total.value[1:] > 0).all()


def test_shipped_totals_are_those_of_another_refinement():
    run, shipped = load_preset("circle"), load_sweep("circle")
    ensemble = run.variants["sigmoid"].ensemble
    model = strengths_model(ensemble, shipped.member, [STRENGTHS[20]]).attention
    again = adaptive_integrals(model, relative_tolerance=1e-3, bound="rigorous").absolute
    gap = abs(again.value - shipped.total.value[20])
    assert gap <= again.error + shipped.total.error[20]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", PRESETS if SOAK else ("circle", "moons"))
def test_a_shipped_sweep_belongs_to_its_run(name, monkeypatch):
    run, shipped = load_preset(name), load_sweep(name)
    assert shipped.measured.all()
    monkeypatch.setattr(sweep, "SWEEP_POINTS", 400)
    fresh = next(sweep_strengths(run))
    assert shipped.member == fresh.member
    np.testing.assert_allclose(shipped.weight, fresh.weight, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(shipped.bias, fresh.bias, rtol=1e-4, atol=1e-4)


def test_strengths_are_one_model_and_the_last_is_the_trained_one(sweeps):
    run, found = small(), sweeps[-1]
    model = found.model(run)
    points = torch.from_numpy(run.task.test_points[0])
    trained = strengths_model(run.variants["sigmoid"].ensemble, found.member)
    np.testing.assert_array_equal(model.attention(points)[-1], trained.attention(points)[0])
    *_, again = train_setting(run.setting)
    assert select_member(again) == found.member


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", PRESETS)
def test_the_shipped_curvature_is_what_is_measured(name):
    """At every fifth strength: K to double precision, errors at least as large as they are."""
    run, grid, few = load_preset(name), square_grid(), range(0, len(STRENGTHS), 5)
    member = load_sweep(name).member
    model = strengths_model(run.variants["sigmoid"].ensemble, member, STRENGTHS).attention
    values = model(grid.points).unflatten(1, grid.weights.shape).numpy()
    whole = load_surface(name, values, grid)
    some = [STRENGTHS[place] for place in few]
    model = strengths_model(run.variants["sigmoid"].ensemble, member, some).attention
    found = measure_surface(model, grid)
    for shipped, measured in ((whole.frame(n), found.frame(i)) for i, n in enumerate(few)):
        assert shipped.proof == measured.proof
        assert shipped.bound_kind == measured.bound_kind
        for part in ("resolved", "complete", "bends", "sign"):  # other processors round otherwise
            one, other = (np.nan_to_num(getattr(x, part), nan=9) for x in (shipped, measured))
            assert (one != other).mean() < 1e-3, part
        off = np.abs(shipped.gaussian - measured.gaussian)
        assert (off <= shipped.gaussian_error + measured.gaussian_error)[measured.resolved].all()
        np.testing.assert_allclose(shipped.gaussian_error, measured.gaussian_error, rtol=0.05)
        np.testing.assert_allclose(shipped.area_element, measured.area_element, rtol=1e-6)
        for part in ("total", "bending"):
            np.testing.assert_allclose(getattr(shipped, part), getattr(measured, part), rtol=1e-9)


def test_a_surface_comes_back_from_its_file_with_no_error_made_smaller(tmp_path, monkeypatch):
    grid = square_grid(5)
    surface = measure_surface(build_attention(AttentionConfig(gate=GateConfig()), (1, 2)), grid)
    save_surface(surface, tmp_path / "circle.surface.safetensors")
    monkeypatch.setattr(presets, "FOLDER", tmp_path)
    back = load_surface("circle", surface.values, grid)
    np.testing.assert_array_equal(back.gaussian, surface.gaussian)
    assert (back.gaussian_error >= surface.gaussian_error).all()
    assert back.verdicts[0].word == surface.verdicts[0].word
    with pytest.raises(ValueError, match=r"are \(1, 5, 5, 3\); they must be \(2, 5, 5, 'D'\)"):
        load_surface("circle", surface.values[:1], grid)
    with pytest.raises(ValueError, match="preset is 'comparison'"):
        load_surface("comparison", surface.values, grid)
