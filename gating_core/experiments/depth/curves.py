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
    """All quantities of one regime at ``depths`` (L,).

    ``eps`` (S,) and ``size`` (S, L), which is L eps max(u^2 + v^2), are of scalar gates; ``None``
    for stacks, of which all points are fitted.
    """

    regime: str
    request: StackRequest
    depths: np.ndarray
    quantities: Quantities
    eps: np.ndarray | None = None
    size: np.ndarray | None = None

    @cached_property
    def curves(self) -> dict[str, Curve]:
        """The quantities against depth, by the keys of `QUANTITIES`."""
        q = self.quantities
        small = np.ones_like(q.proved) if self.size is None else self.size <= STRUCTURED_LIMIT
        return {
            each: Curve(each, self.depths, q.values[each], q.errors[each], q.known[each], small)
            for each in QUANTITIES
        }


def measure_regime(request: DepthRequest, name: str, progress: Progress = silent) -> DepthResult:
    """Measure one regime with rigorous bounds; ``progress`` is called with the share done."""
    layers = regime_layers(request, name)
    return regime_result(request, name, measure_layers(layers, request.grid, progress))


def regime_result(request: DepthRequest, name: str, quantities: Quantities) -> DepthResult:
    """Build the result of a regime from the ``quantities`` measured of its layers."""
    layers, depths = regime_layers(request, name), np.arange(1, request.depth + 1)
    sizes = (layers.eps.numpy(), layers.size) if isinstance(layers, Sheets) else ()
    return DepthResult(name, request, depths, quantities, *sizes)


def measure_layers(layers: Layers, grid_size: int, progress: Progress = silent) -> Quantities:
    """Measure every surface on the way through ``layers`` on a grid."""
    grid = square_grid(grid_size)
    surfaces = layers(grid.points[:1]).shape[:2].numel()
    part = LAYERS_PART_POINTS // surfaces
    jet = jet_by_parts(layers, grid.points, "rigorous", part, progress)
    return measure_quantities(layers, jet, grid)


def regime_layers(request: DepthRequest, name: str, member: int | None = None) -> Layers:
    """Build the layers of a regime: of all seeds, or of one ``member`` of them, from 0."""
    check_choice("regime", name, REGIMES)
    if member is not None:
        check_integer("member", member, 0, request.seed_count - 1)
        request = replace(request, seed=request.seeds[member], seed_count=1)
    return REGIMES[name].build(request)


def replay(layers: Layers, grid_size: int = REPLAY_GRID) -> SurfaceResult:
    """Measure one seed's surface after every layer, with bounds; the layers are its frames."""
    return measure_surface(layers, square_grid(grid_size), bound="rigorous")


def replay_fields(
    layers: Layers, layer: int, grid_size: int = REPLAY_GRID
) -> dict[str, np.ndarray]:
    """Return |H| after a ``layer``, from 1, and its gates and attention weights, (R, C) each."""
    grid = square_grid(grid_size)
    surface = MeasuredSurface(lambda points: layers(points)[layer - 1], grid, bound="estimate")
    (mean,) = surface.mean_norm
    if isinstance(layers, EveryLayer):
        return {"|H|": mean} | layer_fields(layers.model, grid)[layer - 1].by_name
    height = np.r_[[np.ones_like(mean)], layers(grid.points)[..., 2].reshape(-1, *mean.shape)]
    return {"|H|": mean, "gate 1": height[layer] / height[layer - 1]}
