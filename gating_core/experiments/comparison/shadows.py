"""Shadows in three dimensions of surfaces in more, upright on the direction of a classifier."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True, eq=False)
class Upright:
    """A similarity of R^D and a projection: places are (y - ``centre``) @ ``axes``.T / ``unit``.

    ``axes`` (3, D) are orthonormal rows: the two widest directions of the surface on which the
    classifier does not depend, and the one along which it grows. ``unit`` is the surface's root
    mean square distance from its ``centre`` (D,).
    """

    centre: torch.Tensor
    axes: torch.Tensor
    unit: float

    def __call__(self, values: torch.Tensor) -> torch.Tensor:
        """(..., 3): the places of ``values`` (..., D)."""
        return (values - self.centre) @ self.axes.mT / self.unit


def upright(values: torch.Tensor, normal: torch.Tensor) -> Upright:
    """Return the shadow of a surface with sampled ``values`` (N, D), D >= 3, along ``normal`` (D,).

    For D = 3 it is a similarity: nothing is lost.
    """
    centre = values.mean(0)
    centred = values - centre
    up = normal / torch.linalg.vector_norm(normal)
    flat = centred - torch.outer(centred @ up, up)
    across, along = torch.linalg.svd(flat, full_matrices=False).Vh[:2]
    if values.shape[1] == 3:
        along = torch.linalg.cross(up, across)  # right-handed
    unit = float(centred.square().sum(1).mean().sqrt())
    return Upright(centre, torch.stack([across, along, up]), unit)
