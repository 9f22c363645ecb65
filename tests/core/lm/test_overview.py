"""The table of all models: its numbers against plain sums over made measurements, and verdicts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from gating_core.lm.efficient.top_k import SIZES
from gating_core.lm.measurements import AttentionTimes, Times
from gating_core.lm.model import LanguageModel
from gating_core.lm.overview import compared, load_overview, overview
from gating_core.lm.resampling import PairedDifference
from gating_core.lm.shipped import MODELS, SEEDS, load_model

N, L, H = 5, 2, 3


def measurements(loss, gate):
    """Of one model: ``loss`` nats for each character of N texts of 10 characters."""
    arrays = {
        "strengths.sums": np.array([[99.0] * N, [10 * loss] * N])[0 if gate else 1 :],
        "strengths.counts": np.full(N, 10.0), "sinks.by_text": np.full((N, L), 0.1 * loss),
        "ranks.outputs": np.stack([np.full((L, H), value) for value in (1.0, 2 * loss, 3.0)]),
        "truncation.sums": np.outer([9.0] * SIZES.index(8) + [2 * loss] + [0.5] * 3, [10] * N),
        "truncation.counts": np.full(N, 5.0),
    }  # fmt: skip
    return arrays


def test_rows_hold_means_over_seeds_and_paired_differences():
    losses = {"none": (1.0, 1.2, 1.4), "g1_channel": (0.9, 1.1, 1.3), "fal": (0.9,)}
    measured = {
        (name, seed): measurements(loss, MODELS[name].gate)
        for name, of in losses.items()
        for seed, loss in enumerate(of)
    }
    seconds = {"none": (2.0, 1.0, 4.0), "g1_channel": (3.0, 1.0, 8.0)}
    times = Times(seconds, seconds, AttentionTimes((), ()))
    rows = {row.name: row for row in overview(measured, times)}
    assert [*rows] == ["none", "g1_channel"]  # with all seeds
    base, gated = rows["none"], rows["g1_channel"]
    means = {name: of.mean for name, of in base.values.items()}
    assert means == pytest.approx({
        "loss": 1.2, "first_share": 0.12, "rank": 2.4, "added": 2 * (2 * 1.2 - 0.5),
    })  # fmt: skip
    assert base.values["loss"].half_width == pytest.approx(4.302653 * 0.2 / 3**0.5, rel=1e-6)
    assert base.changes == {}
    for name, want in {
        "loss": [-0.1] * 3, "first_share": [-0.01] * 3, "rank": [-0.2] * 3, "added": [-0.4] * 3,
    }.items():  # fmt: skip
        assert gated.changes[name].by_seed.tolist() == pytest.approx(want)  # of the same seeds
    assert gated.token_time.tolist() == pytest.approx([1.25, 1.5, 1.75])
    model = LanguageModel(MODELS["g1_channel"])
    assert gated.parameters == sum(weight.numel() for weight in model.parameters())


def test_bundled_rows_hold_what_cards_say_and_verdicts_are_holms():
    rows = {row.name: row for row in load_overview()}
    assert [*rows] == [*MODELS]
    for name, row in rows.items():
        losses = [load_model(name, seed)[1].losses["both"] for seed in SEEDS]
        assert row.values["loss"].mean == pytest.approx(np.mean(losses))
    # The interval of FAL+ lacks 0, but it is the best of all.
    found = [row.changes["loss"] for row in rows.values() if row.changes]
    t = [abs(of.mean) / of.half_width * stats.t.ppf(0.975, 2) for of in found]
    assert rows["fal_plus"].changes["loss"].high < 0
    assert len(found) * 2 * stats.t.sf(max(t), 2) > 0.05
    wide = compared([*rows.values()], "loss")
    assert all(of.low < 0 < of.high for of in wide.values())
    # None is significant: each interval is Bonferroni's.
    factor = stats.t.ppf(1 - 0.025 / len(found), 2) / stats.t.ppf(0.975, 2)
    assert wide["fal"].half_width == pytest.approx(factor * rows["fal"].changes["loss"].half_width)
    far = PairedDifference(np.full(3, -0.1), 0.01)
    changes = {
        "fal": far,
        "parallel": replace(far, by_seed=-far.by_seed),
        "g2": replace(far, half_width=0.2),
    }
    made = [replace(rows[name], changes={"loss": of}) for name, of in changes.items()]
    wide = compared(made, "loss")
    assert wide["fal"].high < 0 < wide["parallel"].low
    assert wide["g2"].low < 0 < wide["g2"].high
