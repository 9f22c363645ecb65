"""Sentences of the landing page that are built from its numbers."""

from __future__ import annotations

import numpy as np

from gating_core.experiments.comparison import (
    FIRST_COMPARISON,
    STRENGTHS,
    Cut,
    Setting,
    StrengthSweep,
    cut_of,
)
from gating_core.geometry import MOST_CURVED, UNKNOWN
from gating_core.training import MeanInterval, mean_interval
from ui.common import words as common
from ui.landing.pair import MeasuredModel, MeasuredPair

STRAIGHT = 0.01  # in the input plane [-1, 1]^2: about a pixel
LEFT = {"same": "Gate ablated (λ = 0)", "own": "Trained without a gate"}


# --- Above the pictures ---------------------------------------------------------------------------


def captions(
    model: MeasuredModel, sweep: StrengthSweep | None, seen: bool, trained: str
) -> list[str]:
    """Return the lines above a model's pictures, at every strength.

    Args:
        model: The model.
        sweep: Its total curvatures, measured or not yet; ``None`` for a model without a gate.
        seen: Whether there is a surface to see; else the lines say nothing of its curvature.
        trained: The first lines, of models that were trained so; the same at all strengths.
    """
    lines = []
    for frame, accuracy in enumerate(model.test_accuracy):
        curvature = f" · {_total_text(model, frame, sweep)}" if seen else ""
        shown = f"Shown: {common.percent(accuracy)}, classifier refitted{curvature}"
        lines.append(f"{trained}\n{shown}")
    return lines


def _total_text(model: MeasuredModel, frame: int, sweep: StrengthSweep | None) -> str:
    if model.surface.flat[frame]:
        return "total curvature **0**: flat"
    if sweep is None or not sweep.measured[frame]:
        return "total curvature is being measured …"
    text = common.settled_total_text(sweep.total.at(frame), flat=False)
    if text == UNKNOWN:
        return f"total curvature: {text}, the surface folds too sharply"
    share, area = map(common.percent, (model.concentration[frame], MOST_CURVED))
    return f"total curvature **{text}**, {share} of it on {area} of the area"


def fair_lines(
    setting: Setting, ungated: MeanInterval, gated: MeanInterval, difference: MeanInterval
) -> tuple[str, str]:
    """Return the first lines of both captions: a fair comparison, of what training reaches.

    Args:
        setting: The training.
        ungated: Mean test accuracy of models trained without a gate.
        gated: The same of models trained with one.
        difference: Mean of the differences, seed by seed.
    """
    count = setting.seed_count
    terms = training_terms(setting)
    with_terms = f" ({terms} in the loss)" if terms else ""
    return (
        f"Trained without a gate: **{common.accuracy_text(ungated)}**\n"
        f"test accuracy, mean of {count} seeds, 95\u00a0% interval",
        f"Trained with a gate{with_terms}: **{common.accuracy_text(gated)}**\n"
        f"{common.paired_text(difference, count, 'the gate')}",
    )


def training_terms(setting: Setting) -> str:
    """Name what is added to the loss of a ``setting``."""
    terms = {
        "entropy": setting.entropy_bonus,
        "spread": setting.spread_bonus,
        "gate-logit": setting.gate_penalty,
    }
    used = [name for name, weight in terms.items() if weight]
    text = " and ".join(filter(None, (", ".join(used[:-1]), *used[-1:])))
    return f"{text} {'term' if len(used) == 1 else 'terms'}" if used else ""


def elsewhere_text(setting: Setting, accuracies: np.ndarray) -> str:
    """Compare with the gain of the same task on *Decision boundary*: ``accuracies`` (2, S)."""
    gap, there = mean_interval(accuracies[1] - accuracies[0]), FIRST_COMPARISON
    return (
        f"On *Decision boundary* the sigmoid gate's gain on {setting.task} is"
        f" {common.points_text(gap)} points: seeds {there.seed} to {there.seeds[-1]} and"
        f" {there.steps} steps, no terms added to the loss. Here: seeds {setting.seed} to"
        f" {setting.seeds[-1]} and {setting.steps} steps."
    )


def tokens_text(accuracies: np.ndarray) -> str:
    """Say what a gate gains where values depend on the tokens: test accuracies (2, S)."""
    without, gated = (f"{100 * x.mean():.1f}\u00a0%" for x in accuracies)
    gap = mean_interval(accuracies[1] - accuracies[0])
    gain = common.gain_text(gap)
    return (
        f"Values from tokens (self-attention): the gate {gain}, {without} without it and {gated}"
        " with it"
    )


# --- Below them -----------------------------------------------------------------------------------


def readings(pair: MeasuredPair, left: str) -> list[str]:
    """Return the paragraph below the pictures at every strength; ``left`` is a key of `LEFT`."""
    describe = _surface_text if pair.seen else _boundary_text
    first = f"**{LEFT[left]}:** {describe(pair.left, 0)}."
    weights = "Same weights, gate" if left == "same" else "Gate"
    return [
        f"{first} **{weights} at λ = {strength:.2f}:** {describe(pair.right, frame)}."
        for frame, strength in enumerate(STRENGTHS)
    ]


def _surface_text(model: MeasuredModel, frame: int) -> str:
    verdict = model.surface.verdicts[frame]
    shape = "provably flat" if verdict.proof else common.verdict_text(verdict)
    cut = cut_of(model.frames.margin[frame], model.data.axis)
    if not cut.count:
        how = "misses it"
    elif model.surface.flat[frame]:  # two planes meet in a line
        how = f"cuts it in a straight line (in the input plane {cut.text}{_bend_text(cut)})"
    else:
        how = f"cuts it in {cut.text}"
    return f"the surface is {shape}. The linear classifier, refitted to it, {how}"


def _bend_text(cut: Cut) -> str:
    """Say how far open lines depart from their chords, in units of the input plane."""
    if not cut.lines:
        return ""
    if cut.bend < STRAIGHT:
        return f", straight to within {STRAIGHT:g}"
    return f" that {'bends' if cut.lines == 1 else 'bend'} by up to {common.rough(cut.bend)}"


def _boundary_text(model: MeasuredModel, frame: int) -> str:
    cut = cut_of(model.frames.margin[frame], model.data.axis)
    return f"the decision boundary is {cut.text}" if cut.count else "there is no decision boundary"


def stale_text(shown: Setting, requested: Setting) -> str:
    """Return the note over the picture of another setting than the one ``requested``."""
    if shown == requested:
        return ""
    pairs = zip(_names(shown), _names(requested), strict=True)
    differing = [pair for pair in pairs if pair[0] != pair[1]] or [("the last model", "the next")]
    before, after = (", ".join(names) for names in zip(*differing, strict=True))
    return f"Still showing {before}. {after[0].upper()}{after[1:]} is not ready yet."


def _names(setting: Setting) -> tuple[str, ...]:
    gate = f"{setting.compared[1]} gate"
    return setting.task, common.layers_text(setting.depth), gate, f"seed {setting.seed}"
