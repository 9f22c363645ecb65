"""Frames of a training: every number is what the models compute."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from gating_core.attention.stack import restore
from gating_core.experiments.comparison import frames as film
from gating_core.geometry.grid import square_grid
from gating_core.training.trained import TrainedEnsemble
from tests.core.experiments.comparison.runs import SMALL

MEMBER = 1


@cache
def both(run, member=MEMBER):
    """The frames of both variants, as the page requests them."""
    names = zip(("left", "right"), run.setting.variants, strict=True)
    return {side: film.training_frames(run, name, member) for side, name in names}


# --- Frames ---------------------------------------------------------------------------------------


@pytest.mark.sampled(6)
@pytest.mark.parametrize("frame", [0, 7, -1])
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_frame_is_the_model_at_its_step(run, side, frame):
    """Each snapshot is restored by itself, with all seeds, and evaluated without derivatives."""
    name = run.setting.variants[side == "right"]
    side = both(run)[side]
    config = run.variants[name].ensemble.config
    model = restore(config, run.task.seeds, run.frames[frame].snapshots[name].state)
    points = square_grid(film.FRAME_GRID).points

    values = model.attention(points)[MEMBER].numpy().reshape(side.values.shape[1:])
    np.testing.assert_allclose(side.values[frame], values, rtol=0, atol=1e-12)
    logits = model(points)[MEMBER].numpy().reshape(side.logits.shape[1:])
    np.testing.assert_allclose(side.logits[frame], logits, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(side.weight[frame], model.weight[MEMBER].numpy())
    np.testing.assert_array_equal(side.bias[frame], model.bias[MEMBER].numpy())
    data = torch.from_numpy(film.training_data(run, MEMBER).points)
    on_surface = model.attention(data)[MEMBER].numpy()
    np.testing.assert_allclose(side.data_values[frame], on_surface, rtol=0, atol=1e-12)


# --- Data -----------------------------------------------------------------------------------------


def test_the_points_are_those_of_the_seed(run):
    data, task = film.training_data(run, MEMBER), run.task
    train = min(film.DRAWN_POINTS, task.train_points.shape[1])
    test = min(film.DRAWN_POINTS, task.test_points.shape[1])
    assert data.tested.tolist() == [False] * train + [True] * test
    for mine, points, labels in (
        (~data.tested, task.train_points, task.train_labels),
        (data.tested, task.test_points, task.test_labels),
    ):
        known = dict(zip(map(tuple, points[MEMBER]), labels[MEMBER], strict=True))
        drawn = [tuple(point) for point in data.points[mine]]
        assert len(set(drawn)) == len(drawn)
        assert [known[point] for point in drawn] == data.labels[mine].tolist()
    assert data.colours == tuple(range(data.class_count))
    assert data.class_count == run.setting.class_count


def of_accuracies(accuracy, loss):
    count = len(accuracy)
    history = np.zeros((1, count))
    return TrainedEnsemble(
        config=SMALL.base,
        seeds=tuple(range(count)),
        steps=np.array([0]),
        train_loss=np.array([loss]),
        train_accuracy=np.array([accuracy]),
        test_accuracy=history,
        state={},
    )


@pytest.mark.parametrize(
    ("accuracy", "loss", "best", "median", "worst"),
    [
        ([0.5, 0.9, 0.7], [1, 1, 1], 1, 2, 0),
        ([0.9, 0.9, 0.9], [0.3, 0.1, 0.2], 1, 2, 0),  # among equals the loss decides
        ([0.9, 0.9, 0.8, 0.7], [0.2, 0.1, 0.0, 0.3], 1, 0, 3),  # of two in the middle the better
        ([0.4], [1], 0, 0, 0),
    ],
)
def test_best_median_worst(accuracy, loss, best, median, worst):
    ensemble = of_accuracies(accuracy, loss)
    assert [film.shown_member(ensemble, which) for which in ("best", "median", "worst")] == [
        best,
        median,
        worst,
    ]
    assert ensemble.best == best


@pytest.mark.parametrize("count", [1, 2, film.MOST_FRAMES, film.MOST_FRAMES + 1, 61, 500])
def test_long_runs_are_thinned(circle, count):
    frames = film.drawn_frames(replace(circle, frames=(circle.frames * 100)[:count]))
    assert len(frames) == min(count, film.MOST_FRAMES)
    assert frames[0] == 0
    assert frames[-1] == count - 1
    gaps = np.diff(frames)
    assert (gaps >= 1).all()
    assert np.ptp(gaps) <= 1 if count > 1 else True
