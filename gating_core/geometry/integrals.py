"""Integrals of curvature over a chart that is sampled on a grid, with their errors.

By the trapezoid rule; `gating_core.geometry.adaptive` refines where a grid would miss ridges. The
integral of K has a second, independent value from first derivatives alone: the holonomy sum adds up
how a tangent frame turns when it is carried round each cell (do Carmo, *Differential Geometry of
Curves and Surfaces*, 4-5). Unresolved points are left out; values are lower estimates then, and
``resolved`` is False.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch

from gating_core.geometry.curvature import (
    CurvatureField,
    FundamentalForm,
    curvature,
    second_fundamental_form,
)
from gating_core.jets.second_order import SecondOrderJet

# --- Holonomy -------------------------------------------------------------------------------------


def loop_holonomy(frames: list[torch.Tensor]) -> torch.Tensor:
    """The integral of K inside a loop of points, from the frames (..., D, 2) met along it.

    Counter-clockwise in the chart; between -pi and pi.
    """
    products = (a.mT @ b for a, b in zip(frames, [*frames[1:], frames[0]], strict=True))
    turns = sum(  # of each frame against the one before, aligned polarly
        torch.atan2(m[..., 1, 0] - m[..., 0, 1], m[..., 0, 0] + m[..., 1, 1]) for m in products
    )
    return -torch.remainder(torch.as_tensor(turns) + torch.pi, 2 * torch.pi) + torch.pi


# --- Integrals on a grid --------------------------------------------------------------------------

QUOTABLE = 0.5  # relative error above which a total is not quoted
CONVERGED = 0.1  # relative error above which a total should be refined


@dataclass(frozen=True, eq=False)
class Integral:
    """An estimate of an integral over a chart, per leading axis: all tensors are (...).

    Attributes:
        value: The estimate.
        error: Of rounding, a bound where the field has bounds; and, where it is known, of the
            discretisation, an estimate.
        resolved: False where points are unresolved and left out, or the function jumps: integrals
            of non-negative quantities are lower estimates, and the error does not cover the rest.
        finished: False where a refinement ended before its tolerance: cells that it should have
            refined further count in full in ``error``.
        points: Sampled by a refinement; ``None`` on a grid.
    """

    value: torch.Tensor
    error: torch.Tensor
    resolved: torch.Tensor
    finished: torch.Tensor = field(default_factory=lambda: torch.tensor(True))
    points: int | None = field(default=None, kw_only=True)

    @property
    def complete(self) -> torch.Tensor:
        """(...): True where no point is left out and no refinement ended early."""
        return self.resolved & self.finished

    def at(self, index: int) -> Integral:
        """The integral at one place of the leading axis."""
        parts = (self.value, self.error, self.resolved, self.finished.expand_as(self.value))
        return Integral(*(part[index] for part in parts), points=self.points)

    def quotable(self) -> torch.Tensor:
        """(...): True where the value is known to half of itself, and may be quoted."""
        return self.error <= QUOTABLE * abs(self.value)

    def converged(self) -> torch.Tensor:
        """(...): True where the value is known to a tenth of itself, and needs no refining."""
        return self.error <= CONVERGED * abs(self.value)


@dataclass(frozen=True, eq=False)
class SurfaceIntegrals:
    """Area, integrals of K, |K|, max(K, 0) and |II|^2 (``bending``), and K once more by holonomy.

    ``notes`` are those of the function's jet.
    """

    area: Integral
    gaussian: Integral
    absolute: Integral
    positive: Integral
    bending: Integral
    holonomy: Integral
    notes: tuple[str, ...] = ()

    def of_flat(self) -> SurfaceIntegrals:
        """Set K and |II| to 0, for a surface in a plane; area and holonomy stay as measured."""
        value = torch.zeros_like(self.absolute.value)
        zero = Integral(value, value, torch.ones_like(self.absolute.resolved))
        return replace(self, gaussian=zero, absolute=zero, positive=zero, bending=zero)


# Densities per unit of area, from a field: name -> function to (density, error).
DENSITIES: dict[str, Callable[[CurvatureField], tuple[torch.Tensor, torch.Tensor]]] = {
    "area": lambda x: (torch.ones_like(x.gaussian), torch.zeros_like(x.gaussian)),
    "gaussian": lambda x: (x.gaussian, x.gaussian_error),
    "absolute": lambda x: (x.gaussian.abs(), x.gaussian_error),
    "positive": lambda x: (x.gaussian.clamp(min=0), x.gaussian_error),
    "bending": lambda x: (x.bending, x.bending_error),
}
BENDING_OF_CURVATURE = 2  # |II|^2 >= 2 |K|: what is missed of one is missed of the other


def total_absolute_curvature(field: CurvatureField, weights: torch.Tensor) -> Integral:
    """The integral of |K| dA: free of units, and the same in every chart of the same region.

    ``weights`` are quadrature weights over the chart, (R, C) with R C = N for a grid with points
    in row order, or (N,) for scattered points, where no discretisation error is known and the
    error covers rounding only. ``ValueError`` when the sizes do not match.
    """
    return grid_integral("absolute", field, weights)


def unseen_curvature(
    form: FundamentalForm, field: CurvatureField, weights: torch.Tensor
) -> torch.Tensor:
    """(...): difference of the integral of |K| dA by holonomy and by the points of a grid.

    Holonomy sees curvature between the points, unless its sign changes within a cell. ``form`` and
    ``field`` are of one jet in one metric; ``weights`` (R, C) are the trapezoid rule's.
    """
    frame = form.frame.unflatten(-3, tuple(weights.shape))
    density, _ = density_of("absolute", field)
    return (_holonomies(frame).abs().sum((-2, -1)) - (density * weights.flatten()).sum(-1)).abs()


def grid_integrals(
    jet: SecondOrderJet, weights: torch.Tensor, covariance: object = None
) -> SurfaceIntegrals:
    """All integrals of a jet sampled on a grid with trapezoid ``weights`` (R, C), both odd.

    Errors are rounding plus the change from every second point to every point.
    """
    field = curvature(jet, covariance)
    frame = second_fundamental_form(jet, covariance).frame
    weights = torch.as_tensor(weights, dtype=torch.float64)
    values = {name: grid_integral(name, field, weights) for name in DENSITIES}
    frame = frame.unflatten(-3, tuple(weights.shape))
    fine, coarse = (_holonomies(frame[..., ::s, ::s, :, :]).sum((-2, -1)) for s in (1, 2))
    rounding = 100 * frame.shape[-2] * weights.numel() * torch.finfo(torch.float64).eps
    holonomy = Integral(fine, (fine - coarse).abs() + rounding, values["gaussian"].resolved)
    return SurfaceIntegrals(**values, holonomy=holonomy, notes=jet.notes)


def grid_integral(name: str, field: CurvatureField, weights: torch.Tensor) -> Integral:
    """The integral of one of `DENSITIES`; ``weights`` as for `total_absolute_curvature`.

    That of ``"bending"`` is free of units as well, and at least twice that of |K|: 4 pi on a
    hemisphere of any radius, area / r^2 on a cylinder of radius r, 0 on planes alone.
    """
    weights = torch.as_tensor(weights, dtype=torch.float64)
    count = field.gaussian.shape[-1]
    if weights.ndim not in (1, 2) or weights.numel() != count:
        raise ValueError(
            f"weights has shape {tuple(weights.shape)}; it must hold {count} weights, one a point"
        )
    if not weights.isfinite().all():
        raise ValueError("weights contains NaN or infinite values; all must be finite")
    density, doubt = density_of(name, field)
    value = (density * weights.flatten()).sum(-1)
    error = (doubt * weights.flatten()).sum(-1)
    if weights.ndim == 2:
        error = error + (value - _every_second(density, weights)).abs()
    # What lies at a jump is at no point.
    return Integral(value, error, field.resolved.all(-1) & (not field.jumps))


def density_of(name: str, field: CurvatureField) -> tuple[torch.Tensor, torch.Tensor]:
    """A density per unit of chart area and its rounding error, zero at unresolved points."""
    density, error = DENSITIES[name](field)
    doubt = error * (field.area_element + field.area_error) + density.abs() * field.area_error
    return (
        torch.where(field.resolved, density * field.area_element, 0.0),
        torch.where(field.resolved, doubt, 0.0),
    )


def _every_second(density: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The integral over every second row and column; the grid's end points must be among them."""
    rows, columns = weights.shape
    if rows % 2 == 0 or columns % 2 == 0 or min(rows, columns) < 3:
        raise ValueError(f"weights has shape {(rows, columns)}; both sizes must be odd, at least 3")
    grid = density.unflatten(-1, (rows, columns))[..., ::2, ::2]
    # Trapezoid weights factor into rows and columns; on every second point each factor doubles.
    return (grid * (4 * weights[::2, ::2])).sum((-2, -1))


def _holonomies(frame: torch.Tensor) -> torch.Tensor:
    """(..., R - 1, C - 1), of all cells of a grid of frames (..., R, C, D, 2); 0 if unresolved."""
    a, b = frame[..., :-1, :-1, :, :], frame[..., :-1, 1:, :, :]
    c, d = frame[..., 1:, 1:, :, :], frame[..., 1:, :-1, :, :]
    return torch.nan_to_num(loop_holonomy([a, b, c, d]))
