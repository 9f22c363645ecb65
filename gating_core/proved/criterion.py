"""The sign of K, K dA and dA everywhere in a cell, from the derivatives as Taylor models.

The surface is y(u, v), with second derivatives y_uu, y_uv, y_vv and independent tangents a and b.
In three dimensions, with n = a x b and L, M, N the products of y_uu, y_uv, y_vv with n,

    K |n|^4 = L N - M^2.

In more dimensions, by Gauss's equation, with E = <a, a>, F = <a, b>, G = <b, b>,
det g = E G - F^2, and x and z the products of the second derivatives with a and b,

    K det g^2 = det g (<y_uu, y_vv> - |y_uv|^2) - G (x_uu x_vv - x_uv^2) - E (z_uu z_vv - z_uv^2)
                + F (x_uu z_vv + z_uu x_vv - 2 x_uv z_uv).

No orthonormal frame is computed, for it would have to be enclosed, too. Instead a constant multiple
of a is subtracted from the other tangent to give b, and constant multiples of a and b from the
second derivatives, such that b is normal to a, and x and z vanish, at the cell's centre. The left
hand sides stay the same. Where the tangents are nearly parallel, the second equation takes a small
difference of large terms, and its enclosure is wide; the first one has no such terms. Source: do
Carmo, *Riemannian Geometry*, chapter 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from gating_core.geometry.metric import Whitening
from gating_core.jets.bounded import INFLATION, Bounded, U
from gating_core.jets.elementary import where
from gating_core.jets.jet import Jet, filled
from gating_core.jets.taylor import TaylorModel


@dataclass(frozen=True, eq=False)
class Curving:
    """Taylor models (N,) over N cells, from which signs and integrals follow.

    ``sign`` is K times a positive number, ``determinant`` is det g; ``density`` and ``area`` are
    K dA and dA per chart area. ``first`` (2, N, D) and ``second`` (3, N, D) are the derivatives
    times one factor for each cell, which changes neither signs nor K dA.
    """

    sign: TaylorModel
    determinant: TaylorModel
    density: TaylorModel
    area: TaylorModel
    first: TaylorModel
    second: TaylorModel


def curving(jet: Jet, whiten: Whitening | None = None) -> Curving:
    """Compute them from a ``jet`` of Taylor models (N, D), D >= 2, in the metric of ``whiten``."""
    first, second = (_whitened(filled(jet, order), whiten) for order in ("first", "second"))
    scale = _power_of_two(first.value)
    first, second = first * scale, second * scale
    y_u, y_v = first[0], first[1]
    swap = (_at_centre(y_v, y_v) > _at_centre(y_u, y_u)).unsqueeze(-1)
    a, short = model(where(swap, y_v, y_u)), model(where(swap, y_u, y_v))
    b = short - a * _projection(short, a)
    rest = [
        second[i] - a * _projection(second[i], a) - b * _projection(second[i], b) for i in range(3)
    ]
    sign, det = (_in_space if a.shape[-1] == 3 else _by_gauss)(a, b, *rest)
    inverse = det.reciprocal()
    area = det.sqrt() * scale.squeeze(-1).square().reciprocal()
    return Curving(sign, det, sign * inverse * inverse.sqrt(), area, first, second)


def _whitened(y: Bounded | torch.Tensor, whiten: Whitening | None) -> TaylorModel:
    """Derivatives in coordinates in which the covariance is the identity."""
    if whiten is None:
        return model(y)
    whitened = model(y) @ whiten.matrix
    error = whiten.drift * whitened.upper.square().sum(-1, keepdim=True).sqrt()
    return whitened + TaylorModel(torch.zeros_like(whitened.value), error.expand(whitened.shape))


def _in_space(a: TaylorModel, b: TaylorModel, *second: TaylorModel) -> tuple[TaylorModel, ...]:
    """K det g^2 and det g, for D = 3."""
    normal = cross(a, b)
    along_uu, along_uv, along_vv = (_dot(y, normal) for y in second)
    return along_uu * along_vv - along_uv.square(), _dot(normal, normal)


def _by_gauss(
    a: TaylorModel, b: TaylorModel, uu: TaylorModel, uv: TaylorModel, vv: TaylorModel
) -> tuple[TaylorModel, ...]:
    """K det g^2 and det g, for any D."""
    e, f, g = _dot(a, a), _dot(a, b), _dot(b, b)
    det = e * g - f.square()
    x_uu, x_uv, x_vv = (_dot(y, a) for y in (uu, uv, vv))
    z_uu, z_uv, z_vv = (_dot(y, b) for y in (uu, uv, vv))
    tangential = (
        g * (x_uu * x_vv - x_uv.square())
        + e * (z_uu * z_vv - z_uv.square())
        - f * (x_uu * z_vv + z_uu * x_vv - 2 * x_uv * z_uv)
    )
    return det * (_dot(uu, vv) - _dot(uv, uv)) - tangential, det


def model(x: Bounded | torch.Tensor) -> TaylorModel:
    """Return ``x`` as a Taylor model, whose remainder is its error (0 for a tensor)."""
    if isinstance(x, TaylorModel):
        return x
    return TaylorModel(x.value, x.error) if isinstance(x, Bounded) else TaylorModel(x)


def cross(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """(..., 3): the cross product of ``a`` and ``b`` (..., 3)."""
    after, last = [1, 2, 0], [2, 0, 1]
    return a[..., after] * b[..., last] - a[..., last] * b[..., after]


def largest_total(first: TaylorModel, second: TaylorModel, area: torch.Tensor) -> torch.Tensor:
    """(N,): upper bounds of the integral of |K| dA over cells of chart ``area`` (N,).

    Infinite where the derivative of n may be singular. ``first`` (2, N, 3) and ``second``
    (3, N, 3) are the map's derivatives.

    A map of the plane into space has isolated such points in general (cross-caps: Whitney, 1944),
    and trained layers have them. K is unbounded there, and its total is not: by Gauss's equation
    |K| dA <= C / |n| per chart area, n = y_u x y_v, C = |y_uu| |y_vv| + |y_uv|^2. If the derivative
    of n, a 3 x 2 matrix, has no singular value below s anywhere in the convex hull of its values on
    a cell, then |n(x) - n(x')| >= s |x - x'| there. With x' the point of the cell where |n| is
    least, it follows that |n(x)| >= s |x - x'| / 2. The integral of 1 / |x - x'| over a set of a
    given area A is largest for a disc about x': 2 sqrt(pi A). So the total over the cell is at most
    4 C sqrt(pi A) / s.

    That a map is *no* immersion somewhere in a cell is not proved here. Where a part of y_u has no
    zero in the cell, <y_u, n> = 0 makes two parts of n enough: Miranda's theorem would show that
    they vanish together, by their signs on the cell's four sides. But such points may lie on the
    sides of cells, so that cells of their own would have to be laid about them, beside those that
    cover the chart.
    """
    y_u, y_v, y_uu, y_uv, y_vv = first[0], first[1], second[0], second[1], second[2]
    columns = [
        (cross(y_uu, y_v) + cross(y_u, y_uv)).ball(),
        (cross(y_uv, y_v) + cross(y_u, y_vv)).ball(),
    ]
    p, q, r = ((columns[i].value * columns[j].value).sum(-1) for i, j in ((0, 0), (0, 1), (1, 1)))
    least = (p + r) / 2 - torch.hypot((p - r) / 2, q) - 64 * U * (p + r)
    error = sum((column.bound.square().sum(-1) for column in columns), torch.zeros_like(p)).sqrt()
    singular = least.clamp(min=0).sqrt() / INFLATION - error * INFLATION
    uu, uv, vv = (y.upper.square().sum(-1) for y in (y_uu, y_uv, y_vv))
    size = (uu * vv).sqrt() + uv
    most = 4 * math.sqrt(math.pi) * size * area.sqrt() / singular * INFLATION
    return torch.where(singular > 0, most, torch.inf).nan_to_num(torch.inf, torch.inf)


def _dot(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """(N,): the inner product of ``a`` and ``b`` (N, D)."""
    return (a.square() if a is b else a * b).sum(-1)


def _power_of_two(first: torch.Tensor) -> torch.Tensor:
    """(N, 1): factors that bring the longest tangents (2, N, D) near one, without rounding."""
    size = first.abs().amax((0, -1)).nan_to_num(1.0, 1.0, 1.0).clamp(1e-140, 1e140)
    return torch.exp2(-size.log2().round()).unsqueeze(-1)


def _at_centre(a: TaylorModel, b: TaylorModel) -> torch.Tensor:
    """(N,): the inner product at the centres of the cells, without error."""
    return (a.value * b.value).sum(-1)


def _projection(y: TaylorModel, a: TaylorModel) -> torch.Tensor:
    """(N, 1): the coefficient of ``y``'s projection on ``a`` at the centre.

    Not enclosed: the equations hold whatever multiple of a tangent is subtracted.
    """
    coefficient = (_at_centre(y, a) / _at_centre(a, a)).unsqueeze(-1)
    return torch.where(coefficient.isfinite(), coefficient, 0.0)
