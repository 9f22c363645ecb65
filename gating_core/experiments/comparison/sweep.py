"""One member of a trained run at every gate strength, and which member shows best what a gate does.

The weights stay as they were trained. At every strength the classifier is the best linear one for
the surface, and the total curvature is refined until it has converged.

Shapes: T strengths or frames, R x C grid points, D model dimension, C classes, F triangles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.attention.stack import Classifier
from gating_core.experiments.comparison.frames import strengths_model
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.experiments.comparison.setting import FIRST_SETTING
from gating_core.experiments.measuring import affordable_integrals
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.surface import concentration, measure_surface
from gating_core.progress import Progress, silent
from gating_core.training.trained import TrainedEnsemble

# --- The share of a triangle that a flat surface covers -------------------------------------------

SWEEP_LINES = 256  # across a folded sheet
UNIT_TRIANGLE = 0.5  # area of a triangle in coordinates along its sides
THINNEST_TRIANGLE = 1e-9  # breadth by length: a narrower one counts as a line


def covered_share(values: np.ndarray, corners: np.ndarray) -> float:
    """Compute the part of the triangle ``corners`` (3, D) that a flat sheet (R, C, D) covers.

    Overlapping folds count once. NaN where the triangle is a line.
    """
    sides = (corners[1:] - corners[0]).T
    extents = np.linalg.svd(sides, compute_uv=False)
    if len(extents) < 2 or extents[1] <= THINNEST_TRIANGLE * extents[0]:
        return float("nan")
    return covered_area((values - corners[0]) @ np.linalg.pinv(sides).T) / UNIT_TRIANGLE


def covered_area(points: np.ndarray) -> float:
    """Compute the area that a mesh over a grid of ``points`` (R, C, 2) of a plane covers.

    Exact where it does not fold; otherwise from 256 lines across its extent.
    """
    faces = points.reshape(-1, 2)[triangles(*points.shape[:2])]
    one, other = faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0]
    signed = (one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0]) / 2
    if (signed >= 0).all() or (signed <= 0).all():
        return float(abs(signed.sum()))
    return _swept_area(faces)


def _swept_area(faces: np.ndarray) -> float:
    """Integrate the length that the union of ``faces`` (F, 3, 2) covers of parallel lines."""
    order = np.argsort(faces[..., 1], 1)[..., None]
    (x0, y0), (x1, y1), (x2, y2) = np.take_along_axis(faces, order, 1).transpose(1, 2, 0)
    gap = (y2.max() - y0.min()) / SWEEP_LINES
    heights = y0.min() + (np.arange(SWEEP_LINES) + 0.5) * gap
    first = np.searchsorted(heights, y0, "right")  # of the lines that a face is cut by
    # None cuts a face that lies along it, or that is not finite.
    count = np.maximum(np.searchsorted(heights, y2, "left") - first, 0)
    face = np.repeat(np.arange(len(faces)), count)
    line = np.arange(len(face)) + np.repeat(first - np.cumsum(count) + count, count)

    def crossing(x: np.ndarray, y: np.ndarray, x_to: np.ndarray, y_to: np.ndarray) -> np.ndarray:
        # A share of the edge, which no height is too small for, as it would be for a slope.
        return x[face] + (heights[line] - y[face]) / (y_to - y)[face] * (x_to - x)[face]

    # A line enters or leaves a face through its longest edge and one of the two others.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # of the third
        one = crossing(x0, y0, x2, y2)
        lower, upper = crossing(x0, y0, x1, y1), crossing(x1, y1, x2, y2)
    other = np.where(heights[line] <= y1[face], lower, upper)
    starts, ends = np.minimum(one, other), np.maximum(one, other)
    # All lines are laid one behind the other, so that one sort and one scan find their unions.
    apart = line * (ends.max(initial=0.0) - starts.min(initial=0.0)) * 2
    order = np.argsort(starts + apart)
    starts, ends = (starts + apart)[order], np.maximum.accumulate((ends + apart)[order])
    before = np.concatenate([starts[:1], ends[:-1]])
    return float(np.maximum(ends - np.maximum(starts, before), 0).sum() * gap)


def triangles(rows: int, columns: int) -> np.ndarray:
    """(2 (R - 1) (C - 1), 3): two triangles for every cell of a grid in row order."""
    a = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).ravel()
    b, c, d = a + 1, a + columns, a + columns + 1
    return np.concatenate([np.stack([a, b, c], -1), np.stack([b, d, c], -1)])


# --- Breadth --------------------------------------------------------------------------------------

LEAST_COVERED = 0.05  # of the triangle of the values, without the gate
LEAST_BREADTH = 0.04  # projected area by the square of its length


def surface_visible(flat: np.ndarray, gated: np.ndarray, corners: np.ndarray) -> bool:
    """Return whether a surface (R, C, D), ``flat`` without and ``gated`` with its gate, is no line.

    The rule: without its gate it covers a twentieth of the triangle ``corners`` (3, D), and both
    are broader than a strip twenty-five times as long as broad.
    """
    covered = covered_share(flat, corners)  # may be NaN, which fails the comparison
    return covered >= LEAST_COVERED and min(breadth(flat), breadth(gated)) >= LEAST_BREADTH


def breadth(values: np.ndarray) -> float:
    """Compute breadth by length of a sheet (R, C, D): 0 for a curve, pi / 4 at most, for a disc.

    The area of its projection on its two largest principal components, where folds count once,
    divided by the square of its longest extent there.
    """
    points = values.reshape(-1, values.shape[-1])
    centred = points - points.mean(0)
    axes = np.linalg.svd(centred, full_matrices=False)[2][:2]
    projected = centred @ axes.T
    length = float(torch.pdist(torch.from_numpy(projected)).max())
    if not length > 0 or projected.shape[1] < 2:
        return 0.0
    return covered_area((projected / length).reshape(*values.shape[:2], 2))


# --- The shown member -----------------------------------------------------------------------------

SCORE_GRID = 31  # points along each side: enough to compare areas
# Of `FIRST_SETTING`, of the better half by training accuracy: a round dome, its picture's reason.
PICTURED_SEED = 33


def select_member(run: TrainedRun) -> int:
    """Select the member of the second variant of ``run`` that shows best what a gate does.

    For models with three fixed values. Among the half of the seeds that are best on the training
    points, first those whose surface is visible (`surface_visible`), then the largest
    `member_score`. Test points are not used. Of the first example it is `PICTURED_SEED`.
    """
    if run.setting == FIRST_SETTING:
        return run.setting.seeds.index(PICTURED_SEED)
    ensemble = run.variants[run.setting.compared[1]].ensemble
    candidates = ensemble.ranking[: (len(ensemble.seeds) + 1) // 2]
    return int(max(candidates, key=lambda member: member_score(ensemble, int(member))))


def shows_surface(run: TrainedRun, member: int) -> bool:
    """Return whether a member's surface is visible, by the rule of `surface_visible`."""
    return member_score(run.variants[run.setting.compared[1]].ensemble, member)[0]


