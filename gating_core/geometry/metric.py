"""Metrics: a covariance, and the matrix that whitens it."""

from __future__ import annotations

import numpy as np
import torch

from gating_core.jets.bounded import Bounded

Matrix = tuple[tuple[float, ...], ...]
ASYMMETRY = 1e-12  # of a covariance, relative to the standard deviations: rounding


class Whitening:
    """A map of derivatives into coordinates in which the covariance is the identity."""

    def __init__(self, covariance: object, dim: int) -> None:
        self.matrix = whitening(covariance, dim)
        sigma = torch.as_tensor(np.asarray(covariance), dtype=torch.float64)
        full = torch.diag(sigma.expand(dim)) if sigma.ndim < 2 else sigma
        # How far W^T Sigma W is from the identity, rounding of this product included.
        tracked = Bounded(self.matrix.T) @ Bounded(full) @ Bounded(self.matrix)
        gap = tracked - torch.eye(dim, dtype=torch.float64)
        self.gap = float(torch.linalg.matrix_norm(gap.magnitude + gap.bound))

    def __call__(
        self, derivatives: torch.Tensor, errors: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Whitened derivatives (5, ..., D, n) and their errors."""
        moved = self.matrix.T @ derivatives
        if errors is None:
            return moved, None
        tracked = Bounded(self.matrix.T) @ Bounded(derivatives, errors)
        return moved, tracked.bound + self.drift * moved.square().sum(-2, keepdim=True).sqrt()

    @property
    def drift(self) -> float:
        """The largest error of a whitened vector, relative to its length.

        Sigma^-1 = W (1 + E)^-1 W^T: the exact coordinates are (1 + E)^-1/2 times the computed.
        """
        return self.gap / (1 - self.gap) if self.gap < 1 else torch.inf


def whitening(covariance: object, dim: int) -> torch.Tensor:
    """(D, D): the matrix W with W W^T = covariance^-1, so that rows y @ W have unit covariance.

    ``ValueError`` unless ``covariance`` is a positive number, D positive numbers or a symmetric
    positive definite (D, D) matrix.
    """
    allowed = f"a positive number, {dim} positive numbers or a symmetric positive definite matrix"
    try:
        sigma = torch.as_tensor(np.asarray(covariance), dtype=torch.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"covariance is {covariance!r}; it must be {allowed}") from error
    if sigma.ndim == 0:
        sigma = sigma.expand(dim)
    if sigma.shape == (dim,):
        if not (sigma.isfinite().all() and (sigma > 0).all()):
            raise ValueError(f"covariance has an entry that is not positive; it must be {allowed}")
        return torch.diag(sigma.rsqrt())
    if sigma.shape != (dim, dim):
        raise ValueError(f"covariance has shape {tuple(sigma.shape)}; it must be {allowed}")
    factor, failed = torch.linalg.cholesky_ex(sigma)
    sizes = sigma.diagonal().clamp_min(0).sqrt()  # of which an entry may be a small difference
    if failed or ((sigma - sigma.T).abs() > ASYMMETRY * torch.outer(sizes, sizes)).any():
        raise ValueError(f"covariance is not symmetric positive definite; it must be {allowed}")
    eye = torch.eye(dim, dtype=torch.float64)
    return torch.linalg.solve_triangular(factor, eye, upper=False).T


def whitened(values: torch.Tensor, covariance: object) -> torch.Tensor:
    """(..., N, D): ``values`` in coordinates in which the covariance is the identity."""
    return values if covariance is None else values @ whitening(covariance, values.shape[-1])
