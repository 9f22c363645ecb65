"""Trained stacks: trained alike, measured right, and the same when read from their file."""

from functools import cache

import numpy as np
import pytest

from gating_core.experiments.comparison import measure_fields
from gating_core.experiments.depth import (
    DEPTH_VARIANTS,
    QUANTITIES,
    TrainedDepths,
    TrainedRequest,
    load_shipped,
    replay,
    replay_fields,
    train_depths,
)
from gating_core.experiments.depth.curves import measure_layers, measure_quantities
from gating_core.geometry import square_grid
from gating_core.jets import second_order_jet
from gating_core.tasks import make_task
from gating_core.training import train_ensemble

REQUEST = TrainedRequest(depths=(1, 3), seed_count=3, steps=8, points=64, grid=9)


@cache
def small() -> TrainedDepths:
    return train_depths(REQUEST)


def test_they_are_trained_as_any_ensemble_is():
    """One after the other, by the trainer's plain face; float32, so within rounding."""
    trained = small()
    task = make_task("circle", 64, seeds=REQUEST.seeds)
    for variant, gated in DEPTH_VARIANTS.items():
        for place, depth in enumerate(REQUEST.depths):
            config = REQUEST.stack(depth, gated, "residual")
            *_, snapshot = train_ensemble(config, task, 8)
            found = trained.ensembles[variant][place]
            assert found.config == config
            assert set(found.state) == set(snapshot.state)
            for name, array in snapshot.state.items():
                assert np.allclose(found.state[name], array, atol=1e-4), name
            assert np.allclose(
                trained.accuracy(variant)[:, place], snapshot.test_accuracy, atol=0.01
            )


def test_the_final_surface_is_that_after_the_last_layer():
    trained = small()
    for variant in DEPTH_VARIANTS:
        final = trained.results[variant]
        grid = trained.request.grid
        through = measure_layers(trained.layers(variant, 3), grid)
        for name in QUANTITIES:
            across, along = final.curves[name].values, through.values[name]
            assert across.shape == (3, 2)
            assert along.shape == (3, 3)
            assert np.allclose(across[:, 1], along[:, 2], rtol=1e-9)
        assert (through.values["total"][:, 0] != final.curves["total"].values[:, 0]).any()


def test_a_replay_is_of_one_trained_model():
    trained = small()
    film = replay(trained.layers("gated", 3, 1), 9)
    assert film.values.shape == (3, 9, 9, 3)
    total = trained.results["gated"].curves["total"]
    assert film.total[-1] == pytest.approx(total.values[1, 1], rel=1e-9)
    assert film.total[-1] != pytest.approx(total.values[0, 1], rel=1e-3)
    fields = replay_fields(trained.layers("gated", 3, 1), 2, 9)
    _, own = measure_fields(trained.layers("gated", 3, 1).model, 9)
    assert set(fields) == set(own)
    assert np.abs(fields["|H|"] - own["|H|"]).max() > 1e-3  # of the second layer, not of the last


def test_what_is_shipped_is_what_the_command_makes():
    """Its request is the default one; its numbers are those of its weights, measured again."""
    shipped = load_shipped()
    assert shipped.request == TrainedRequest()
    assert shipped.accuracy("gated").shape == (16, 6)
    model = shipped.layers("gated", 2).model
    grid = square_grid(shipped.request.grid)
    found = measure_quantities(model, second_order_jet(model, grid.points, "rigorous"), grid)
    for name in QUANTITIES:
        curve = shipped.results["gated"].curves[name]
        assert np.allclose(curve.values[:, 1], found.values[name], rtol=1e-6)
        assert (np.abs(curve.values[:, 1] - found.values[name]) <= curve.errors[:, 1]).all()


def test_names_that_do_not_exist():
    trained = small()
    with pytest.raises(ValueError, match="variant is 'matched'"):
        trained.accuracy("matched")
    with pytest.raises(ValueError, match="depth is 2"):
        trained.layers("gated", 2)
    with pytest.raises(ValueError, match="member is 3"):
        trained.layers("gated", 3, 3)
