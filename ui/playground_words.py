"""Sentences about runs, written from the numbers."""

from __future__ import annotations

import numpy as np

from gating_core.axes import Axes
from gating_core.film import drawn_frames
from gating_core.results import mean_interval
from gating_core.runs import TrainedRun
from ui.words import percent, plus_minus

TITLES = {
    "ungated": "no gate",
    "sigmoid": "sigmoid gate",
    "headwise": "sigmoid gate, one per head",
    "silu": "SiLU gate",
    "tanh": "tanh gate",
    "value": "gate on the values (G2)",
    "half": "constant gate of ½",
    "additive": "additive control",
    "pointwise": "pointwise SiLU",
    "matched": "no gate, parameters matched",
}


def verdict(run: TrainedRun) -> str:
    """What the paired difference of test accuracies says."""
    left, right = run.setting.variants[:2]
    gaps = _finals(run, right) - _finals(run, left)
    count = len(gaps)
    if count < 2:
        return "One seed cannot show a difference."
    found = mean_interval(gaps)
    points, width = 100 * found.mean, 100 * found.half_width
    if abs(points) <= width:
        return (
            f"**No difference that {count} seeds can show** between {TITLES[right]} and"
            f" {TITLES[left]}: {plus_minus(points, width)} points."
        )
    verb = "helps" if points > 0 else "hurts"
    return (
        f"**{_capital(TITLES[right])} {verb} by {plus_minus(abs(points), width)} points here**,"
        f" against {TITLES[left]}: mean of {count} seeds, 95 % interval, paired by seed."
    )


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _finals(run: TrainedRun, name: str) -> np.ndarray:
    return run.variants[name].ensemble.test_accuracy[-1]


def table(run: TrainedRun) -> dict[str, list[str]]:
    """Accuracy, parameters and time of every variant."""
    rows: dict[str, list[str]] = {
        "Variant": [], "Accuracy on new points": [], "Worst seed": [], "D": [],
        "Parameters": [], "Training time, all seeds": [],
    }  # fmt: skip
    for name, variant in run.variants.items():
        finals = 100 * _finals(run, name)
        spread = mean_interval(finals) if len(finals) > 1 else None
        text = plus_minus(spread.mean, spread.half_width) if spread else f"{finals[0]:.1f}"
        rows["Variant"].append(TITLES[name])
        rows["Accuracy on new points"].append(f"{text} %")
        rows["Worst seed"].append(f"{finals.min():.0f} %")
        rows["D"].append(str(variant.ensemble.config.model_dim))
        rows["Parameters"].append(str(variant.ensemble.parameter_count))
        together = " (together)" if len(variant.together) > 1 else ""
        rows["Training time, all seeds"].append(f"{variant.seconds:.2f} s{together}")
    return rows


def captions(run: TrainedRun, name: str, member: int) -> list[str]:
    """The line over a surface, for every frame."""
    ensemble = run.variants[name].ensemble
    seed = ensemble.seeds[member]
    return [
        f"seed {seed} · {percent(float(accuracy))} of new points right"
        for accuracy in ensemble.test_accuracy[drawn_frames(run), member]
    ]


def axes_text(axes: Axes) -> str:
    """What is drawn of more than three dimensions."""
    if not axes.principal:
        return ""
    return (
        "Drawn along three principal components of both sides' final points. The classifier's"
        " plane is not drawn: in more than three dimensions it is none in this view."
    )
