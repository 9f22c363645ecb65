"""A price in a training: when it is due, at which points, and that nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention.stack import Attention, build_attention, restore
from gating_core.experiments.comparison.run import train, train_further
from gating_core.experiments.comparison.setting import (
    PRICE_FULL,
    PRICE_START,
    Setting,
    TrainingPrice,
    price_points,
)
from gating_core.geometry.grid import square_grid
from gating_core.geometry.price import curvature_price
from gating_core.training.trainer import LARGEST_PRICE_GRADIENT, Trainer

FREE = Setting(steps=400, seed_count=4, model_dim=8)
PRICED = replace(FREE, price="K", price_weight=1.0)


def test_points_cover_the_square_evenly_and_belong_to_their_seed():
    points = price_points((3, 5), 7)
    assert points.shape == (2, 48, 2)
    torch.testing.assert_close(price_points((5,), 7)[0], points[1], rtol=0, atol=0)
    many = torch.cat([price_points((3,), step)[0] for step in range(20)])
    assert many.abs().max() <= 1
    counts = torch.histogramdd(many, [8, 8], range=[-1.0, 1.0, -1.0, 1.0]).hist
    assert ((counts >= 13) & (counts <= 17)).all()  # 15 on average; random ones: 6 to 25


def test_a_price_rises_and_is_due_at_every_second_step():
    model = build_attention(FREE.configs["sigmoid"], range(2))
    price = TrainingPrice("K", 0.5)
    assert price(model, PRICE_START) is None
    assert price(model, PRICE_FULL) is None  # an odd step
    for step, share in ((250, 0.5), (PRICE_FULL + 1, 1.0), (4000, 1.0)):
        exact = curvature_price(model, price_points(model.seeds, step))
        torch.testing.assert_close(price(model, step), 2 * share * 0.5 * exact)


def test_a_priced_run_is_the_free_one_until_the_price_begins_and_then_curves_less():
    free, priced = train(FREE), train(PRICED)
    at = int(np.flatnonzero(free.steps <= PRICE_START + 1)[-1])
    for name, states in free.variants["sigmoid"].states.items():
        np.testing.assert_array_equal(states[at], priced.variants["sigmoid"].states[name][at])
    totals = []
    for run in (free, priced):
        ensemble = run.variants["sigmoid"].ensemble
        model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
        totals.append(curvature_price(model, square_grid(31).points))
    assert (totals[1] < 0.2 * totals[0]).all()
    # A flat surface pays nothing, and what pays nothing is trained as before.
    flat = [run.variants["ungated"].ensemble.test_accuracy[-1] for run in (free, priced)]
    np.testing.assert_allclose(*flat, atol=0.02)


def test_a_run_that_goes_on_pays_the_same_as_one_that_never_stopped():
    *_, stopped = train_further(train(replace(PRICED, steps=200)), 60)
    straight = train(replace(PRICED, steps=260))
    for name, array in straight.variants["sigmoid"].ensemble.state.items():
        np.testing.assert_array_equal(array, stopped.variants["sigmoid"].ensemble.state[name])


def test_a_spike_of_the_price_is_shortened_for_its_member_alone():
    def price(attention: Attention, step: int) -> torch.Tensor:
        return 1e12 * attention.input_map[:1].sum().reshape(1) * torch.tensor([1.0, 0.0])

    task = replace(FREE, seed_count=2).make_task()
    trainers = [
        Trainer([FREE.configs["sigmoid"]], task, FREE.recipe(256), price=x) for x in (price, None)
    ]
    for trainer in trainers:
        trainer.advance(1)
    gradients = [x.gradient for x in trainers]
    change = gradients[0] - gradients[1]
    assert change.norm().item() == pytest.approx(LARGEST_PRICE_GRADIENT, rel=1e-4)
    states = [x.snapshots()[0].state for x in trainers]
    for name, array in states[0].items():
        np.testing.assert_array_equal(array[1], states[1][name][1])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"price": "torsion"}, "price is 'torsion'"),
        ({"price": "K", "price_weight": -1.0}, "price_weight is -1.0"),
        ({"price": "bending", "price_weight": float("nan")}, "price_weight is nan"),
    ],
)
def test_wrong_prices_are_named(change, text):
    with pytest.raises(ValueError, match=text):
        replace(FREE, **change)
