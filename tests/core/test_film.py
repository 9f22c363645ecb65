"""Is what is drawn along a run what the models say, snapshot by snapshot?"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core import along as along_module
from gating_core import reel as reel_module
from gating_core.along import CurvatureAlong, curvature_along, final_surface
from gating_core.classifier import restore
from gating_core.film import Film, film
from gating_core.measure import cut_surface, measure_surface
from gating_core.playground import go_on, start
from gating_core.reel import MOST_FRAMES, thinned
from gating_core.results import SurfaceResult
from gating_core.sample import square_grid
from gating_core.setting import Setting

SETTINGS = {
    "plain": Setting(points=256, seed_count=3, steps=80),
    "four classes": Setting(task="blobs4", points=256, seed_count=3, steps=80),
    "wide": Setting(
        points=256, seed_count=2, steps=40, model_dim=6, variants=("sigmoid", "silu")
    ),
    "matched": Setting(points=256, seed_count=2, steps=40, variants=("ungated", "matched")),
    "tokens": Setting(points=256, seed_count=2, steps=20, source="tokens",
                      variants=("ungated", "value")),
}  # fmt: skip


def last(events):
    *_, result = events
    return result


@pytest.fixture(scope="module")
def runs():
    return {name: last(start(setting)) for name, setting in SETTINGS.items()}


def model_at(run, name, frame):
    ensemble = run.variants[name].ensemble
    return restore(ensemble.config, ensemble.seeds, run.frames[frame].snapshots[name].state)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_every_frame_is_the_model_of_its_snapshot(runs, name):
    run, grid, member = runs[name], square_grid(21), 1
    found = last(film(run, run.setting.variants[:2], member, 21))
    assert isinstance(found, Film)
    assert found.steps.tolist() == run.steps.tolist()
    assert found.seed == run.setting.seeds[member]
    for side in found.sides:
        for frame in (0, 7, -1):
            model = model_at(run, side.variant, frame)
            for drawn, points in (
                (side.surface[frame].reshape(21**2, -1), grid.points),
                (side.train_values[frame], torch.from_numpy(found.train_points).double()),
                (side.test_values[frame], torch.from_numpy(found.test_points).double()),
            ):
                values = side.axes.project(model.attention(points)[member].numpy())
                np.testing.assert_allclose(drawn, values, rtol=1e-5, atol=1e-5)
            logits = model(grid.points)[member].reshape(21, 21, -1)
            chances = torch.softmax(logits, -1).numpy()
            likeliest = logits.argmax(-1).numpy()
            assert np.array_equal(side.likeliest[frame], likeliest)
            two = logits.shape[-1] == 2
            wanted = chances[..., 1] if two else chances.max(-1)
            np.testing.assert_allclose(side.probability[frame], wanted, rtol=1e-5, atol=1e-6)
            ranked = logits.sort(-1).values.numpy()
            margin = ranked[..., -1] - ranked[..., -2]
            found_margin = np.abs(side.margin[frame]) if two else side.margin[frame]
            np.testing.assert_allclose(found_margin, margin, rtol=1e-4, atol=1e-5)
            if two:
                assert np.array_equal(side.margin[frame] > 0, likeliest == 1)


@pytest.mark.parametrize("name", ["plain", "four classes", "wide"])
def test_decision_curves_lie_where_the_likeliest_class_changes(runs, name):
    run = runs[name]
    found = last(film(run, run.setting.variants, 0))
    for side in found.sides:
        model = model_at(run, side.variant, -1)
        curve = side.curve[-1][~np.isnan(side.curve[-1, :, 0])]
        assert len(curve) > 20
        ranked = model(torch.from_numpy(curve[:, :2]).double())[0].sort(-1).values.numpy()
        margin = ranked[:, -1] - ranked[:, -2]
        # Linear between grid points, so off by less than what any two logits part in a cell.
        logits = model(square_grid(41).points)[0].reshape(41, 41, -1).numpy()
        apart = logits[..., :, None] - logits[..., None, :]
        cell = max(np.abs(np.diff(apart, axis=axis)).max() for axis in (0, 1))
        assert margin.max() < cell
        assert np.median(margin) < 0.1 * cell
        # The points on the surface are those of the drawn mesh.
        values = side.axes.project(
            model.attention(torch.from_numpy(curve[:, :2]).double())[0].numpy()
        )
        size = np.ptp(side.surface[-1].reshape(-1, 3), 0).max()
        assert np.abs(values - curve[:, 2:]).max() < 0.05 * size


def test_the_plane_is_there_where_it_is_the_whole_truth(runs):
    plain = last(film(runs["plain"], ("ungated", "sigmoid"), 0))
    for side in plain.sides:
        assert side.honest.all()
        cut = np.einsum("trca,ta->trc", side.surface, side.normal) + side.offset[:, None, None]
        np.testing.assert_allclose(cut, side.margin, rtol=1e-3, atol=1e-4)
        assert np.allclose(side.share, 1)
    wide = last(film(runs["wide"], ("sigmoid",), 0)).sides[0]
    assert wide.normal.shape == (len(wide.surface), 3)
    assert not wide.honest.all()
    assert (wide.share < 1).all()
    missed = np.einsum("trca,ta->trc", wide.surface, wide.normal) + wide.offset[:, None, None]
    worst = np.abs(missed - wide.margin).max((1, 2)) / np.abs(wide.margin).max((1, 2))
    assert np.array_equal(worst <= 0.01, wide.honest)
    # Four dimensions, three of them drawn; an ungated surface with three values needs two at a time.
    matched = last(film(runs["matched"], ("matched",), 0)).sides[0]
    assert matched.axes.principal
    assert matched.honest.sum() > 10
    four = last(film(runs["four classes"], ("sigmoid",), 0)).sides[0]
    assert np.isnan(four.normal).all()
    assert not four.honest.any()


def test_sides_of_one_dimension_share_their_axes(runs):
    wide = last(film(runs["wide"], ("sigmoid", "silu"), 0))
    assert wide.sides[0].axes is wide.sides[1].axes
    assert wide.sides[0].axes.principal
    matched = last(film(runs["matched"], ("ungated", "matched"), 0))
    assert not matched.sides[0].axes.principal
    assert matched.sides[1].axes.basis.shape == (4, 3)


def test_the_default_run_is_small_enough_to_send():
    run = last(start(Setting(seed_count=2, steps=400)))
    found = last(film(run, run.setting.variants, 0))
    assert len(found.steps) >= 40
    assert 2e6 < found.nbytes <= 8e6
    for side in found.sides:
        for name, array in vars(side).items():
            if isinstance(array, np.ndarray):
                assert array.dtype in (np.float32, np.uint8, bool), name
    assert found.nbytes >= sum(side.surface.nbytes + side.margin.nbytes for side in found.sides)


def test_long_runs_are_thinned_out(runs):
    run = runs["matched"]
    for _ in range(2):
        run = last(go_on(run, 20))
    assert len(run.frames) > MOST_FRAMES
    found = last(film(run, ("ungated",), 0, 11))
    assert len(found.frames) == MOST_FRAMES
    assert (found.steps[0], found.steps[-1]) == (0, 80)
    assert np.array_equal(run.steps[found.frames], found.steps)
    assert np.diff(found.frames).min() > 0
    assert thinned(3).tolist() == [0, 1, 2]
    assert thinned(1).tolist() == [0]


@pytest.mark.parametrize("name", ["plain", "tokens"])
def test_curvature_along_a_run_is_that_of_each_snapshot(runs, name):
    run = runs[name]
    shown = 1
    events = list(curvature_along(run, run.setting.variants, shown))
    found = [event for event in events if isinstance(event, CurvatureAlong)]
    seeds = run.setting.seed_count
    order = [(member, v) for member in (1, 0, 2)[:seeds] for v in run.setting.variants]
    assert [(each.member, each.variant) for each in found] == order
    assert [each.surface is not None for each in found] == [m == shown for m, _ in order]
    for each in (found[0], found[-1]):
        assert each.steps.tolist() == run.steps.tolist()
        for frame in (0, -1):
            model = model_at(run, each.variant, frame).attention.member(each.member)
            alone = measure_surface(model, square_grid(31), bound="estimate")
            np.testing.assert_allclose(each.total[frame], alone.total[0], rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(
                each.error[frame], alone.total_error[0], rtol=1e-6, atol=1e-9
            )
            assert each.complete[frame] == alone.complete[0]
            if each.surface is not None:
                np.testing.assert_allclose(
                    each.surface.values[frame], alone.values[0], rtol=1e-12, atol=1e-14
                )


def test_ungated_runs_stay_flat_and_gated_ones_do_not(runs):
    found = {
        each.variant: each
        for each in curvature_along(runs["plain"], ("ungated", "sigmoid"), 0)
        if each is not None and each.member == 0
    }
    assert found["ungated"].surface.flat.all()
    assert not found["sigmoid"].surface.flat.any()
    assert found["sigmoid"].total[-1] > 0.1


@pytest.mark.parametrize("name", ["plain", "tokens"])
def test_final_values_are_rigorous(runs, name, monkeypatch):
    run = runs[name]
    variant = run.setting.variants[1]
    found = last(final_surface(run, variant, 1))
    assert isinstance(found, SurfaceResult)
    assert found.bound_kind == "rigorous"
    assert found.gaussian.shape == (1, 61, 61)
    model = model_at(run, variant, -1).attention.member(1)
    alone = measure_surface(model, square_grid())
    np.testing.assert_allclose(found.total, alone.total, rtol=1e-9)
    if name == "plain":
        cut = cut_surface(run.variants[variant].ensemble, run.task, 1)
        np.testing.assert_allclose(found.gaussian, cut.surface.gaussian, rtol=1e-6, atol=1e-9)
    # In many small parts, giving way after each, it is the same.
    monkeypatch.setattr(along_module, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(along_module, "PART_NUMBERS", 2_000)
    events = list(final_surface(run, variant, 1))
    assert events[:-1] == [None] * (len(events) - 1)
    assert len(events) > 3
    np.testing.assert_allclose(events[-1].total, found.total, rtol=1e-9)
    np.testing.assert_allclose(events[-1].gaussian_error, found.gaussian_error, rtol=0.05)


def test_a_film_gives_way(runs, monkeypatch):
    whole = last(film(runs["plain"], ("sigmoid",), 0))
    monkeypatch.setattr(reel_module, "PAUSE_SECONDS", 0.0)
    events = list(film(runs["plain"], ("sigmoid",), 0))
    assert events[:-1] == [None] * (len(events) - 1)
    assert len(events) > len(whole.steps) + 3
    assert np.array_equal(events[-1].sides[0].surface, whole.sides[0].surface)


def test_the_ranking_goes_from_best_to_worst(runs):
    ensemble = runs["plain"].variants["sigmoid"].ensemble
    order = ensemble.ranking
    assert sorted(order) == [0, 1, 2]
    assert order[0] == ensemble.best
    accuracies = ensemble.train_accuracy[-1][order]
    assert list(accuracies) == sorted(accuracies, reverse=True)
    equal = replace(
        ensemble, train_accuracy=np.ones((1, 3)), train_loss=np.array([[3.0, 1.0, 2.0]])
    )
    assert equal.ranking.tolist() == [1, 2, 0]


@pytest.mark.parametrize("work", [curvature_along, film])
def test_what_a_run_has_not_is_refused(runs, work):
    with pytest.raises(ValueError, match="variant is 'silu'"):
        work(runs["plain"], ("silu",), 0)
    with pytest.raises(ValueError, match="member is 3"):
        work(runs["plain"], ("ungated",), 3)
    with pytest.raises(ValueError, match="size"):
        list(work(runs["plain"], ("ungated",), 0, 30))
    with pytest.raises(ValueError, match="variant is 'silu'"):
        final_surface(runs["plain"], "silu", 0)
