"""The surfaces that a visitor cuts: what they are, what their islands need, and their shadows."""

import numpy as np
import pytest
import torch

from gating_core.experiments.comparison.shadows import (
    EXAMPLES,
    TURN,
    cut_example,
    first_plane,
    gated_layer,
    sample_example,
    upright,
)
from gating_core.geometry.grid import square_grid

GRID = square_grid(21)


def test_the_flat_torus_is_squares_of_paper_in_every_shadow():
    """Metric TURN^2 times the identity; turned by 45 degrees the third coordinate forgets v."""
    surface = sample_example("flat torus", GRID)
    assert not surface.gaussian.any()
    assert surface.mean == pytest.approx(np.full((21, 21), 0.5**0.5))
    values = EXAMPLES["flat torus"]().function
    first = torch.func.vmap(torch.func.jacrev(lambda p: values(p[None])[0]))(GRID.points)
    expected = TURN**2 * torch.eye(2, dtype=torch.float64)
    assert torch.allclose(first.mT @ first, expected.expand(len(first), 2, 2))
    *_, up, aside = surface.values.transpose(2, 0, 1)
    roll = (up + aside) / 2**0.5
    assert np.ptp(roll, axis=0) == pytest.approx(np.zeros(21), abs=1e-12)  # rows are v


@pytest.mark.parametrize(("name", "dimension"), [("gated layer", 3), ("flat torus", 4)])
def test_the_first_plane_cuts_an_island_that_has_what_it_needs(name, dimension):
    island = cut_example(name, first_plane(name))
    assert island.immersed
    assert island.dimension == dimension
    assert island.mean >= island.needed_mean
    if dimension == 3:
        assert island.gaussian > island.needed_gaussian
        assert float(island.positive.value) > island.needed_total
    below = tuple(-x for x in first_plane(name))  # the same cut from its other side
    assert cut_example(name, below).height == pytest.approx(island.height)


def test_no_plane_cuts_an_island_out_of_the_saddle():
    draw = np.random.default_rng(0)
    assert (sample_example("saddle", GRID).gaussian < 0).all()
    for normal in draw.normal(size=(20, 3)):
        plane = (*normal / np.linalg.norm(normal), draw.uniform(-0.5, 0.5))
        assert cut_example("saddle", plane) is None


def test_the_shadow_of_three_dimensions_loses_nothing_and_stands_on_the_classifier():
    draw = torch.Generator().manual_seed(0)
    for dim in (3, 16):
        values = torch.randn(200, dim, generator=draw, dtype=torch.float64)
        normal = torch.randn(dim, generator=draw, dtype=torch.float64)
        shadow = upright(values, normal)
        places = shadow(values)
        heights = (values - values.mean(0)) @ normal / normal.norm() / shadow.unit
        assert torch.allclose(places[:, 2], heights)
        assert torch.allclose(shadow.axes @ shadow.axes.mT, torch.eye(3, dtype=torch.float64))
        spread = places.var(0)
        assert spread[0] > spread[1]
        if dim == 3:
            assert torch.allclose(torch.pdist(places), torch.pdist(values) / shadow.unit)
            assert torch.linalg.det(shadow.axes) == pytest.approx(1)


def test_the_plane_of_the_gated_layer_is_its_classifier():
    """Class 1 of the trained model is where the example lies above its plane."""
    from gating_core.experiments.comparison.frames import strengths_model
    from gating_core.experiments.comparison.presets import load_preset

    run = load_preset("circle")
    ensemble = run.variants[run.setting.compared[1]].ensemble
    logits = strengths_model(ensemble, run.setting.seeds.index(47), [1.0])(GRID.points)[0]
    example = gated_layer()
    heights = example.function(GRID.points) @ torch.tensor(example.plane[:3]).double()
    assert torch.equal(logits[:, 1] > logits[:, 0], heights + example.plane[3] > 0)
