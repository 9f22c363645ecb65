"""Do the terms beside the loss say what they are, and does nobody see them but the optimiser?"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gating_core.attention.classifier import restore
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.layer import LayerRecord
from gating_core.pauses import drained
from gating_core.tasks.task import make_task
from gating_core.training.penalties import entropy, penalties
from gating_core.training.recipe import Recipe
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
    found = penalties(record, Recipe(entropy_bonus=0.3, gate_penalty=0.2))
    wanted = -0.3 * entropy(weights) + 0.2 * (logits**2).mean((1, 2))
    torch.testing.assert_close(found, wanted)
    bare = LayerRecord(weights, None, None)
    torch.testing.assert_close(
        penalties(bare, Recipe(entropy_bonus=0.3, gate_penalty=0.2)), -0.3 * entropy(weights)
    )


def trained(recipe, config=GATED, seeds=(1, 2, 3), steps=120):
    task = make_task("circle", points=128, seeds=seeds)
    trainer = Trainer([config], task, recipe)
    first = drained(trainer.snapshots())[0]
    for _ in trainer.advance(steps):
        pass
    return task, first, drained(trainer.snapshots())[0]


def records_of(snapshot, config, task):
    model = restore(config, task.seeds, snapshot.state)
    records = []
    model.attention(torch.from_numpy(task.train_points), records)
    return records[-1]


@pytest.mark.parametrize("depth", [1, 2])
def test_attention_stays_softer_and_gates_farther_from_their_ends(depth):
    config = replace(GATED, depth=depth)
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


def test_members_do_not_mix():
    recipe = Recipe(entropy_bonus=0.3, gate_penalty=0.3)
    _, _, together = trained(recipe)
    _, _, alone = trained(recipe, seeds=(2,))
    for name, array in alone.state.items():
        np.testing.assert_allclose(together.state[name][1], array[0], atol=1e-4)


@pytest.mark.parametrize("name", ["entropy_bonus", "gate_penalty"])
@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, 11])
def test_foolish_weights_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        Recipe(**{name: value})
