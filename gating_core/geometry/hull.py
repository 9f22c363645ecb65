"""The dimension of the flat space that a sampled manifold fills, by numerical rank."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, eq=False)
class AffineHull:
    """``dimension`` of the affine hull of values in R^``ambient``.

    ``spreads`` are the singular values of the centred sample, largest first; those above
    ``tolerance`` count.
    """

    dimension: int
    ambient: int
    spreads: torch.Tensor
    tolerance: float


def affine_hull(values: torch.Tensor, relative_tolerance: float | None = None) -> AffineHull:
    """The affine hull of ``values`` (N, D).

    The tolerance is relative to the largest spread, by default max(N, D) eps: the usual one of
    numerical rank (Golub & Van Loan, *Matrix Computations*, 4th ed., section 5.4.1). For the
    manifold of all attention weights give the value vectors themselves: a sample near one of
    them has a smaller hull. ``ValueError`` unless values are finite and (N, D) with N > 0.
    """
    values = torch.as_tensor(values, dtype=torch.float64)
    if values.ndim != 2 or not len(values) or not values.isfinite().all():
        raise ValueError(
            f"values has shape {tuple(values.shape)}; it must be (N, D), N > 0, all finite"
        )
    count, ambient = values.shape
    centred = values - values.mean(0)
    spreads = torch.linalg.svdvals(centred)
    if relative_tolerance is None:
        relative_tolerance = max(count, ambient) * torch.finfo(torch.float64).eps
    # Centring itself rounds relative to the values' size, not to their spread.
    floor = values.abs().max() * torch.finfo(torch.float64).eps * (count * ambient) ** 0.5
    tolerance = max(relative_tolerance * float(spreads[0]), float(floor))
    return AffineHull(int((spreads > tolerance).sum()), ambient, spreads, tolerance)
