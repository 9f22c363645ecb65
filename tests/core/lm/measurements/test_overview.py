"""The table of all shipped models: its numbers against plain sums over made measurements."""

import numpy as np
import pytest

from gating_core.lm.measurements.overview import overview
from gating_core.lm.model import LanguageModel
from gating_core.lm.shipped import MODELS

N, L, H = 5, 2, 3


def measurements(loss, gate):
    """Of one model: ``loss`` nats for each character of N texts of 10 characters."""
    arrays = {
        "strengths.sums": np.array([[99.0] * N, [10 * loss] * N])[0 if gate else 1 :],
        "strengths.counts": np.full(N, 10.0), "sinks.by_text": np.full((N, L), 0.1 * loss),
        "ranks.outputs": np.stack([np.full((L, H), value) for value in (1.0, 2 * loss, 3.0)]),
        "confidence.values": np.array([0.01 * loss, 1, 1, 1, 1]),
    }  # fmt: skip
    return arrays | ({"gates.shut": np.full((L, H), 0.5 * loss)} if gate else {})


def test_rows_hold_means_over_seeds_and_paired_differences():
    losses = {
        "none": (1.0, 1.2, 1.4),
        "g1_channel": (0.9, 1.1),
        "fal": (0.9,),
        "parallel": (1.1, 1.3),
    }
    measured = {
        (name, seed): measurements(loss, MODELS[name].gate)
        for name, of in losses.items()
        for seed, loss in enumerate(of)
    }
    times = {"none": np.array([2.0, 1.0, 4.0]), "g1_channel": np.array([3.0, 1.0, 8.0])}
    rows = {row.name: row for row in overview(measured, times)}
    assert [*rows] == ["none", "g1_channel", "parallel"]  # one seed makes no interval
    base, gated = rows["none"], rows["g1_channel"]
    assert (base.loss.mean, base.first_share.mean) == pytest.approx((1.2, 0.12))
    assert (base.rank.mean, base.calibration.mean) == pytest.approx((2.4, 0.012))
    assert base.loss.half_width == pytest.approx(4.302653 * 0.2 / 3**0.5, rel=1e-6)
    assert base.delta_loss is None
    assert base.shut is None
    assert gated.shut.mean == pytest.approx(0.5)
    assert gated.delta_loss.by_seed.tolist() == pytest.approx([-0.1, -0.1])  # of the same seeds
    assert gated.time_ratio.tolist() == pytest.approx([1.25, 1.5, 1.75])
    assert gated.seconds[1] == 3.0
    assert rows["parallel"].seconds is None
    model = LanguageModel(MODELS["g1_channel"])
    assert gated.parameters == sum(weight.numel() for weight in model.parameters())
