"""The sign of K, K dA and dA everywhere in a cell, from the derivatives as affine forms.

In any codimension, by Gauss's equation: K det g = <n_uu, n_vv> - |n_uv|^2, n the normal parts. No
frame is computed, for it would have to be enclosed, too. Instead, multiples of the tangents, with
factors that are constants of the cell, are taken from the second derivatives: that changes no
normal part, and makes the tangential parts x, z along the tangents a, b vanish at the centre. With
E = <a, a>, F = <a, b>, G = <b, b> the equation is then, exactly,

    K det g = <y_uu, y_vv> - |y_uv|^2 - (G x_uu x_vv + E z_uu z_vv - F (x_uu z_vv + z_uu x_vv)
              - G x_uv^2 - E z_uv^2 + 2 F x_uv z_uv) / det g,

where the quotient is of second order in the cell's width. Source: do Carmo, *Riemannian Geometry*,
chapter 6. Where the tangents are nearly parallel everywhere in a cell, det g = E G - F^2 loses: it
encloses zero, and nothing is decided there.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from gating_core.jets.taylor import TaylorModel
from gating_core.jets.arrays import where
from gating_core.jets.bounded import Bounded
from gating_core.jets.jet import Jet, filled


@dataclass(frozen=True, eq=False)
class Curving:
    """Affine forms (N,) over N cells: what has the sign of K, det g, K dA and dA per chart area."""

    sign: TaylorModel
    determinant: TaylorModel
    density: TaylorModel
    area: TaylorModel


def curving(jet: Jet) -> Curving:
    """Compute them from a ``jet`` of affine forms (N, D)."""
    first, second = form(filled(jet, "first")), form(filled(jet, "second"))
    scale = _power_of_two(first.value)
    first, second = first * scale, second * scale
    y_u, y_v = first[0], first[1]
    swap = (_at(y_v, y_v) > _at(y_u, y_u)).unsqueeze(-1)
    a, short = form(where(swap, y_v, y_u)), form(where(swap, y_u, y_v))
    b = short - a * _share(short, a)
    uu, uv, vv = (y - a * _share(y, a) - b * _share(y, b) for y in second)
    e, f, g = dot(a, a), dot(a, b), dot(b, b)
    det = e * g - f.square()
    x_uu, x_uv, x_vv = (dot(y, a) for y in (uu, uv, vv))
    z_uu, z_uv, z_vv = (dot(y, b) for y in (uu, uv, vv))
    tangential = (
        g * (x_uu * x_vv - x_uv.square())
        + e * (z_uu * z_vv - z_uv.square())
        - f * (x_uu * z_vv + z_uu * x_vv - 2 * x_uv * z_uv)
    )
    over = det.reciprocal()
    sign = dot(uu, vv) - dot(uv, uv) - tangential * over
    area = det.sqrt() * (1 / scale.square()).squeeze(-1)
    return Curving(sign, det, sign * over.sqrt(), area)


def form(x: Bounded | torch.Tensor) -> TaylorModel:
    """``x`` as an affine form."""
    if isinstance(x, TaylorModel):
        return x
    return TaylorModel(x.value, x.error) if isinstance(x, Bounded) else TaylorModel(x)


def dot(a: TaylorModel, b: TaylorModel) -> TaylorModel:
    """(N,)"""
    return (a.square() if a is b else a * b).sum(-1)


def _power_of_two(first: torch.Tensor) -> torch.Tensor:
    """(N, 1): factors that bring the longest tangents (2, N, D) near one, without rounding."""
    size = first.abs().amax((0, -1)).nan_to_num(1.0, 1.0, 1.0).clamp(1e-140, 1e140)
    return torch.exp2(-size.log2().round()).unsqueeze(-1)


def _at(a: TaylorModel, b: TaylorModel) -> torch.Tensor:
    return (a.value * b.value).sum(-1)


def _share(y: TaylorModel, a: TaylorModel) -> torch.Tensor:
    """(N, 1): how much of ``a`` is in ``y`` at the centre; any number would be right."""
    share = (_at(y, a) / _at(a, a)).unsqueeze(-1)
    return torch.where(share.isfinite(), share, 0.0)
