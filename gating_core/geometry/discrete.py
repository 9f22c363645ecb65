"""Curvature by discretisation: finite differences, and the paper's proxy.

Differences are wrong by truncation where the step is large, by rounding where it is small, and
error curves show both. Shapes: N points, D outputs, R x C grid points, M steps. Steps are lengths
in the chart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.checks import check_number, check_points
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import SecondOrderJet, second_order_jet

# --- Finite differences ---------------------------------------------------------------------------

DIFFERENCE_STEP = 1e-3
DIFFERENCE_STEPS = tuple(float(f"{10 ** (i / 3):.3g}") for i in range(-18, -2))  # 1e-6 to 1e-1
COMPARED = square_grid(21, -0.9, 0.9).points  # none of these steps leads out of the chart
HIGH_QUANTILE = 0.95


def central_differences(
    function: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor,
    step: float,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """(6, ..., N, D): the value and its differences u, v, uu, uv, vv, in the order of a jet.

    From nine values round each point of ``points`` (N, 2), all in ``dtype``; ``function`` is a
    torch callable (N, 2) -> (..., N, D). ``ValueError`` for a step that is not between 1e-8 and 1,
    and for wrong shapes. Source: Abramowitz & Stegun, section 25.3.
    """
    check_number("step", step, 1e-8, 1.0)
    points = check_points(points).to(dtype)
    if points.shape[1] != 2:
        raise ValueError(f"points has shape {tuple(points.shape)}; it must be (N, 2)")
    h = torch.tensor([[step, 0.0], [0.0, step]], dtype=dtype)

    def at(i: int, j: int) -> torch.Tensor:
        return function(points + i * h[0] + j * h[1])

    middle = at(0, 0)
    if middle.ndim < 2 or middle.shape[-2] != len(points):
        raise ValueError(
            f"function returned shape {tuple(middle.shape)} for {len(points)} points; it must be"
            f" (..., {len(points)}, D)"
        )
    east, west, north, south = at(1, 0), at(-1, 0), at(0, 1), at(0, -1)
    uu = (east - 2 * middle + west) / step**2
    vv = (north - 2 * middle + south) / step**2
    uv = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / (4 * step**2)
    u, v = (east - west) / (2 * step), (north - south) / (2 * step)
    return torch.stack([middle, u, v, uu, uv, vv])


def difference_curvature(
    function: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor,
    step: float = DIFFERENCE_STEP,
    covariance: object = None,
) -> torch.Tensor:
    """K (..., N) in float64 from `central_differences`, by the same formula as the exact one.

    NaN or infinite where the differences of the two tangents vanish. Arguments and errors as there.
    """
    differences = central_differences(function, points, step)
    return curvature(SecondOrderJet(differences.mT.contiguous(), 2), covariance).gaussian


@dataclass(frozen=True, eq=False)
class ErrorCurve:
    """The error of a method over M steps or grid spacings ``x``, in chart lengths.

    ``median`` and ``high``, the 95 % quantile, are over points; infinite where that many points
    have no value, NaN where no point is resolved.
    """

    x: np.ndarray  # (M,)
    median: np.ndarray  # (M,)
    high: np.ndarray  # (M,)


def error_curve(x: Sequence[float], errors: Sequence[np.ndarray]) -> ErrorCurve:
    """Summarise ``errors`` (P,), one array for each of ``x``; NaN counts as infinitely wrong."""
    rows = np.full((len(errors), 2), np.nan)
    for row, error in zip(rows, errors, strict=True):
        if error.size:  # inverted_cdf picks samples, and so averages no infinity
            error = np.where(np.isnan(error), np.inf, error)
            row[:] = np.quantile(error, (0.5, HIGH_QUANTILE), method="inverted_cdf")
    return ErrorCurve(np.array(x), *rows.T)


def difference_errors(
    function: Callable[[torch.Tensor], torch.Tensor],
    covariance: object = None,
    steps: Sequence[float] = DIFFERENCE_STEPS,
) -> ErrorCurve:
    """Return the error of `difference_curvature`, 1 / length^2, over ``steps`` up to 0.1.

    Compared with exact derivatives at the resolved ones of 21 x 21 points. ``function`` is a torch
    callable (N, 2) -> (N, D) or (1, N, D); ``ValueError`` for several surfaces.
    """
    field = curvature(second_order_jet(function, COMPARED, "rigorous"), covariance)
    if field.gaussian.numel() != len(COMPARED):
        count = field.gaussian.numel() // len(COMPARED)
        raise ValueError(f"function returned {count} surfaces; it must be one")
    gaps = (
        difference_curvature(function, COMPARED, step, covariance) - field.gaussian
        for step in steps
    )
    return error_curve(steps, [gap[field.resolved].abs().numpy() for gap in gaps])


# --- The proxy ------------------------------------------------------------------------------------

PROXY_STEP = 1e-4  # the best in float64; in float32 it is 0.01 to 0.02


@dataclass(frozen=True, eq=False)
class Proxy:
    """The mean proxy (...), the same divided by the Jacobian's norm, and per point (..., N)."""

    mean: torch.Tensor
    normalised: torch.Tensor
    per_point: torch.Tensor
    step: float


def paper_proxy(
    function: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor,
    step: float = PROXY_STEP,
    dtype: torch.dtype = torch.float64,
) -> Proxy:
    """(|D_uu|^2 + 2 |D_uv|^2 + |D_vv|^2)^1/2 of central differences with ``step``, averaged.

    ``function`` is a torch callable (N, 2) -> (..., N, D), evaluated in ``dtype``. The second
    number divides by the norm of the Jacobian (central differences, too): that removes the
    output's scale only. ``ValueError`` for a step that is not between 1e-8 and 1.
    """
    _, u, v, uu, uv, vv = central_differences(function, points, step, dtype)
    return _proxy((uu, uv, vv), (u, v), step)


def proxy_limit(jet: SecondOrderJet) -> Proxy:
    """Compute the limit of `paper_proxy` for a step of zero, from exact derivatives."""
    first, second = jet.first, jet.second
    seconds = (second[..., 0, 0], second[..., 0, 1], second[..., 1, 1])
    return _proxy(seconds, (first[..., 0], first[..., 1]), 0.0)


def _proxy(seconds: tuple, firsts: tuple, step: float) -> Proxy:
    uu, uv, vv = (x.square().sum(-1) for x in seconds)
    per_point = (uu + 2 * uv + vv).sqrt()
    jacobian = sum(x.square().sum(-1) for x in firsts).sqrt()
    return Proxy(per_point.mean(-1), (per_point / jacobian).mean(-1), per_point, step)
