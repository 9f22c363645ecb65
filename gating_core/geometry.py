"""The curvature of a surface, from its derivatives: knows no model, only jets.

Shapes: N points, D outputs; leading axes (seeds) pass through. The metric is the Fisher-Rao
metric of Gaussians N(y, Sigma) with fixed covariance, pulled back: g = J^T Sigma^-1 J.

Gaussian curvature by the Gauss equation in any codimension, with the normal parts n_ab of the
second derivatives: K = (<n_uu, n_vv> - |n_uv|^2) / det g (do Carmo, *Riemannian Geometry*,
chapter 6). The tangent frame comes from a pivoted, re-orthogonalised Gram-Schmidt process: the
textbook formula in g_ab and its derivatives loses seven digits more on flat surfaces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gating_core.jets import SecondOrderJet

TILT_LIMIT = 0.1  # radians: above it the tangent plane is not known and the point is unresolved
TILT_FACTOR = 1e3 * torch.finfo(torch.float64).eps


@dataclass(frozen=True, eq=False)
class CurvatureField:
    """Curvature at N points; every tensor is (..., N), float64, unless another shape is given.

    ``gaussian`` K and its ``gaussian_error`` (1 / length^2); ``mean_norm`` |H|, H half the trace
    of the second fundamental form (1 / length); ``area_element`` sqrt(det g); ``frame``
    (..., N, D, 2) an orthonormal basis of the tangent plane; ``resolved`` whether that plane is
    known to better than 0.1 rad. Where it is not, K means nothing and may be NaN.
    ``bound_kind`` says what the error is: "estimate".
    """

    gaussian: torch.Tensor
    gaussian_error: torch.Tensor
    mean_norm: torch.Tensor
    area_element: torch.Tensor
    frame: torch.Tensor
    resolved: torch.Tensor
    bound_kind: str

    @property
    def flat(self) -> torch.Tensor:
        """Whether |K| is within its error: nothing here says that the surface curves."""
        return self.gaussian.abs() <= self.gaussian_error


def curvature(jet: SecondOrderJet, covariance: object = None) -> CurvatureField:
    """Curvature of the surface that ``jet`` (k = 2) samples, in the metric of ``covariance``.

    ``covariance`` is None (the identity), a positive number, D positive variances, or a symmetric
    positive definite (D, D) matrix. The error is an estimate: the tangent plane tilts by
    t = 1e3 eps / sin(angle of y_u and y_v), second derivatives err by t |y_ab|. ``ValueError``
    for jets of three coordinates and for anything else as covariance.
    """
    if jet.k != 2:
        raise ValueError(f"jet has k = {jet.k} coordinates; Gaussian curvature needs k = 2")
    y_u, y_v = jet.d(0), jet.d(1)
    seconds = [jet.dd(0, 0), jet.dd(0, 1), jet.dd(1, 1)]
    if covariance is not None:
        whiten = whitening(covariance, y_u.shape[-1])
        y_u, y_v = y_u @ whiten, y_v @ whiten
        seconds = [y @ whiten for y in seconds]

    swap = (_dot(y_v, y_v) > _dot(y_u, y_u)).unsqueeze(-1)  # pivot: the longer tangent first
    long, short = torch.where(swap, y_v, y_u), torch.where(swap, y_u, y_v)
    r11 = _norm(long)
    e1 = long / r11.unsqueeze(-1)
    rest = short
    for _ in range(2):  # once more: the first pass leaves an error relative to `short`
        rest = rest - _dot(e1, rest).unsqueeze(-1) * e1
    r22 = _norm(rest)
    e2 = rest / r22.unsqueeze(-1)
    e2 = e2 - _dot(e1, e2).unsqueeze(-1) * e1
    sine = r22 / _norm(short)
    tilt = torch.nan_to_num(TILT_FACTOR / sine, nan=torch.inf)

    uu, uv, vv = (_remove(_remove(y, e1, e2), e1, e2) for y in seconds)
    det = (r11 * r22).square()
    gaussian = (_dot(uu, vv) - _dot(uv, uv)) / det

    d_uu, d_uv, d_vv = (tilt * _norm(y) for y in seconds)
    spread = _norm(uu) * d_vv + _norm(vv) * d_uu + 2 * _norm(uv) * d_uv + d_uu * d_vv + d_uv**2
    error = spread / det + 4 * gaussian.abs() * tilt

    # The second fundamental form in the orthonormal frame, for the mean curvature vector.
    first, last = torch.where(swap, vv, uu), torch.where(swap, uu, vv)
    slope = (_dot(e1, short) / r11).unsqueeze(-1)
    h11 = first / r11.square().unsqueeze(-1)
    h22 = (last - 2 * slope * uv + slope.square() * first) / r22.square().unsqueeze(-1)
    return CurvatureField(
        gaussian=gaussian,
        gaussian_error=error,
        mean_norm=_norm(h11 + h22) / 2,
        area_element=r11 * r22,
        frame=torch.stack([e1, e2], -1),
        resolved=(tilt < TILT_LIMIT) & gaussian.isfinite(),
        bound_kind="estimate",
    )


def whitening(covariance: object, dim: int) -> torch.Tensor:
    """(D, D): the matrix W with W W^T = covariance^-1, so that rows y @ W have unit covariance.

    ``ValueError`` unless ``covariance`` is a positive number, D positive numbers or a symmetric
    positive definite (D, D) matrix.
    """
    sigma = torch.as_tensor(np.asarray(covariance), dtype=torch.float64)
    wanted = f"a positive number, {dim} positive numbers or a symmetric positive definite matrix"
    if sigma.ndim == 0:
        sigma = sigma.expand(dim)
    if sigma.shape == (dim,):
        if not (sigma.isfinite().all() and (sigma > 0).all()):
            raise ValueError(f"covariance has an entry that is not positive; it must be {wanted}")
        return torch.diag(sigma.rsqrt())
    if sigma.shape != (dim, dim):
        raise ValueError(f"covariance has shape {tuple(sigma.shape)}; it must be {wanted}")
    factor, failed = torch.linalg.cholesky_ex(sigma)
    if failed or not torch.allclose(sigma, sigma.T, rtol=1e-12, atol=0):
        raise ValueError(f"covariance is not symmetric positive definite; it must be {wanted}")
    eye = torch.eye(dim, dtype=torch.float64)
    return torch.linalg.solve_triangular(factor, eye, upper=False).T


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum(-1)


def _norm(a: torch.Tensor) -> torch.Tensor:
    return torch.linalg.vector_norm(a, dim=-1)


def _remove(y: torch.Tensor, e1: torch.Tensor, e2: torch.Tensor) -> torch.Tensor:
    """``y`` without its components along the orthonormal e1 and e2."""
    y = y - _dot(e1, y).unsqueeze(-1) * e1
    return y - _dot(e2, y).unsqueeze(-1) * e2
