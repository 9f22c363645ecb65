"""Bounded caches for the Manifold page: a specimen is measured once, however it is looked at.

Worker processes measure: meanwhile the server has time for other visitors. Totals are refined in a
job, which may take many seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import streamlit as st

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
from ui.limits import CACHED_RESOLVED
from ui.manifold.captions import caption
from ui.manifold.picture import ManifoldPicture, ManifoldView, manifold_picture
from ui.manifold.request import ManifoldRequest, Resolved, at_strength, resolve
from ui.manifold.settled import Settled
from ui.manifold.variants import Variants
from ui.work import pool
from ui.work.cache import NUMBERS_CACHE, cached
from ui.work.cached_jobs import CachedJobs
from ui.work.pool import Rank
from ui.work.shared import shared_stream

Totals = Mapping[Specimen, SurfaceIntegrals]


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


def _refine(specimen: Specimen) -> Iterator[Any]:
    return shared_stream(integrate_steps, specimen, rank=Rank.REST)


TOTALS: CachedJobs[Specimen, SurfaceIntegrals] = CachedJobs("totals", _refine, NUMBERS_CACHE)


def watch_totals(specimens: tuple[Specimen, ...], draw: Callable[[Totals], None]) -> None:
    """Refine the totals of ``specimens``; ``draw`` those that are there, and again at the end."""
    totals, job = TOTALS.fetch_all(specimens)
    if job is None:
        draw(totals)
    else:
        TOTALS.watch(job, "Refining totals", again="Refine", beside=False,
                     draw=lambda: draw(TOTALS.cached(specimens)))  # fmt: skip
