"""The training frames of one seed: their picture, and the curves beside it.

Shapes: T frames, S seeds, R x C grid points.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gating_core.experiments.comparison import (
    TrainedRun,
    covered_shares,
    drawn_frames,
    training_data,
    training_frames,
)
from ui.decision_boundary.frame_words import axes_text
from ui.decision_boundary.picture import SIDES, RunCurve, training_picture
from ui.decision_boundary.request import BoundaryView
from ui.drawing.axes import frame_axes
from ui.drawing.camera import camera_from
from ui.drawing.panels import View

if TYPE_CHECKING:  # a worker process needs no Streamlit
    from ui.work.runs import Shown

BEGIN_FROM = np.array([0.6, 0.64, 0.48])  # where a run is seen from before it is complete


@dataclass(frozen=True, eq=False)
class TrainingFrames:
    """The ``picture``, which has curvature in it if that of both variants is ``measured``.

    ``filled`` (T,) is by side how much of its triangle a sheet fills; ``axes`` says what is drawn
    of more than three dimensions.
    """

    picture: View
    measured: bool
    filled: dict[str, np.ndarray | None]
    axes: str


def variants_of(run: TrainedRun) -> dict[str, str]:
    """Return the compared variants by side, "left" and "right"."""
    return dict(zip(SIDES, run.setting.compared, strict=False))


def frames_of(
    run: TrainedRun,
    member: int,
    curves: list[RunCurve],
    gaussian: dict[str, np.ndarray],
    view: BoundaryView,
    unfinished: bool,
) -> TrainingFrames:
    """Draw the frames of seed ``member``, with ``curves`` beside them and ``gaussian``, K by side.

    All ``unfinished`` runs are seen from the same direction: the best one would turn with every
    step.
    """
    variants = {s: training_frames(run, name, member) for s, name in variants_of(run).items()}
    axes = frame_axes(variants)
    picture = training_picture(
        variants, training_data(run, member), run.steps[drawn_frames(run)], axes, curves,
        view.paint, view.discrete, view.tested, gaussian,
    )  # fmt: skip
    if unfinished:
        picture = replace(picture, camera=camera_from(BEGIN_FROM))
    filled = {side: covered_shares(frames) for side, frames in variants.items()}
    measured = len(gaussian) == len(variants)
    return TrainingFrames(picture, measured, filled, axes_text(variants, axes))


def gaussian_of(shown: Shown, member: int) -> dict[str, np.ndarray]:
    """Return K (T, R, C) by side, of those variants of which it is measured."""
    pairs = {s: shown.along.get((name, member)) for s, name in variants_of(shown.run).items()}
    return {s: x.known for s, x in pairs.items() if x is not None and x.known is not None}


def drawn_key(shown: Shown, member: int) -> Hashable:
    """Return a key that changes when something is measured that the frames of a seed show."""
    names = shown.run.setting.compared
    keys = [(name, member) for name in names]
    return (
        *(key in shown.along for key in keys),
        *(key in shown.final for key in keys),
        *gaussian_of(shown, member),
        *(_is_whole(shown, name) for name in names),
    )


def _is_whole(shown: Shown, name: str) -> bool:
    return all((name, member) in shown.along for member in range(len(shown.run.task.seeds)))


def curves_of(shown: Shown, member: int) -> list[RunCurve]:
    """Return total curvature, accuracy and loss of all seeds along the run, one seed marked.

    Curvature of seeds that are not shown appears once all are measured: the picture, which is
    large, would be sent again for each. The refined total is the last point of its curve.
    """
    run, variants = shown.run, variants_of(shown.run)
    frames, seeds = drawn_frames(run), range(len(run.task.seeds))
    ensembles = {side: run.variants[name].ensemble for side, name in variants.items()}
    curvature, errors, lower = {}, {}, {}
    for side, name in variants.items():
        totals = {i: shown.along[name, i].total for i in seeds if (name, i) in shown.along}
        curvature[side] = np.full((len(frames), len(seeds)), np.nan)
        for i, total in totals.items():
            if i == member or _is_whole(shown, name):
                curvature[side][:, i] = total.value.numpy()
        if member in totals:
            total = totals[member]
            errors[side], lower[side] = total.error.numpy().copy(), ~total.complete.numpy()
            if (end := shown.final.get((name, member))) is not None:
                curvature[side][-1, member] = float(end.total.value)
                errors[side][-1] = float(end.total.error)
                lower[side][-1] = not bool(end.total.complete)
    accuracy = {side: e.test_accuracy[frames] for side, e in ensembles.items()}
    loss = {side: e.train_loss[frames] for side, e in ensembles.items()}
    return [
        RunCurve("total curvature", curvature, member, errors, lower),
        RunCurve("test accuracy", accuracy, member),
        RunCurve("training loss", loss, member),
    ]
