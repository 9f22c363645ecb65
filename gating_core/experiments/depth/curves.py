"""Quantities of surfaces against depth, with their errors and exponents: a result of each regime.

The exponent of a seed is the slope of log quantity against log depth, by Theil and Sen: the median
of the slopes between all pairs of depths, which a few odd values do not move. That of a regime is
the median over its seeds, with a bootstrap interval over them: seeds are independent, where the
depths of one model are not. Shapes: S seeds, L depths, N = R x R grid points, D model dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from gating_core.attention.stack import EveryLayer
from gating_core.checks import check_choice, check_integer
from gating_core.experiments.depth.request import (
    REGIMES,
    DepthRequest,
    Layers,
    Sheets,
    StackRequest,
)
from gating_core.experiments.measuring import layer_fields
from gating_core.geometry.discrete import proxy_limit
from gating_core.geometry.grid import Grid, square_grid
from gating_core.geometry.integrals import grid_integral
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult, diameter, measure_surface
from gating_core.jets.second_order import SecondOrderJet, jet_by_parts
from gating_core.progress import Progress, silent

# --- Quantities -----------------------------------------------------------------------------------

ROUNDING = 16 * torch.finfo(torch.float64).eps  # of a mean or a distance, relative to itself


@dataclass(frozen=True)
class Quantity:
    """A quantity of a surface, in words, with its symbol."""

    title: str
    symbol: str


QUANTITIES: dict[str, Quantity] = {
    "total": Quantity("total absolute curvature", "∫|K| dA"),
    "mean": Quantity("mean of |K| over the area", "∫|K| dA / ∫dA"),
    "centre": Quantity("|K| at the origin", "|K(0)|"),
    "proxy": Quantity("the paper's proxy", "mean |D²y|"),
    "diameter": Quantity("diameter of the surface", "diameter"),
}


@dataclass(frozen=True, eq=False)
class Quantities:
    """Measured quantities of L surfaces of each of S seeds; arrays (S, L), or (S,) for one surface.

    ``values``, ``errors`` and ``known`` have the keys of `QUANTITIES`: a value, its error, and
    whether the error is complete. Where it is not, because tangent planes are unresolved, total and
    mean are lower estimates at best. The error of the total, and so of the mean, is its change
    under halving of the grid, or its difference from the holonomy sum, whichever is larger; all
    others are bounds on rounding. The proxy is the limit for a step of zero. ``proved`` says
    whether a surface is flat by proof.
    """

    values: dict[str, np.ndarray]
    errors: dict[str, np.ndarray]
    known: dict[str, np.ndarray]
    proved: np.ndarray


def measure_quantities(
    function: Callable[[torch.Tensor], torch.Tensor], jet: SecondOrderJet, grid: Grid
) -> Quantities:
    """Measure all `QUANTITIES` of the surfaces of ``function``, which may prove some to be flat.

    ``jet`` is its jet on ``grid``, with leading axes (L, S) or (S,).
    """
    surface = MeasuredSurface(function, grid, jet=jet)
    field, lead = surface.field, jet.value.shape[:-2]
    proved = torch.tensor([proof is not None for proof in surface.proof]).reshape(lead)
    resolved = field.resolved.all(-1) | proved
    area = grid_integral("area", field, grid.weights)
    total_value, total_error = (x.reshape(lead) for x in (surface.total.value, surface.total.error))
    mean = total_value / area.value
    # Of a quotient t / a: (d_t + |t / a| d_a) / (a - d_a).
    room = (area.value - area.error).clamp(min=0)
    mean_error = (total_error + mean * area.error) / room + mean * ROUNDING
    middle = grid.weights.numel() // 2
    there = field.resolved[..., middle]
    parts = {
        "total": (total_value, total_error, resolved),
        "mean": (torch.where(proved, 0.0, mean), torch.where(proved, 0.0, mean_error), resolved),
        "centre": (
            torch.where(proved, 0.0, field.gaussian[..., middle].abs()),
            torch.where(proved, 0.0, field.gaussian_error[..., middle]),
            there | proved,
        ),
        "proxy": _proxy(jet),
        "diameter": _diameter(jet),
    }

    def by_seed(index: int) -> dict[str, np.ndarray]:
        return {name: part[index].numpy().T for name, part in parts.items()}

    return Quantities(
        values=by_seed(0),
        errors=by_seed(1),
        known=by_seed(2),
        proved=proved.numpy().T,
    )


def stack_depths(depths: list[Quantities]) -> Quantities:
    """Stack L depths, each measured alone with arrays (S,), to arrays (S, L)."""

    def stacked(part: str) -> dict[str, np.ndarray]:
        return {name: np.stack([getattr(x, part)[name] for x in depths], -1) for name in QUANTITIES}

    return Quantities(
        values=stacked("values"),
        errors=stacked("errors"),
        known=stacked("known"),
        proved=np.stack([each.proved for each in depths], -1),
    )


Part = tuple[torch.Tensor, torch.Tensor, torch.Tensor]  # (L, S) each: value, error, known


def _proxy(jet: SecondOrderJet) -> Part:
    """The mean norm of the second derivatives; its error is at most the norm of their errors."""
    value = proxy_limit(jet).mean
    uu, uv, vv = _errors(jet)[3:].square().sum(-2)
    error = (uu + 2 * uv + vv).sqrt().mean(-1) * (1 + ROUNDING) + value * ROUNDING
    return value, error, (value + error).isfinite()


def _diameter(jet: SecondOrderJet) -> Part:
    """The diameter; both of its ends have an error."""
    surfaces = jet.value.flatten(0, -3).contiguous()
    value = torch.tensor([diameter(points) for points in surfaces], dtype=torch.float64)
    value = value.reshape(jet.stack.shape[1:-2])
    reach = jet.stack[0].abs().amax((-2, -1))
    error = 2 * _errors(jet)[0].square().sum(-2).sqrt().amax(-1) + (value + reach) * ROUNDING
    return value, error, (value + error).isfinite()


def _errors(jet: SecondOrderJet) -> torch.Tensor:
    """The errors of a jet; infinite where it has none."""
    return torch.full_like(jet.stack, torch.inf) if jet.errors is None else jet.errors


# --- Exponents ------------------------------------------------------------------------------------

FEWEST_DEPTHS = 3  # fitted for a seed's slope
FEWEST_SEEDS = 0.5  # share of seeds with a slope: below it there is no exponent
CONFIDENCE = 0.95
RESAMPLES = 2000  # of the bootstrap
FITTABLE = 0.5  # error relative to the value: above it a point is not fitted
ENDED = 0.5  # late slope relative to the early one: below it growth has ended
LEVEL = 0.05  # absolute slopes below it count as none: 15 % over 16 layers

GROWS, SATURATES, SHRINKS, STEADY, ZERO, INCONCLUSIVE = COURSES = (
    "grows like a power",
    "saturates",
    "shrinks",
    "hardly changes",
    "stays zero",
    "inconclusive",
)


@dataclass(frozen=True)
class Middle:
    """A median over ``count`` seeds and its interval; all NaN where too few seeds are known."""

    value: float = np.nan
    low: float = np.nan
    high: float = np.nan
    count: int = 0

    @property
    def known(self) -> bool:
        """True if there is an exponent."""
        return bool(np.isfinite(self.value))

    @property
    def is_zero(self) -> bool:
        """True if the interval holds zero: nothing is known to differ."""
        return not (self.low > 0 or self.high < 0)


def middle(values: np.ndarray) -> Middle:
    """Return the median of what is finite in ``values`` (S,), if that is half of them, and two.

    The interval is the percentile bootstrap's, from the same draws at every call. Source: Efron &
    Tibshirani, *An Introduction to the Bootstrap*, 13.3, as `scipy.stats.bootstrap`.
    """
    from scipy import stats  # here: half a second to import

    known = values[np.isfinite(values)]
    if len(known) < max(2, FEWEST_SEEDS * len(values)):
        return Middle(count=len(known))
    interval = stats.bootstrap(
        (known,),
        np.median,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return Middle(float(np.median(known)), float(interval.low), float(interval.high), len(known))


@dataclass(frozen=True, eq=False)
class Exponent:
    """Slopes over seeds: ``slopes`` (S,), NaN where a seed has too few depths to be fitted.

    ``over_seeds`` is their median. ``depths`` are the least and largest depth that any seed's line
    goes through; ``None`` where there is no median.
    """

    slopes: np.ndarray
    over_seeds: Middle
    depths: tuple[int, int] | None


def exponent(depths: np.ndarray, values: np.ndarray, fitted: np.ndarray) -> Exponent:
    """Fit the exponent of ``values`` (S, L) in ``depths`` (L,) to the points ``fitted`` (S, L).

    These must be positive. Source: Sen (1968), J. Am. Stat. Assoc. 63, 1379, as
    `scipy.stats.theilslopes`.
    """
    from scipy import stats  # here: half a second to import

    enough = fitted.sum(1) >= FEWEST_DEPTHS
    slopes = np.full(len(values), np.nan)
    for seed in np.flatnonzero(enough):
        here = fitted[seed]
        slopes[seed] = stats.theilslopes(np.log(values[seed, here]), np.log(depths[here])).slope
    over_seeds = middle(slopes)
    if not over_seeds.known:
        return Exponent(slopes, over_seeds, None)
    reached = depths[(fitted & enough[:, None]).any(0)]
    return Exponent(slopes, over_seeds, (int(reached[0]), int(reached[-1])))


@dataclass(frozen=True, eq=False)
class Course:
    """The course of a quantity along all depths: one of `COURSES`, and the slopes behind it.

    ``early`` is fitted up to the depth in the middle of the logarithmic axis, ``late`` from half of
    the greatest depth on; ``bend`` is late minus early, seed by seed.
    """

    word: str
    whole: Exponent
    early: Exponent
    late: Exponent
    bend: Middle


def course(depths: np.ndarray, values: np.ndarray, errors: np.ndarray, known: np.ndarray) -> Course:
    """Find the course of ``values`` (S, L), whose ``errors`` are bounds where they are ``known``.

    It *stays zero* where every value is known and within its error; it *hardly changes* where the
    interval of its slope lies within 0.05 of zero, and early and late slopes do; it *shrinks* where
    the interval of its slope lies below zero, it falls at the end too, and did not grow at first
    with certainty; it *saturates* where it grows at first, and its late slope is lower with
    certainty, below half of the early one, and not below zero with certainty; it *grows like a
    power* where the interval of its slope lies above zero, and it does neither saturate nor fall at
    the end. Anything else is *inconclusive*.
    """
    fitted = fittable(values, errors, known)
    centre = depths[np.abs(np.log(depths) - np.log(depths[[0, -1]]).mean()).argmin()]
    whole = exponent(depths, values, fitted)
    early = exponent(depths, values, fitted & (depths <= centre))
    late = exponent(depths, values, fitted & (2 * depths >= depths[-1]))
    bend = middle(late.slopes - early.slopes)
    zero = bool((known & (values <= errors)).all())
    return Course(_word(zero, whole, early, late, bend), whole, early, late, bend)


def fittable(values: np.ndarray, errors: np.ndarray, known: np.ndarray) -> np.ndarray:
    """(S, L): True where a value is known to half of itself and not zero: it can be fitted."""
    with np.errstate(invalid="ignore"):
        return known & (values > 0) & (errors <= FITTABLE * values)


def _word(zero: bool, whole: Exponent, early: Exponent, late: Exponent, bend: Middle) -> str:
    if zero:
        return ZERO
    every, first, last = whole.over_seeds, early.over_seeds, late.over_seeds
    if not every.known:
        return INCONCLUSIVE
    level = max(abs(every.low), abs(every.high)) < LEVEL
    if level and all(abs(part.value) < LEVEL for part in (first, last) if part.known):
        return STEADY
    falls = not last.known or last.value < 0
    if every.high < 0 and falls and not first.low > 0:
        return SHRINKS
    if last.high < 0:
        return INCONCLUSIVE
    if first.low > 0 and last.value < ENDED * first.value and bend.high < 0:
        return SATURATES
    return GROWS if every.low > 0 else INCONCLUSIVE


# --- Curves ---------------------------------------------------------------------------------------

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
