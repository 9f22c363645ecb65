"""How much does each seed's surface curve while it learns, and how much at the end?

Shapes: T frames, R x C grid points, D model dimension, S seeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention import Attention
from gating_core.classifier import restore
from gating_core.film import FILM_GRID, frames_model
from gating_core.geometry import curvature
from gating_core.integrals import Integral
from gating_core.jets import SecondOrderJet, second_order_jet
from gating_core.measure import surface_result
from gating_core.results import SurfaceResult
from gating_core.runs import TrainedRun
from gating_core.sample import Grid, square_grid
from gating_core.scores import PAUSE_SECONDS

FINAL_GRID = 61  # points along each side
PART_NUMBERS = 400_000  # of the widest tensors, in what is measured without giving way


@dataclass(frozen=True, eq=False)
class CurvatureAlong:
    """Curvature of one member of a variant in the drawn frames of its run; errors are estimates.

    ``gaussian`` (T, R, C) float32, NaN where it is unresolved; ``total`` the integral of |K| dA,
    its ``error`` and whether it is ``complete`` (T,), as in `SurfaceResult`.
    """

    variant: str
    member: int
    gaussian: np.ndarray
    total: np.ndarray
    error: np.ndarray
    complete: np.ndarray


@dataclass(frozen=True, eq=False)
class FinalCurvature:
    """The integral of |K| dA over one member's final surface, bounds on rounding rigorous.

    Its error adds the change from every second grid point to every one. ``flat`` as in
    `SurfaceResult`.
    """

    variant: str
    member: int
    total: Integral
    flat: bool


Measured = CurvatureAlong | FinalCurvature


def measure_run(
    run: TrainedRun, names: tuple[str, ...], wanted: Callable[[], int]
) -> Iterator[Measured | None]:
    """Curvature of all seeds of the variants ``names``, along the run and at its end.

    Whichever member is ``wanted`` at the moment comes first. Yields ``None`` often in between, so
    that it can be stopped.
    """
    waiting = list(range(len(run.task.seeds)))
    while waiting:
        wish = wanted()
        member = waiting.pop(waiting.index(wish) if wish in waiting else 0)
        for name in names:
            yield (yield from curvature_along(run, name, member))
        for name in names:
            yield (yield from final_curvature(run, name, member))


def curvature_along(
    run: TrainedRun, name: str, member: int
) -> Generator[None, None, CurvatureAlong]:
    """One member's curvature in every drawn frame, on the film's grid; gives way in between."""
    model = frames_model(run, name, member).attention
    found = yield from _measured(model, square_grid(FILM_GRID), "estimate")
    return CurvatureAlong(
        variant=name,
        member=member,
        gaussian=np.where(found.resolved, found.gaussian, np.nan).astype(np.float32),
        total=found.total,
        error=found.total_error,
        complete=found.complete,
    )


def final_curvature(
    run: TrainedRun, name: str, member: int
) -> Generator[None, None, FinalCurvature]:
    """One member's total curvature after the last step; gives way in between."""
    ensemble = run.variants[name].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention.member(member)
    found = yield from _measured(model, square_grid(FINAL_GRID), "rigorous")
    numbers = (found.total[0], found.total_error[0], found.complete[0])
    return FinalCurvature(
        name, member, Integral(*map(torch.as_tensor, numbers)), bool(found.flat[0])
    )


def _measured(model: Attention, grid: Grid, bound: str) -> Generator[None, None, SurfaceResult]:
    """All members of ``model`` on ``grid``, part by part."""
    config = model.config
    tokens = config.value_count**2 if config.source == "tokens" else 1
    width = config.depth * config.model_dim * tokens
    parts = []
    resumed = time.perf_counter()
    for points in grid.points.split(max(PART_NUMBERS // (len(model.seeds) * width), 1)):
        parts.append(second_order_jet(model, points, bound))
        if time.perf_counter() - resumed > PAUSE_SECONDS:
            yield
            resumed = time.perf_counter()
    errors = [part.errors for part in parts if part.errors is not None]
    jet = SecondOrderJet(
        torch.cat([part.stack for part in parts], -1),
        parts[0].k,
        torch.cat(errors, -1) if len(errors) == len(parts) else None,
    )
    yield
    return surface_result(jet, curvature(jet), grid)
