"""Every way that is timed computes what it is called, and ratios are of one repeat."""

import pytest
import torch

from gating_core.efficient import causal, mixed, top_k
from gating_core.lm.approximations import AttentionTimes, load_attention_times
from gating_core.lm.approximations.attention_time import LARGEST, WAYS, WINDOW, time_attention


def test_ways_are_what_they_are_called():
    queries, keys, values = torch.randn(3, 4, 512, 24, generator=torch.Generator().manual_seed(0))
    scores = causal(queries @ keys.mT / 24**0.5)
    result = {name: way(queries, keys, values) for name, way in WAYS.items()}
    torch.testing.assert_close(result["softmax"], mixed(scores, values), rtol=1e-4, atol=1e-5)
    best = mixed(scores, values, top_k(scores, LARGEST))
    torch.testing.assert_close(result["top_k"], best, rtol=1e-4, atol=1e-5)
    block = torch.arange(512) // (WINDOW // 2)
    near = block[:, None] - block <= 1
    torch.testing.assert_close(result["window"], mixed(scores, values, near), rtol=1e-4, atol=1e-5)
    features = [torch.nn.functional.elu(x * 24**-0.25) + 1 for x in (queries, keys)]
    weights = (features[0] @ features[1].mT).tril()
    want = weights / weights.sum(-1, keepdim=True) @ values
    torch.testing.assert_close(result["linear"], want, rtol=1e-4, atol=1e-5)


def test_ratios_are_of_one_repeat_and_the_crossing_is_for_good():
    times = AttentionTimes(1, 1, (2, 4, 8), {
        "softmax": ((1.0, 2.0, 4.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)),
        "linear": ((0.5, 1.0, 2.0), (3.0, 3.0, 3.0), (1.0, 1.0, 1.0)),
        "window": ((1.0, 2.0, 4.0),) * 3,
    })  # fmt: skip
    assert times.ratios("linear")[:, 1].tolist() == [0.5, 3, 0.5]
    assert times.crossing("linear") == 8
    assert times.crossing("window") is None
    assert times.ratios("linear")[0].tolist() == [0.5] * 3


def test_all_ways_are_timed_and_shipped():
    times = time_attention((64, 128), 2)
    assert {name: len(rows) for name, rows in times.seconds.items()} == dict.fromkeys(WAYS, 2)
    shipped = load_attention_times()
    assert set(shipped.seconds) == set(WAYS)
    assert shipped.lengths[-1] == 16384
    assert shipped.ratios("softmax")[:, 1] == pytest.approx(1)
    assert shipped.crossing("window") is not None
