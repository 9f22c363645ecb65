"""Quantities of a surface against depth, with exponents: one result for each regime.

Shapes: S seeds, L depths, R x R grid points, D model dimension.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from gating_core.attention.stack import EveryLayer
from gating_core.checks import check_choice, check_integer
from gating_core.experiments.depth.exponents import (
    Course,
    Exponent,
    course,
    exponent,
    fittable,
)
from gating_core.experiments.depth.quantities import QUANTITIES, Quantities, measure_quantities
from gating_core.experiments.depth.request import (
    REGIMES,
    DepthRequest,
    Layers,
    Sheets,
    StackRequest,
)
from gating_core.experiments.layers import layer_fields
from gating_core.geometry.grid import square_grid
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult, measure_surface
from gating_core.jets.second_order import jet_by_parts
from gating_core.progress import Progress, silent

STRUCTURED_LIMIT = 0.05  # L eps max(u^2 + v^2), up to which gates are in their structured regime
QUARTILES = (0.25, 0.75)  # of the seeds: the band around the median
LAYERS_PART_POINTS = 250_000  # of all surfaces, between two reports of progress: about a second
REPLAY_GRID = 31


@dataclass(frozen=True, eq=False)
class Curve:
    """One quantity against depth: ``values``, ``errors`` and ``known`` (S, L), as in `Quantities`.

    ``depths`` (L,); ``small`` (S, L) is where the structured regime's condition holds, everywhere
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
        """(L,): number of seeds with known values."""
        return self.known.sum(0)

    @property
    def median(self) -> np.ndarray:
        """(L,): median over the known seeds; NaN where these are fewer than half."""
        return self._quantiles(0.5)

    @property
    def band(self) -> np.ndarray:
        """(2, L): lower and upper quartile, otherwise as the median."""
        return np.stack([self._quantiles(share) for share in QUARTILES])

    def _quantiles(self, share: float) -> np.ndarray:
        most = 2 * self.count >= len(self.values)
        columns = zip(self.values.T, self.known.T, most, strict=True)
        return np.array([np.quantile(v[k], share) if m else np.nan for v, k, m in columns])

    @cached_property
    def fitted(self) -> np.ndarray:
        """(S, L): the points to which the exponent is fitted."""
        return self.small & fittable(self.values, self.errors, self.known)

    @cached_property
    def exponent(self) -> Exponent:
        """The slope of log quantity against log depth, where the regime's condition holds."""
        return exponent(self.depths, self.values, self.fitted)

    def fitted_line(self) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the line with the median exponent: depths (2,) and values (2,).

        As many of the fitted points lie above it as below. Empty where there is no exponent.
        """
        if self.exponent.depths is None:
            return np.empty(0), np.empty(0)
        slope = self.exponent.over_seeds.value
        used = self.fitted & np.isfinite(self.exponent.slopes)[:, None]
        depths = np.broadcast_to(self.depths, used.shape)[used]
        start = np.median(np.log(self.values[used]) - slope * np.log(depths))
        ends = np.array(self.exponent.depths, dtype=float)
        return ends, np.exp(start + slope * np.log(ends))

    def doubling(self) -> np.ndarray:
        """(S, P): the ratios of the values at 2 L and L layers, for the P depths L with both."""
        depths = self.depths.tolist()
        pairs = [(depths.index(x), depths.index(2 * x)) for x in depths if 2 * x in depths]
        first, second = np.array(pairs).T
        return self.values[:, second] / self.values[:, first]

    @cached_property
    def course(self) -> Course:
        """The course along all depths, whether or not the condition holds."""
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

    @property
    def quantities(self) -> Quantities:
        """The measured numbers from which the curves were built."""
        values, errors, known = (
            {name: getattr(curve, part) for name, curve in self.curves.items()}
            for part in ("values", "errors", "known")
        )
        return Quantities(values, errors, known, self.unresolved, self.proved, self.bound_kind)


def measure_regime(request: DepthRequest, name: str, progress: Progress = silent) -> DepthResult:
    """Measure one regime with rigorous bounds; ``progress`` is called with the share done."""
    check_choice("regime", name, REGIMES)
    layers = REGIMES[name].build(request)
    quantities = measure_layers(layers, request.grid, progress)
    return regime_result(request, name, layers, quantities)


def regime_result(
    request: DepthRequest, name: str, layers: Layers, quantities: Quantities
) -> DepthResult:
    """Build the result of a regime from the ``quantities`` measured of its ``layers``."""
    depths = np.arange(1, request.depth + 1)
    if isinstance(layers, Sheets):
        eps, size = layers.eps.numpy(), layers.size
        return depth_result(name, request, quantities, depths, size <= STRUCTURED_LIMIT, eps, size)
    return depth_result(name, request, quantities, depths)


def measure_layers(layers: Layers, grid_size: int, progress: Progress = silent) -> Quantities:
    """Measure every surface on the way through ``layers`` on a grid."""
    grid = square_grid(grid_size)
    surfaces = layers(grid.points[:1]).shape[:2].numel()
    part = LAYERS_PART_POINTS // surfaces
    jet = jet_by_parts(layers, grid.points, "rigorous", part, progress)
    return measure_quantities(layers, jet, grid)


def depth_result(
    name: str,
    request: StackRequest,
    quantities: Quantities,
    depths: np.ndarray,
    small: np.ndarray | None = None,
    eps: np.ndarray | None = None,
    size: np.ndarray | None = None,
) -> DepthResult:
    """Build curves from ``quantities`` at ``depths``; without ``small`` all points are fitted."""
    q, where = quantities, np.ones_like(quantities.proved) if small is None else small
    curves = {
        each: Curve(each, depths, q.values[each], q.errors[each], q.known[each], where)
        for each in QUANTITIES
    }
    return DepthResult(name, request, curves, q.unresolved, q.proved, q.bound_kind, eps, size)


def replay(
    request: DepthRequest, name: str, member: int, grid_size: int = REPLAY_GRID
) -> SurfaceResult:
    """Measure one seed's surface after every layer, with bounds; the layers are its frames.

    ``member`` counts the request's seeds from 0.
    """
    layers = _layers_of(request, name, member)
    return measure_surface(layers, square_grid(grid_size), bound="rigorous")


def replay_fields(
    request: DepthRequest, name: str, member: int, layer: int, grid_size: int = REPLAY_GRID
) -> dict[str, np.ndarray]:
    """Return `fields_after` a ``layer``, from 1, of what `replay` measures."""
    return fields_after(_layers_of(request, name, member), layer, grid_size)


def fields_after(layers: Layers, layer: int, grid_size: int) -> dict[str, np.ndarray]:
    """Return |H| after a ``layer``, from 1, and its gates and attention weights, (R, C) each."""
    grid = square_grid(grid_size)
    surface = MeasuredSurface(lambda points: layers(points)[layer - 1], grid, bound="estimate")
    (mean,) = surface.mean_norm
    if isinstance(layers, EveryLayer):
        return {"|H|": mean} | layer_fields(layers.model, grid)[layer - 1].by_name
    height = np.r_[[np.ones_like(mean)], layers(grid.points)[..., 2].reshape(-1, *mean.shape)]
    return {"|H|": mean, "gate 1": height[layer] / height[layer - 1]}


def _layers_of(request: DepthRequest, name: str, member: int) -> Layers:
    check_choice("regime", name, REGIMES)
    check_integer("member", member, 0, request.seed_count - 1)
    return REGIMES[name].build(replace(request, seed=request.seeds[member], seed_count=1))
