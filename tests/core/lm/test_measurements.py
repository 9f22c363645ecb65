"""Bundled measurements against plain formulas, losses by hooks on weights; and bundled times."""

import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.efficient.delta_correction import GAMMAS, SINKS, WINDOWS
from gating_core.lm.efficient.eviction import BUDGETS, MEASURED_POLICIES, PREFILL
from gating_core.lm.efficient.rows import mixed
from gating_core.lm.efficient.samples import FIRST
from gating_core.lm.efficient.top_k import SIZES
from gating_core.lm.generate import read_head
from gating_core.lm.losses import text_losses
from gating_core.lm.measurements import (
    QUANTITIES,
    SHUT,
    SINK,
    STRENGTHS,
    AttentionTimes,
    load_efficient,
    load_measured,
    load_times,
)
from gating_core.lm.model import ModelConfig
from gating_core.lm.shipped import MODELS, digest, is_current, load_model, shipped
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
        (by_mass, "eviction.sums", (MEASURED_POLICIES.index("mass"), 1), PREFILL),
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


@pytest.mark.soak
def test_what_is_bundled_is_measured_again_text_by_text():
    model, card = load_model("g1_channel", 0)
    kept, texts, H = load_measured()["g1_channel", 0], excerpt_texts(), model.config.heads
    shares, ratios, sunk, gates, outputs, found = [], [], [], [], [], []
    for text in texts:
        numbers = torch.cat((encode(text), encode("")))[: T + 1]
        logits, blocks = model.record(numbers[None, :-1])
        weights = torch.stack([x.weights[0] for x in blocks])
        lengths = torch.stack([x.values[0] for x in blocks]).norm(dim=-1)
        shares.append(weights[..., 1:, 0].mean(-1))
        ratios.append(lengths[..., 0] / lengths[..., 1:].mean(-1))
        sunk.append(weights[..., 0].mean(-1) > SINK)
        gates.append(torch.stack([x.gate[0].unflatten(-1, (H, -1)) for x in blocks], 1))
        mixed = torch.stack([x.mixed[0] for x in blocks])  # after the gate
        ungated = torch.stack([(x.weights @ x.values)[0] for x in blocks])
        outputs.append(torch.stack([ungated, mixed]).double())
        chances = logits[0].double().softmax(-1)
        best, entropy = chances.max(-1), torch.special.entr(chances).sum(-1)
        attention = torch.special.entr(weights).sum(-1).mean((0, 1))
        own = chances.gather(-1, numbers[1:, None])[:, 0]
        right = (best.indices == numbers[1:]).double()
        found.append(torch.stack([best.values, right, -own.log(), entropy, attention]))
    for name, of in (("by_head", shares), ("value_ratio", ratios), ("metric", sunk)):
        want = torch.stack([x.double() for x in of]).mean(0)
        np.testing.assert_allclose(kept[f"sinks.{name}"], want, rtol=1e-3, atol=1e-6)
    by_text = torch.stack(shares).mean(-1)
    np.testing.assert_allclose(kept["sinks.by_text"], by_text, rtol=1e-3, atol=1e-6)
    shut = (torch.cat(gates) < SHUT).double().mean((0, 3))
    np.testing.assert_allclose(kept["gates.shut"], shut, atol=1e-4)
    stages = torch.cat(outputs, -2)  # before and after the gate
    projections = [x.attention.project.weight.double().unflatten(1, (H, -1)) for x in model.layers]
    last = torch.stack([x.transpose(0, 1).mT for x in projections])  # (L, H, d, D)
    for row, of in zip(kept["ranks.outputs"], (*stages, stages[1] @ last), strict=True):
        values = torch.linalg.svdvals(of)
        shares = values / values.sum(-1, keepdim=True)
        np.testing.assert_allclose(row, torch.special.entr(shares).sum(-1).exp(), rtol=1e-3)
    confidence, right, *others = torch.cat(found, -1)
    edges = np.percentile(confidence, 100 * np.linspace(0, 1, 16)[1:-1])
    bins = np.searchsorted(edges, confidence)
    gaps = [abs(float((confidence - right)[bins == n].sum())) for n in range(15)]
    values = dict(zip(QUANTITIES, kept["confidence.values"], strict=True))
    assert values["calibration"] == pytest.approx(sum(gaps) / len(right), rel=1e-3)
    for name, of in zip(QUANTITIES[2:], others, strict=True):
        assert values[name] == pytest.approx(float(of.mean()), rel=1e-4)
    sums, counts = kept["strengths.sums"], kept["strengths.counts"]
    assert len(right) == counts.sum()
    assert sums[-1].sum() / counts.sum() == pytest.approx(card.losses["both"], abs=1e-4)
    half, _ = text_losses(model, texts[:20], strength=STRENGTHS[5])
    np.testing.assert_allclose(sums[5, :20], half, rtol=1e-4)


def test_every_model_without_and_with_a_gate_is_measured():
    assert [*load_measured()] == shipped()
    assert not is_current("none", 0, digest("none", 1))
    with_all = [model for model, arrays in load_efficient().items() if "eviction.sums" in arrays]
    assert with_all == [model for model in shipped() if model[0] in GATED]


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


def test_ratios_are_of_one_repeat_and_the_crossing_is_for_good():
    seconds = {
        "softmax": ((1.0, 2.0, 4.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)),
        "linear": ((0.5, 1.0, 2.0), (3.0, 3.0, 3.0), (1.0, 1.0, 1.0)),
        "window": ((1.0, 2.0, 4.0),) * 3,
    }
    by_length = tuple({way: rows[i] for way, rows in seconds.items()} for i in range(3))
    times = AttentionTimes((2, 4, 8), by_length)
    assert times.ratios("linear")[:, 1].tolist() == [0.5, 3, 0.5]
    assert times.crossing("linear") == 8
    assert times.crossing("window") is None
    assert times.ratios("linear")[0].tolist() == [0.5] * 3


def test_times_of_every_architecture_are_bundled():
    bundled = load_times()
    assert [*bundled.tokens] == [*bundled.steps] == [*MODELS]
    assert bundled.attention.lengths[-1] == 16384
    assert bundled.attention.ratios("softmax")[:, 1] == pytest.approx(1)
    assert bundled.attention.crossing("window") is not None
