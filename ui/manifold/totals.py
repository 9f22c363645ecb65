"""How does the page come to refined totals, which may take many seconds? One after the other.

What is refined once is kept for all visitors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from gating_core.experiments.specimen import Specimen, integrate_steps
from gating_core.geometry import SurfaceIntegrals
from ui.work.cache import NUMBERS_CACHE
from ui.work.cached_jobs import CachedJobs
from ui.work.pool import Rank
from ui.work.shared import shared_stream

Totals = Mapping[Specimen, SurfaceIntegrals]


def _refine(specimen: Specimen) -> Iterator[Any]:
    return shared_stream(integrate_steps, specimen, rank=Rank.REST)


TOTALS: CachedJobs[Specimen, SurfaceIntegrals] = CachedJobs("totals", _refine, NUMBERS_CACHE)


def watch_totals(specimens: tuple[Specimen, ...], draw: Callable[[Totals], None]) -> None:
    """Refine the totals of ``specimens``; ``draw`` what there is of them, and again at the end."""
    found, job = TOTALS.fetch_all(specimens)
    if job is None:
        draw(found)
    else:
        TOTALS.watch(job, "Refining totals", again="Refine", beside=False,
                     draw=lambda: draw(TOTALS.cached(specimens)))  # fmt: skip
