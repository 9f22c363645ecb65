"""What does the landing page say about its numbers?"""

from __future__ import annotations

from gating_core.experiments.comparison import STRENGTHS, Setting, StrengthSweep, cut_of
from gating_core.geometry import MOST_CURVED, UNKNOWN, Integral
from gating_core.training import MeanInterval
from ui.common.words import layers_text, percent, plus_minus, total_text, verdict_text
from ui.landing.picture import Side

LEFT = {"same": "Gate taken out", "own": "Trained without a gate"}


def captions(side: Side, sweep: StrengthSweep | None = None) -> list[str]:
    """What stands above a surface at every strength; without a ``sweep`` it has no gate."""
    return [_caption(side, frame, sweep) for frame in range(len(side.test_accuracy))]


def _caption(side: Side, frame: int, sweep: StrengthSweep | None) -> str:
    accuracy = f"**{percent(side.test_accuracy[frame])}** of new points right"
    if side.surface.flat[frame]:
        return f"{accuracy} · total curvature **0**: flat"
    if sweep is None or not sweep.measured[frame]:
        return f"{accuracy} · total curvature is being measured …"
    text = total_text(_at(sweep.total, frame), flat=False)
    if text == UNKNOWN:
        return f"{accuracy} · total curvature: {text}, it folds too sharply"
    most = f"{percent(side.concentration[frame])} of it on {percent(MOST_CURVED)} of the area"
    return f"{accuracy} · total curvature **{text}**, {most}"


def _at(total: Integral, frame: int) -> Integral:
    parts = (total.value, total.error, total.complete)
    return Integral(*(part[frame] for part in parts))


def readings(left: Side, right: Side, which: str) -> list[str]:
    """One paragraph for every strength that says what is on the screen."""
    weights = "the same weights, " if which == "same" else ""
    first = f"**Left, {LEFT[which].lower()}:** {_surface_text(left, 0)}."
    return [
        f"{first} **Right, gate at λ = {strength:.2f}:** {weights}{_surface_text(right, frame)}."
        for frame, strength in enumerate(STRENGTHS)
    ]


def _surface_text(side: Side, frame: int) -> str:
    verdict = side.surface.verdicts[frame]
    shape = "provably flat" if verdict.proof else verdict_text(verdict)
    return (
        f"a sheet that is {shape}; the best plane {_cut_text(side, frame)},"
        f" and {percent(side.test_accuracy[frame])} of new points are right"
    )


def _cut_text(side: Side, frame: int) -> str:
    found = cut_of(side.frames.margin[frame], side.data.axis)
    if not found.count:
        return "misses it"
    if side.surface.flat[frame]:  # two planes meet in a line
        several = f" ({found.text} in the input plane)" if found.count > 1 else ""
        return f"cuts it in a straight line{several or ' (attention bends it in the inputs)'}"
    return f"cuts it in {found.text}"


def stale_text(shown: Setting, wanted: Setting) -> str:
    """What is said over the picture of a setting other than the one that is ``wanted``."""
    if shown == wanted:
        return ""
    before, after = (_what(setting) for setting in (shown, wanted))
    if before == after:
        return f"Still seed {shown.seed}. Seed {wanted.seed} is not there yet."
    return f"Still {before}. {after[0].upper()}{after[1:]} is not there yet."


def _what(setting: Setting) -> str:
    return f"{setting.task}, {layers_text(setting.depth)}, {setting.compared[1]} gate"


def control_text(ungated: MeanInterval, gated: MeanInterval, count: int) -> str:
    """The control: what models reach that were trained without a gate, beside gated ones."""
    without = plus_minus(100 * ungated.mean, 100 * ungated.half_width)
    with_gate = plus_minus(100 * gated.mean, 100 * gated.half_width)
    return (
        f"**Trained for itself, without a gate,** the model gets {without} % of new points right,"
        f" still with a straight cut; with a gate {with_gate} % (means of {count} seeds, 95 %"
        " intervals)."
    )


def choice_text(seed: int, count: int) -> str:
    """How the shown seed was chosen."""
    return (
        f"Shown is seed {seed}: of the {(count + 1) // 2} best of {count} on the training points,"
        " the one whose sheet covers most of its triangle, with a triangle far from a needle and"
        " curvature that is least crowded in creases."
    )
