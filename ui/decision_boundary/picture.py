"""The picture of a run: two models as they learn, frame by frame, in the colours of a view.

Shapes: T frames (snapshots of a run), S seeds, R x C grid points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gating_core.experiments.comparison import TrainedRun, drawn_frames
from ui.common import formatting
from ui.components.pair import Classified, Pair, Side
from ui.decision_boundary.frames import Film, FilmSide, variants_of
from ui.decision_boundary.model import TITLES, BoundaryView
from ui.drawing import palette
from ui.drawing.classified import class_colours
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.first_view import scale_share
from ui.work.runs import Shown

MOST_MAPS = 20  # below the picture


@dataclass(frozen=True, eq=False)
class Picture:
    """A ``pair`` with its colour ``scale``; what it shows, and its frames that stand below it."""

    pair: Pair
    scale: ColourScale
    quantity: str
    maps: list[int]


def frame_labels(run: TrainedRun) -> list[str]:
    """Return step and epoch of every drawn frame."""
    points = run.task.train_points.shape[1]
    epochs = min(run.setting.batch_size, points) / points  # in a step
    return [
        f"Step {step}, epoch {formatting.short(float(step * epochs))}"
        for step in run.steps[drawn_frames(run)]
    ]


def gaussian_of(shown: Shown, member: int) -> dict[str, np.ndarray]:
    """Return K (T, R, C) by side, of those variants of which it is measured."""
    pairs = {s: shown.along.get((name, member)) for s, name in variants_of(shown.run).items()}
    return {s: x.known for s, x in pairs.items() if x is not None and x.known is not None}


def picture_of(
    film: Film,
    run: TrainedRun,
    member: int,
    gaussian: Mapping[str, np.ndarray],
    view: BoundaryView,
) -> Picture:
    """Draw the frames of a ``film``, ``gaussian`` being K (T, R, C) by side.

    By "class" colours show the classifier: its probability, or where the view is ``discrete`` the
    likeliest class. By "curvature" they show K on one scale, hatched where it is NaN. A side that
    is not measured yet is neutral.
    """
    steps, seed = run.steps[drawn_frames(run)].tolist(), run.task.seeds[member]
    count, by_class = film.data.class_count, view.paint == "class"
    names, colours = film.data.names, film.data.colours
    keys: list[tuple[str, str]] = []
    symbol, (low, high) = "K", ("", "")
    if by_class:
        scale = ColourScale(palette.class_scale(colours), 0.0, count - 1.0)
        symbol, quantity = f"p({names[1]})", f"Probability of {names[1]}"
        low, high, *_ = names
        if count > 2 or view.discrete:
            symbol, quantity, low, high = "class", "Predicted class", "", ""
            keys = [(n, palette.CLASS_COLOURS[c]) for n, c in zip(names, colours, strict=True)]
    else:
        scale = scale_of("curvature", [field[-1] for field in gaussian.values()])
        quantity = "K over the input square"
        if len(gaussian) < len(film.sides):
            quantity = "K is not measured yet"
        elif not scale.collapsed:
            low, high = (f"K = {formatting.short(end)}" for end in scale.ends)
    sides: list[Side] = []
    for (side, own), name in zip(film.sides.items(), variants_of(run).values(), strict=True):
        k = gaussian.get(side)
        fine, read = own.frames.fine_logits, {}
        if by_class:
            field = class_colours(own.frames.logits, view.discrete).astype(float)
            shares = scale_share(field, scale)
            read = {} if k is None else {"K": k}
        else:
            field = np.full(own.values.shape[:3], np.nan) if k is None else k
            shares = np.full(field.shape, 0.5) if k is None else scale_share(k, scale)
        finer = None
        if by_class and fine is not None:
            finer = scale_share(class_colours(fine, view.discrete), scale)
        drawn = shares, field, read, finer
        sides.append(_side(TITLES[name], seed, own, film, drawn, view.tested))
    maps = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MOST_MAPS)).round())
    pair = Pair(
        tuple(sides), frame_labels(run), steps, film.eye, scale.colours, (low, high),
        symbol=symbol, keys=keys, whole=count > 2 or view.discrete,
    )  # fmt: skip
    return Picture(pair, scale, quantity, maps.astype(int).tolist())


def _side(
    title: str,
    seed: int,
    own: FilmSide,
    film: Film,
    drawn: tuple[np.ndarray, np.ndarray, Mapping[str, np.ndarray], np.ndarray | None],
    tested: bool,
) -> Side:
    shares, field, read, finer = drawn
    data, frames, logits = film.data, len(own.values), own.frames.logits
    shown = ~data.tested | tested
    return Side(
        name=f"{title} · seed {seed}",
        short=title,
        values=own.values,
        shares=shares,
        signed=_margin(logits),
        gaussian=field,
        error=np.zeros_like(field),
        flat=[own.corners is not None] * frames,
        corners=own.corners,
        lines=own.lines,
        read=read,
        classified=Classified(
            own.places[:, shown],
            data.points[shown],
            data.labels[shown],
            data.tested[shown],
            own.planes,
            [palette.POINT_COLOURS[index] for index in data.colours],
            own.cuts,
            finer,
            None if own.frames.fine_logits is None else _margin(own.frames.fine_logits),
        ),
    )


def _margin(logits: np.ndarray) -> np.ndarray:
    return logits[..., 1] - logits[..., 0]