def member_score(ensemble: TrainedEnsemble, member: int) -> tuple[bool, float]:
    """Return whether a gated member is visible, and its score, 0 to 1.

    The score is a product of three numbers from 0 to 1: the part of the triangle of its values that
    the surface covers without its gate, how regular that triangle is, and one minus the share of
    the curvature on the most curved part of the area.
    """
    model = strengths_model(ensemble, member, [0.0, 1.0]).attention
    surface = measure_surface(model, square_grid(SCORE_GRID), bound="estimate")
    corners = model.blocks[-1].slot_values()[0].numpy()
    flat, gated = surface.values
    even = 1.0 - float(concentration(surface)[1])
    return surface_visible(flat, gated, corners), triangle_breadth(flat, corners) * even


def select_ungated(run: TrainedRun) -> int:
    """Select the member of the first variant of ``run``, without a gate, whose surface is broadest.

    Among the half of the seeds that are best on the training points, as `select_member`.
    """
    ensemble, grid = run.variants[run.setting.compared[0]].ensemble, square_grid(SCORE_GRID)

    def score(member: int) -> float:
        model = strengths_model(ensemble, member).attention
        flat = model(grid.points).reshape(SCORE_GRID, SCORE_GRID, -1)
        return triangle_breadth(flat.numpy(), model.blocks[-1].slot_values()[0].numpy())

    return max(ensemble.ranking[: (len(ensemble.seeds) + 1) // 2].tolist(), key=score)


def triangle_breadth(flat: np.ndarray, corners: np.ndarray) -> float:
    """Compute the part of a triangle that a surface covers, times how regular the triangle is."""
    return float(np.nan_to_num(covered_share(flat, corners))) * regularity(corners)


def regularity(corners: np.ndarray) -> float:
    """4 sqrt(3) area / sum of squared sides: 1 for an equilateral triangle, 0 for a line."""
    first, second = corners[1:] - corners[0]
    area = np.sqrt(max((first @ first) * (second @ second) - (first @ second) ** 2, 0.0)) / 2
    squares = float(((corners - np.roll(corners, 1, axis=0)) ** 2).sum())
    return float(4 * np.sqrt(3.0) * area / squares) if squares > 0 else 0.0


# --- The read-out ---------------------------------------------------------------------------------

SOFTNESS = 1e-4  # weight of the squares of the weights: for a unique answer on separable classes


def refitted(model: Classifier, points: np.ndarray, labels: np.ndarray) -> Classifier:
    """Return ``model`` with the read-outs that fit ``labels`` (P,) at ``points`` (P, 2) best.

    By logistic regression, a convex problem with one answer, so that the surface alone decides how
    well a plane can do. Representations are centred and divided by their root mean square distance
    from the centre first, so that their size does not matter. Labels go from 0 to C - 1.
    """
    values = model.attention(torch.from_numpy(points)).numpy()
    read_outs = [_read_out(surface, labels, model.bias.shape[-1]) for surface in values]
    weight, bias = (np.stack(parts) for parts in zip(*read_outs, strict=True))
    out = Classifier(model.attention, model.bias.shape[-1]).requires_grad_(False)
    out.weight.data, out.bias.data = torch.from_numpy(weight), torch.from_numpy(bias)
    return out


def _read_out(
    values: np.ndarray, labels: np.ndarray, classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Fit weights (D, C) and bias (C,) to representations (P, D)."""
    from sklearn.linear_model import LogisticRegression  # here: slow to import

    centre = values.mean(0)
    scale = max(float(np.sqrt(((values - centre) ** 2).sum(1).mean())), np.finfo(float).tiny)
    fit = LogisticRegression(C=1 / (SOFTNESS * len(labels)), max_iter=1000, tol=1e-8)
    fit.fit((values - centre) / scale, labels)
    slopes, offsets = fit.coef_.T / scale, fit.intercept_
    if classes == 2:  # the fit has one margin; the model one logit for each class
        slopes, offsets = np.concatenate([-slopes, slopes], 1) / 2, np.tile(offsets, 2) / 2
        offsets = offsets * [-1, 1]
    return slopes, offsets - centre @ slopes


# --- The sweep ------------------------------------------------------------------------------------

SWEEP_STEPS = 20
SWEEP_POINTS = 60_000  # at most, for the total at one strength: half a second for each layer
STRENGTHS = tuple(round(i / SWEEP_STEPS, 2) for i in range(SWEEP_STEPS + 1))


@dataclass(frozen=True, eq=False)
class StrengthSweep:
    """One ``member`` of a run's gated variant at each of `STRENGTHS`.

    Read-outs ``weight`` (T, D, C) and ``bias`` (T, C); ``total`` is the integral of |K| dA (T,),
    NaN where it has not been ``measured`` (T,) yet.
    """

    member: int
    weight: np.ndarray
    bias: np.ndarray
    total: Integral
    measured: np.ndarray

    def model(self, run: TrainedRun) -> Classifier:
        """Build the member at all strengths as an ensemble of T, with its read-outs."""
        ensemble = run.variants[run.setting.compared[1]].ensemble
        model = strengths_model(ensemble, self.member, STRENGTHS)
        model.weight.data, model.bias.data = torch.tensor(self.weight), torch.tensor(self.bias)
        return model


def sweep_strengths(run: TrainedRun, progress: Progress = silent) -> Iterator[StrengthSweep]:
    """Yield the sweep of the selected member of ``run`` after each total.

    The strengths 1 and 0 are measured first.
    """
    member = select_member(run)
    progress(None)
    ensemble = run.variants[run.setting.compared[1]].ensemble
    points, labels = run.task.train_points[member], run.task.train_labels[member]
    model = refitted(strengths_model(ensemble, member, STRENGTHS), points, labels)
    unknown = torch.full((len(STRENGTHS),), torch.nan, dtype=torch.float64)
    sweep = StrengthSweep(
        member,
        model.weight.numpy(),
        model.bias.numpy(),
        Integral(unknown, unknown, unknown > 0, unknown > 0),
        np.zeros(len(STRENGTHS), dtype=bool),
    )
    yield sweep
    for index in (SWEEP_STEPS, 0, *range(SWEEP_STEPS - 1, 0, -1)):
        alone = strengths_model(ensemble, member, [STRENGTHS[index]]).attention
        integrals = affordable_integrals(
            alone, ensemble.config, points=SWEEP_POINTS, progress=progress
        )
        here = torch.arange(len(STRENGTHS)) == index
        total = (
            torch.where(here, getattr(integrals.absolute, x).reshape(-1), getattr(sweep.total, x))
            for x in ("value", "error", "resolved", "finished")
        )
        sweep = replace(sweep, total=Integral(*total), measured=sweep.measured | here.numpy())
        yield sweep
