"""Quantities of a surface against depth, with exponents: one result for each regime.

Shapes: S seeds, L depths, R x R grid points, D model dimension.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gating_core.checks import check_choice, check_integer
from gating_core.experiments.depth.exponents import (
    Course,
    Exponent,
    course,
    exponent,
    settled,
)
from gating_core.experiments.depth.quantities import QUANTITIES, Measured, measured
from gating_core.experiments.depth.regimes import REGIMES, Layers, Sheets
from gating_core.experiments.depth.request import DepthRequest, StackRequest
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import SurfaceResult, measure_surface
from gating_core.jets.second_order import jet_by_parts

STRUCTURED_LIMIT = (
    0.05  # L eps max(u^2 + v^2), up to which scalar gates are in their structured regime
)
QUARTILES = (0.25, 0.75)  # of the seeds: the band round the median
PART_POINTS = 250_000  # of all surfaces together, at a time: about a second
REPLAY_GRID = 31


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity against depth: ``values``, ``errors`` and ``known`` (S, L), as `Measured`.

    ``depths`` (L,); ``small`` (S, L) is where the structured regime's condition holds, all of it
    for stacks, which have none.
    """

    quantity: str  # a key of QUANTITIES
    depths: np.ndarray
    values: np.ndarray
    errors: np.ndarray
    known: np.ndarray
    small: np.ndarray

    @property
    def count(self) -> np.ndarray:
        """(L,): how many seeds' values are known."""
        return self.known.sum(0)

    @property
    def median(self) -> np.ndarray:
        """(L,): over the seeds that are known; NaN where these are fewer than half."""
        return self._quantiles(0.5)

    @property
    def band(self) -> np.ndarray:
        """(2, L): lower and upper quartile, as the median."""
        return np.stack([self._quantiles(share) for share in QUARTILES])

    def _quantiles(self, share: float) -> np.ndarray:
        most = 2 * self.count >= len(self.values)
        columns = zip(self.values.T, self.known.T, most, strict=True)
        return np.array([np.quantile(v[k], share) if m else np.nan for v, k, m in columns])

    @cached_property
    def fitted(self) -> np.ndarray:
        """(S, L): the points that the exponent is fitted to."""
        return self.small & settled(self.values, self.errors, self.known)

    @cached_property
    def exponent(self) -> Exponent:
        """The slope of log quantity against log depth, where the regime's condition holds."""
        return exponent(self.depths, self.values, self.fitted)

    @cached_property
    def course(self) -> Course:
        """What it does along all depths, whether or not the condition holds."""
        return course(self.depths, self.values, self.errors, self.known)


@dataclass(frozen=True, eq=False)
class DepthResult:
    """All quantities of one regime against depth.

    ``curves`` have the keys of `QUANTITIES`; ``unresolved`` (S, L) is a share of the points,
    ``proved`` (S, L) whether a surface is flat by proof; ``eps`` (S,) and ``size`` (S, L), which
    is L eps max(u^2 + v^2), of scalar gates, ``None`` for stacks.
    """

    regime: str
    request: StackRequest
    curves: dict[str, Curve]
    unresolved: np.ndarray
    proved: np.ndarray
    bound_kind: str
    eps: np.ndarray | None = None
    size: np.ndarray | None = None


Event = float | DepthResult


def measure_regimes(
    request: DepthRequest, names: Iterable[str] = tuple(REGIMES)
) -> Iterator[Event]:
    """The regimes called ``names``, one after the other: yields shares done, 0 to 1, and results.

    A share comes several times a second, and after each `DepthResult`.
    """
    names = tuple(names)
    for name in names:
        check_choice("regime", name, REGIMES)
    for place, name in enumerate(names):
        yield place / len(names)
        work = measure_regime(request, name)
        while True:
            try:
                next(work)
            except StopIteration as end:
                yield end.value
                break
            yield (place + 0.5) / len(names)
    yield 1.0


def measure_regime(request: DepthRequest, name: str) -> Generator[None, None, DepthResult]:
    """One regime; gives way in between. Rounding errors are followed through all layers."""
    check_choice("regime", name, REGIMES)
    layers = REGIMES[name].build(request)
    found = yield from measure_layers(layers, request.grid)
    depths = np.arange(1, request.depth + 1)
    if isinstance(layers, Sheets):
        eps, size = layers.eps.numpy(), layers.size
        return depth_result(name, request, found, depths, size <= STRUCTURED_LIMIT, eps, size)
    return depth_result(name, request, found, depths)


def measure_layers(layers: Layers, grid_size: int) -> Generator[None, None, Measured]:
    """Every surface on the way through ``layers``, on a grid; gives way in between."""
    grid = square_grid(grid_size)
    surfaces = layers(grid.points[:1]).shape[:2].numel()
    part = PART_POINTS // surfaces
    jet = yield from jet_by_parts(layers, grid.points, "rigorous", part)
    yield
    return measured(layers, jet, grid)


def depth_result(
    name: str,
    request: StackRequest,
    found: Measured,
    depths: np.ndarray,
    small: np.ndarray | None = None,
    eps: np.ndarray | None = None,
    size: np.ndarray | None = None,
) -> DepthResult:
    """What was ``found`` at ``depths``, with its curves; without ``small`` all may be fitted."""
    where = np.ones_like(found.proved) if small is None else small
    curves = {
        quantity: Curve(
            quantity, depths, found.values[quantity], found.errors[quantity],
            found.known[quantity], where,
        )
        for quantity in QUANTITIES
    }  # fmt: skip
    return DepthResult(
        name, request, curves, found.unresolved, found.proved, found.bound_kind, eps, size
    )


def replay(
    request: DepthRequest, name: str, member: int, grid_size: int = REPLAY_GRID
) -> SurfaceResult:
    """One seed's surface after every layer: as many frames as layers, with K and its bounds.

    ``member`` counts the request's seeds from 0. Frames are intermediate outputs of one model.
    """
    check_choice("regime", name, REGIMES)
    check_integer("member", member, 0, request.seed_count - 1)
    alone = replace(request, seed=request.seeds[member], seed_count=1)
    return measure_surface(REGIMES[name].build(alone), square_grid(grid_size), bound="rigorous")
