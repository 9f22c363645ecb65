"""The strengths of its gate that a model is shown at, and how they are measured: in a job.

They are as many as two seconds or so allow. Meanwhile the page shows the requested strength. What
is measured once is cached for all visitors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gating_core.experiments import cost
from gating_core.experiments.specimen import MeasuredSpecimen, Specimen, measure_specimen
from ui.limits import DIAL_COST
from ui.manifold.request import at_strength
from ui.work.cache import CACHE
from ui.work.cached_jobs import CachedJobs
from ui.work.job import Job
from ui.work.shared import split_over_workers

STEP_COUNTS = (20, 10, 5, 2, 1)  # from no gate to a full one
LEAST_COST = 128.0  # what a point costs at least: some of the work is the same for all models
Dial = tuple[MeasuredSpecimen, ...]  # by strength


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


def watch_dial(job: Job) -> None:
    """Draw how far it is; the page is run again at the end."""
    DIALS.watch(job, "Measuring every strength of the gate", again="Measure every strength",
                beside=False)  # fmt: skip


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
