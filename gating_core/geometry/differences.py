"""What do finite differences say of a surface, in float64 or in float32?

Wrong by truncation where the step is large, by rounding where it is small. Shapes: N points, D
outputs. Steps are lengths in the chart.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from gating_core.checks import check_number, check_points
from gating_core.geometry.curvature import curvature
from gating_core.jets.second_order import SecondOrderJet

DIFFERENCE_STEP = 1e-3


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


def difference_jet(
    function: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor,
    step: float = DIFFERENCE_STEP,
    dtype: torch.dtype = torch.float64,
) -> SecondOrderJet:
    """Value, first and second derivatives at ``points`` (N, 2) by central differences.

    Values and differences are computed in ``dtype``, then kept in float64. ``errors`` is
    None: nothing bounds the truncation. Arguments and errors as `central_differences`.
    """
    differences = central_differences(function, points, step, dtype).double()
    return SecondOrderJet(differences.mT.contiguous(), 2)


def difference_curvature(
    function: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor,
    step: float = DIFFERENCE_STEP,
    covariance: object = None,
    dtype: torch.dtype = torch.float64,
) -> torch.Tensor:
    """K (..., N) in float64 from `difference_jet`, by the same formula as the exact one.

    NaN or infinite where the differences of the two tangents vanish.
    """
    return curvature(difference_jet(function, points, step, dtype), covariance).gaussian
