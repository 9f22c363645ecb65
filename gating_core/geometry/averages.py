"""Total curvature of softmax averages of fixed vectors, in closed form.

One layer of ungated attention over learned slots draws y = Σ wᵢ vᵢ, where w = softmax(l) and the n
logits l are affine in the chart. Where the softmax is saturated its derivatives are of very
different sizes, and K from them is lost in rounding. In homogeneous coordinates y is Σ exp(lᵢ)
(1, vᵢ), whose derivatives only multiply the terms by slopes, so that by Cauchy and Binet

    y_u ∧ y_v        = Σ wᵢ wⱼ wₖ det(1, p)_ijk F_ijk
    y_u ∧ y_v ∧ y_ab = Σ wᵢ wⱼ wₖ wₗ det(1, p, p_a p_b)_ijkl G_ijkl

with the slopes p of the logits, the parallelograms F of three vectors and the parallelepipeds G of
four. Nothing there is a small difference of large numbers but where faces cancel. K dA follows by
Gauss's equation: (⟨A_uu, A_vv⟩ − |A_uv|²) / |T|³ du dv, where T is the first sum and A are the
second ones. For n = 4 there is one G: the sign of K is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import torch

from gating_core.geometry.grid import square_grid
from gating_core.geometry.integrals import Integral

FIRST_SIDE, LAST_SIDE = 63, 993  # points along each side of the grids: the second after doublings
PART_POINTS = 20_000  # evaluated at a time


@dataclass(frozen=True, eq=False)
class SoftmaxAverage:
    """y = softmax(points @ ``slopes`` + ``offsets``) @ ``vectors``, points in [-1, 1]^2.

    ``slopes`` (2, n), ``offsets`` (n,), ``vectors`` (n, D); n and D above 2.
    """

    slopes: torch.Tensor
    offsets: torch.Tensor
    vectors: torch.Tensor

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(N, D) of points (N, 2): the same surface for methods that take any function."""
        return (points @ self.slopes + self.offsets).softmax(-1) @ self.vectors

    def curvature_density(self, points: torch.Tensor) -> torch.Tensor:
        """(N,): K sqrt(det g), whose integral over the chart is that of K dA."""
        logs = (points @ self.slopes + self.offsets).log_softmax(-1)
        one, (u, v) = torch.ones_like(self.offsets), self.slopes
        # An isometry of the vectors' affine hull: fewer components, the same lengths.
        edges = torch.linalg.qr((self.vectors[1:] - self.vectors[0]).T).R.T
        vectors = torch.cat([torch.zeros_like(edges[:1]), edges])
        parallelograms, three = _sums(logs, vectors, [torch.stack([one, u, v])])
        second = [torch.stack([one, u, v, x]) for x in (u * u, u * v, v * v)]
        solids, four = _sums(logs, vectors, second)
        uu, uv, vv = solids
        size = torch.linalg.vector_norm(parallelograms[0], dim=-1)
        return ((uu * vv).sum(-1) - (uv * uv).sum(-1)) / size**3 * (2 * four - 3 * three).exp()

    def total_absolute_curvature(self, relative_tolerance: float = 1e-3) -> Integral:
        """Integrate |K| dA over the chart by the trapezoid rule, on grids of doubled sides.

        ``error`` is the change by the last doubling, an estimate; grids end where it is below the
        tolerance, or with 993 points along a side. ``complete`` is true: the closed form has no
        unresolved points.
        """
        side, before = FIRST_SIDE, torch.tensor(torch.inf, dtype=torch.float64)
        while True:
            grid = square_grid(side)
            parts = grid.points.split(PART_POINTS)
            density = torch.cat([self.curvature_density(part) for part in parts])
            value = (density.abs() * grid.weights.flatten()).sum()
            error = (value - before).abs()
            if error <= relative_tolerance * value or side >= LAST_SIDE:
                return Integral(value, error, torch.tensor(True))
            side, before = 2 * side - 1, value


def _sums(
    logs: torch.Tensor, vectors: torch.Tensor, rows: list[torch.Tensor]
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """The sums over all k-subsets of slots, (N, C) for each of ``rows`` (k, n), times exp of (N,).

    A term is the product of its weights, exp of ``logs`` (N, n), the determinant of its columns of
    the rows, and the (k - 1)-vector of its ``vectors`` (n, d), of C components.
    """
    order = len(rows[0])
    subsets = torch.tensor(list(combinations(range(len(vectors)), order)))
    edges = vectors[subsets[:, 1:]] - vectors[subsets[:, :1]]  # (M, k - 1, d)
    axes = torch.tensor(list(combinations(range(vectors.shape[-1]), order - 1)))
    minors = torch.linalg.det(edges[:, :, axes].movedim(2, 1))  # (M, C)
    products = logs[:, subsets].sum(-1)
    largest = products.amax(-1)
    terms = (products - largest[:, None]).exp()
    sums = [(terms * torch.linalg.det(row[:, subsets].movedim(0, 1))) @ minors for row in rows]
    return sums, largest
