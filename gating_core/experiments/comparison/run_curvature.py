"""The curvature of each seed's surface along a run, and after its last step.

Shapes: T frames, R x C grid points, D model dimension, S seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from weakref import WeakKeyDictionary

import numpy as np

from gating_core.attention.stack import Attention, restore
from gating_core.experiments.budget import PART_COST, affordable_integrals, cost
from gating_core.experiments.comparison.frames import (
    FRAME_GRID,
    drawn_frames,
    steps_model,
    strengths_model,
)
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.experiments.layers import layer_fields
from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult, measure_surface
from gating_core.geometry.verdict import Verdict
from gating_core.jets.second_order import jet_by_parts
from gating_core.progress import Progress, silent
from gating_core.training.trained import TrainedEnsemble

FINAL_GRID = 61  # points along each side
TYPICAL_GRID = 21  # points along each side: enough to rank totals
TYPICAL_COST = 1e7  # of `cost` times points: half a second
EQUAL_DECIMALS = 12  # to which accuracies are equal
_typical: WeakKeyDictionary[TrainedRun, int] = WeakKeyDictionary()
Key = tuple[str, int]  # variant, member
Measure = Callable[..., "CurvatureSummary"]  # of a run, a variant, a member


@dataclass(frozen=True, eq=False)
class CurvatureSummary:
    """The curvature of one member of a variant, in T frames of its run or at its end alone.

    ``total`` is the integral of |K| dA (T,), with T ``verdicts``. Along a run errors are estimates,
    and ``known`` (T, R, C) float32 is K where it is known, as in `SurfaceResult`, or ``None`` if it
    is not stored. If ``at_end``, the total has no axis, there is one verdict, bounds on rounding
    are rigorous, and the total is refined.
    """

    variant: str
    member: int
    total: Integral
    verdicts: tuple[Verdict, ...]
    known: np.ndarray | None = None
    at_end: bool = False


# --- The typical seed -----------------------------------------------------------------------------


def nearest_to_medians(quantities: np.ndarray) -> int:
    """Select the member whose ranks in ``quantities`` (Q, S) are nearest to the middle.

    A member's distance from the median of a quantity is the share of members below it less that of
    members above it. The largest of its distances counts, and their sum among equals.
    """
    values = np.round(quantities, EQUAL_DECIMALS)
    below = (values[:, :, None] > values[:, None]).sum(-1)
    above = (values[:, :, None] < values[:, None]).sum(-1)
    away = np.abs(below - above)
    return int(np.lexsort((away.sum(0), away.max(0)))[0])


def typical_member(run: TrainedRun) -> int:
    """Select the member of ``run`` that is nearest to all medians, by `nearest_to_medians`.

    The quantities are those of the compared variants after the last step: both test accuracies,
    their difference, and both total curvatures, which are sampled coarsely; accuracies alone where
    that would take long. Test points are used, so that the member is typical of them.
    """
    if run not in _typical:
        pair = [run.variants[name].ensemble for name in run.setting.compared]
        accuracies = np.stack([ensemble.test_accuracy[-1] for ensemble in pair])
        quantities = np.concatenate([accuracies, np.diff(accuracies, axis=0)])
        if TYPICAL_GRID**2 * sum(len(x.seeds) * cost(x.config) for x in pair) <= TYPICAL_COST:
            totals = np.stack([_rough_totals(ensemble) for ensemble in pair])
            quantities = np.concatenate([quantities, totals])
        _typical[run] = nearest_to_medians(quantities)
    return _typical[run]


def _rough_totals(ensemble: TrainedEnsemble) -> np.ndarray:
    """(S,): total absolute curvatures on a coarse grid; 0 where weights are not finite."""
    if not all(np.isfinite(x).all() for x in ensemble.state.values()):
        return np.zeros(len(ensemble.seeds))
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    return np.nan_to_num(measure_surface(model, square_grid(TYPICAL_GRID), bound="estimate").total)


# --- Measurements ---------------------------------------------------------------------------------


def pending_measurements(
    run: TrainedRun,
    names: tuple[str, ...],
    first: int,
    known: Collection[Key] = (),
    final: Collection[Key] = (),
) -> Iterator[tuple[Measure, str, int]]:
    """List what is still to be measured: all seeds along the run, member ``first`` at its end too.

    Yields (function, variant, member) for the variants ``names``, those of ``first`` first; call
    the function with ``run``, variant and member. ``known`` and ``final`` are the keys measured
    already, along the run and at its end.
    """
    yield from ((curvature_along, n, first) for n in names if (n, first) not in known)
    yield from ((final_curvature, n, first) for n in names if (n, first) not in final)
    others = (member for member in range(len(run.task.seeds)) if member != first)
    yield from ((curvature_along, n, i) for i in others for n in names if (n, i) not in known)


def measure_each(
    run: TrainedRun, pending: Iterable[tuple[Measure, str, int]], progress: Progress = silent
) -> Iterator[CurvatureSummary]:
    """Measure what is ``pending``, as `pending_measurements` lists it, one after the other."""
    for measure, name, member in pending:
        yield measure(run, name, member, progress)


def along_cost(run: TrainedRun) -> float:
    """Estimate the cost of `curvature_along` for one seed and all compared variants."""
    points = len(drawn_frames(run)) * FRAME_GRID**2
    return points * sum(cost(run.setting.configs[name]) for name in run.setting.compared)


def curvature_along(
    run: TrainedRun, name: str, member: int, progress: Progress = silent
) -> CurvatureSummary:
    """Measure one member in every drawn frame, on the frames' grid.

    The error of a total is its change under halving of the grid, or its difference from the
    holonomy sum, whichever is larger.
    """
    found = _measured(steps_model(run, name, member).attention, FRAME_GRID, "estimate", progress)
    surface = found.surface
    progress(None)
    with np.errstate(over="ignore"):  # infinite beyond float32, and beyond any colour scale
        known = surface.known.astype(np.float32)
    return CurvatureSummary(name, member, found.total, surface.verdicts, known)


def final_curvature(
    run: TrainedRun, name: str, member: int, progress: Progress = silent
) -> CurvatureSummary:
    """Measure one member's total curvature after the last step."""
    ensemble = run.variants[name].ensemble
    model = strengths_model(ensemble, member).attention
    surface = _measured(model, FINAL_GRID, "rigorous", progress).surface
    integrals = affordable_integrals(model, ensemble.config, progress=progress)
    return CurvatureSummary(name, member, integrals.absolute, surface.verdicts, at_end=True)


