"""Is what is shown along a run what the models say, snapshot by snapshot?"""

import numpy as np
import pytest
import torch

from gating_core import film
from gating_core.classifier import restore
from gating_core.measure import measure_surface
from gating_core.playground import go_on, start
from gating_core.sample import square_grid
from gating_core.setting import Setting

SETTINGS = {
    "plain": Setting(points=256, seed_count=3, steps=80),
    "four classes": Setting(task="blobs4", points=256, seed_count=3, steps=40),
    "deep": Setting(points=256, seed_count=2, steps=40, model_dim=6, heads=2, depth=2,
                    variants=("ungated", "silu")),
    "controls": Setting(points=256, seed_count=2, steps=40, variants=("additive", "half")),
    "tokens": Setting(points=256, seed_count=2, steps=20, source="tokens",
                      variants=("ungated", "value")),
}  # fmt: skip
GRID = square_grid(film.FILM_GRID)
SHAPE = (film.FILM_GRID, film.FILM_GRID)


def last(events):
    *_, run = events
    return run


@pytest.fixture(scope="module")
def runs():
    return {name: last(start(setting)) for name, setting in SETTINGS.items()}


def model_at(run, name, frame):
    ensemble = run.variants[name].ensemble
    return restore(ensemble.config, ensemble.seeds, run.frames[frame].snapshots[name].state)


@pytest.mark.parametrize("name", list(SETTINGS))
def test_every_frame_is_the_model_of_its_snapshot(runs, name):
    run, member = runs[name], 1
    data = film.film_data(run, member)
    assert np.array_equal(data.steps, run.steps)
    for variant in run.setting.variants:
        side, totals = film.film_side(run, variant, member)
        for frame in (0, 7, -1):
            model = model_at(run, variant, frame)
            alone = measure_surface(model.attention.member(member), GRID, bound="estimate")
            np.testing.assert_allclose(side.values[frame], alone.values[0], rtol=1e-10, atol=1e-12)
            logits = model(GRID.points)[member].unflatten(0, SHAPE)
            np.testing.assert_allclose(side.logits[frame], logits, rtol=1e-10, atol=1e-12)
            values = model.attention(torch.from_numpy(data.points))[member]
            np.testing.assert_allclose(side.data_values[frame], values, rtol=1e-10, atol=1e-12)
            assert np.array_equal(side.weight[frame], model.weight[member])
            assert np.array_equal(side.bias[frame], model.bias[member])
            k = np.where(alone.resolved[0], alone.gaussian[0], np.nan)
            wrong = np.abs(side.gaussian[frame] - k) > alone.gaussian_error[0] + 1e-9
            assert not wrong.any()
            np.testing.assert_allclose(totals[frame], alone.total[0], rtol=1e-5, atol=1e-6)


def test_points_are_the_members_own(runs):
    run = runs["plain"]
    data = film.film_data(run, 2)
    count = (~data.tested).sum()
    assert count == run.task.train_points.shape[1]
    assert np.array_equal(data.points[:count], run.task.train_points[2])
    assert np.array_equal(data.labels[count:], run.task.test_labels[2, : film.DRAWN_POINTS])


@pytest.mark.parametrize("name", ["plain", "deep", "tokens"])
def test_curvature_along_a_run_is_the_same_part_by_part(runs, name, monkeypatch):
    run = runs[name]
    variant = run.setting.variants[1]
    shown = film.film_side(run, variant, 1)[1]
    monkeypatch.setattr(film, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(film, "PART_NUMBERS", 30_000)
    events = list(film.curvature_along(run, variant, 0))
    found = dict(event for event in events if event is not None)
    assert list(found) == list(range(1, run.setting.seed_count))
    np.testing.assert_allclose(found[1], shown, rtol=1e-6, atol=1e-9)
    # It gives way several times for every seed.
    assert sum(event is None for event in events) >= 2 * len(found)


def test_ungated_runs_stay_flat_and_gated_ones_do_not(runs):
    flat, curved = (film.film_side(runs["plain"], name, 0)[1] for name in ("ungated", "sigmoid"))
    assert flat.max() < 1e-9
    assert curved.min() > 1e-3


def test_the_final_total_is_that_of_the_last_frame(runs):
    run = runs["plain"]
    total = film.final_curvature(run, "sigmoid", 1)
    model = model_at(run, "sigmoid", -1).attention.member(1)
    fine = measure_surface(model, square_grid(121))
    slack = float(total.error) + float(fine.total_error[0])
    assert abs(float(total.value) - fine.total[0]) <= slack
    assert float(film.final_curvature(run, "ungated", 1).value) < 1e-9


@pytest.mark.parametrize("name", list(SETTINGS))
def test_the_look_inside_is_that_of_the_last_frame(runs, name):
    run = runs[name]
    for variant in run.setting.variants:
        config = run.setting.configs[variant]
        fields = film.inside(run, variant, 1)
        weights = [field for place, field in fields.items() if "α" in place]
        gates = [field for place, field in fields.items() if "gate" in place]
        assert len(weights) == config.depth * config.heads * config.value_count
        assert len(gates) == (0 if config.gate is None else config.depth * config.model_dim)
        assert all(field.shape == SHAPE for field in fields.values())
        total = sum(weights[: config.value_count])
        np.testing.assert_allclose(total, 1, rtol=1e-12)


def test_long_runs_are_thinned_out(runs):
    run = runs["controls"]
    assert film.drawn_frames(run).tolist() == list(range(len(run.frames)))
    for _ in range(2):
        run = last(go_on(run, 20))
    assert len(run.frames) > film.MOST_FRAMES
    frames = film.drawn_frames(run)
    assert (frames[0], frames[-1]) == (0, len(run.frames) - 1)
    assert len(frames) == film.MOST_FRAMES
    side, totals = film.film_side(run, "half", 0)
    assert len(side.values) == len(totals) == film.MOST_FRAMES
    assert film.film_data(run, 0).steps[-1] == 80


def test_the_shown_seed_is_chosen_by_training_accuracy(runs):
    ensemble = runs["plain"].variants["sigmoid"].ensemble
    found = [film.shown_member(ensemble, which) for which in film.SHOWN]
    assert sorted(found) == [0, 1, 2]
    accuracies = ensemble.train_accuracy[-1][found]
    assert list(accuracies) == sorted(accuracies, reverse=True)
