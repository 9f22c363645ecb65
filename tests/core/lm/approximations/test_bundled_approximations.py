"""Bundled losses of models that leave keys out, by hooks on weights; and a head as a sample."""

import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.efficient import mixed
from gating_core.lm.approximations.delta_correction import GAMMAS, SINKS, WINDOWS
from gating_core.lm.approximations.eviction import BUDGETS, POLICIES, PREFILL
from gating_core.lm.approximations.heads import FIRST, read_head
from gating_core.lm.approximations.top_k import SIZES
from gating_core.lm.config import ModelConfig
from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.losses import text_losses
from gating_core.lm.measurements.stored import EFFICIENT, load_efficient
from gating_core.lm.shipped import load_model, shipped
from tests.core.lm.lively import lively

T = 128  # characters of a context
GATED = ("none", "g1_channel", "g1_head", "g2")
AGO = torch.arange(T)[:, None] - torch.arange(T)
NEAR = (AGO >= 0) & ((WINDOWS[1] > AGO) | (torch.arange(T) < SINKS))


def renormalised(weights):
    return weights / weights.sum(-1, keepdim=True)


def largest(_, weights):
    least = weights.topk(4, -1).values[..., -1:]
    return renormalised(weights * (weights >= least))


def near(_, weights):
    return renormalised(weights * NEAR)


def repaired(_, weights):
    """A window whose error at each anchor is taken from it and the queries that follow."""
    gamma = GAMMAS[1]
    last = torch.arange(T) // gamma * gamma
    last[T - gamma :] = torch.arange(T - gamma, T)  # the dense tail
    return near(_, weights) + (weights - near(_, weights))[..., last, :]


def by_mass(_, weights):
    """The heaviest keys of the prefill, and the most recent ones, half of the budget each."""
    half = BUDGETS[1] // 2
    kept = torch.ones_like(weights[..., 0, :])
    mass = weights[..., :PREFILL, : PREFILL - half].sum(-2)
    kept[..., : PREFILL - half] = torch.zeros_like(mass).scatter(-1, mass.topk(half).indices, 1.0)
    late = torch.arange(T)[:, None] >= PREFILL
    return renormalised(weights * torch.where(late, kept[..., None, :], 1.0))


@pytest.mark.parametrize(
    ("hook", "row", "at", "first"),
    [
        (None, "truncation.sums", -1, FIRST),
        (largest, "truncation.sums", SIZES.index(4), FIRST),
        (near, "correction.sums", (1, 0), FIRST),
        (repaired, "correction.sums", (1, 2), FIRST),
        (by_mass, "eviction.sums", (POLICIES.index("mass"), 1), PREFILL),
        (None, "eviction.full", ..., PREFILL),
    ],
)
def test_bundled_losses_are_those_of_hooks_on_weights(hook, row, at, first):
    kept = load_efficient()["g1_channel", 1]
    texts = [text for text in excerpt_texts() if len(text) >= T - 1]
    assert len(texts) == len(kept["truncation.counts"])
    hooks = None if hook is None else {"weights": hook}
    sums, counts = text_losses(load_model("g1_channel", 1)[0], texts[:6], first=first, hooks=hooks)
    np.testing.assert_allclose(kept[row][at][:6], sums, rtol=2e-4)
    np.testing.assert_array_equal(kept[f"{row.split('.')[0]}.counts"][:6], counts)


def test_every_model_without_and_with_a_gate_is_measured():
    assert [*load_efficient()] == [model for model in shipped() if model[0] in GATED]
    assert EFFICIENT.stat().st_size < 1_000_000


def test_a_head_is_a_sample_with_the_weights_that_it_had():
    config = ModelConfig(depth=2, width=8, heads=2, gate=GateConfig(position="G2"))
    model = lively(config).float()
    record = model.record(encode("a ñb, c")[None], strength=0.5)[1][1]
    sample = read_head(model, "a ñb, c", 1, 0, 0.5)
    assert sample.values.dtype == torch.float64
    torch.testing.assert_close(sample.scores.softmax(-1).float(), record.weights[0, 0])
    torch.testing.assert_close(mixed(sample.scores, sample.values).float(), record.mixed[0, 0])
    for layer, head, message in ((2, 0, "layer is 2"), (0, 2, "head is 2")):
        with pytest.raises(ValueError, match=message):
            read_head(model, "a", layer, head)
