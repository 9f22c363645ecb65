"""Runs for the tests of films and of curvature along a run, each trained once."""

from dataclasses import replace
from functools import cache

from gating_core.experiments.comparison.run import TrainedRun, train_setting
from gating_core.experiments.comparison.setting import Setting

SMALL = Setting(seed_count=3, steps=40, points=400)
SETTINGS = {
    "two classes": SMALL,
    "three classes": replace(SMALL, task="blobs3", variants=("ungated", "silu")),
    "tokens": replace(SMALL, source="tokens", variants=("sigmoid", "value"), model_dim=4, heads=2),
    "wider": replace(SMALL, variants=("sigmoid", "matched"), label_noise=0.1),
    "deep": replace(SMALL, variants=("headwise", "pointwise"), depth=2, residual=True, norm="post"),
}


@cache
def run_of(setting: Setting) -> TrainedRun:
    *_, run = train_setting(setting)
    return run
