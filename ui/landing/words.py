"""What does the landing page say about its numbers?"""

from __future__ import annotations

from gating_core.experiments.comparison import cut_of
from gating_core.training import MeanInterval
from ui.common.words import percent, plus_minus, shape_text
from ui.landing.picture import Side


def reading(left: Side, right: Side, frame: int, strength: float) -> str:
    """One paragraph that says what is on the screen."""
    first = (
        f"**Without a gate** the sheet is {shape_text(left.surface, 0)}; the classifier's plane"
        f" cuts it in {_cut_text(left, 0)}, and {percent(left.test_accuracy[0])} of new points fall"
        " on the right side."
    )
    gate = {0.0: "**With its gate dialled down to nothing**", 1.0: "**With the gate**"}.get(
        strength, f"**With the gate dialled down to λ = {strength:.2f}**"
    )
    second = (
        f"{gate} the sheet is {shape_text(right.surface, frame)}; the same kind of plane cuts it in"
        f" {_cut_text(right, frame)}, and {percent(right.test_accuracy[frame])} are right."
    )
    if strength < 1:
        second += " (Its weights were trained at λ = 1 and stay as they were.)"
    return f"{first} {second}"


def _cut_text(side: Side, frame: int) -> str:
    found = cut_of(side.frames.margin[frame], side.data.axis)
    if side.surface.flat[frame] and found.count:  # two planes meet in a line
        return "a straight line" + (
            f" ({found.text} in the input plane)" if found.count > 1 else ""
        )
    return found.text


def difference_text(difference: MeanInterval, count: int) -> str:
    """What the paired difference of accuracies over ``count`` seeds says."""
    points, width = 100 * difference.mean, 100 * difference.half_width
    if abs(points) <= width:
        return f"No difference that {count} seeds can show: {plus_minus(points, width)} points."
    verb = "helps" if points > 0 else "hurts"
    size = plus_minus(abs(points), width)
    return f"The gate {verb} by {size} points, on average over {count} seeds."
