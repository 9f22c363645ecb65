"""One member of a trained run at every gate strength, with refitted classifiers and totals.

The weights stay as they were trained. At every strength the classifier is the best linear one for
the surface, and the total curvature is refined until it has converged.

Shapes: T strengths, D model dimension, C classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.attention.stack import Classifier
from gating_core.experiments.budget import affordable_integrals
from gating_core.experiments.comparison.coverage import covered_share, surface_visible
from gating_core.experiments.comparison.frames import strengths_model
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.surface import concentration, measure_surface
from gating_core.progress import Progress, silent
from gating_core.training.trained import TrainedEnsemble

# --- The shown member -----------------------------------------------------------------------------

SCORE_GRID = 31  # points along each side: enough to compare areas


def select_member(run: TrainedRun) -> int:
    """Select the member of the second variant of ``run`` that shows best what a gate does.

    For models with three fixed values. Among the half of the seeds that are best on the training
    points, first those whose surface is visible (`surface_visible`), then the largest
    `member_score`. Test points are not used.
    """
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
    return surface_visible(flat, gated, corners), breadth(flat, corners) * even


def select_ungated(run: TrainedRun) -> int:
    """Select the member of the first variant of ``run``, without a gate, whose surface is broadest.

    Among the half of the seeds that are best on the training points, as `select_member`.
    """
    ensemble, grid = run.variants[run.setting.compared[0]].ensemble, square_grid(SCORE_GRID)

    def score(member: int) -> float:
        model = strengths_model(ensemble, member).attention
        flat = model(grid.points).reshape(SCORE_GRID, SCORE_GRID, -1)
        return breadth(flat.numpy(), model.blocks[-1].slot_values()[0].numpy())

    return max(ensemble.ranking[: (len(ensemble.seeds) + 1) // 2].tolist(), key=score)


def breadth(flat: np.ndarray, corners: np.ndarray) -> float:
    """Compute the part of a triangle that a surface covers, times how regular the triangle is."""
    return float(np.nan_to_num(covered_share(flat, corners))) * regularity(corners)


def triangle_area(corners: np.ndarray) -> float:
    """Compute the area of a triangle with ``corners`` (3, D)."""
    first, second = corners[1:] - corners[0]
    square = (first @ first) * (second @ second) - (first @ second) ** 2
    return float(np.sqrt(max(square, 0.0))) / 2


def regularity(corners: np.ndarray) -> float:
    """4 sqrt(3) area / sum of squared sides: 1 for an equilateral triangle, 0 for a line."""
    sides = corners - np.roll(corners, 1, axis=0)
    squares = float((sides**2).sum())
    return 4 * np.sqrt(3.0) * triangle_area(corners) / squares if squares > 0 else 0.0


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
        sweep = _with_total(sweep, index, integrals.absolute)
        yield sweep


def _with_total(sweep: StrengthSweep, index: int, total: Integral) -> StrengthSweep:
    here = torch.arange(len(STRENGTHS)) == index
    parts = (
        torch.where(here, getattr(total, name).reshape(-1), getattr(sweep.total, name))
        for name in ("value", "error", "resolved", "finished")
    )
    return replace(sweep, total=Integral(*parts), measured=sweep.measured | here.numpy())
