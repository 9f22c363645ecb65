"""At which strengths of its gate is a model shown, and how does the page come to all of them?

As many as two seconds or so allow, in a job: meanwhile the page shows the strength that was asked
for. What is measured once is kept for all visitors.
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

STEPS = (20, 10, 5, 2, 1)  # from no gate to a full one
LEAST_COST = 128.0  # what a point costs at least: some of the work is the same for all models
Dial = tuple[MeasuredSpecimen, ...]  # by strength


@dataclass(frozen=True)
class Wanted:
    """A model with a full gate, at all ``places`` of its strength, on a grid."""

    specimen: Specimen
    grid: int
    places: tuple[float, ...]


def strengths(specimen: Specimen, grid: int) -> tuple[float, ...]:
    """Evenly spaced from 0 to 1, at a ``grid`` of so many points along each side."""
    each = max(cost(specimen.config), LEAST_COST) * grid**2
    steps = next((n for n in STEPS if (n + 1) * each <= DIAL_COST), STEPS[-1])
    return tuple(round(i / steps, 2) for i in range(steps + 1))


def dial_of(specimen: Specimen, grid: int) -> tuple[Dial, Job | None]:
    """A specimen at all strengths, whatever its own is; or none, and the job that measures them."""
    found, job = DIALS.fetch(Wanted(at_strength(specimen, 1.0), grid, strengths(specimen, grid)))
    return found or (), job


def watch_dial(job: Job) -> None:
    """How far it is; the page is run again at the end."""
    DIALS.watch(job, "Measuring every strength of the gate", again="Measure every strength",
                beside=False)  # fmt: skip


def _measure(wanted: Wanted) -> Iterator[Any]:
    each = tuple(at_strength(wanted.specimen, place) for place in wanted.places)
    for item in split_over_workers(_measure_all, each, wanted.grid):
        yield without_copies(item) if isinstance(item, tuple) else item


def without_copies(dial: Dial) -> Dial:
    """The same, holding once what no strength changes: the grid, weights of the first layer."""

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


DIALS: CachedJobs[Wanted, Dial] = CachedJobs("strengths", _measure, CACHE)
