"""Models learn the same whoever learns beside them, and can stop and go on."""

import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_classifier, restore
from gating_core.tasks.task import make_task
from gating_core.training.recipe import GOOD_START, OPTIMISERS, Recipe
from gating_core.training.trained import cross_entropies
from gating_core.training.trainer import Batches, Trainer, TrainingDiverged

GATED = AttentionConfig(model_dim=8, gate=GateConfig())
UNGATED = replace(GATED, gate=None)
SEEDS = (0, 1, 2)
RECIPES = {
    "adam": Recipe(weight_decay=0.05),
    "sgd": Recipe("sgd", 0.3),
    "momentum": Recipe("sgd", 0.1, momentum=0.9, weight_decay=0.02),
}


def trained(configs, task, steps, recipe=RECIPES["adam"], checkpoint=None):
    trainer = Trainer(configs, task, recipe, checkpoint)
    trainer.advance(steps)
    return trainer


def assert_equal(a, b):
    assert a.state.keys() == b.state.keys()
    for name in a.state:
        assert np.array_equal(a.state[name], b.state[name]), name
    assert np.array_equal(a.train_loss, b.train_loss)


def assert_close(a, b, members=slice(None)):
    """Batched sums round differently, and steps of float32 amplify it."""
    assert a.state.keys() == b.state.keys()
    for name in a.state:
        np.testing.assert_allclose(a.state[name][members], b.state[name], atol=1e-4, rtol=0)


def test_sixteen_models_train_together_as_each_trains_alone():
    many, alone = (make_task("xor", seeds=seeds) for seeds in (range(16), (11,)))
    begin = [Trainer([GATED], task, Recipe()).snapshots()[0] for task in (many, alone)]
    end = [trained([GATED], task, 100).snapshots()[0] for task in (many, alone)]
    for name, value in begin[1].state.items():
        assert np.array_equal(begin[0].state[name][11], value[0]), name
    assert_close(*end, members=slice(11, 12))
    moved = np.abs(end[1].state["weight"] - begin[1].state["weight"]).max()
    assert moved > 0.1  # or the comparison would say nothing


@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", ["sigmoid", "additive"])
def test_variants_train_in_one_batch_as_they_train_alone(kind):
    task = make_task("circle", seeds=SEEDS)
    gated = replace(GATED, gate=GateConfig(kind))
    half = replace(GATED, gate=GateConfig(kind, strength=0.5))
    configs = (UNGATED, gated, half)
    together = trained(configs, task, 60).snapshots()
    for config, mixed in zip(configs, together, strict=True):
        assert_close(mixed, trained([config], task, 60).snapshots()[0])
    # Weight decay has shrunk the gates of the ungated models; they are not part of them.
    assert not any("gate" in name for name in together[0].state)
    assert any("gate" in name for name in together[1].state)
    assert np.abs(together[0].state["weight"] - together[1].state["weight"]).max() > 0.01
    restore(UNGATED, SEEDS, together[0].state)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_going_on_is_never_having_stopped(recipe):
    task = make_task("xor", points=100, seeds=SEEDS)
    configs = (UNGATED, GATED)
    whole = trained(configs, task, 90, recipe)
    first = trained(configs, task, 37, recipe)
    checkpoint = first.checkpoint
    first.advance(50)  # what is going on elsewhere does not reach the checkpoint
    second = trained(configs, task, 90, recipe, checkpoint)
    for a, b in zip(whole.snapshots(), second.snapshots(), strict=True):
        assert_equal(a, b)
    # Neither the order of the batches nor what the optimiser knows can be left out.
    fresh = Trainer(configs, task, recipe).checkpoint
    losses = [replace(checkpoint, order=fresh.order)]
    if recipe.optimiser == "adam" or recipe.momentum:
        losses.append(replace(checkpoint, memory=fresh.memory))
    for lost in losses:
        third = trained(configs, task, 90, recipe, lost)
        assert not torch.equal(third.weights, whole.weights)


def test_the_same_call_gives_the_same_bits_whatever_else_runs():
    task = make_task("circle", seeds=SEEDS)
    quiet = trained((UNGATED, GATED), task, 60).snapshots()
    over = threading.Event()

    def disturb():
        while not over.is_set():
            torch.randn(1000)  # from the generator that all share
            trained([GATED], make_task("xor", points=64, seeds=(5,)), 2)

    other = threading.Thread(target=disturb)
    other.start()
    try:
        disturbed = trained((UNGATED, GATED), task, 60).snapshots()
    finally:
        over.set()
        other.join()
    for a, b in zip(quiet, disturbed, strict=True):
        assert_equal(a, b)


@pytest.mark.parametrize("name", list(RECIPES))
def test_against_steps_written_out(name):
    """One model, ten tensors, the optimisers as their papers have them, in float64."""
    recipe, steps = RECIPES[name], 25
    task = make_task("xor", seeds=(4,))
    model = build_classifier(GATED, (4,)).requires_grad_(True)
    parameters = dict(model.named_parameters())
    memory = {key: [torch.zeros_like(p), torch.zeros_like(p)] for key, p in parameters.items()}
    for step, (points, labels) in enumerate(Batches(task, recipe.batch_size).take(steps), 1):
        loss = cross_entropies(model(points.double()), labels).mean()
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        for (key, p), g in zip(parameters.items(), gradients, strict=True):
            first, second = memory[key]
            if recipe.optimiser == "adam":
                first.mul_(0.9).add_(g, alpha=0.1)
                second.mul_(0.999).addcmul_(g, g, value=0.001)
                scaled = (second / (1 - 0.999**step)).sqrt() + 1e-8
                move = first / (1 - 0.9**step) / scaled
            else:
                move = first.mul_(recipe.momentum).add_(g)
            shrunk = p.data * (1 - recipe.learning_rate * recipe.weight_decay)
            p.data = shrunk - recipe.learning_rate * move
    found = trained([GATED], task, steps, recipe).snapshots()[0]
    for key, p in parameters.items():
        np.testing.assert_allclose(found.state[key], p.detach().numpy(), atol=1e-4, err_msg=key)


