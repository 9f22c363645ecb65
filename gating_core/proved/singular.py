"""Bound the integral of |K| dA near a point where a map into three dimensions is no immersion.

A map of the plane into space has isolated such points in general (cross-caps: Whitney, 1944),
and trained layers have them. K is unbounded there, and its total is not: by Gauss's equation
|K| dA <= C / |n| per chart area, n = y_u x y_v, C = |y_uu| |y_vv| + |y_uv|^2. If the derivative of
n, a 3 x 2 matrix, has no singular value below s anywhere in the convex hull of its values on a
cell, then |n(x) - n(x')| >= s |x - x'| there. With x' the point of the cell where |n| is least, it
follows that |n(x)| >= s |x - x'| / 2. The integral of 1 / |x - x'| over a set of a given area A is
largest for a disc about x': 2 sqrt(pi A). So the total over the cell is at most 4 C sqrt(pi A) / s.

That a map is *no* immersion somewhere in a cell is not proved here. Where a part of y_u has no zero
in the cell, <y_u, n> = 0 makes two parts of n enough: Miranda's theorem would show that they vanish
together, by their signs on the cell's four sides. But such points may lie on the sides of cells,
so that cells of their own would have to be laid about them, beside those that cover the chart.
"""

from __future__ import annotations

import math

import torch

from gating_core.jets.bounded import INFLATION, U
from gating_core.jets.taylor import TaylorModel
from gating_core.proved.criterion import cross


def largest_total(first: TaylorModel, second: TaylorModel, area: torch.Tensor) -> torch.Tensor:
    """(N,): upper bounds of the integral of |K| dA over cells of chart ``area`` (N,).

    Infinite where the derivative of n may be singular. ``first`` (2, N, 3) and ``second``
    (3, N, 3) are the map's derivatives.
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
