"""The terms beside the loss are what they say, and only the optimiser sees them."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.layer import LayerRecord
from gating_core.attention.stack import restore
from gating_core.tasks.task import make_task
from gating_core.training.recipe import NARROWEST, Recipe, entropy, log_spread, penalties
from gating_core.training.trainer import Trainer

GATED = AttentionConfig(model_dim=3, value_count=3, gate=GateConfig("sigmoid"))


@given(st.integers(2, 8), st.integers(0, 10**6))
def test_entropy_is_that_of_information_theory(n, seed):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.full(n, 0.3), (2, 1, 5))
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
    wanted = -(weights * logs).sum(-1).mean((1, 2))
    np.testing.assert_allclose(entropy(torch.from_numpy(weights)), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("weights", "wanted"), [([1.0, 0, 0], 0), ([1 / 3] * 3, math.log(3))])
def test_entropy_has_finite_gradients_where_attention_is_saturated_or_uniform(weights, wanted):
    x = torch.tensor(weights).reshape(1, 1, 1, 3).requires_grad_(True)
    found = entropy(x)
    assert found.item() == pytest.approx(wanted, abs=1e-6)
    found.sum().backward()
    assert x.grad.isfinite().all()


def test_bonus_and_penalty_are_weighted_means():
    rng = torch.Generator().manual_seed(4)
    weights = torch.softmax(torch.randn(2, 1, 7, 3, generator=rng), -1)
    logits = torch.randn(2, 7, 3, generator=rng)
    record = LayerRecord(weights, torch.sigmoid(logits), logits)
    found = penalties([record], Recipe(entropy_bonus=0.3, gate_penalty=0.2))
    wanted = -0.3 * entropy(weights) + 0.2 * (logits**2).mean((1, 2))
    torch.testing.assert_close(found, wanted)
    bare = LayerRecord(weights, None, None)
    torch.testing.assert_close(
        penalties([bare], Recipe(entropy_bonus=0.3, gate_penalty=0.2)), -0.3 * entropy(weights)
    )


def triangle(u, v, n=3):
    """Weights (1, 1, N, n) at middle + u e1 + v e2, with orthonormal e1 and e2 in the simplex."""
    e1 = torch.tensor([1.0, -1.0] + [0.0] * (n - 2), dtype=torch.float64) / math.sqrt(2)
    e2 = torch.tensor([1.0, 1.0, -2.0] + [0.0] * (n - 3), dtype=torch.float64) / math.sqrt(6)
    middle = torch.full((n,), 1 / n, dtype=torch.float64)
    return (middle + u[:, None] * e1 + v[:, None] * e2)[None, None]


@given(st.floats(0, 0.2), st.floats(0, 0.2), st.integers(3, 6))
def test_the_spread_of_a_cross_is_that_of_its_two_variances(a, b, n):
    u, v = (torch.tensor(x, dtype=torch.float64) for x in ([a, -a, 0, 0], [0, 0, b, -b]))
    one, other = ((x**2) / 2 + NARROWEST**2 for x in (a, b))
    found = log_spread(triangle(u, v, n)).item()
    assert found == pytest.approx(math.log(one * other) / 2, abs=1e-9)


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_the_slope_of_the_spread_is_that_of_differences(n, size):
    rng = torch.Generator().manual_seed(7)
    logits = size * torch.randn(2, 2, 9, n, generator=rng, dtype=torch.float64)
    logits.requires_grad_(True)
    assert torch.autograd.gradcheck(lambda z: log_spread(torch.softmax(z, -1)), logits)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_spread_is_finite_where_points_lie_on_a_line_or_in_one_place(dtype):
    u = torch.linspace(-0.3, 0.3, 8, dtype=torch.float64)
    for weights, wanted in (
        (triangle(u, 0 * u), math.log(float(u.square().mean()) + NARROWEST**2) / 2),
        (triangle(0 * u, 0 * u), math.log(NARROWEST)),
        (triangle(u, 0 * u)[..., :1, :], math.log(NARROWEST)),  # a batch of one point
    ):
        x = weights.to(dtype).requires_grad_(True)
        found = log_spread(x)
        assert found.item() == pytest.approx(wanted + math.log(NARROWEST), abs=1e-3)
        found.sum().backward()
        assert x.grad.isfinite().all()


def records(count=3):
    rng = torch.Generator().manual_seed(5)
    found = []
    for _ in range(count):
        weights = torch.softmax(torch.randn(2, 1, 7, 3, generator=rng), -1)
        logits = torch.randn(2, 7, 3, generator=rng)
        found.append(LayerRecord(weights, torch.sigmoid(logits), logits))
    return found


def test_what_is_asked_of_every_layer_adds_up_and_else_the_last_one_answers_alone():
    recipe = Recipe(entropy_bonus=0.3, gate_penalty=0.2, spread_bonus=0.1)
    layers = records()
    alone = [penalties([layer], recipe) for layer in layers]
    assert torch.equal(penalties(layers, recipe), alone[-1])
    torch.testing.assert_close(penalties(layers, replace(recipe, every_layer=True)), sum(alone))


def trained(recipe, config=GATED, seeds=(1, 2, 3), steps=80):
    task = make_task("circle", points=128, seeds=seeds)
    trainer = Trainer([config], task, recipe)
    first = trainer.snapshots()[0]
    trainer.advance(steps)
    return task, first, trainer.snapshots()[0]


def records_of(snapshot, config, task):
    model = restore(config, task.seeds, snapshot.state)
    records = []
    model.attention(torch.from_numpy(task.train_points), records)
    return records[-1]


def test_attention_stays_softer_and_gates_farther_from_their_ends():
    config = replace(GATED, depth=2)
    found = {}
    for name, recipe in {
        "asked": Recipe(entropy_bonus=0.3, gate_penalty=0.3),
        "not": Recipe(),
    }.items():
        task, _, last = trained(recipe, config)
        record = records_of(last, config, task)
        found[name] = entropy(record.weights).mean(), record.gate_logits.square().mean()
    assert found["asked"][0] > found["not"][0] + 0.05
    assert found["asked"][1] < found["not"][1] / 2


def test_losses_that_are_shown_have_no_extra_terms():
    _, bare, _ = trained(Recipe(), steps=0)
    _, asked, _ = trained(Recipe(entropy_bonus=5.0, gate_penalty=5.0), steps=0)
    np.testing.assert_array_equal(bare.train_loss, asked.train_loss)


@pytest.mark.parametrize("name", ["entropy_bonus", "gate_penalty", "spread_bonus"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, 11])
def test_foolish_weights_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        Recipe(**{name: value})


def test_every_layer_is_yes_or_no():
    with pytest.raises(ValueError, match="every_layer"):
        Recipe(every_layer=1)
