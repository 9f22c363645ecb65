"""Ensembles learn, alone and together."""

import sys

import numpy as np
import pytest
import torch
from scipy import stats

from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.stack import build_classifier
from gating_core.experiments.comparison.setting import VARIANTS
from gating_core.tasks.task import make_task
from gating_core.training import trained
from gating_core.training.trained import mean_interval
from gating_core.training.trainer import snapshot_steps, train_ensemble

SEEDS = (0, 1, 2)


def test_snapshots_begin_at_the_initial_weights_and_end_at_the_last_step():
    task = make_task("xor", seeds=SEEDS)
    config = AttentionConfig(gate=GateConfig())
    snapshots = list(train_ensemble(config, task, 100))
    assert [s.step for s in snapshots] == snapshot_steps(100)
    fresh = build_classifier(config, SEEDS)
    for name, value in fresh.state_dict().items():
        assert np.array_equal(snapshots[0].state[name], value.float().numpy()), name
    assert snapshots[-1].train_loss.mean() < 0.7 * snapshots[0].train_loss.mean()


@pytest.mark.parametrize(("steps", "count"), [(1, 2), (5, 6), (100, 39), (400, 40), (10_000, 41)])
def test_snapshot_steps_are_dense_early(steps, count):
    marks = snapshot_steps(steps)
    assert (marks[0], marks[-1]) == (0, steps)
    assert len(marks) <= 41
    assert abs(len(marks) - count) <= 4
    gaps = np.diff(marks)
    assert gaps[0] <= gaps[-1]


def test_training_leaves_the_global_generator_alone():
    state = torch.get_rng_state()
    list(train_ensemble(AttentionConfig(), make_task("xor", seeds=SEEDS), 5))
    assert torch.equal(torch.get_rng_state(), state)


# The theory notes' table, D = 8, n = 3, 16 seeds, 400 steps.
TABLE = {
    "xor": {"ungated": 0.744, "sigmoid": 0.975, "pointwise": 0.759},
    "linear": {"sigmoid": 0.993},
}  # fmt: skip


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", list(TABLE))
def test_gates_help_where_the_boundary_is_not_straight(name):
    task = make_task(name, seeds=range(16))
    for variant, wanted in TABLE[name].items():
        config = AttentionConfig(model_dim=8, gate=VARIANTS[variant])
        *_, last = train_ensemble(config, task, 400, snapshots=1)
        found = last.test_accuracy.mean()
        # Five standard errors of either mean; they were drawn from other seeds.
        assert abs(found - wanted) < (0.055 if name == "xor" else 0.006), (variant, found)


def test_intervals_are_student_t():
    values = np.array([0.7, 0.75, 0.72, 0.8])
    found = mean_interval(values)
    low, high = stats.ttest_1samp(values, 0).confidence_interval()
    assert abs(found.mean - found.half_width - low) < 1e-12
    assert abs(found.mean + found.half_width - high) < 1e-12
    assert mean_interval(np.ones(5)).half_width == 0
    with pytest.raises(ValueError, match="S > 1"):
        mean_interval(np.ones(1))


def test_an_interval_imports_little(monkeypatch):
    """`scipy.stats` takes half a second."""
    monkeypatch.delitem(sys.modules, "scipy.stats", raising=False)
    trained._quantile.cache_clear()
    mean_interval(np.arange(3.0))
    assert "scipy.stats" not in sys.modules
    assert "scipy" not in vars(trained)