def measure_fields(
    model: Attention, grid_size: int = FRAME_GRID
) -> tuple[SurfaceResult, dict[str, np.ndarray]]:
    """Measure the surface of a model, an ensemble of one, with rigorous bounds.

    Returns the surface, and by name |H|, and gates and attention weights of the last layer: (R, C)
    each.
    """
    found = _measured(model, grid_size, "rigorous", silent)
    (mean,) = found.mean_norm
    return found.surface, {"|H|": mean} | layer_fields(model, found.grid)[-1].by_name


def _measured(model: Attention, size: int, bound: str, progress: Progress) -> MeasuredSurface:
    """Measure all members of ``model`` on a grid; the jet is computed part by part."""
    grid, part = square_grid(size), int(PART_COST / (cost(model.config) * len(model.seeds)))
    jet = jet_by_parts(model, grid.points, bound, part, lambda _: progress(None))
    return MeasuredSurface(model, grid, jet=jet)


@dataclass(frozen=True, eq=False)
class Curvatures:
    """Measured curvatures of a run by variant and member: along it, and at its end."""

    along: dict[Key, CurvatureSummary] = field(default_factory=dict)
    final: dict[Key, CurvatureSummary] = field(default_factory=dict)


def measured(run: TrainedRun) -> Curvatures:
    """Measure both compared variants: all seeds along ``run``, the typical one at its end too.

    K itself is stored for the typical seed only, to save space.
    """
    curvatures = Curvatures()
    typical = typical_member(run)
    for measure, name, member in pending_measurements(run, run.setting.compared, typical):
        summary = measure(run, name, member)
        if measure is final_curvature:
            curvatures.final[name, member] = summary
        else:
            known = summary.known if member == typical else None
            curvatures.along[name, member] = replace(summary, known=known)
    return curvatures
