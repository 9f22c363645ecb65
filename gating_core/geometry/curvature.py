"""The curvature of a surface, from the jet of any function.

Shapes: N points, D outputs; leading axes (seeds) pass through. The metric is the Fisher-Rao
metric of Gaussians N(y, Sigma) with fixed covariance, pulled back: g = J^T Sigma^-1 J.

Gaussian curvature by the Gauss equation in any codimension, with the normal parts n_ab of the
second derivatives: K = (<n_uu, n_vv> - |n_uv|^2) / det g (do Carmo, *Riemannian Geometry*,
chapter 6). The tangent frame comes from a pivoted, re-orthogonalised Gram-Schmidt process: the
textbook formula in g_ab and its derivatives loses seven digits more on flat surfaces.

Bending is |II|^2, the squared norm of the second fundamental form in the metric, the sum of all
four squared entries in an orthonormal frame. Twice H is its trace, so that |II|^2 = 4 |H|^2 - 2 K
in any codimension; because |II|^2 >= 2 |K|, that difference never cancels.

The errors of K and of |II|^2 follow from those of the tangent plane and of the second derivatives.
All are bounds where the jet has bounds, and estimates where it has none; see `_curvature`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from gating_core.jets.blocks import even, one_thread, shared
from gating_core.jets.bounded import INFLATION, TINY, Bounded, U
from gating_core.jets.second_order import SecondOrderJet

# --- Metrics: a covariance, and the matrix that whitens it ----------------------------------------

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
        off = tracked - torch.eye(dim, dtype=torch.float64)
        gap = float(torch.linalg.matrix_norm(off.magnitude + off.bound))
        # The largest error of a whitened vector, relative to its length: Sigma^-1 is
        # W (1 + E)^-1 W^T, and the exact coordinates (1 + E)^-1/2 times the computed ones.
        self.drift = gap / (1 - gap) if gap < 1 else torch.inf

    def __call__(
        self, derivatives: torch.Tensor, errors: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Whitened derivatives (5, ..., D, n) and their errors."""
        moved = self.matrix.T @ derivatives
        if errors is None:
            return moved, None
        tracked = Bounded(self.matrix.T) @ Bounded(derivatives, errors)
        return moved, tracked.bound + self.drift * moved.square().sum(-2, keepdim=True).sqrt()


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


# --- Curvature ------------------------------------------------------------------------------------

TANGENT_ERROR_LIMIT = 0.1  # radians: above it the point is unresolved
TANGENT_ERROR_FACTOR = 1e3 * torch.finfo(torch.float64).eps
BLOCK_NUMBERS = 120_000  # of one derivative: smaller blocks cost more in calls than a cache saves


@dataclass(frozen=True, eq=False)
class CurvatureField:
    """Curvature at N points; every tensor is (..., N), float64.

    ``gaussian`` K and its ``gaussian_error`` (1 / length^2); ``mean_norm`` |H|, H half the trace
    of the second fundamental form (1 / length); ``bending`` |II|^2, the squared norm of all of that
    form, and ``bending_error`` (1 / length^2); ``area_element`` sqrt(det g) and ``area_error``;
    ``tangent_error``, the angle in radians by which the tangent plane may be off, and ``resolved``,
    True where that is below 0.1; at other points all else is meaningless, and may be NaN.
    ``bound_kind`` is "rigorous" if every error is a bound, else "estimate". ``notes`` and ``jumps``
    are those of the jet.
    """

    gaussian: torch.Tensor
    gaussian_error: torch.Tensor
    mean_norm: torch.Tensor
    bending: torch.Tensor
    bending_error: torch.Tensor
    area_element: torch.Tensor
    area_error: torch.Tensor
    tangent_error: torch.Tensor
    resolved: torch.Tensor
    bound_kind: str
    notes: tuple[str, ...] = ()
    jumps: tuple[str, ...] = ()

    @property
    def flat(self) -> torch.Tensor:
        """True where |K| is within its error."""
        return self.gaussian.abs() <= self.gaussian_error

    @property
    def decided(self) -> torch.Tensor:
        """True where the sign of K is known: a resolved point whose |K| exceeds its error."""
        return self.resolved & ~self.flat

    @property
    def sign(self) -> torch.Tensor:
        """The sign of K where it is known, 0 where |K| is within its error, NaN if unresolved."""
        sign = torch.where(self.flat, 0.0, self.gaussian.sign())
        return torch.where(self.resolved, sign, torch.nan)

    @property
    def bends(self) -> torch.Tensor:
        """True where II is known not to vanish: a resolved point whose |II|^2 exceeds its error."""
        return self.resolved & (self.bending > self.bending_error)


