"""The stage shows the model: distances, accuracies and planes are those of the outputs."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch

from gating_core.experiments.comparison.frames import frame_accuracies
from gating_core.experiments.comparison.presets import PRESETS, load_preset, load_sweep
from gating_core.experiments.comparison.sweep import STRENGTHS, sweep_strengths
from gating_core.geometry.grid import square_grid
from tests.core.experiments.comparison.runs import SMALL, run_of
from ui.landing.picture import measure_stage

GRID = square_grid(11)


@cache
def swept(**changes):
    """A small run with the fitted planes of all strengths; totals are not measured."""
    run = run_of(replace(SMALL, **changes))
    return run, next(sweep_strengths(run))


@pytest.fixture(params=[*PRESETS, "deep"])
def case(request):
    if request.param == "deep":
        return swept(depth=2)
    return load_preset(request.param), load_sweep(request.param)


def test_accuracies_and_cuts_are_those_of_the_fitted_classifiers(case):
    run, sweep = case
    stage, model = measure_stage(run, sweep, GRID), sweep.model(run)
    ends = [0, len(STRENGTHS) - 1] if len(stage.strengths) == 2 else range(len(STRENGTHS))
    logits = model(GRID.points).numpy()
    for frame, strength in enumerate(ends):
        normal, offset = stage.planes[strength, :3], stage.planes[strength, 3]
        right = (stage.test_values[frame] @ normal + offset > 0) == stage.test_labels
        assert right.mean() == frame_accuracies(model, run, sweep.member)[strength]
        margin = logits[strength, :, 1] - logits[strength, :, 0]
        side = stage.surfaces[frame].reshape(-1, 3) @ normal + offset
        assert (np.sign(side) == np.sign(margin))[np.abs(margin) > 1e-9].all()
    assert np.linalg.norm(stage.planes[:, :3], axis=1) == pytest.approx(1)


def test_shapes_are_kept_and_the_flat_surface_lies_on_the_ground(case):
    run, sweep = case
    stage = measure_stage(run, sweep, GRID)
    values = sweep.model(run).attention(GRID.points).numpy()
    places = stage.surfaces.reshape(len(stage.surfaces), -1, 3)
    assert np.abs(places[0, :, 2]).max() < 1e-12
    assert np.abs(stage.corners[:, 2]).max() < 1e-12
    assert np.linalg.norm(stage.corners, axis=1).max() == pytest.approx(1)
    assert places[-1, :, 2].mean() >= 0
    ratios = [np.linalg.norm(x[1:] - x[0], axis=-1) for x in (places[-1], values[-1])]
    assert np.ptp(ratios[0] / ratios[1]) < 1e-9


@pytest.mark.parametrize("name", PRESETS)
def test_one_layer_changes_linearly_with_the_strength_of_its_gate(name):
    """Two surfaces stand for all of them: y = (1 - s) y(0) + s y(1)."""
    run, sweep = load_preset(name), load_sweep(name)
    assert measure_stage(run, sweep, GRID).strengths.tolist() == [0, 1]
    values = sweep.model(run).attention(GRID.points)
    share = torch.tensor(STRENGTHS, dtype=torch.float64)[:, None, None]
    between = (1 - share) * values[0] + share * values[-1]
    assert (values - between).abs().max() < 2e-15 * values.abs().max()


def test_several_layers_do_not():
    assert measure_stage(*swept(depth=2), GRID).strengths.tolist() == list(STRENGTHS)


def test_what_has_no_stage_is_refused():
    with pytest.raises(ValueError, match="outputs have 4 dimensions"):
        measure_stage(*swept(model_dim=4), GRID)
