"""The curvature of each seed's surface along a run, and after its last step.

Shapes: T frames, R x C grid points, D model dimension, S seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import torch

from gating_core.attention.stack import Attention
from gating_core.experiments.budget import PART_COST, affordable_steps, cost
from gating_core.experiments.comparison.frames import (
    FRAME_GRID,
    drawn_frames,
    steps_model,
    strengths_model,
    typical_member,
)
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import Integral, unseen_curvature
from gating_core.geometry.surface import SurfaceResult, surface_result
from gating_core.geometry.verdict import Verdict
from gating_core.jets.second_order import SecondOrderJet, jet_by_parts

FINAL_GRID = 61  # points along each side
Key = tuple[str, int]  # variant, member
Measure = Callable[[TrainedRun, str, int], Generator[None, None, "CurvatureSummary"]]


@dataclass(frozen=True, eq=False)
class CurvatureSummary:
    """How much one member of a variant curves, in T frames of its run or at its end alone.

    ``total`` is the integral of |K| dA (T,), ``verdicts`` are T. Along a run errors are estimates,
    and ``known`` (T, R, C) float32 is what is known of K, as in `SurfaceResult`, ``None`` where it
    is not kept. ``at_end``, the total has no axis, there is one verdict, bounds on rounding are
    rigorous, and the total is refined where the surface turns.
    """

    variant: str
    member: int
    total: Integral
    verdicts: tuple[Verdict, ...]
    known: np.ndarray | None = None
    at_end: bool = False


def pending_measurements(
    run: TrainedRun,
    names: tuple[str, ...],
    first: int,
    known: Collection[Key] = (),
    settled: Collection[Key] = (),
) -> Iterator[tuple[Measure, str, int]]:
    """What is to be measured of the variants ``names``: all seeds along the run, one at its end.

    That is member ``first``, and comes first. Yields a function to be called with ``run``, a
    variant and a member. ``known`` and ``settled`` say what of either is there already.
    """
    yield from ((curvature_along, n, first) for n in names if (n, first) not in known)
    yield from ((final_curvature, n, first) for n in names if (n, first) not in settled)
    others = (member for member in range(len(run.task.seeds)) if member != first)
    yield from ((curvature_along, n, i) for i in others for n in names if (n, i) not in known)


def along_cost(run: TrainedRun) -> float:
    """Roughly what `curvature_along` costs for one seed, all compared variants together.

    `cost` times points, all drawn frames together.
    """
    points = len(drawn_frames(run)) * FRAME_GRID**2
    return points * sum(cost(run.setting.configs[name]) for name in run.setting.compared)


def curvature_along(
    run: TrainedRun, name: str, member: int
) -> Generator[None, None, CurvatureSummary]:
    """One member's curvature in every drawn frame, on the film's grid; gives way in between.

    The error of a total is what halving the grid changes, or what holonomy sees between its points
    and they do not, if that is more.
    """
    model, grid = steps_model(run, name, member).attention, square_grid(FRAME_GRID)
    jet = yield from _jet(model, grid, "estimate")
    field = curvature(jet)
    found = surface_result(model, jet, field, grid)
    yield
    unseen = np.where(found.flat, 0.0, unseen_curvature(jet, field, grid.weights).numpy())
    parts = (found.total, np.maximum(found.total_error, unseen), found.complete)
    total = Integral(*map(torch.from_numpy, parts))
    return CurvatureSummary(name, member, total, found.verdicts, _known(found))


def final_curvature(
    run: TrainedRun, name: str, member: int
) -> Generator[None, None, CurvatureSummary]:
    """One member's total curvature after the last step; gives way in between."""
    ensemble = run.variants[name].ensemble
    model = strengths_model(ensemble, member).attention
    grid = square_grid(FINAL_GRID)
    jet = yield from _jet(model, grid, "rigorous")
    found = surface_result(model, jet, curvature(jet), grid)
    integrals = yield from affordable_steps(model, ensemble.config)
    return CurvatureSummary(name, member, integrals.absolute, found.verdicts, at_end=True)


def _known(found: SurfaceResult) -> np.ndarray:
    """(T, R, C) float32: what is known of K."""
    with np.errstate(over="ignore"):  # beyond float32 is infinite, and beyond any colour scale
        return found.known.astype(np.float32)


def _jet(model: Attention, grid: Grid, bound: str) -> Generator[None, None, SecondOrderJet]:
    """All members of ``model`` on ``grid``, part by part."""
    part = int(PART_COST / (cost(model.config) * len(model.seeds)))
    jet = yield from jet_by_parts(model, grid.points, bound, part)
    yield
    return jet


@dataclass(frozen=True, eq=False)
class Curvatures:
    """What is measured of a run, by variant and member: along it, and at its end."""

    along: dict[Key, CurvatureSummary] = field(default_factory=dict)
    final: dict[Key, CurvatureSummary] = field(default_factory=dict)


def measured(run: TrainedRun) -> Curvatures:
    """Of both compared variants: all seeds along ``run``, the typical one at its end as well.

    Of the others K itself is left out, which nobody sees before they choose one of them.
    """
    found = Curvatures()
    pair = [run.variants[name].ensemble for name in run.setting.compared]
    typical = typical_member(pair[0], pair[1])
    for measure, name, member in pending_measurements(run, run.setting.compared, typical):
        summary = _result(measure(run, name, member))
        if measure is final_curvature:
            found.final[name, member] = summary
        else:
            known = summary.known if member == typical else None
            found.along[name, member] = replace(summary, known=known)
    return found


def _result(work: Generator[None, None, CurvatureSummary]) -> CurvatureSummary:
    while True:
        try:
            next(work)
        except StopIteration as end:
            summary: CurvatureSummary = end.value
            return summary
