"""What is said of a film: of its frames, axes and points, and where it is out of date?"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import (
    DRAWN_POINTS,
    ClassifierFrames,
    Divergence,
    Setting,
    TrainedRun,
    drawn_frames,
)
from gating_core.geometry import Integral
from ui.common.words import layers_text, percent, short
from ui.decision_boundary.names import DATA, TITLES
from ui.decision_boundary.request import TYPICAL
from ui.decision_boundary.words import (
    NOT_MEASURED,
    NOT_YET,
    base_shares,
    caption_total,
    decimals_of,
    guess_text,
    has_learned,
    mean_text,
    plain_verdict,
    verdict,
)
from ui.drawing.axes import Axes
from ui.drawing.planes import classifier_planes

if TYPE_CHECKING:  # a worker process needs no Streamlit
    from ui.work.runs import Shown

MOVING = (
    "Values come from tokens here and move with the input, so the theorem that averages of fixed"
    " values are flat does not apply. "
)
NO_AVERAGES = (
    "Weights do not add up to one here, so the theorem that averages of fixed values are flat does"
    " not apply. "
)
LOPSIDED = 1.2  # times an even share: what the largest class has where the sentence says so
WHOSE = {  # why a seed is shown
    TYPICAL: ", whose difference on new points is the typical one (the median of all seeds)",
    "best left": ", the best of the left-hand side on its training points",
    "best right": ", the best of the right-hand side on its training points",
    "worst left": ", the worst of the left-hand side on its training points",
    "worst right": ", the worst of the right-hand side on its training points",
    "picked": ", which you picked",
}


def readings(run: TrainedRun) -> list[str]:
    """For every drawn frame: what the seeds say together; and where the theorem ends."""
    before = theorem_text(run.setting)
    if run.divergence is not None:
        before = f"**{divergence_text(run.divergence)}** {before}"
    return [before + _step_text(run, frame) for frame in drawn_frames(run)]


def divergence_text(found: Divergence) -> str:
    """Where a run broke off."""
    return f"{found.text.rstrip('.')}. Shown: what there was before."


def theorem_text(setting: Setting) -> str:
    """Why the flatness theorem, which is about averages of fixed values, does not apply."""
    mechanism = MECHANISMS[setting.source]
    if not mechanism.fixed_values:
        return MOVING
    return "" if mechanism.weights_on_simplex else NO_AVERAGES


def shown_text(run: TrainedRun, member: int, chosen: str) -> str:
    """Which seed is shown, and why."""
    return f"Shown: seed {run.task.seeds[member]}{WHOSE[chosen]}."


def _step_text(run: TrainedRun, frame: int) -> str:
    both = {name: run.variants[name].ensemble.test_accuracy[frame] for name in run.setting.compared}
    decimals = decimals_of(run, both, frame)
    means = [f"{TITLES[name]} {mean_text(found, decimals)}" for name, found in both.items()]
    base = base_shares(run)
    if not any(has_learned(found, base) for found in both.values()):
        yet = "" if run.complete and run.steps[frame] == run.steps[-1] else " yet"
        return (
            f"Step {run.steps[frame]}. **Neither has learned much{yet}:** {' and '.join(means)} of"
            f" new points right; {guess_text(run)}. {plain_verdict(run, frame)}"
        )
    if base.mean() >= LOPSIDED / run.task.class_count:
        means.append(guess_text(run))
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


def coming_text(wanted: Setting) -> str:
    """What stands in the pictures' place while there is nothing of what is ``wanted`` yet."""
    return f"{_what(wanted)}: the picture comes with the first steps of training."


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


def heading(run: TrainedRun, name: str, member: int) -> str:
    """Which variant of which seed stands on a side."""
    return f"{TITLES[name]} · seed {run.task.seeds[member]}"


def captions(
    shown: Shown,
    name: str,
    member: int,
    going: bool,
    gaussian: np.ndarray | None = None,
    filled: np.ndarray | None = None,
) -> list[str]:
    """The line over a surface, for every frame: accuracy, total curvature with its doubt, and more.

    While work is ``going`` on, what is not measured is about to be. With ``gaussian`` it says also
    where that is not known, with ``filled`` (T,) how much of the triangle of its values a flat
    sheet covers.
    """
    run, frames = shown.run, drawn_frames(shown.run)
    lines = [
        f"**{percent(float(accuracy))}** of new points right · {total}"
        for accuracy, total in zip(
            run.variants[name].ensemble.test_accuracy[frames, member],
            _totals(shown, (name, member), len(frames), going),
            strict=True,
        )
    ]
    if filled is not None:
        lines = [
            line + _filled_text(float(share), int(run.steps[frame]))
            for line, share, frame in zip(lines, filled, frames, strict=True)
        ]
    if gaussian is None:
        return lines
    unknown = np.isnan(gaussian).mean((1, 2))
    return [
        line + (f" · K is not known at {percent(float(share))} of the points" if share else "")
        for line, share in zip(lines, unknown, strict=True)
    ]


def _totals(shown: Shown, key: tuple[str, int], count: int, going: bool) -> list[str]:
    """The total curvature in each of ``count`` frames; in the last one as refined at the end."""
    along, final = shown.along.get(key), shown.final.get(key)
    found = [NOT_YET if going else NOT_MEASURED] * count
    if along is not None:
        total = along.total
        parts = zip(total.value, total.error, total.complete, along.verdicts, strict=True)
        found = [caption_total(Integral(*each), verdict) for *each, verdict in parts]
    if final is not None:
        found[-1] = caption_total(final.total, final.verdicts[-1])
    return found


def _filled_text(share: float, step: int) -> str:
    """How much of the triangle of its values a flat sheet covers; nothing where that is a needle.

    The whole triangle is what the layer could reach with these values.
    """
    if np.isnan(share):
        return ""
    whose = "training uses" if step else "the first weights use"
    return f" · {whose} {percent(share)} of its triangle"


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
