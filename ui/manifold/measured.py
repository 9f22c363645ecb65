"""Bounded caches for the Manifold page: a specimen is measured once, however it is looked at.

Worker processes measure: meanwhile the server has time for other visitors.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import streamlit as st

from gating_core.experiments.specimen import (
    MeasuredSpecimen,
    Specimen,
    chart_of,
    measure_specimen,
    specimen_values,
)
from gating_core.geometry import SecondOpinion, second_opinion, square_grid
from ui.drawing.axes import Axes
from ui.limits import CACHED_RESOLVED
from ui.manifold.captions import caption
from ui.manifold.picture import Look, ManifoldPicture, Sides, manifold_view
from ui.manifold.request import Request, Resolved, at_strength, resolve
from ui.manifold.totals import Totals
from ui.manifold.whole import Whole
from ui.work import pool
from ui.work.cache import cached


@st.cache_resource(max_entries=CACHED_RESOLVED, show_spinner=False)
def resolved(request: Request) -> Resolved:
    """What can be shown of a request; its ``ValueError`` is not kept."""
    return resolve(request)


@cached("Measuring curvature …")
def measured(specimen: Specimen, grid: int) -> MeasuredSpecimen:
    """A specimen on a grid, with rigorous bounds."""
    return pool.POOL.call(measure_specimen, specimen, grid)


@cached("Asking for second opinions …")
def opinion(specimen: Specimen, grid: int, step: float) -> SecondOpinion:
    """What finite differences, the mesh and the paper's proxy say about a specimen."""
    return pool.POOL.call(_opinion, specimen, grid, step)


def _opinion(specimen: Specimen, grid: int, step: float) -> SecondOpinion:
    return second_opinion(chart_of(specimen), square_grid(grid), step, specimen.covariance)


@cached()
def whole(specimen: Specimen, grid: int, strengths: tuple[float, ...]) -> Whole:
    """What is settled before all ``strengths`` of a gated specimen are measured."""
    each = tuple(at_strength(specimen, strength) for strength in strengths)
    full = measured(at_strength(specimen, 1.0), grid)
    found = pool.POOL.call(specimen_values, each, grid)
    return Whole(full, dict(zip(strengths, found, strict=True)))


@cached()
def picture(
    key: Hashable, _sides: Sides, _axes: Axes, look: Look, _wholes: Sequence[Whole]
) -> ManifoldPicture:
    """The linked view of what ``key`` says: the request, and at which strengths."""
    return manifold_view(_sides, _axes, look, _wholes)


@cached()
def captions(
    key: Hashable, _sides: Sides, _refined: Totals, _picture: ManifoldPicture, _first: str
) -> list[list[str]]:
    """What stands over a picture in every frame; ``key`` says, too, which totals are refined.

    ``_first`` is said of the first side alone.
    """
    stretched = zip(_sides, _picture.stretches, (_first, ""), strict=False)
    return [
        [caption(x, _refined.get(x.specimen), stretch, first) for x in frames]
        for frames, stretch, first in stretched
    ]
