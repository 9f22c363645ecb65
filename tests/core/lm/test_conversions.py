"""Converted models: windows, linear attention, both, the delta rule; and what is bundled."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from gating_core.attention import GateConfig
from gating_core.characters import encode
from gating_core.efficient import (
    delta_chunked,
    elu_features,
    exponential_features,
    gated_output,
    linear_weights,
    log_decays,
)
from gating_core.lm.attention import KeyValueCache
from gating_core.lm.attention_kinds import causal_mask, softmax_weights
from gating_core.lm.config import ModelConfig
from gating_core.lm.conversions import CONVERSIONS, WEIGHTS, load_conversion, load_converted
from gating_core.lm.corpus import excerpt_texts
from gating_core.lm.losses import text_losses
from gating_core.lm.model import LanguageModel
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
    mixed, _ = delta_chunked(record.queries, record.keys, record.values, log_decay, step)
    want = gated_output(mixed, layer.by_head(learned.gate(states)), learned.gain)
    torch.testing.assert_close(record.mixed, want, rtol=1e-10, atol=1e-10)
    with pytest.raises(ValueError, match="window is 4; the gated delta rule has none"):
        LanguageModel(replace(TINY, attention="delta", window=4))
    with pytest.raises(ValueError, match="window is 17; it must be a whole number from 1 to 16"):
        replace(TINY, window=17)


def test_every_conversion_is_bundled_with_losses_of_the_bundled_verses():
    rows, counts = load_converted()
    assert list(rows) == [(name, seed) for name in CONVERSIONS for seed in (0, 1, 2)]
    assert all(x.shape == counts.shape for row in rows.values() for x in row.losses.values())
    for base, name in (("none", "softmax"), ("g1_channel", "gated_softmax")):
        loss = rows[name, 0].losses["before.whole"].sum() / counts.sum()  # of the base itself
        assert loss == pytest.approx(load_model(base, 0)[1].losses["both"], abs=1e-4)
    with pytest.raises(ValueError, match=r"softmax-0\.safetensors holds no converted model"):
        load_conversion("softmax")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", sorted(path.stem[:-2] for path in WEIGHTS.iterdir()))
def test_a_bundled_conversion_has_the_losses_that_are_told(name):
    told, model = load_converted()[0][name, 0].losses["whole"], load_conversion(name)
    some = slice(0, None, 40)
    sums, _ = text_losses(model, excerpt_texts()[some])
    np.testing.assert_allclose(sums, told[some], rtol=1e-4)
