"""Bounded caches for the Manifold page: a specimen is measured once, however it is looked at.

Worker processes measure: meanwhile the server has time for other visitors.
"""

from __future__ import annotations

from collections.abc import Hashable

import streamlit as st

from gating_core.experiments.specimen import (
    MeasuredSpecimen,
    Specimen,
    chart_of,
    measure_specimen,
)
from gating_core.geometry import SecondOpinion, second_opinion, square_grid
from ui.drawing.axes import Axes
from ui.limits import RESOLVED_KEPT
from ui.manifold.picture import Look, ManifoldPicture, Sides, manifold_view
from ui.manifold.request import Request, Resolved, resolve
from ui.manifold.totals import Totals
from ui.manifold.words import caption
from ui.work import pool
from ui.work.shelf import shelved


@st.cache_resource(max_entries=RESOLVED_KEPT, show_spinner=False)
def resolved(request: Request) -> Resolved:
    """What can be shown of a request; its ``ValueError`` is not kept."""
    return resolve(request)


@shelved("Measuring curvature …")
def measured(specimen: Specimen, grid: int) -> MeasuredSpecimen:
    """A specimen on a grid, with rigorous bounds."""
    return pool.POOL.call(measure_specimen, specimen, grid)


@shelved("Asking for second opinions …")
def opinion(specimen: Specimen, grid: int, step: float) -> SecondOpinion:
    """What finite differences, the mesh and the paper's proxy say about a specimen."""
    return pool.POOL.call(_opinion, specimen, grid, step)


def _opinion(specimen: Specimen, grid: int, step: float) -> SecondOpinion:
    return second_opinion(chart_of(specimen), square_grid(grid), step, specimen.covariance)


@shelved()
def picture(key: Hashable, _sides: Sides, _axes: Axes, look: Look) -> ManifoldPicture:
    """The linked view of what ``key`` says: the request, and at which strengths."""
    return manifold_view(_sides, _axes, look)


@shelved()
def captions(key: Hashable, _sides: Sides, _refined: Totals) -> list[list[str]]:
    """What stands over a picture in every frame; ``key`` says, too, which totals are refined."""
    return [[caption(x, _refined.get(x.specimen)) for x in frames] for frames in _sides]
