"""The frames of a run as they are drawn, without their colours: a worker makes them.

Shapes: T frames (snapshots of a run), R x C grid points, D model dimension, P data points, S
segments. "left" and "right" are the sides on which the two variants stand.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.experiments.comparison import (
    ClassifierFrames,
    DrawnData,
    TrainedRun,
    confidence_and_correctness,
    covered_shares,
    training_data,
    training_frames,
)
from gating_core.lm.measurements.calibration import (
    ResampledReliability,
    bootstrap_reliability,
)
from ui.common.formatting import percent
from ui.drawing.axes import Axes, frame_axes
from ui.drawing.first_view import NO_SEGMENTS, Place, best_eye, level, straight_segments
from ui.drawing.lines import class_boundary, lifted, stacked

SIDES = ("left", "right")
PLANE_TOLERANCE = 0.01  # share of the largest margin, and of the points, that a plane may miss
BEGIN_EYE = (0.8, 0.6)  # from which a run is seen before it is complete, in radians


@dataclass(frozen=True, eq=False)
class FilmSide:
    """One variant in all frames: its ``frames``, and what is drawn of it.

    - ``points`` (T, R, C, 3): in the drawn axes; ``values``, the same in the picture.
    - ``places`` (T, P, 3): the data points on the surface.
    - ``corners`` (T, 3, 3): the triangle of its values, where it lies in that.
    - ``lines`` (T, S, 2, 3): straight segments on a surface that lies in its triangle.
    - ``planes`` (T, 4): the classifier's, NaN where its plane is not one in the drawn axes.
    - ``cuts`` (T, S, 2, 3) and (T, S, 2, 2): boundaries of more than two classes.
    - ``spanned`` (T,): the share of the convex hull of its values that a surface spans.
    """

    frames: ClassifierFrames
    points: np.ndarray
    values: np.ndarray
    places: np.ndarray
    corners: np.ndarray | None
    lines: np.ndarray
    planes: np.ndarray
    cuts: tuple[np.ndarray, np.ndarray] | None
    spanned: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Film:
    """Both sides, the drawn ``data``, the first view, and what is drawn of the ``axes``."""

    sides: dict[str, FilmSide]
    data: DrawnData
    eye: tuple[float, float]
    axes: str


def variants_of(run: TrainedRun) -> dict[str, str]:
    """Return the compared variants by side, "left" and "right"."""
    return dict(zip(SIDES, run.setting.compared, strict=False))


def film_of(run: TrainedRun, member: int, unfinished: bool) -> Film:
    """Sample and place the drawn frames of seed ``member``.

    Final surfaces stand level. An ``unfinished`` run is turned as its first frame is, and seen from
    one direction: otherwise it would turn with every step.
    """
    variants = {s: training_frames(run, name, member) for s, name in variants_of(run).items()}
    axes, data = frame_axes(variants), training_data(run, member)
    sides = {
        side: _side(frames, axes[side], data, 0 if unfinished else -1)
        for side, frames in variants.items()
    }
    eye = BEGIN_EYE
    if not unfinished:
        eye = best_eye(
            [side.values[-1] for side in sides.values()],
            [side.frames.logits[-1].argmax(-1) for side in sides.values()],
        )
    return Film(sides, data, eye, axes_text(variants, axes))


def _side(frames: ClassifierFrames, axes: Axes, data: DrawnData, upright: int) -> FilmSide:
    points, averaged, corners = axes.project(frames.values), frames.averaged, None
    if averaged is not None and averaged.shape[1] == 3:
        corners = axes.project(averaged)
    place = _placed(points, corners, upright)
    values, lines = place.drawn(points), NO_SEGMENTS
    if averaged is not None and corners is not None:
        about = zip(frames.values, values, averaged, strict=True)
        straight = [straight_segments(x, drawn, data.axis, own) for x, drawn, own in about]
        lines = np.nan_to_num(stacked(straight))
        corners = place.drawn(corners)
    cuts = None
    if data.class_count > 2:
        fine = frames.logits if frames.fine_logits is None else frames.fine_logits
        axis = np.linspace(data.axis[0], data.axis[-1], fine.shape[1])
        charts = [class_boundary(x, data.axis) for x in frames.logits]
        on_surface = [
            lifted(chart, data.axis, x[None])[0] for chart, x in zip(charts, values, strict=True)
        ]
        in_chart = [class_boundary(x, axis) for x in fine]
        cuts = (
            stacked([*map(_segments, on_surface)]),
            stacked([*map(_segments, in_chart)]),
        )
    planes = np.full((len(values), 4), np.nan)
    if (known := classifier_planes(frames, axes)) is not None:
        normal, offset, honest = known
        planes[honest] = place.planes(normal, offset)[honest]
    places = place.drawn(axes.project(frames.data_values))
    spanned = covered_shares(frames)
    return FilmSide(frames, points, values, places, corners, lines, planes, cuts, spanned)


def _placed(points: np.ndarray, corners: np.ndarray | None, upright: int) -> Place:
    """Return the place in which all frames fill a box, level in the frame ``upright``."""
    middle, turn, _ = level(points[upright], points[upright])
    parts = [points, *([] if corners is None else [corners])]
    reach = np.concatenate([((part - middle) @ turn).reshape(-1, 3) for part in parts])
    low, high = reach.min(0), reach.max(0)
    size = max(float(np.linalg.norm(high - low)), float(np.finfo(np.float32).tiny))
    return Place(middle + turn @ (low + high) / 2, turn, 2 / size)


def _segments(curve: np.ndarray) -> np.ndarray:
    """Return the pieces of a curve (M, D), between which there is NaN, as segments (S, 2, D)."""
    pairs = np.stack([curve[:-1], curve[1:]], 1)
    return pairs[np.isfinite(pairs).all((1, 2))]


# --- The classifier's plane -----------------------------------------------------------------------


def classifier_planes(
    frames: ClassifierFrames, axes: Axes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the classifier's planes normal . y + offset = 0 in the drawn axes.

    Returns ``normal`` (T, 3), ``offset`` (T,) and ``honest`` (T,): whether the plane's margin in
    the drawn axes is the classifier's to 1 % of the largest on the surface, and its decision the
    same at 99 % of the points. In R^3 it always is. In more dimensions some are not drawn, and a
    classifier that reads those has no plane in the view. ``None`` for more than two classes.
    """
    if frames.logits.shape[-1] != 2:
        return None
    if not axes.principal:
        return frames.normal, frames.offset, np.ones(len(frames.offset), dtype=bool)
    normal, offset = frames.normal @ axes.basis, frames.offset + frames.normal @ axes.origin
    drawn = np.einsum("trcd,td->trc", axes.project(frames.values), normal)
    drawn, margin = drawn + offset[:, None, None], frames.margin
    close = np.abs(drawn - margin).max((1, 2)) <= PLANE_TOLERANCE * np.abs(margin).max((1, 2))
    otherwise = ((drawn > 0) != (margin > 0)).mean((1, 2))
    return normal, offset, close & (otherwise <= PLANE_TOLERANCE)


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


# --- Calibration ----------------------------------------------------------------------------------


def calibrations(run: TrainedRun) -> dict[str, ResampledReliability]:
    """Return the reliability of both variants at the test points of all seeds together.

    Seeds are drawn again, the same ones for both.
    """
    results = {}
    for name in run.setting.compared:
        sure, right = confidence_and_correctness(run.variants[name].ensemble, run.task)
        seeds = np.repeat(np.arange(len(sure)), sure.shape[1])
        results[name] = bootstrap_reliability(sure.ravel(), right.ravel(), seeds)
    return results
