"""Curvature of charts with three coordinates: sectional and scalar curvature.

The Gauss equation gives the Riemann tensor in an orthonormal tangent frame from the second
fundamental form there: R(i, j, k, l) = <II_ik, II_jl> - <II_il, II_jk> (do Carmo, *Riemannian
Geometry*, chapter 6). In three dimensions it is a symmetric 3 x 3 matrix on the coordinate
planes (12, 13, 23): flat means that all of it vanishes, not only its trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.geometry.curvature import TANGENT_ERROR_FACTOR, TANGENT_ERROR_LIMIT
from gating_core.geometry.metric import Whitening
from gating_core.jets.bounded import INFLATION, TINY, U
from gating_core.jets.second_order import SecondOrderJet

PLANES = ((0, 1), (0, 2), (1, 2))


@dataclass(frozen=True, eq=False)
class SolidCurvature:
    """Curvature of a 3-manifold at N points; tensors are (..., N) unless another shape is given.

    ``riemann`` (..., N, 3, 3) on the planes (12, 13, 23) of the orthonormal frame and
    ``riemann_error`` for each of its entries; ``scalar`` curvature, twice its trace, (6 / r^2 on
    a 3-sphere) and ``scalar_error``; ``mean_norm`` |H|, H a third of the trace of the second
    form; ``axes`` (..., N, 3, 3), which take coordinate directions into the
    frame; ``tangent_error`` in radians and ``resolved`` as for surfaces.
    """

    riemann: torch.Tensor
    riemann_error: torch.Tensor
    scalar: torch.Tensor
    scalar_error: torch.Tensor
    mean_norm: torch.Tensor
    axes: torch.Tensor
    tangent_error: torch.Tensor
    resolved: torch.Tensor
    bound_kind: str

    @property
    def flat(self) -> torch.Tensor:
        """True where every entry of the Riemann tensor is within its error."""
        return (self.riemann.abs() <= self.riemann_error[..., None, None]).all((-2, -1))

    def sectional(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Sectional curvature (..., N) of the plane that coordinate directions a and b span.

        ``a`` and ``b`` are (3,), in chart coordinates; the second tensor is the error.
        ``ValueError`` if they are parallel or not (3,).
        """
        a, b = (torch.as_tensor(x, dtype=torch.float64) for x in (a, b))
        if a.shape != (3,) or b.shape != (3,) or torch.linalg.cross(a, b).norm() == 0:
            raise ValueError(f"a is {a.tolist()}, b is {b.tolist()}; they must span a plane in R^3")
        x, y = self.axes @ a, self.axes @ b
        bivector = torch.stack(
            [x[..., i] * y[..., j] - x[..., j] * y[..., i] for i, j in PLANES], -1
        )
        bivector = bivector / torch.linalg.vector_norm(bivector, dim=-1, keepdim=True)
        value = (bivector * (self.riemann @ bivector.unsqueeze(-1)).squeeze(-1)).sum(-1)
        # A unit bivector weighs entries by at most 3 in all; the plane itself is off as well.
        size = self.riemann.abs().amax((-2, -1))
        return value, 3 * self.riemann_error + 12 * size * (self.tangent_error + 16 * U)


def solid_curvature(jet: SecondOrderJet, covariance: object = None) -> SolidCurvature:
    """Compute curvature of the 3-manifold that ``jet`` (k = 3) samples, in ``covariance``'s metric.

    Errors are bounds where the jet carries bounds, otherwise estimates as in `curvature`.
    ``ValueError`` for jets of two coordinates and for a covariance that is none.
    """
    if jet.k != 3:
        raise ValueError(f"jet has k = {jet.k} coordinates; this needs k = 3")
    derivatives, errors = jet.stack[1:], None if jet.errors is None else jet.errors[1:]
    dim = derivatives.shape[-2]
    if dim < 3:
        raise ValueError(f"function has D = {dim} outputs; a solid needs D >= 3")
    if covariance is not None:
        derivatives, errors = Whitening(covariance, dim)(derivatives, errors)
    first = derivatives[:3].movedim((0, -1), (-1, 0)).movedim(0, -3)  # (..., N, D, 3)
    second = derivatives[3:].movedim((0, -1), (-1, 0)).movedim(0, -3)  # (..., N, D, 6)

    # Columns scaled to length one, so that the rank does not depend on the coordinates' units.
    lengths = torch.linalg.vector_norm(first, dim=-2, keepdim=True)
    frame, triangle = torch.linalg.qr(first / lengths)
    triangle = triangle * lengths  # R of the unscaled columns
    inverse = torch.linalg.inv_ex(triangle).inverse
    scaled = torch.linalg.vector_norm(inverse * lengths.mT, dim=(-2, -1))
    normal = second
    for _ in range(2):
        normal = normal - frame @ (frame.mT @ normal)
    size = torch.linalg.vector_norm(second, dim=-2)  # (..., N, 6)
    rounding = 16 * (dim + 8) * U
    if errors is None:
        angle = TANGENT_ERROR_FACTOR * scaled
        spreads = angle[..., None] * size
    else:
        norms = errors.square().sum(-2).sqrt().movedim(0, -1)  # (..., N, 9)
        relative = (norms[..., :3] / lengths.squeeze(-2)).square().sum(-1).sqrt()
        tau = (relative + 3 * rounding) * scaled
        angle = torch.where(tau < 0.5, tau / (1 - tau), torch.inf) + rounding
        own = norms[..., 3:]
        spreads = own + angle[..., None] * (size + own) + rounding * size
    angle = torch.nan_to_num(angle, nan=torch.inf, posinf=torch.inf)

    index = torch.tensor([[0, 1, 2], [1, 3, 4], [2, 4, 5]])
    form = torch.einsum("...pa,...dpq,...qb->...dab", inverse, normal[..., index], inverse)
    off = torch.linalg.vector_norm(spreads[..., index], dim=(-2, -1))
    stretch = torch.linalg.vector_norm(inverse, dim=(-2, -1))
    whole = torch.linalg.vector_norm(form, dim=(-3, -2, -1))
    rough = torch.linalg.vector_norm(size[..., index], dim=(-2, -1)) * stretch.square()
    form_error = off * stretch.square() + (2 * angle + angle.square()) * whole + rounding * rough

    riemann = torch.stack(
        [torch.stack([_gauss(form, i, j, k, m) for k, m in PLANES], -1) for i, j in PLANES],
        -2,
    )
    error = 4 * whole * form_error + 2 * form_error.square() + 8 * rounding * whole.square()
    error = torch.nan_to_num(error * INFLATION + TINY, nan=torch.inf, posinf=torch.inf)
    trace = form.diagonal(dim1=-2, dim2=-1).sum(-1)
    return SolidCurvature(
        riemann=riemann,
        riemann_error=error,
        scalar=2 * riemann.diagonal(dim1=-2, dim2=-1).sum(-1),
        scalar_error=6 * error,
        mean_norm=torch.linalg.vector_norm(trace, dim=-1) / 3,
        axes=triangle,
        tangent_error=angle,
        resolved=(angle < TANGENT_ERROR_LIMIT)
        & riemann.isfinite().all((-2, -1))
        & jet.stack[0].isfinite().all(-2),
        bound_kind=jet.bound_kind,
    )


def _gauss(form: torch.Tensor, i: int, j: int, k: int, m: int) -> torch.Tensor:
    """R(i, j, k, m) from the second form (..., D, 3, 3)."""

    def dot(a: int, b: int, c: int, d: int) -> torch.Tensor:
        return (form[..., a, b] * form[..., c, d]).sum(-1)

    return dot(i, k, j, m) - dot(i, m, j, k)
