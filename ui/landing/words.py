"""Sentences of the landing page that are built from its numbers."""

from __future__ import annotations

from gating_core.experiments.comparison import STRENGTHS, Setting, StrengthSweep, cut_of
from gating_core.geometry import MOST_CURVED, UNKNOWN
from gating_core.training import MeanInterval
from ui.common import words as common
from ui.landing.pair import MeasuredModel, MeasuredPair

LEFT = {"same": "Gate taken out", "own": "Trained without a gate"}


# --- Above the pictures ---------------------------------------------------------------------------


def captions(
    model: MeasuredModel, sweep: StrengthSweep | None, seen: bool, second: str
) -> list[str]:
    """Return the two lines above a model's pictures, at every strength.

    Args:
        model: The model.
        sweep: Its total curvatures, measured or not yet; ``None`` for a model without a gate.
        seen: Whether there is a surface to see; else the lines say nothing of its curvature.
        second: The second line, the same at all strengths.
    """
    lines = []
    for frame, accuracy in enumerate(model.test_accuracy):
        curvature = f" · {_total_text(model, frame, sweep)}" if seen else ""
        lines.append(f"**{common.percent(accuracy)}** of new points right{curvature}\n{second}")
    return lines


def _total_text(model: MeasuredModel, frame: int, sweep: StrengthSweep | None) -> str:
    if model.surface.flat[frame]:
        return "total curvature **0**: flat"
    if sweep is None or not sweep.measured[frame]:
        return "total curvature is being measured …"
    text = common.settled_total_text(sweep.total.at(frame), flat=False)
    if text == UNKNOWN:
        return f"total curvature: {text}, the sheet folds too sharply"
    share, area = map(common.percent, (model.concentration[frame], MOST_CURVED))
    return f"total curvature **{text}**, {share} of it on {area} of the area"


def fair_lines(
    left: str, ungated: MeanInterval, gated: MeanInterval, difference: MeanInterval, count: int
) -> tuple[str, str]:
    """Return the second lines of both captions: a fair comparison, of what training reaches.

    Args:
        left: What stands on the left, a key of `LEFT`.
        ungated: Mean accuracy of models trained without a gate.
        gated: The same of models trained with one.
        difference: Mean of the differences, seed by seed.
        count: Number of seeds.
    """
    first = "The same weights at λ = 0." if left == "same" else f"The best of {count} seeds."
    worth = common.paired_text(difference, count, "the gate")
    return (
        f"{first} Trained without a gate: {common.accuracy_text(ungated)}",
        f"Trained with a gate: {common.accuracy_text(gated)}. {worth}",
    )


# --- Below them -----------------------------------------------------------------------------------


def readings(pair: MeasuredPair, left: str) -> list[str]:
    """Return the paragraph below the pictures at every strength; ``left`` is a key of `LEFT`."""
    describe = _surface_text if pair.seen else _boundary_text
    first = f"**Left, {LEFT[left].lower()}:** {describe(pair.left, 0)}."
    weights = "the same weights, " if pair.seen and left == "same" else ""
    return [
        f"{first} **Right, {weights}gate at λ = {strength:.2f}:** {describe(pair.right, frame)}."
        for frame, strength in enumerate(STRENGTHS)
    ]


def _surface_text(model: MeasuredModel, frame: int) -> str:
    verdict = model.surface.verdicts[frame]
    shape = "provably flat" if verdict.proof else common.verdict_text(verdict)
    cut = cut_of(model.frames.margin[frame], model.data.axis)
    if not cut.count:
        how = "misses it"
    elif model.surface.flat[frame]:  # two planes meet in a line
        bent = "attention bends it" if cut.count == 1 else cut.text
        how = f"cuts it in a straight line ({bent} in the input plane)"
    else:
        how = f"cuts it in {cut.text}"
    return f"the sheet is {shape}. The best plane {how}. {_accuracy_text(model, frame)}"


def _boundary_text(model: MeasuredModel, frame: int) -> str:
    cut = cut_of(model.frames.margin[frame], model.data.axis)
    boundary = f"the boundary is {cut.text}" if cut.count else "there is no boundary"
    return f"{boundary}. {_accuracy_text(model, frame)}"


def _accuracy_text(model: MeasuredModel, frame: int) -> str:
    return f"{common.percent(model.test_accuracy[frame])} of new points are right"


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
