"""Every way that is timed computes what it is called, and ratios are of one repeat."""

import pytest
import torch

from gating_core.efficient import causal, mixed, top_k
from gating_core.lm.shipped import MODELS
from gating_core.lm.times import (
    LARGEST,
    WAYS,
    WINDOW,
    AttentionTimes,
    BlockTimes,
    load_times,
    time_attention,
    time_block,
    time_steps,
    time_tokens,
)


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


@pytest.fixture(autouse=True)
def threads():
    count = torch.get_num_threads()
    yield
    torch.set_num_threads(count)


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
    given = {"all_cores": (1.0, 2.0, 4.0, 8.0, 1.0), "side_by_side": (2.0, 4.0, 8.0, 16.0, 1.0)}
    assert BlockTimes(2, given).ratio() == (2.0, 2.0, 2.0)


def test_everything_is_timed_and_bundled():
    bundled = load_times()
    for found, times in (
        ([time_block(2, 1).seconds], [bundled.block.seconds]),
        ([time_tokens(2, 1)], [bundled.tokens]),
        ([time_steps(2)], [bundled.steps]),
        (time_attention((64, 128), 2).seconds, bundled.attention.seconds),
    ):
        assert all(seconds.keys() == times[0].keys() for seconds in found)
        assert all(len(x) == 2 and min(x) > 0 for seconds in found for x in seconds.values())
    assert [*bundled.tokens] == [*bundled.steps] == [*MODELS]
    assert bundled.attention.lengths[-1] == 16384
    assert bundled.attention.ratios("softmax")[:, 1] == pytest.approx(1)
    assert bundled.attention.crossing("window") is not None
