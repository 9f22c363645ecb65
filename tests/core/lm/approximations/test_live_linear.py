"""Is the same head by another attention what each way says, and is the toy the library's?"""

import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from gating_core.characters import encode
from gating_core.efficient import (
    RULES,
    RecallRequest,
    ar1_tokens,
    delta_chunked,
    elu_features,
    linear_weights,
    mixed,
    recall,
    window_mask,
)
from gating_core.lm.approximations import linear as module
from gating_core.lm.approximations.heads import read_head
from gating_core.lm.approximations.linear import (
    RECALL_PAIRS,
    LinearRequest,
    head_by_kind,
    recall_curves,
)
from gating_core.lm.conversions import CONVERSIONS, load_converted
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import load_model

HEAD_KINDS = ("softmax", "window", "linear", "hybrid", "delta")
T = 40
REQUEST = LinearRequest(window=4, share=0.3, memory=8.0, step=0.7)


@pytest.fixture(scope="module")
def sample():
    return ar1_tokens(T, seed=2)


@pytest.fixture(scope="module")
def result(sample):
    return head_by_kind(sample, REQUEST)


def test_weights_mix_what_each_way_puts_out(sample, result):
    q, k, v = sample.queries, sample.keys, sample.values
    log_decay, step = torch.full((T,), -1 / 8, dtype=v.dtype), torch.full((T,), 0.7, dtype=v.dtype)
    near = mixed(sample.scores, v, window_mask(T, 4))
    linear = linear_weights(elu_features(q), elu_features(k), window_mask(T, T)) @ v
    delta, _ = delta_chunked(q, k, v, log_decay, step)
    full = mixed(sample.scores, v)
    for way, expected in zip(
        HEAD_KINDS, (full, near, linear, 0.3 * near + 0.7 * linear, delta), strict=True
    ):
        weights = torch.from_numpy(result.weights[HEAD_KINDS.index(way)]).double()
        torch.testing.assert_close(weights @ v, expected, atol=1e-5, rtol=1e-5)
        cosine = [
            float(a @ b / a.norm() / b.norm())
            for a, b in zip(expected[T // 2 :], full[T // 2 :], strict=True)
        ]
        assert result.cosine[HEAD_KINDS.index(way)] == pytest.approx(np.mean(cosine), abs=1e-6)


def test_a_window_with_the_whole_share_is_the_window(sample):
    of = head_by_kind(sample, LinearRequest(window=4, share=1.0))
    window, both = (of.weights[HEAD_KINDS.index(way)] for way in ("window", "hybrid"))
    np.testing.assert_array_equal(window, both)


def test_a_converted_head_has_the_models_own_weights(monkeypatch):
    models = {name: LanguageModel(CONVERSIONS[name].config) for name in ("hybrid_4", "delta")}
    monkeypatch.setattr(module, "load_conversion", models.__getitem__)
    text, layer, head = "In the beginning God created", 1, 2
    of = module.converted_head(text, layer, head, 4)
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
        module.converted_head(text, layer, head, 8)


def test_recall_is_the_librarys_with_the_same_step_and_decay():
    curves = recall_curves(8, 0.2, REQUEST)
    request = RecallRequest(8, 12, overlap=0.2, step=0.7, decay=math.exp(-1 / 8))
    of = recall(request)
    assert list(curves) == list(RULES)
    for rule, shares in curves.items():
        expected = of[rule].recognised.double().mean(-1)
        np.testing.assert_array_equal(shares[RECALL_PAIRS.index(12)], expected)


@pytest.mark.parametrize("wrong", [{"share": 1.5}, {"memory": 0.0}, {"step": -0.1}])
def test_wrong_requests_are_refused(wrong):
    with pytest.raises(ValueError, match="must be a number from"):
        LinearRequest(**wrong)


def test_losses_of_conversions_are_those_of_all_seeds():
    losses, counts = module.converted_losses()
    rows, _ = load_converted()
    assert list(losses) == list(CONVERSIONS)
    for name, parts in losses.items():
        assert parts["whole"].shape == (3, len(counts))
        np.testing.assert_array_equal(parts["whole"][2], rows[name, 2].losses["whole"])
