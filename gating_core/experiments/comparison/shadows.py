"""Shadows in three dimensions of surfaces in more, upright on the direction of a classifier."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention.stack import Attention
from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import square_grid
from gating_core.jets.second_order import second_order_jet


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


@dataclass(frozen=True, eq=False)
class Shadow:
    """The shadow of a classified surface on a grid of R x R points of the chart.

    ``places`` (R, R, 3) are those of `upright`, in ``unit``; ``height`` (R, R) of the classifier is
    positive for class 1. ``gaussian`` (R, R) is K times the squared unit, 0 where K is within its
    error.
    """

    places: np.ndarray
    height: np.ndarray
    gaussian: np.ndarray
    unit: float


def cast_shadow(attention: Attention, normal: torch.Tensor, offset: float, size: int) -> Shadow:
    """Cast the shadow of one surface, an ensemble of one, cut by <``normal``, y> + ``offset``."""
    jet = second_order_jet(attention, square_grid(size).points, "rigorous")
    field, values = curvature(jet), jet.value[0]
    shadow = upright(values, normal)
    places, height, gaussian = (
        x.float().numpy().reshape(size, size, *x.shape[1:])
        for x in (
            shadow(values),
            values @ normal + offset,
            torch.where(field.decided, field.gaussian, 0.0)[0] * shadow.unit**2,
        )
    )
    return Shadow(places, height, gaussian, shadow.unit)
