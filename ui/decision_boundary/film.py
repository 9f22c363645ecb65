"""What is the film of one seed: its pictures, and what is found in all their frames?

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
from ui.decision_boundary.curves import Curve
from ui.decision_boundary.film_words import axes_text
from ui.decision_boundary.picture import SIDES, film_view
from ui.decision_boundary.request import Look
from ui.drawing.axes import film_axes
from ui.drawing.camera import camera_from
from ui.drawing.panels import View

if TYPE_CHECKING:  # a worker process needs no Streamlit
    from ui.work.runs import Shown

BEGIN_FROM = np.array([0.6, 0.64, 0.48])  # where a run is seen from before it is complete


@dataclass(frozen=True, eq=False)
class Film:
    """Its ``view``, which has curvature in it if both sides' is ``measured``.

    ``filled`` (T,) is by side how much of its triangle a sheet fills; ``axes`` says in words what
    is drawn of more than three dimensions.
    """

    view: View
    measured: bool
    filled: dict[str, np.ndarray | None]
    axes: str


def sides_of(run: TrainedRun) -> dict[str, str]:
    """The compared variants by side."""
    return dict(zip(SIDES, run.setting.compared, strict=False))


def film_of(
    run: TrainedRun,
    member: int,
    curves: list[Curve],
    gaussian: dict[str, np.ndarray],
    look: Look,
    unfinished: bool,
) -> Film:
    """The film of seed ``member``, with ``curves`` beside it and ``gaussian``, K by side.

    Of one that is ``unfinished`` the camera stands where it does for all of them.
    """
    sides = {side: training_frames(run, name, member) for side, name in sides_of(run).items()}
    axes = film_axes(sides)
    view = film_view(
        sides, training_data(run, member), run.steps[drawn_frames(run)], axes, curves, look.paint,
        look.discrete, look.tested, gaussian,
    )  # fmt: skip
    if unfinished:  # the best one would turn with every step
        view = replace(view, camera=camera_from(BEGIN_FROM))
    filled = {side: covered_shares(frames) for side, frames in sides.items()}
    return Film(view, len(gaussian) == len(sides), filled, axes_text(sides, axes))


def gaussian_of(shown: Shown, member: int) -> dict[str, np.ndarray]:
    """What is known of K by side, (T, R, C) each."""
    found = {side: shown.along.get((name, member)) for side, name in sides_of(shown.run).items()}
    return {s: x.known for s, x in found.items() if x is not None and x.known is not None}


def what_is_drawn(shown: Shown, member: int) -> Hashable:
    """Which of what is measured by now the film of a seed shows: another one, another film."""
    known = gaussian_of(shown, member)
    return tuple(
        (
            (name, member) in shown.along,
            side in known,
            (name, member) in shown.final,
            _is_whole(shown, name),
        )
        for side, name in sides_of(shown.run).items()
    )


def _is_whole(shown: Shown, name: str) -> bool:
    return all((name, member) in shown.along for member in range(len(shown.run.task.seeds)))


def curves_of(shown: Shown, member: int) -> list[Curve]:
    """Total curvature, accuracy and loss of all seeds along the run, the shown one marked.

    Curvature of others than the shown seed only once all are there: each would send the film again.
    """
    run, names = shown.run, sides_of(shown.run)
    frames = drawn_frames(run)
    ensembles = {side: run.variants[name].ensemble for side, name in names.items()}
    places = dict.fromkeys(names, member)
    curvature, errors, lower = {}, {}, {}
    seeds = range(len(run.task.seeds))
    for side, name in names.items():
        known = {i: shown.along[name, i] for i in seeds if (name, i) in shown.along}
        whole = _is_whole(shown, name)
        curvature[side] = np.full((len(frames), len(seeds)), np.nan)
        for i, found in known.items():
            if whole or i == member:
                curvature[side][:, i] = found.total.value.numpy()
        if member in known:
            total = known[member].total
            errors[side], lower[side] = total.error.numpy().copy(), ~total.complete.numpy()
            end = shown.final.get((name, member))
            if end is not None:  # one source: what is refined is the last point of the curve
                curvature[side][-1, member] = float(end.total.value)
                errors[side][-1] = float(end.total.error)
                lower[side][-1] = not bool(end.total.complete)
    return [
        Curve("total curvature", curvature, places, errors, lower),
        Curve("test accuracy", {s: e.test_accuracy[frames] for s, e in ensembles.items()}, places),
        Curve("training loss", {s: e.train_loss[frames] for s, e in ensembles.items()}, places),
    ]
