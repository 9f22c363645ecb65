"""Converted models: windows, linear attention, both, the delta rule; and what is bundled."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn import functional

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.lm import conversions
from gating_core.lm.attention_kinds import causal_mask, softmax_weights
from gating_core.lm.conversions import (
    CONVERSIONS,
    WEIGHTS,
    LinearRequest,
    converted_losses,
    head_by_kind,
    load_conversion,
)
from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.efficient.delta_correction import window_mask
from gating_core.lm.efficient.linear import (
    delta_weights,
    elu_features,
    exponential_features,
    gated_output,
    linear_weights,
    log_decays,
)
from gating_core.lm.efficient.rows import mixed
from gating_core.lm.efficient.samples import ar1_tokens
from gating_core.lm.generate import read_head
from gating_core.lm.losses import text_losses
from gating_core.lm.model import KeyValueCache, LanguageModel, ModelConfig
from gating_core.lm.shipped import load_model
from tests.core.lm.lively import lively as of_config

TINY = ModelConfig(depth=2, width=12, heads=3, context=16)
TEXT = encode("In the beginnin")[None]


def lively(**config):
    return of_config(replace(TINY, **config), scale=4.0, noise=0.3)


def record_of(model):
    _, records = model.record(TEXT)
    return records[0], model.layers[0].attention


def with_weights(model, **config):
    """The same weights in a model of another configuration."""
    other = LanguageModel(replace(model.config, **config)).double().requires_grad_(False)
    other.load_state_dict(model.state_dict())
    return other


@pytest.mark.parametrize("gate", [None, GateConfig()])
def test_a_window_is_softmax_over_its_last_keys(gate):
    model = lively(gate=gate)
    narrow = with_weights(model, window=4)
    record, _ = record_of(narrow)
    for row in range(16):
        near = record.scores[..., row, max(0, row - 3) : row + 1].softmax(-1)
        torch.testing.assert_close(record.weights[..., row, max(0, row - 3) : row + 1], near)
        assert not record.weights[..., row, : max(0, row - 3)].any()
    torch.testing.assert_close(with_weights(model, window=16)(TEXT), model(TEXT))
    assert not torch.allclose(narrow(TEXT), model(TEXT))
    cache = KeyValueCache()
    parts = [narrow(part, cache=cache) for part in TEXT.split([6, 1, 9], -1)]
    torch.testing.assert_close(torch.cat(parts, 1), narrow(TEXT), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("attention", ["linear_elu", "linear_exponential"])
def test_linear_attention_alone_is_that_of_the_library(attention):
    record, layer = record_of(lively(attention=attention))
    if attention == "linear_elu":
        features = elu_features(record.queries), elu_features(record.keys)
    else:
        features = (exponential_features(record.queries, layer.learned.query_map),
                    exponential_features(record.keys, layer.learned.key_map))  # fmt: skip
    weights = linear_weights(*features, causal_mask(16, 16))
    torch.testing.assert_close(record.mixed, weights @ record.values)


@pytest.mark.parametrize("attention", ["linear_elu", "linear_exponential"])
def test_a_hybrid_mixes_a_window_and_linear_attention_by_its_share(attention):
    model = lively(attention=attention, window=4)
    record, layer = record_of(model)
    linear, _ = record_of(with_weights(model, window=None))  # the same states in the first block
    near = softmax_weights(record.scores, causal_mask(16, 16, 4))
    share = layer.learned.balance.sigmoid()
    torch.testing.assert_close(record.weights, share * near + (1 - share) * linear.weights)


def test_delta_attention_is_the_rule_read_off_the_states():
    record, layer = record_of(lively(attention="delta"))
    learned, states = layer.learned, record.states
    log_decay = log_decays(learned.decay(states), learned.log_rate).mT
    step = learned.step(states).sigmoid().mT
    weights = delta_weights(record.queries, record.keys, log_decay, step)
    mixed = weights @ record.values
    want = gated_output(mixed, layer.by_head(learned.gate(states)), learned.gain)
    torch.testing.assert_close(record.mixed, want, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="window is 4; the gated delta rule has none"):
        LanguageModel(replace(TINY, attention="delta", window=4))
    with pytest.raises(ValueError, match="window is 17; it must be a whole number from 1 to 16"):
        replace(TINY, window=17)


def test_every_conversion_is_bundled_with_losses_of_the_bundled_verses():
    losses, counts = converted_losses()
    assert list(losses) == list(CONVERSIONS)
    assert all(x["whole"].shape == (3, len(counts)) for x in losses.values())
    for base, name in (("none", "softmax"), ("g1_channel", "gated_softmax")):
        loss = losses[name]["before.whole"][0].sum() / counts.sum()  # of the base itself
        assert loss == pytest.approx(load_model(base, 0)[1].losses["both"], abs=1e-4)
    with pytest.raises(ValueError, match=r"softmax-0\.safetensors holds no converted model"):
        load_conversion("softmax")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", sorted(path.stem[:-2] for path in WEIGHTS.iterdir()))
def test_a_bundled_conversion_has_the_losses_that_are_told(name):
    told, model = converted_losses()[0][name]["whole"][0], load_conversion(name)
    some = slice(0, None, 40)
    sums, _ = text_losses(model, excerpt_texts()[some])
    np.testing.assert_allclose(sums, told[some], rtol=1e-4)


# --- One head by every kind of attention ----------------------------------------------------------

HEAD_KINDS = ("softmax", "window", "linear", "hybrid", "delta")
TOKENS = 40
REQUEST = LinearRequest(window=4, share=0.3, memory=8.0, step=0.7)


@pytest.fixture(scope="module")
def sample():
    return ar1_tokens(TOKENS, seed=2)


@pytest.fixture(scope="module")
def result(sample):
    return head_by_kind(sample, REQUEST)


def test_weights_mix_what_each_way_puts_out(sample, result):
    q, k, v = sample.queries, sample.keys, sample.values
    log_decay, step = (
        torch.full((TOKENS,), -1 / 8, dtype=v.dtype),
        torch.full((TOKENS,), 0.7, dtype=v.dtype),
    )
    near = mixed(sample.scores, v, window_mask(TOKENS, 4))
    linear = linear_weights(elu_features(q), elu_features(k), window_mask(TOKENS, TOKENS)) @ v
    delta = delta_weights(q, k, log_decay, step) @ v
    full = mixed(sample.scores, v)
    for way, expected in zip(
        HEAD_KINDS, (full, near, linear, 0.3 * near + 0.7 * linear, delta), strict=True
    ):
        weights = torch.from_numpy(result.weights[HEAD_KINDS.index(way)]).double()
        torch.testing.assert_close(weights @ v, expected, atol=1e-5, rtol=1e-5)
        cosine = [
            float(a @ b / a.norm() / b.norm())
            for a, b in zip(expected[TOKENS // 2 :], full[TOKENS // 2 :], strict=True)
        ]
        assert result.cosine[HEAD_KINDS.index(way)] == pytest.approx(np.mean(cosine), abs=1e-6)


def test_a_window_with_the_whole_share_is_the_window(sample):
    of = head_by_kind(sample, LinearRequest(window=4, share=1.0))
    window, both = (of.weights[HEAD_KINDS.index(way)] for way in ("window", "hybrid"))
    np.testing.assert_array_equal(window, both)


def test_a_converted_head_has_the_models_own_weights(monkeypatch):
    models = {name: LanguageModel(CONVERSIONS[name].config) for name in ("hybrid_4", "delta")}
    monkeypatch.setattr(conversions, "load_conversion", models.__getitem__)
    text, layer, head = "In the beginning God created", 1, 2
    of = conversions.converted_head(text, layer, head, 4)
    base = read_head(load_model("none", 0)[0], text, layer, head)
    full = mixed(base.scores, base.values).float()
    for name, way in (("hybrid_4", "hybrid"), ("delta", "delta")):
        _, records = models[name].record(encode(text)[None])
        record = records[layer]
        np.testing.assert_allclose(
            of.weights[HEAD_KINDS.index(way)], record.weights[0, head].detach(), atol=1e-6
        )
        mixed_values = record.weights[0, head] @ record.values[0, head]
        alike = functional.cosine_similarity(mixed_values, full, dim=-1)[len(full) // 2 :]
        assert of.cosine[HEAD_KINDS.index(way)] == pytest.approx(
            float(alike.detach().mean()), abs=1e-6
        )
    near, linear, both = of.weights[1:4]
    w = float(models["hybrid_4"].layers[layer].attention.learned.balance[head].detach().sigmoid())
    np.testing.assert_allclose(both, w * near + (1 - w) * linear, atol=1e-6)
    with pytest.raises(ValueError, match="window is 8; it must be one of"):
        conversions.converted_head(text, layer, head, 8)


@pytest.mark.parametrize("wrong", [{"share": 1.5}, {"memory": 0.0}, {"step": -0.1}])
def test_wrong_requests_are_refused(wrong):
    with pytest.raises(ValueError, match="must be a number from"):
        LinearRequest(**wrong)
