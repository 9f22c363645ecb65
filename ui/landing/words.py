"""What does the landing page say about its numbers?"""

from __future__ import annotations

from gating_core.experiments.comparison import STRENGTHS, Setting, StrengthSweep, cut_of
from gating_core.geometry import MOST_CURVED, UNKNOWN, Integral
from gating_core.training import MeanInterval
from ui.common.words import (
    accuracy_text,
    layers_text,
    paired_text,
    percent,
    total_text,
    verdict_text,
)
from ui.landing.picture import Side

LEFT = {"same": "Gate taken out", "own": "Trained without a gate"}


def captions(side: Side, sweep: StrengthSweep | None, second: str) -> list[str]:
    """Return what stands above a surface at every strength; without a ``sweep`` it has no gate.

    The line ``second`` is the same at all of them.
    """
    frames = range(len(side.test_accuracy))
    return [f"{_caption(side, frame, sweep)}\n{second}" for frame in frames]


def unseen_text(depth: int) -> str:
    """What is said where training leaves no surface to be seen."""
    return (
        f"**At {layers_text(depth)} training leaves no surface to be seen:** its points lie on a"
        " curve, or nearly so. Shown: the maps alone, coloured by class."
    )


def map_captions(side: Side, second: str) -> list[str]:
    """Return what stands above a map at every strength, where there is no surface to be seen."""
    return [f"**{percent(share)}** of new points right\n{second}" for share in side.test_accuracy]


def map_readings(left: Side, right: Side, which: str) -> list[str]:
    """The paragraph for every strength where there is no surface to be seen."""
    first = f"**Left, {LEFT[which].lower()}:** {_boundary_text(left, 0)}."
    return [
        f"{first} **Right, gate at λ = {strength:.2f}:** {_boundary_text(right, frame)}."
        for frame, strength in enumerate(STRENGTHS)
    ]


def _boundary_text(side: Side, frame: int) -> str:
    found = cut_of(side.frames.margin[frame], side.data.axis)
    where = f"the boundary is {found.text}" if found.count else "there is no boundary"
    return f"{where}, and {percent(side.test_accuracy[frame])} of new points are right"


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
    """Return what is said over the picture of a setting other than the one ``wanted``."""
    parts = [
        (before, after)
        for before, after in zip(_parts(shown), _parts(wanted), strict=True)
        if before != after
    ]
    if shown == wanted:
        return ""
    if not parts:
        return "Still showing the last model. The next one is on its way."
    before, after = (", ".join(side) for side in zip(*parts, strict=True))
    return f"Still showing {before}. {after[0].upper()}{after[1:]} is on its way."


def _parts(setting: Setting) -> tuple[str, ...]:
    gate = f"{setting.compared[1]} gate"
    return setting.task, layers_text(setting.depth), gate, f"seed {setting.seed}"


def fair_lines(
    which: str, ungated: MeanInterval, gated: MeanInterval, difference: MeanInterval, count: int
) -> tuple[str, str]:
    """Return the second lines of both captions: what was reached by training, a fair comparison.

    Accuracies are means over ``count`` seeds, the ``difference`` is the mean of the seeds' own.
    """
    first = "The same weights at λ = 0." if which == "same" else f"The best of {count} seeds."
    left = f"{first} Trained without a gate: {accuracy_text(ungated)}"
    worth = paired_text(difference, count, "the gate")
    return left, f"Trained with it: {accuracy_text(gated)}. {worth}"


def choice_text(seed: int, count: int) -> str:
    """How the shown seed was chosen."""
    return (
        f"Shown is seed {seed}: of the {(count + 1) // 2} of {count} seeds that are best on the"
        " training points, the one whose sheet is broad and smooth. Accuracies of training are"
        f" means of {count} seeds with 95 % intervals."
    )
