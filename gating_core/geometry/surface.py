"""What is known of a sampled surface: where does it curve, where is it flat, and how sure is that?

The words of the project's verdicts are defined here and nowhere else. Shapes: T frames (versions of
one surface), R x C grid points, D dimensions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.geometry.grid import Grid
from gating_core.geometry.integrals import total_absolute_curvature
from gating_core.jets.second_order import SecondOrderJet, second_order_jet

FLAT_ERROR = 1e-3  # of 1 / diameter^2


@dataclass(frozen=True, eq=False)
class AreaShares:
    """Shares of the surface's area, (T,) each, that add up to one.

    Undecided: |K| is within its error, or the tangent plane is unresolved.
    """

    positive: np.ndarray
    negative: np.ndarray
    undecided: np.ndarray


@dataclass(frozen=True, eq=False)
class SurfaceResult:
    """A sampled surface in T versions, with its curvature and the doubt about it."""

    axis: np.ndarray  # (R,): chart coordinates of rows and columns
    values: np.ndarray  # (T, R, C, D)
    gaussian: np.ndarray  # (T, R, C): K, 1 / length^2
    gaussian_error: np.ndarray  # (T, R, C)
    bound_kind: str
    resolved: np.ndarray  # (T, R, C)
    area_element: np.ndarray  # (T, R, C)
    total: np.ndarray  # (T,): integral of |K| dA
    total_error: np.ndarray  # (T,)
    complete: np.ndarray  # (T,): False where the total is a lower estimate
    shares: AreaShares

    @property
    def flat(self) -> np.ndarray:
        """(T,): whether all points are resolved, |K| is within its error, and that is small.

        Small without units: at half of the points below 1e-3 of 1 / diameter^2. Where errors are
        large |K| is within them, too, and that says nothing.
        """
        within = np.abs(self.gaussian) <= self.gaussian_error
        span = self.values.max((1, 2)) - self.values.min((1, 2))
        typical = np.median(self.gaussian_error, axis=(1, 2)) * (span**2).sum(-1)
        return (within & self.resolved).all((1, 2)) & (typical < FLAT_ERROR)

    @property
    def curved_share(self) -> np.ndarray:
        """(T,): the share of the area on which K is known not to be zero."""
        return self.shares.positive + self.shares.negative

    @property
    def largest_error(self) -> np.ndarray:
        """(T,): the largest error of K among resolved points."""
        return np.where(self.resolved, self.gaussian_error, 0.0).max((1, 2))

    @property
    def unresolved_share(self) -> np.ndarray:
        """(T,): the share of grid points whose tangent plane is unresolved."""
        return 1 - self.resolved.mean((1, 2))


def measure_surface(
    function: Callable[[torch.Tensor], torch.Tensor],
    grid: Grid,
    covariance: object = None,
    bound: str = "rigorous",
) -> SurfaceResult:
    """Sample ``function``, a torch callable (N, 2) -> (..., N, D), on ``grid`` and measure it.

    Leading axes become frames. Errors as in `second_order_jet` and `curvature`.
    """
    jet = second_order_jet(function, grid.points, bound)
    return surface_result(jet, curvature(jet, covariance), grid)


def surface_result(jet: SecondOrderJet, field: CurvatureField, grid: Grid) -> SurfaceResult:
    """What ``jet`` and its curvature ``field`` say about a surface sampled on ``grid``."""
    total = total_absolute_curvature(field, grid.weights)
    shape = tuple(grid.weights.shape)

    def frames(x: torch.Tensor, *rest: int) -> np.ndarray:
        return x.reshape(-1, *shape, *rest).numpy()

    return SurfaceResult(
        axis=grid.axis.numpy(),
        values=frames(jet.value, jet.value.shape[-1]),
        gaussian=frames(field.gaussian),
        gaussian_error=frames(field.gaussian_error),
        bound_kind=field.bound_kind,
        resolved=frames(field.resolved),
        area_element=frames(field.area_element),
        total=total.value.reshape(-1).numpy(),
        total_error=total.error.reshape(-1).numpy(),
        complete=total.complete.reshape(-1).numpy(),
        shares=_shares(field, grid.weights.flatten()),
    )


def _shares(field: CurvatureField, weights: torch.Tensor) -> AreaShares:
    area = torch.nan_to_num(field.area_element) * weights
    decided = field.resolved & ~field.flat
    whole = area.sum(-1)

    def share(where: torch.Tensor) -> np.ndarray:
        part = (area * where).sum(-1) / whole
        return torch.where(whole > 0, part, 0.0).reshape(-1).numpy()

    positive = share(decided & (field.gaussian > 0))
    negative = share(decided & (field.gaussian < 0))
    return AreaShares(positive, negative, 1 - positive - negative)


def known(surface: SurfaceResult) -> np.ndarray:
    """(R, C): K, NaN where the tangent plane is unresolved."""
    return np.where(surface.resolved[0], surface.gaussian[0], np.nan)


def decided(surface: SurfaceResult) -> np.ndarray:
    """(R, C): K, NaN where it is unresolved or within its bound."""
    beyond = np.abs(surface.gaussian[0]) > surface.gaussian_error[0]
    return np.where(beyond, known(surface), np.nan)


def largest(surface: SurfaceResult) -> float:
    """The largest |K| above its bound; 0 where there is none."""
    return float(np.nan_to_num(np.abs(decided(surface))).max())


def gaussian_range(surface: SurfaceResult) -> tuple[float, float, float]:
    """The least and the largest K, and the largest bound."""
    field = known(surface)
    return float(np.nanmin(field)), float(np.nanmax(field)), float(surface.largest_error[0])


def diameter(surface: SurfaceResult) -> float:
    """The largest distance between sampled points, of which it takes every second."""
    points = torch.from_numpy(surface.values[0, ::2, ::2].reshape(-1, surface.values.shape[-1]))
    return float(torch.cdist(points, points).max())
