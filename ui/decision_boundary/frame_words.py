"""Sentences about training frames, written from the numbers."""

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
from gating_core.tasks import TASK_NAME
from ui.common.words import layers_text, percent, short
from ui.decision_boundary import words
from ui.decision_boundary.names import DATA, TITLES, page_text
from ui.decision_boundary.request import WHO
from ui.drawing.axes import Axes
from ui.drawing.sheet import classifier_planes

if TYPE_CHECKING:  # a worker process needs no Streamlit
    from ui.work.runs import Shown

NOT_YET = "total curvature is being measured …"
NOT_MEASURED = "total curvature: not measured"
LOPSIDED = 1.2  # times an even share: what the largest class has where the sentence says so


def readings(run: TrainedRun) -> list[str]:
    """Return, for every drawn frame, what the seeds show together."""
    before = theorem_text(run.setting)
    if run.divergence is not None:
        before = f"**{divergence_text(run.divergence)}** {before}"
    return [before + _step_text(run, frame) for frame in drawn_frames(run)]


def divergence_text(divergence: Divergence) -> str:
    """Return where a run broke off."""
    return f"{divergence.text.rstrip('.')}. Shown: what there was before."


def theorem_text(setting: Setting) -> str:
    """Return why the flatness theorem, on averages of fixed values, does not apply, if so."""
    mechanism = MECHANISMS[setting.source]
    if not mechanism.fixed_values:
        return f"{page_text('moving')} "
    return "" if mechanism.weights_on_simplex else f"{page_text('no_averages')} "


def shown_text(run: TrainedRun, member: int, chosen: str) -> str:
    """Return which seed is shown, and why."""
    if chosen == "picked":
        why = "You picked it"
    elif (whose := WHO[chosen]) is None:
        why = "It is nearest to the medians over seeds of test accuracies and total curvatures"
    else:
        side, which = whose
        why = f"It is the {which} of the {side} model on its training points"
    return f"Seed {run.task.seeds[member]} is shown. {why}."


def _step_text(run: TrainedRun, frame: int) -> str:
    both = {name: run.variants[name].ensemble.test_accuracy[frame] for name in run.setting.compared}
    decimals = words.decimals_of(run, both, frame)
    means = [f"{TITLES[name]} {words.mean_text(shares, decimals)}" for name, shares in both.items()]
    base = words.base_shares(run)
    if not any(words.has_learned(shares, base) for shares in both.values()):
        guess = words.guess_text(run)
        yet = "" if run.complete and run.steps[frame] == run.steps[-1] else " yet"
        return (
            f"Step {run.steps[frame]}. **Neither has learned much{yet}:** {' and '.join(means)} of"
            f" new points right. {guess[0].upper()}{guess[1:]}."
            f" {words.verdict(run, frame, learned=False)}"
        )
    if base.mean() >= LOPSIDED / run.task.class_count:
        means.append(words.guess_text(run))
    text = ", ".join(means)
    return f"Step {run.steps[frame]}, new points right: {text}. {words.verdict(run, frame)}"


def frame_labels(run: TrainedRun) -> list[str]:
    """Return step and epoch of every drawn frame."""
    points = run.task.train_points.shape[1]
    epochs = min(run.setting.batch_size, points) / points  # in a step
    return [
        f"step {step} · epoch {short(float(step * epochs))}"
        for step in run.steps[drawn_frames(run)]
    ]


def stale_text(run: TrainedRun, requested: Setting, going: bool = True) -> str:
    """Return what stands over the picture of a ``run`` that is not the ``requested`` one.

    That one is being trained, unless nothing is ``going`` on.
    """
    if replace(run.setting, steps=requested.steps) == requested:
        return ""
    before, after = (DATA[setting.task].name for setting in (run.setting, requested))
    verb = "are" if requested.task == TASK_NAME else "is"
    if before == after:
        before, after = _models(run.setting), _models(requested)
        verb = "are"
    if before == after:
        before, after, verb = "the run before", "the new run", "is"
    doing = "training" if going else "not trained yet"
    return f"Still showing {before}. {after[0].upper()}{after[1:]} {verb} {doing}."


def coming_text(requested: Setting) -> str:
    """Return what stands in the pictures' place before the first steps of a first run."""
    data, models = DATA[requested.task].name, _models(requested)
    return f"Training on {data}: {models}. The picture appears with the first steps."


def _models(setting: Setting) -> str:
    return " and ".join(TITLES[name] for name in setting.compared)


