"""The frames of a run as they are drawn, without their colours.

A worker samples each frame once, however often a run is drawn as it grows; the server places them.

Shapes: T frames (snapshots of a run), R x C grid points, D model dimension, S segments.
"left" and "right" are the sides on which the two variants stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from gating_core.attention import AttentionConfig
from gating_core.experiments.comparison import (
    ClassifierFrames,
    DrawnData,
    Frame,
    TrainedRun,
    cut_of,
    drawn_frames,
    fine_size,
    sample_steps,
    steps_of,
    training_data,
)
from ui.common.formatting import percent
from ui.drawing.axes import Axes, frame_axes
from ui.drawing.colours import class_colours
from ui.drawing.first_view import NO_SEGMENTS, best_eye, level, segments_on
from ui.drawing.lines import class_boundary, lifted, plane_lines, segments, stacked

SIDES = ("left", "right")
PLANE_TOLERANCE = 0.01  # share of the largest margin, and of the points, that a plane may miss
EYE = (0.0, np.radians(60))  # azimuth and elevation; each side is turned to be seen from there
SHORTEST = 0.3  # line on a flat surface, in units of the picture: others look like flaws
FLAT_EYES = -np.pi / 2 + 0.6 * np.array([-1, 1])  # a flat surface lies along a diagonal


@dataclass(frozen=True, eq=False)
class Sampled:
    """One variant in some frames, before they are placed; a frame's numbers need no other frame.

    - ``straight``: by frame, lines of the chart (M, 2) that are straight on a flat surface.
    - ``borders``, ``fine_borders``: by frame, boundaries of more than two classes in the chart,
      from both grids.
    - ``flat_cuts``, ``fine_shares`` and ``fine_signed``: see `FilmSide`.
    """

    frames: ClassifierFrames
    straight: tuple[np.ndarray, ...] | None
    borders: tuple[np.ndarray, ...] | None
    fine_borders: tuple[np.ndarray, ...] | None
    flat_cuts: tuple[str, ...] | None
    fine_shares: np.ndarray | None
    fine_signed: np.ndarray | None


@dataclass(frozen=True, eq=False)
class SampledRun:
    """Both sides in the frames that are drawn ``of`` a run; see `fine_size`."""

    of: tuple[Frame, ...]
    fine_sizes: dict[str, int | None]
    sides: dict[str, Sampled]


@dataclass(frozen=True, eq=False)
class FilmSide:
    """One variant in all frames: its ``frames``, and what is drawn of it.

    - ``points`` (T, R, C, 3): in the drawn axes; ``values``, the same in the picture.
    - ``corners`` (T, 3, 3): the triangle of its values, where it lies in that.
    - ``lines`` (T, S, 2, 3): straight segments on a surface that lies in its triangle.
    - ``planes`` (T, 4): the classifier's, NaN where its plane is not one in the drawn axes.
    - ``cuts`` (T, S, 2, 3) and (T, S, 2, 2): boundaries of more than two classes.
    - ``flat_cuts``: by frame, the cut of the classifier's plane in words, for two classes.
    - ``fine_shares`` (T, F, F) uint8: the colours of classes on the finer grid, if there is one;
      ``fine_signed``, for two classes: the difference of their logits.
    """

    frames: ClassifierFrames
    points: np.ndarray
    values: np.ndarray
    corners: np.ndarray | None
    lines: np.ndarray
    planes: np.ndarray
    cuts: tuple[np.ndarray, np.ndarray] | None
    flat_cuts: tuple[str, ...] | None
    fine_shares: np.ndarray | None
    fine_signed: np.ndarray | None


@dataclass(frozen=True, eq=False)
class Film:
    """Both sides, the drawn ``data``, and what is drawn of the ``axes``."""

    sides: dict[str, FilmSide]
    data: DrawnData
    axes: str


def variants_of(run: TrainedRun) -> dict[str, str]:
    """Return the compared variants by side, "left" and "right"."""
    return dict(zip(SIDES, run.setting.compared, strict=False))


# --- Sampling -------------------------------------------------------------------------------------


def sampled(
    config: AttentionConfig, states: dict[str, np.ndarray], data: DrawnData, size: int | None
) -> Sampled:
    """Sample some frames of one variant, given as `steps_of` returns them."""
    frames = sample_steps(config, states, data.points, size)
    averaged, straight, borders, fine_borders, cuts = frames.averaged, None, None, None, None
    fine, shares, signed = frames.fine_logits, None, None
    if averaged is not None and averaged.shape[1] == 3:
        straight = tuple(plane_lines(values, data.axis, own)
                         for values, own in zip(frames.values, averaged, strict=True))  # fmt: skip
    if data.class_count > 2:
        finest = frames.logits if fine is None else fine
        axis = np.linspace(data.axis[0], data.axis[-1], finest.shape[1])
        borders = tuple(class_boundary(x, data.axis) for x in frames.logits)
        fine_borders = tuple(class_boundary(x, axis) for x in finest)
    else:
        cuts = tuple(cut_of(margin, data.axis).text for margin in frames.margin)
        signed = None if fine is None else fine[..., 1] - fine[..., 0]
    if fine is not None:  # as they are sent: a quarter of the bytes
        shares = (255 * (class_colours(fine) / (data.class_count - 1))).round().astype(np.uint8)
        frames = replace(frames, fine_logits=None)
    return Sampled(frames, straight, borders, fine_borders, cuts, shares, signed)


def sample_here(calls: Sequence[tuple[Any, ...]]) -> Sequence[Sampled]:
    """Return what `sampled` returns for each of ``calls``."""
    return [sampled(*call) for call in calls]


def sampled_run(
    run: TrainedRun,
    member: int,
    before: SampledRun | None = None,
    sample: Callable[[Sequence[tuple[Any, ...]]], Sequence[Sampled]] = sample_here,
) -> SampledRun:
    """Sample the drawn frames of seed ``member`` but those that were sampled ``before``."""
    drawn, variants = tuple(run.frames[index] for index in drawn_frames(run)), variants_of(run)
    sizes = {side: fine_size(run.setting.configs[name], len(drawn))
             for side, name in variants.items()}  # fmt: skip
    known = before.of if before is not None and before.fine_sizes == sizes else ()
    new, parts = [frame for frame in drawn if frame not in known], list[list[Sampled]]()
    if before is not None and known:
        parts.append([*before.sides.values()])
    if new:
        data = training_data(run, member)
        parts.append([*sample([(*steps_of(new, run, name, member), data, sizes[side])
                               for side, name in variants.items()])])  # fmt: skip
    order = [(*known, *new).index(frame) for frame in drawn]
    both = zip(variants, zip(*parts, strict=True), strict=True)
    return SampledRun(drawn, sizes, {side: _gathered(own, order) for side, own in both})


def _gathered(parts: Sequence[Any], order: list[int]) -> Any:
    """Join what was sampled of some frames, then of others, and bring the frames into ``order``."""
    if any(part is None for part in parts):
        return None
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)[order]
    if isinstance(parts[0], tuple):
        joined = [x for part in parts for x in part]
        return tuple(joined[place] for place in order)
    return type(parts[0])(
        *(_gathered([getattr(x, own.name) for x in parts], order) for own in fields(parts[0]))
    )


# --- Placing --------------------------------------------------------------------------------------


def film_of(
    run: TrainedRun, member: int, unfinished: bool, found: SampledRun | None = None
) -> Film:
    """Place the drawn frames of seed ``member``, which were ``found`` or are sampled here.

    Upwards is the final classifier's direction; a flat surface lies level. Each shows the viewer
    its broadest view. An ``unfinished`` run is turned as its first frame is: otherwise it would
    turn with every step.
    """
    found = found or sampled_run(run, member)
    variants = {side: own.frames for side, own in found.sides.items()}
    axes, data = frame_axes(variants), training_data(run, member)
    upright = 0 if unfinished else -1
    sides = {s: _side(own, axes[s], data, upright) for s, own in found.sides.items()}
    drawn = [f"{percent(own.share(variants[s].values[-1]))} ({s})" for s, own in axes.items()
             if own.principal]  # fmt: skip
    return Film(sides, data, " and ".join(drawn))


def _side(own: Sampled, axes: Axes, data: DrawnData, upright: int) -> FilmSide:
    """Place one variant: each frame about its own middle, all turned alike and in one unit."""
    frames = own.frames
    points, corners = axes.project(frames.values), None
    normal, offset, honest = classifier_planes(frames, axes)
    end = points[upright]
    turn = level(end, end)[1]
    if own.straight is not None and frames.averaged is not None:
        corners = axes.project(frames.averaged)
        towards = FLAT_EYES[0]
        if honest[upright]:  # the plane shows its broader side
            eyes = [np.cos(FLAT_EYES), np.sin(FLAT_EYES), np.full(2, np.tan(EYE[1]))]
            towards = FLAT_EYES[np.abs(normal[upright] @ turn @ eyes).argmax()]
    else:
        if honest[upright]:  # the third axis is the normal, and there is no mirror image
            turn = np.linalg.svd(normal[upright][:, None])[0][:, ::-1]
            turn = turn * [1, 1, np.sign(turn[:, 2] @ normal[upright])]
            turn = turn * [1, np.sign(np.linalg.det(turn)), 1]
        towards = best_eye([end @ turn], [frames.logits[upright].argmax(-1)], np.array(EYE[1:]))[0]
    cos, sin = np.cos(towards), np.sin(towards)
    turn = turn @ np.array([[cos, -sin, 0], [sin, cos, 0], [0, 0, 1]])
    ends = points.reshape(len(points), -1, 3) @ turn
    middle = (ends.min(1) + ends.max(1)) / 2 @ turn.T  # (T, 3)
    size = float(np.linalg.norm(np.ptp(ends, axis=1), axis=-1).max())
    unit = 2 / max(size, float(np.finfo(np.float32).tiny))

    def place(x: np.ndarray) -> np.ndarray:
        return (x - middle.reshape(-1, *[1] * (x.ndim - 2), 3)) @ turn * unit

    values, lines, cuts = place(points), NO_SEGMENTS, None
    if own.straight is not None and corners is not None:
        about = zip(own.straight, values, strict=True)
        lines = np.nan_to_num(stacked([segments_on(x, data.axis, drawn) for x, drawn in about]))
        lines[np.linalg.norm(np.ptp(lines, axis=2), axis=-1) < SHORTEST] = 0
        corners = place(corners)
    if own.borders is not None and own.fine_borders is not None:
        on_surface = [segments(lifted(chart, data.axis, x[None])[0])
                      for chart, x in zip(own.borders, values, strict=True)]  # fmt: skip
        cuts = stacked(on_surface), stacked([*map(segments, own.fine_borders)])
    planes = np.full((len(values), 4), np.nan)
    if honest.any():
        moved = unit * (np.einsum("td,td->t", normal, middle) + offset)
        found = np.column_stack([normal @ turn, moved])
        planes[honest] = (found / np.linalg.norm(normal, axis=-1, keepdims=True))[honest]
    return FilmSide(frames, points, values, corners, lines, planes, cuts, own.flat_cuts,
                    own.fine_shares, own.fine_signed)  # fmt: skip


def classifier_planes(
    frames: ClassifierFrames, axes: Axes
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the classifier's planes normal . y + offset = 0 in the drawn axes, for two classes.

    Returns ``normal`` (T, 3), ``offset`` (T,) and ``honest`` (T,): whether there are two classes,
    and the plane's margin in the drawn axes is the classifier's to 1 % of the largest on the
    surface, and its decision the same at 99 % of the points. In R^3 it always is. In more
    dimensions some are not drawn, and a classifier that reads those has no plane in the view.
    """
    two = frames.logits.shape[-1] == 2
    if not (axes.principal and two):
        return frames.normal, frames.offset, np.full(len(frames.offset), two)
    normal, offset = frames.normal @ axes.basis, frames.offset + frames.normal @ axes.origin
    drawn = np.einsum("trcd,td->trc", axes.project(frames.values), normal)
    drawn, margin = drawn + offset[:, None, None], frames.margin
    close = np.abs(drawn - margin).max((1, 2)) <= PLANE_TOLERANCE * np.abs(margin).max((1, 2))
    otherwise = ((drawn > 0) != (margin > 0)).mean((1, 2))
    return normal, offset, close & (otherwise <= PLANE_TOLERANCE)
