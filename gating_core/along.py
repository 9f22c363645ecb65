"""How much does a seed's surface curve along a run, and how much at its end?

Shapes: T frames, R x C grid points, D model dimension.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention import Attention
from gating_core.classifier import restore
from gating_core.config import check_choice, check_integer
from gating_core.geometry import curvature
from gating_core.jets import SecondOrderJet, second_order_jet
from gating_core.measure import surface_result
from gating_core.reel import frames_model, thinned
from gating_core.results import SurfaceResult
from gating_core.runs import TrainedRun
from gating_core.sample import Grid, square_grid
from gating_core.scores import PAUSE_SECONDS

ALONG_GRID = 31
FINAL_GRID = 61
PART_NUMBERS = 400_000  # of the widest tensor's values, in what is done without giving way


@dataclass(frozen=True, eq=False)
class CurvatureAlong:
    """Total absolute curvature of one member of a variant in the frames (T,) of its run.

    ``total``, ``error`` and ``complete`` are (T,), as in `SurfaceResult`; ``surface`` has T frames,
    and is there for the shown member alone.
    """

    variant: str
    member: int
    frames: np.ndarray
    steps: np.ndarray
    total: np.ndarray
    error: np.ndarray
    complete: np.ndarray
    surface: SurfaceResult | None


def curvature_along(
    run: TrainedRun, variants: Sequence[str], member: int, grid_size: int = ALONG_GRID
) -> Iterator[CurvatureAlong | None]:
    """The curvature of all seeds along ``run``, the shown ``member`` first, errors estimated.

    Yields a result for every seed and variant, and ``None`` in between; stop it by not asking for
    more. ``ValueError`` for variants and members that the run has not.
    """
    for name in variants:
        check_choice("variant", name, run.variants)
    check_integer("member", member, 0, len(run.setting.seeds) - 1)
    return _along(run, variants, member, square_grid(grid_size))


def final_surface(
    run: TrainedRun, variant: str, member: int, grid_size: int = FINAL_GRID
) -> Iterator[SurfaceResult | None]:
    """The surface of a member in the run's last frame, with rigorous bounds; one frame.

    Yields ``None`` now and then, and at the end the result. ``ValueError`` as `curvature_along`.
    """
    check_choice("variant", variant, run.variants)
    check_integer("member", member, 0, len(run.setting.seeds) - 1)
    ensemble = run.variants[variant].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention.member(member)
    return _final(model, square_grid(grid_size))


def _final(model: Attention, grid: Grid) -> Iterator[SurfaceResult | None]:
    yield (yield from _measured(model, grid, "rigorous"))


def _along(
    run: TrainedRun, variants: Sequence[str], shown: int, grid: Grid
) -> Iterator[CurvatureAlong | None]:
    frames = thinned(len(run.frames))
    others = [member for member in range(len(run.setting.seeds)) if member != shown]
    for member in (shown, *others):
        for name in variants:
            model = frames_model(run.variants[name], member, frames).attention
            surface = yield from _measured(model, grid, "estimate")
            yield CurvatureAlong(
                variant=name,
                member=member,
                frames=frames,
                steps=run.steps[frames],
                total=surface.total,
                error=surface.total_error,
                complete=surface.complete,
                surface=surface if member == shown else None,
            )


def _measured(model: Attention, grid: Grid, bound: str) -> Generator[None, None, SurfaceResult]:
    """Every member of ``model`` on ``grid``, part by part."""
    config = model.config
    width = config.depth * config.model_dim
    if config.source == "tokens":
        width *= config.value_count**2
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