def test_an_epoch_shows_every_point_once_and_all_variants_the_same():
    task = make_task("xor", points=48, seeds=SEEDS)
    seen = list(Batches(task, 16, copies=2).take(6))
    points = torch.cat([p for p, _ in seen], 1)
    labels = torch.cat([q for _, q in seen], 1)
    assert points.shape == (6, 96, 2)
    assert torch.equal(points[:3], points[3:])
    for member in range(3):
        rows = {
            (*p.tolist(), int(q))
            for p, q in zip(points[member, :48], labels[member, :48], strict=True)
        }
        own = torch.from_numpy(task.train_points[member]).float().tolist()
        assert rows == {
            (*p, q) for p, q in zip(own, task.train_labels[member].tolist(), strict=True)
        }
    assert not torch.equal(points[:3, :48], points[:3, 48:])


@pytest.mark.parametrize("classes", ["xor", "blobs3"])
def test_scores_are_means_over_all_points(classes):
    task = make_task(classes, points=77, test_points=501, seeds=SEEDS, noise=0.1)
    snapshot = trained([GATED], task, 20).snapshots()[0]
    model = restore(GATED, SEEDS, snapshot.state)
    for part in ("train", "test"):
        points, labels = getattr(task, f"{part}_points"), getattr(task, f"{part}_labels")
        logits = model(torch.from_numpy(points)).numpy()
        chosen = np.take_along_axis(logits, labels[..., None], -1)[..., 0]
        loss = np.log(np.exp(logits).sum(-1)) - chosen
        np.testing.assert_allclose(getattr(snapshot, f"{part}_loss"), loss.mean(-1), rtol=1e-5)
        hits = (logits.argmax(-1) == labels).mean(-1)
        # float32 against float64 may flip a point that sits on the boundary.
        np.testing.assert_allclose(getattr(snapshot, f"{part}_accuracy"), hits, atol=1.01 / 77)


def test_divergence_names_step_seed_and_variant_and_moves_nothing():
    task = make_task("xor", seeds=SEEDS)
    trainer = Trainer((UNGATED, GATED), task, Recipe())
    trainer.advance(3)
    before = trainer.weights.clone()
    trainer.model.weight.data[4] = float("nan")  # seed 1 of the second variant
    broken = trainer.weights.clone()
    with pytest.raises(TrainingDiverged, match="diverged at step 4 for seed 1:") as caught:
        trainer.advance(10)
    assert (caught.value.step, caught.value.seeds, caught.value.indices) == (4, (1,), (1,))
    assert trainer.step == 3
    assert torch.equal(trainer.weights.nan_to_num(7.0), broken.nan_to_num(7.0))
    assert not torch.equal(before, broken)


def test_a_rate_of_zero_leaves_everything_where_it_was():
    task = make_task("xor", seeds=SEEDS)
    for optimiser in OPTIMISERS:
        begin = Trainer([GATED], task, Recipe(optimiser, 0.0, weight_decay=1.0))
        end = trained([GATED], task, 5, Recipe(optimiser, 0.0, weight_decay=1.0))
        assert torch.equal(begin.weights, end.weights)


@pytest.mark.soak
def test_sgd_has_a_good_start():
    """Adam's is that of the table in test_training."""
    task = make_task("xor", seeds=range(8))
    recipe = Recipe("sgd", *GOOD_START["sgd"])
    found = trained((UNGATED, GATED), task, 400, recipe).snapshots()
    # Measured .76 and .97.
    assert found[0].test_accuracy.mean() < 0.87
    assert found[1].test_accuracy.mean() > 0.93


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (dict(optimiser="adagrad"), "optimiser"),
        (dict(learning_rate=-0.1), "learning_rate"),
        (dict(learning_rate=float("nan")), "learning_rate"),
        (dict(momentum=1.0), "momentum"),
        (dict(momentum=-0.1), "momentum"),
        (dict(batch_size=0), "batch_size"),
        (dict(batch_size=2.5), "batch_size"),
        (dict(weight_decay=-1.0), "weight_decay"),
    ],
)
def test_wrong_recipes_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**fields)


@pytest.mark.parametrize(
    "other",
    [
        replace(GATED, gate=GateConfig("silu")),
        replace(GATED, gate=GateConfig("sigmoid", "headwise")),
        replace(GATED, model_dim=9),
        replace(UNGATED, depth=2),
    ],
)
def test_models_that_differ_in_more_than_strength_are_not_trained_together(other):
    task = make_task("xor", seeds=SEEDS)
    with pytest.raises(ValueError, match="equal but for the strength of the gate"):
        Trainer((GATED, other), task, Recipe())
    Trainer((GATED, replace(GATED, gate=GateConfig(strength=0.3)), UNGATED), task, Recipe())


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(ValueError, match="batch_size is 300"):
        Trainer([GATED], make_task("xor", seeds=SEEDS), Recipe(batch_size=300))