def still_text(run: TrainedRun, index: int) -> str:
    """Return what stands over a drawn frame in the figure to download."""
    setting = run.setting
    return page_text(
        "still", data=DATA[setting.task].name, step=run.steps[drawn_frames(run)[index]],
        steps=setting.steps, dim=setting.model_dim, values=setting.value_count,
        layers=layers_text(setting.depth), source=setting.source,
    )  # fmt: skip


def heading(run: TrainedRun, name: str, member: int) -> str:
    """Return which variant of which seed stands on a side."""
    return f"{TITLES[name]} · seed {run.task.seeds[member]}"


def captions(
    shown: Shown,
    name: str,
    member: int,
    going: bool,
    gaussian: np.ndarray | None = None,
    filled: np.ndarray | None = None,
) -> list[str]:
    """Return the line over a surface for every frame: accuracy, total curvature, and more.

    While work is ``going`` on, what is not measured is about to be. ``gaussian`` (T, R, C) adds at
    how many points K is not known, ``filled`` (T,) how much of the triangle of its values, which
    the layer could reach, a flat sheet covers; NaN where that is a needle.
    """
    run, frames = shown.run, drawn_frames(shown.run)
    accuracies = run.variants[name].ensemble.test_accuracy[frames, member]
    totals = _totals(shown, (name, member), len(frames), going)
    lines = []
    for index, (accuracy, total) in enumerate(zip(accuracies, totals, strict=True)):
        line = f"Test accuracy **{percent(float(accuracy))}** · {total}"
        if filled is not None and not np.isnan(filled[index]):
            line += f" · the sheet covers {percent(float(filled[index]))} of its triangle"
        if gaussian is not None and (unknown := float(np.isnan(gaussian[index]).mean())):
            line += f" · K is not known at {percent(unknown)} of the points"
        lines.append(line)
    return lines


def _totals(shown: Shown, key: tuple[str, int], count: int, going: bool) -> list[str]:
    """Return the total curvature in each of ``count`` frames, refined in the last one."""
    along, final = shown.along.get(key), shown.final.get(key)
    texts = [NOT_YET if going else NOT_MEASURED] * count
    if along is not None:
        texts = [words.caption_total(along.total.at(i), x) for i, x in enumerate(along.verdicts)]
    if final is not None:
        texts[-1] = words.caption_total(final.total, final.verdicts[-1], refined=True)
    return texts


def axes_text(variants: dict[str, ClassifierFrames], axes: dict[str, Axes]) -> str:
    """Return what is drawn of more than three dimensions, and what of the classifier's plane."""
    where = [side for side, own in axes.items() if own.principal]
    if not where:
        return ""
    whose = "both models'" if len(where) == len(axes) else f"the {where[0]} model's"
    shares = [f"{percent(axes[side].share(variants[side].values[-1]))} ({side})" for side in where]
    text = (
        f"The pictures are drawn along three principal components of {whose} final points. These"
        f" hold {' and '.join(shares)} of the variance."
    )
    planes = {side: classifier_planes(variants[side], axes[side]) for side in where}
    fits = {side: plane[2] for side, plane in planes.items() if plane is not None}
    if not fits:
        return text
    missing = [side for side, steps in fits.items() if not steps.all()]
    if not missing:
        dims = sorted({variants[side].values.shape[-1] for side in where})
        all_dims = f"{' or '.join(map(str, dims))} dimensions"
        return f"{text} The classifier's plane decides in them as in all {all_dims}."
    when = "at any step" if not any(fits[side].any() for side in missing) else "at some steps"
    models = f"{' and '.join(missing)} {'models' if len(missing) > 1 else 'model'}"
    return f"{text} In these the plane of the {models} cannot be drawn {when}."


def frames_text(run: TrainedRun, drawn: int) -> str:
    """Return how many frames of a large model are drawn, if not all are."""
    count = len(run.frames)
    return "" if drawn == count else f"{drawn} of {count} saved steps are shown."


def drawn_text(run: TrainedRun) -> str:
    """Return how many of the points are drawn, if not all are."""
    train, test = run.task.train_points.shape[1], run.task.test_points.shape[1]
    if max(train, test) <= DRAWN_POINTS:
        return ""
    drawn = [min(count, DRAWN_POINTS) for count in (train, test)]
    return f" ({drawn[0]} of {train} and {drawn[1]} of {test} are drawn)"
