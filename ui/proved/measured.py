"""Proofs of the sign of K, made in jobs of worker processes and cached for all visitors.

A budget is a number of cells, so that what is proved does not depend on the machine; seconds are a
limit for models whose cells take long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Hashable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from gating_core.geometry import Matrix
from gating_core.proved import Budget, MissingRule, ProvedCurvature, proof_steps
from ui.limits import PROOF_SECONDS
from ui.work.cache import CACHE
from ui.work.cached_jobs import CachedJobs, Partial
from ui.work.shared import shared_stream

PARTIAL_SECONDS = 0.5  # at least, between two partial results
PARTIAL_GROWTH = 1.15  # factor of the cells between them, at least: later messages are larger
OPEN_SHARE, RELATIVE_WIDTH = 1e-4, 1e-3  # precise enough to stop before the budget is spent


@dataclass(frozen=True)
class ProvableSurface:
    """A surface and its metric; ``name`` identifies the surface in caches."""

    name: Hashable
    function: Callable[..., Any] = field(compare=False, repr=False)
    covariance: Matrix | None = None


@dataclass(frozen=True)
class ProofRequest:
    """A proof for ``surface``, with at most ``cells`` cells judged."""

    surface: ProvableSurface
    cells: int

    @property
    def key(self) -> tuple[Hashable, ...]:
        """All that the proof depends on, but not the function: Streamlit would hash its bytes."""
        return self.surface.name, self.surface.covariance, self.cells

    @property
    def budget(self) -> Budget:
        return Budget(PROOF_SECONDS, self.cells, OPEN_SHARE, RELATIVE_WIDTH)


@dataclass(frozen=True)
class NoProof:
    """Why nothing is proved of a surface."""

    reason: str


Proof = ProvedCurvature | NoProof


def prove(request: ProofRequest) -> Generator[Partial | None, None, Proof]:
    """Prove what is requested; yields partial results, and ``None`` in between."""
    surface = request.surface
    steps = proof_steps(surface.function, surface.covariance, request.budget)
    sent, last = 0, -PARTIAL_SECONDS
    while True:
        try:
            proof = next(steps)
        except StopIteration as end:
            return _compact(end.value)
        except (MissingRule, ValueError) as error:
            return NoProof(str(error))
        now = time.monotonic()
        if proof.count >= PARTIAL_GROWTH * sent and now - last >= PARTIAL_SECONDS:
            sent, last = proof.count, now
            yield Partial(_compact(proof))
        else:
            yield None


def _compact(proof: ProvedCurvature) -> ProvedCurvature:
    """Return the same with labels of one byte each."""
    return replace(proof, labels=proof.labels.char())


def _prove(request: ProofRequest) -> Iterator[Any]:
    for item in shared_stream(prove, request):
        if isinstance(item, Partial):
            yield min(item.item.count / request.cells, 1.0)
        yield item


PROOFS: CachedJobs[ProofRequest, Proof] = CachedJobs("proof", _prove, CACHE)
