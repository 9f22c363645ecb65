"""Bounded caches for the Manifold page: a specimen is measured once, however it is looked at.

Worker processes measure: meanwhile the server has time for other visitors. Totals are refined, and
the strengths of a gate measured, in jobs, which may take many seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import streamlit as st

from gating_core.experiments import cost
from gating_core.experiments.specimen import (
    MeasuredSpecimen,
    Specimen,
    chart_of,
    integrate_steps,
    measure_specimen,
    specimen_values,
)
from gating_core.geometry import SecondOpinion, SurfaceIntegrals, second_opinion, square_grid
from ui.drawing.axes import Axes
from ui.limits import CACHED_RESOLVED, DIAL_COST
from ui.manifold.captions import caption
from ui.manifold.picture import ManifoldPicture, ManifoldView, manifold_picture
from ui.manifold.request import ManifoldRequest, Resolved, at_strength, resolve
from ui.manifold.variants import Settled, Variants
from ui.work import pool
from ui.work.cache import CACHE, NUMBERS_CACHE, cached
from ui.work.cached_jobs import CachedJobs
from ui.work.job import Job
from ui.work.pool import Rank
from ui.work.shared import shared_stream, split_over_workers

Totals = Mapping[Specimen, SurfaceIntegrals]
STEP_COUNTS = (20, 10, 5, 2, 1)  # from no gate to a full one
LEAST_COST = 128.0  # what a point costs at least: some of the work is the same for all models
Dial = tuple[MeasuredSpecimen, ...]  # by strength


@st.cache_resource(max_entries=CACHED_RESOLVED, show_spinner=False)
def resolved(request: ManifoldRequest) -> Resolved:
    """What can be shown of a request; its ``ValueError`` is not cached."""
    return resolve(request)


@cached("Measuring curvature …")
def measured(specimen: Specimen, grid: int) -> MeasuredSpecimen:
    """A specimen on a grid, with rigorous bounds."""
    return pool.POOL.call(measure_specimen, specimen, grid)


@cached("Measuring in other ways …")
def opinion(specimen: Specimen, grid: int, step: float) -> SecondOpinion:
    """Finite differences, the mesh and the paper's proxy of a specimen."""
    return pool.POOL.call(_opinion, specimen, grid, step)


def _opinion(specimen: Specimen, grid: int, step: float) -> SecondOpinion:
    return second_opinion(chart_of(specimen), square_grid(grid), step, specimen.covariance)


@cached()
def settled(specimen: Specimen, grid: int, strengths: tuple[float, ...]) -> Settled:
    """What is settled before all ``strengths`` of a gated specimen are measured."""
    each = tuple(at_strength(specimen, strength) for strength in strengths)
    full = measured(at_strength(specimen, 1.0), grid)
    values = pool.POOL.call(specimen_values, each, grid)
    return Settled(full, dict(zip(strengths, values, strict=True)))


@cached()
def picture(
    key: Hashable, _variants: Variants, _axes: Axes, view: ManifoldView,
    _settled: Sequence[Settled],
) -> ManifoldPicture:  # fmt: skip
    """The linked view; ``key`` says of which request, at which strengths."""
    return manifold_picture(_variants, _axes, view, _settled)


@cached()
def captions(
    key: Hashable, _variants: Variants, _refined: Totals, _picture: ManifoldPicture, _model: str,
    unrefined: str,
) -> list[list[str]]:  # fmt: skip
    """What stands over a picture in every frame; ``key`` says, too, which totals are refined.

    ``_model`` stands over the first variant alone.
    """
    rows = zip(_variants, _picture.stretches, (_model, ""), strict=False)
    return [
        [caption(x, _refined.get(x.specimen), stretch, model, unrefined) for x in frames]
        for frames, stretch, model in rows
    ]


# --- Refined totals -------------------------------------------------------------------------------


TOTALS: CachedJobs[Specimen, SurfaceIntegrals] = CachedJobs(
    "totals",
    lambda specimen: shared_stream(integrate_steps, specimen, rank=Rank.REST),
    NUMBERS_CACHE,
)


def watch_totals(specimens: tuple[Specimen, ...], draw: Callable[[Totals], None]) -> None:
    """Refine the totals of ``specimens``; ``draw`` those that are there, and again at the end."""
    totals, job = TOTALS.fetch_all(specimens)
    if job is None:
        draw(totals)
    else:
        TOTALS.watch(job, "Refining totals", again="Refine", beside=False,
                     draw=lambda: draw(TOTALS.cached(specimens)))  # fmt: skip


# --- Strengths of a gate --------------------------------------------------------------------------


@dataclass(frozen=True)
class DialRequest:
    """A model with a full gate, at all ``strengths`` of it, on a grid."""

    specimen: Specimen
    grid: int
    strengths: tuple[float, ...]


def strengths(specimen: Specimen, grid: int) -> tuple[float, ...]:
    """Return evenly spaced strengths from 0 to 1, for ``grid`` points along each side."""
    each = max(cost(specimen.config), LEAST_COST) * grid**2
    steps = next((n for n in STEP_COUNTS if (n + 1) * each <= DIAL_COST), STEP_COUNTS[-1])
    return tuple(round(i / steps, 2) for i in range(steps + 1))


def dial_of(specimen: Specimen, grid: int) -> tuple[Dial, Job | None]:
    """Return a specimen at all strengths, or none and the job that measures them."""
    request = DialRequest(at_strength(specimen, 1.0), grid, strengths(specimen, grid))
    dial, job = DIALS.fetch(request)
    return dial or (), job


def _measure(request: DialRequest) -> Iterator[Any]:
    each = tuple(at_strength(request.specimen, strength) for strength in request.strengths)
    for item in split_over_workers(_measure_all, each, request.grid):
        yield without_copies(item) if isinstance(item, tuple) else item


def without_copies(dial: Dial) -> Dial:
    """Return the same, holding once what no strength changes: grid, weights of the first layer."""

    def same(array: np.ndarray, first: np.ndarray) -> np.ndarray:
        return first if np.array_equal(array, first) else array

    def sharing(each: MeasuredSpecimen) -> MeasuredSpecimen:
        quadrature = same(each.surface.quadrature, dial[0].surface.quadrature)
        weights = [same(*pair) for pair in zip(each.weights, dial[0].weights, strict=True)]
        return replace(each, surface=replace(each.surface, quadrature=quadrature), weights=weights)

    return tuple(map(sharing, dial))


def _measure_all(specimens: tuple[Specimen, ...], grid: int) -> Iterator[MeasuredSpecimen]:
    for specimen in specimens:
        yield measure_specimen(specimen, grid)


DIALS: CachedJobs[DialRequest, Dial] = CachedJobs("strengths", _measure, CACHE)