def curvature(jet: SecondOrderJet, covariance: object = None) -> CurvatureField:
    """Compute the curvature of the surface that ``jet`` (k = 2) samples.

    ``covariance`` gives the metric: None (the identity), a positive number, D positive variances,
    or a symmetric positive definite (D, D) matrix. Errors are bounds if the jet carries bounds,
    otherwise an estimate: the error of the tangent plane is t = 1e3 eps / sin(angle of y_u and
    y_v), second derivatives err by t |y_ab|. ``ValueError`` for jets of three coordinates and for
    any other covariance.
    """
    gaussian, *_, angle = fields = _by_blocks(_curvature, jet, covariance)
    # Derivatives can be finite where the value is not: log of a negative number.
    resolved = (angle < TANGENT_ERROR_LIMIT) & gaussian.isfinite() & jet.stack[0].sum(-2).isfinite()
    whole: Any = (*fields, resolved, jet.bound_kind, jet.notes, jet.jumps)
    return CurvatureField(*whole)


@dataclass(frozen=True, eq=False)
class FundamentalForm:
    """The second fundamental form in an orthonormal tangent frame, at N points.

    ``frame`` (..., N, D, 2), oriented as (y_u, y_v), and its ``tangent_error`` (..., N) in radians;
    ``second_form`` (..., N, D, 3), the entries 11, 12, 22, and ``second_form_error`` (..., N, 3),
    in norm; ``mean_vector`` H (..., N, D), half the trace, and ``mean_error`` (..., N). Unit
    1 / length.
    """

    frame: torch.Tensor
    tangent_error: torch.Tensor
    second_form: torch.Tensor
    second_form_error: torch.Tensor
    mean_vector: torch.Tensor
    mean_error: torch.Tensor
    bound_kind: str

    @property
    def norm(self) -> torch.Tensor:
        """(..., N): |II|, the root of the sum of all four squared entries; 0 where planar."""
        h11, h12, h22 = self.second_form.square().sum(-2).unbind(-1)
        return (h11 + 2 * h12 + h22).sqrt()

    @property
    def norm_error(self) -> torch.Tensor:
        """(..., N): the error of |II|."""
        e11, e12, e22 = self.second_form_error.square().unbind(-1)
        slack = self.norm * 64 * U
        return ((e11 + 2 * e12 + e22).sqrt() + slack) * INFLATION

    def principal_curvatures(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The two principal curvatures (..., N, 2), larger first, and their error (..., N).

        For D = 3 only. They are the eigenvalues of the second fundamental form along the normal
        e1 x e2, in the form that is exact at umbilics, not H +- sqrt(H^2 - K). ``ValueError``
        for other D.
        """
        if self.frame.shape[-2] != 3:
            raise ValueError(f"D is {self.frame.shape[-2]}; principal curvatures need D = 3")
        normal = torch.linalg.cross(self.frame[..., 0], self.frame[..., 1])
        a, b, c = (normal.unsqueeze(-1) * self.second_form).sum(-2).unbind(-1)
        spread = torch.hypot((a - c) / 2, b)
        middle = (a + c) / 2
        size = torch.linalg.vector_norm(self.second_form, dim=-2).sum(-1)
        slack = size * (self.tangent_error + 64 * U)  # the normal's own error, and this rounding
        error = self.norm_error + slack * INFLATION
        return torch.stack([middle + spread, middle - spread], -1), error


def second_fundamental_form(jet: SecondOrderJet, covariance: object = None) -> FundamentalForm:
    """Compute second fundamental form and mean curvature vector; arguments as `curvature`."""
    frame, angle, form, form_error, mean, mean_error = _by_blocks(_forms, jet, covariance)
    return FundamentalForm(
        frame=frame.mT.movedim(0, -1),
        tangent_error=angle,
        second_form=form.mT.movedim(0, -1),
        second_form_error=form_error.movedim(0, -1),
        mean_vector=mean.mT,
        mean_error=mean_error,
        bound_kind=jet.bound_kind,
    )


def _by_blocks(work: Callable, jet: SecondOrderJet, covariance: object) -> list[torch.Tensor]:
    """Apply ``work`` to blocks of (whitened) derivatives, points last, and join the results."""
    if jet.k != 2:
        raise ValueError(f"jet has k = {jet.k} coordinates; Gaussian curvature needs k = 2")
    dim, count = jet.stack.shape[-2:]
    if dim < 2:
        raise ValueError(f"function has D = {dim} outputs; a surface needs D >= 2")
    whiten = None if covariance is None else Whitening(covariance, dim)
    size = even(count, max(BLOCK_NUMBERS // max(jet.stack[0, ..., 0].numel(), 1), 1))

    def worked(start: int) -> tuple[torch.Tensor, ...]:
        block = slice(start, start + size)
        derivatives = jet.stack[1:, ..., block]
        errors = None if jet.errors is None else jet.errors[1:, ..., block]
        if whiten is not None:
            derivatives, errors = whiten(derivatives, errors)
        return work(_Parts(derivatives, errors))

    with one_thread() if count > size else nullcontext(1) as threads:
        results = list(shared(worked, range(0, count, size), threads))
    columns = zip(*results, strict=True)
    return [parts[0] if len(parts) == 1 else torch.cat(parts, -1) for parts in columns]


class _Parts:
    """Tangent frame and normal parts of one block of derivatives (5, ..., D, n), with errors.

    (long, short) = (e1, e2) R with R = [[r11, slope r11], [0, r22]]; the longer tangent comes
    first. ``normals`` (3, ..., D, n) are the normal parts of the second derivatives uu, uv, vv,
    ``spreads`` (3, ..., n) their errors in norm, ``sizes`` their norms; ``angle`` is the error of
    the plane in radians, ``relative`` the relative error of r11 r22, and ``loosened`` the factor by
    which 1 / (r11 r22) may be too small.
    """

    def __init__(self, d: torch.Tensor, errors: torch.Tensor | None) -> None:
        self.rigorous = errors is not None
        self.dim = d.shape[-2]
        y_u, y_v = d[0], d[1]
        squares = _dot(d[:2], d[:2])
        self.swap = squares[1] > squares[0]
        wide = self.swap.unsqueeze(-2)
        long, self.short = torch.where(wide, y_v, y_u), torch.where(wide, y_u, y_v)
        self.r11 = torch.maximum(squares[0], squares[1]).sqrt()
        self.e1 = long / self.r11.unsqueeze(-2)
        # Twice: the first pass leaves an error relative to `short`.
        rest = _remove(_remove(self.short, self.e1), self.e1)
        self.r22 = _norm(rest)
        self.e2 = _remove(rest / self.r22.unsqueeze(-2), self.e1)
        self.sine = self.r22 / torch.minimum(squares[0], squares[1]).sqrt()
        # Once is enough here: what a second pass removes is tangential, of second order in K.
        self.normals = _remove(_remove(d[2:], self.e1), self.e2)
        self.sizes = _norm(self.normals)
        wholes = _norm(d[2:])
        if errors is None:
            self.angle = torch.nan_to_num(TANGENT_ERROR_FACTOR / self.sine, nan=torch.inf)
            self.relative = 2 * self.angle
            self.spreads = self.angle * wholes
        else:
            self._bound(_norm(errors), squares.sqrt(), wholes)
        self.loosened = (1 - self.relative).clamp(min=0).reciprocal()

    def _bound(self, errors: torch.Tensor, lengths: torch.Tensor, wholes: torch.Tensor) -> None:
        """Compute angle and spreads from the errors (5, ..., n) of the derivatives, in norm.

        With A, B the exact tangents, a, b the computed ones, f_a = |A - a| + rounding of the
        frame: a unit vector of the exact plane is alpha A + beta B with |alpha| <= 1/(|a| sin),
        |beta| <= 1/(|b| sin), so it is at most tau = (f_a/|a| + f_b/|b|)/sin off the computed
        plane, up to terms that tau / (1 - tau) covers. The area |A x B| differs from |a x b| by
        the same relative amount. A plane off by the angle t moves the normal part of y by t |y|.
        """
        rounding = 8 * (self.dim + 8) * U
        e1, e2 = self.e1, self.e2
        skew = _dot(e1, e2).abs() + (_dot(e1, e1) - 1).abs() + (_dot(e2, e2) - 1).abs()
        tau = ((errors[:2] / lengths).sum(0) + 2 * rounding) / self.sine * (1 + rounding)
        tau = torch.nan_to_num(tau, nan=torch.inf)
        safe = torch.where(tau < 0.5, tau / (1 - tau), torch.inf)
        self.angle = safe + skew + 3 * rounding
        self.relative = torch.where(tau < 0.5, safe + rounding, 1.0)
        self.spreads = errors[2:] + self.angle * (wholes + errors[2:]) + rounding * wholes


def _curvature(p: _Parts) -> tuple[torch.Tensor, ...]:
    """K and |H|, |II|^2, sqrt(det g) with errors of all but |H|; tangent-plane error: (..., n)."""
    uu, uv, vv = p.normals
    n_uu, n_uv, n_vv = p.sizes
    d_uu, d_uv, d_vv = p.spreads
    area = p.r11 * p.r22
    det = area.square()
    gaussian = (_dot(uu, vv) - n_uv.square()) / det
    spread = n_uu * d_vv + n_vv * d_uu + 2 * n_uv * d_uv + d_uu * d_vv + d_uv.square()
    if p.rigorous:
        spread = spread + 2 * (p.dim + 8) * U * (n_uu * n_vv + n_uv.square())
    squared = p.loosened.square()
    error = (spread / det * squared + gaussian.abs() * (squared - 1 + 8 * U)) * INFLATION + TINY
    area_error = area * (p.loosened - 1 + 8 * U)
    # Twice H: n_11 / r11^2 + (n_22 - 2 s n_12 + s^2 n_11) / r22^2, with 1 the longer tangent.
    s = _dot(p.e1, p.short) / p.r11
    second = p.r22.square().reciprocal()
    of_long = p.r11.square().reciprocal() + s.square() * second
    of_uu = torch.where(p.swap, second, of_long)
    of_vv = torch.where(p.swap, of_long, second)
    twice = uu * of_uu.unsqueeze(-2)
    twice.addcmul_(vv, of_vv.unsqueeze(-2))
    twice.addcmul_(uv, (s * second).unsqueeze(-2), value=-2)
    trace = _norm(twice)
    bending = (trace.square() - 2 * gaussian).clamp(min=0)  # it is a square
    # The trace errs with its terms, as the diagonal of `_forms` does; `whole` bounds |II|.
    of_uv, slope = 2 * s.abs() * second, s.abs()
    terms = n_uu * of_uu + n_vv * of_vv + n_uv * of_uv
    off = d_uu * of_uu + d_vv * of_vv + d_uv * of_uv
    first = torch.where(p.swap, n_vv + d_vv, n_uu + d_uu)
    whole = terms + off + 2 * (n_uv + d_uv + slope * first) / area
    turned = p.loosened - 1
    off = off + 2 * (2 * turned + turned.square()) * whole + 32 * U * terms
    bending_error = 2 * trace * off + off.square() + 2 * error
    bending_error = bending_error + 2 * (p.dim + 8) * U * (trace.square() + gaussian.abs())
    error, bending_error, angle = (
        torch.nan_to_num(x, nan=torch.inf, posinf=torch.inf)
        for x in (error, bending_error * INFLATION + TINY, p.angle)
    )
    area_error = area_error * INFLATION + TINY
    return gaussian, error, trace / 2, bending, bending_error, area, area_error, angle


def _forms(p: _Parts) -> tuple[torch.Tensor, ...]:
    """Frame, its error, second form and its error, mean vector and its error; points last."""
    uu, uv, vv = p.normals
    d_uu, d_uv, d_vv = p.spreads
    wide = p.swap.unsqueeze(-2)
    first, last = torch.where(wide, vv, uu), torch.where(wide, uu, vv)
    e_first, e_last = torch.where(p.swap, d_vv, d_uu), torch.where(p.swap, d_uu, d_vv)
    slope = _dot(p.e1, p.short) / p.r11
    s, q = slope.unsqueeze(-2), slope.abs()
    r1, r2 = p.r11, p.r22
    h11 = first / r1.square().unsqueeze(-2)
    h12 = (uv - s * first) / (r1 * r2).unsqueeze(-2)
    h22 = (last - 2 * s * uv + s.square() * first) / r2.square().unsqueeze(-2)
    e11 = e_first / r1.square()
    e12 = (d_uv + q * e_first) / (r1 * r2)
    e22 = (e_last + 2 * q * d_uv + q.square() * e_first) / r2.square()
    # R*, the exact R, differs: II* = M II M^T with M = R* R^-1 and |M - 1| <= turned.
    turned = p.loosened - 1
    sizes = _norm(torch.stack([h11, h12, h22]))
    whole = sizes[0] + 2 * sizes[1] + sizes[2] + e11 + 2 * e12 + e22
    # Cancellation in h12 and h22 rounds relative to their terms, not to their sums.
    terms = _norm(first) * (1 / r1 + q / r2).square() + _norm(last) / r2.square()
    terms = terms + p.sizes[1] * (2 * q / r2 + 1 / r1) / r2
    extra = (2 * turned + turned.square()) * whole + 16 * U * terms
    error = torch.stack([e11 + extra, e12 + extra, e22 + extra]) * INFLATION + TINY
    sign = torch.where(wide, -1.0, 1.0)  # so that (e1, e2) turns as (y_u, y_v) does
    return (
        torch.stack([p.e1, sign * p.e2]),
        p.angle,
        torch.stack([h11, sign * h12, h22]),
        error,
        (h11 + h22) / 2,
        (error[0] + error[2]) / 2,
    )


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum(-2)


def _norm(a: torch.Tensor) -> torch.Tensor:
    return a.square().sum(-2).sqrt()


def _remove(y: torch.Tensor, e: torch.Tensor) -> torch.Tensor:
    """``y`` without its component along the unit vector ``e``."""
    return torch.addcmul(y, _dot(e, y).unsqueeze(-2), e, value=-1)
