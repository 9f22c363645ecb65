"""What is said of a film: of its frames, axes and points, and where it is out of date?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gating_core.experiments.comparison import (
    DRAWN_POINTS,
    ClassifierFrames,
    Setting,
    TrainedRun,
    drawn_frames,
)
from ui.common.words import layers_text, percent, short
from ui.drawing.axes import Axes
from ui.drawing.planes import classifier_planes
from ui.playground.names import DATA, TITLES
from ui.playground.request import TYPICAL
from ui.playground.words import base_shares, base_text, mean_text, verdict

LOPSIDED = 1.2  # times an even share: what the largest class has where the sentence says so
WHOSE = {  # why a seed is shown
    TYPICAL: ", whose difference on new points is the typical one (the median of all seeds)",
    "best left": ", the best of the left-hand side on its training points",
    "best right": ", the best of the right-hand side on its training points",
    "worst left": ", the worst of the left-hand side on its training points",
    "worst right": ", the worst of the right-hand side on its training points",
    "picked": ", which you picked",
}


def readings(run: TrainedRun, member: int, chosen: str) -> list[str]:
    """For every drawn frame: what the seeds say together, and which of them is shown and why."""
    shown = f"Shown: seed {run.task.seeds[member]}{WHOSE[chosen]}."
    return [f"{_step_text(run, frame)} {shown}" for frame in drawn_frames(run)]


def _step_text(run: TrainedRun, frame: int) -> str:
    left, right = run.setting.compared
    both = {name: run.variants[name].ensemble.test_accuracy[frame] for name in (left, right)}
    means = [f"{TITLES[name]} {mean_text(100 * found)} %" for name, found in both.items()]
    base = base_shares(run)
    if base.mean() >= LOPSIDED / run.task.class_count:
        means.append(base_text(run))
    text = ", ".join(means)
    return f"Step {run.steps[frame]}, new points right: {text}. {verdict(run, frame)}"


def frame_labels(run: TrainedRun) -> list[str]:
    """Step and epoch of every drawn frame."""
    points = run.task.train_points.shape[1]
    a_step = min(run.setting.batch_size, points) / points
    return [
        f"step {step} · epoch {short(float(step * a_step))}"
        for step in run.steps[drawn_frames(run)]
    ]


def stale_text(run: TrainedRun, wanted: Setting) -> str:
    """What is said over the picture of a ``run`` other than the one that is ``wanted``."""
    if replace(run.setting, steps=wanted.steps) == wanted:
        return ""
    before, after = (_what(x) for x in (run.setting, wanted))
    if before == after:
        return "The run before. The new one is not there yet."
    return f"Still {before}. {after[0].upper()}{after[1:]} is not there yet."


def example_text(run: TrainedRun) -> str:
    """What is said over the picture of a ``run`` that nobody has asked for, but is there."""
    return f"An example: {_what(run.setting)}. What you asked for is on its way."


def _what(setting: Setting) -> str:
    left, right = setting.compared
    return f"{DATA[setting.task].name}, {TITLES[left]} beside {TITLES[right]}"


def stopped_text(run: TrainedRun) -> str:
    """Where a run was stopped before its end."""
    return f", at step {run.steps[-1]} of {run.setting.steps}"


def still_text(run: TrainedRun, place: int) -> str:
    """What stands over a drawn frame that is taken home."""
    frame = drawn_frames(run)[place]
    setting = run.setting
    return (
        f"{DATA[setting.task].name}, step {run.steps[frame]} of {setting.steps}."
        f" D = {setting.model_dim}, n = {setting.value_count}, {layers_text(setting.depth)},"
        f" {setting.source}."
        "<br>Surfaces in representation space with the decision boundary and, where it can be"
        " drawn, the classifier's plane; below them the input planes.<br>Filled: training points,"
        " open: test points."
    )


def captions(
    run: TrainedRun,
    name: str,
    member: int,
    gaussian: np.ndarray | None = None,
    filled: np.ndarray | None = None,
) -> list[str]:
    """The line over a surface, for every frame.

    With ``gaussian`` also where that is not known, with ``filled`` (T,) how much of the triangle of
    its values a flat sheet covers.
    """
    ensemble = run.variants[name].ensemble
    seed = ensemble.seeds[member]
    lines = [
        f"seed {seed} · **{percent(float(accuracy))}** of new points right"
        for accuracy in ensemble.test_accuracy[drawn_frames(run), member]
    ]
    if filled is not None:
        lines = [
            line if np.isnan(share) else f"{line} · fills {percent(float(share))} of its triangle"
            for line, share in zip(lines, filled, strict=True)
        ]
    if gaussian is None:
        return lines
    unknown = np.isnan(gaussian).mean((1, 2))
    return [
        line + (f" · K is not known at {percent(float(share))} of the points" if share else "")
        for line, share in zip(lines, unknown, strict=True)
    ]


def axes_text(sides: dict[str, ClassifierFrames], axes: dict[str, Axes]) -> str:
    """What is drawn of more than three dimensions, and what of the classifier's plane."""
    where = [side for side, own in axes.items() if own.principal]
    if not where:
        return ""
    whose = "both sides'" if len(where) == len(axes) else f"the {where[0]} side's"
    shares = [f"{percent(axes[side].share(sides[side].values[-1]))} ({side})" for side in where]
    text = (
        f"Drawn along three principal components of {whose} final points, which hold"
        f" {' and '.join(shares)} of the variance."
    )
    found = {side: classifier_planes(sides[side], axes[side]) for side in where}
    honest = {side: planes[2] for side, planes in found.items() if planes is not None}
    if not honest:
        return text
    missing = [side for side, which in honest.items() if not which.all()]
    if not missing:
        return f"{text} The classifier's plane decides there as in all {_dims(sides, where)}."
    never = [side for side in missing if not honest[side].any()]
    sides_text = " and the ".join(missing) + ("" if never == missing else " at some steps")
    return f"{text} On the {sides_text} no plane: three components cannot show it."


def _dims(sides: dict[str, ClassifierFrames], where: list[str]) -> str:
    dims = sorted({sides[side].values.shape[-1] for side in where})
    return f"{' or '.join(map(str, dims))} dimensions"


def frames_text(run: TrainedRun, drawn: int) -> str:
    """Whether a large model's frames are all drawn."""
    count = len(run.frames)
    if drawn == count:
        return ""
    return f"{drawn} of {count} saved steps are shown."


def drawn_text(run: TrainedRun) -> str:
    """How many of the points are drawn, if not all are."""
    counts = run.task.train_points.shape[1], run.task.test_points.shape[1]
    if max(counts) <= DRAWN_POINTS:
        return ""
    shown = [min(count, DRAWN_POINTS) for count in counts]
    return f" ({shown[0]} of {counts[0]} and {shown[1]} of {counts[1]} are drawn)"
