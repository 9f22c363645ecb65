"""Which directions of representation space are drawn, and how much of it do they show?

Up to three dimensions the axes are the coordinates themselves. Above, they are principal
components of the gated and the ungated points together, at full gate strength: one basis for both
panels, frozen while the strength moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.config import GateConfig
from gating_core.sample import square_grid
from gating_core.specimen import Specimen, chart_of

DRAWN = 3  # axes at most
COARSE_GRID = 21  # points along each side of the chart, to find the principal components


@dataclass(frozen=True, eq=False)
class Axes:
    """``basis`` (D, 2 or 3), orthonormal columns, about ``origin`` (D,); a ``name`` for each."""

    basis: np.ndarray
    origin: np.ndarray
    names: tuple[str, ...]

    @property
    def principal(self) -> bool:
        """Whether these are principal components rather than the coordinates."""
        return self.basis.shape[0] > self.basis.shape[1]

    def project(self, values: np.ndarray) -> np.ndarray:
        """(..., D) to (..., 2 or 3)."""
        return (values - self.origin) @ self.basis if self.principal else values

    def share(self, values: np.ndarray) -> float:
        """The share of the variance of ``values`` (..., D) that the drawn axes show."""
        centred = values.reshape(-1, values.shape[-1])
        centred = centred - centred.mean(0)
        whole = float((centred**2).sum())
        return float(((centred @ self.basis) ** 2).sum()) / whole if whole > 0 else 1.0


def coordinate_axes(dim: int) -> Axes:
    """The coordinates y1, y2 (, y3) of R^``dim``, 2 or 3."""
    return Axes(np.eye(dim), np.zeros(dim), tuple(f"y<sub>{i + 1}</sub>" for i in range(dim)))


def principal_axes(clouds: Sequence[np.ndarray]) -> Axes:
    """The three principal components of all ``clouds`` (N, D) of points together.

    Every cloud counts alike: it is centred and scaled to variance 1 first, or the wider one would
    take all axes. Signs are fixed: the entry of largest size in every component is positive.
    """
    origin = np.concatenate(clouds).mean(0)
    centred = [cloud - cloud.mean(0) for cloud in clouds]
    scaled = [c / max(float(np.sqrt((c**2).sum())), np.finfo(float).tiny) for c in centred]
    basis = np.linalg.svd(np.concatenate(scaled), full_matrices=False)[2][:DRAWN].T
    signs = np.sign(basis[np.abs(basis).argmax(0), np.arange(basis.shape[1])])
    return Axes(basis * signs, origin, tuple(f"PC {i + 1}" for i in range(basis.shape[1])))


def axes_of(specimen: Specimen) -> Axes:
    """The axes for a specimen and its ungated twin; the gate's strength makes no difference.

    A side that has no surface on the specimen's chart is left out.
    """
    dim = specimen.config.model_dim
    if dim <= DRAWN:
        return coordinate_axes(dim)
    points = square_grid(COARSE_GRID).points
    clouds = []
    for side in (specimen.ungated, _at_full_strength(specimen)):
        try:
            clouds.append(chart_of(side)(points)[0].numpy())
        except ValueError:
            continue
    if not clouds:
        raise ValueError("neither the gated nor the ungated model has a surface on this chart")
    return principal_axes(clouds)


def _at_full_strength(specimen: Specimen) -> Specimen:
    gate = specimen.config.gate
    if not isinstance(gate, GateConfig):
        return specimen
    return replace(specimen, config=replace(specimen.config, gate=replace(gate, strength=1.0)))


def turned_covariance(axes: Axes, angle: float, ratio: float) -> torch.Tensor:
    """(D, D): variance ``ratio`` along a direction in the plane of the first two drawn axes.

    The direction stands at ``angle`` (degrees) to the first axis; all others have variance 1.
    """
    turn = np.radians(angle % 360)  # NaN where there is no such angle
    along = axes.basis[:, 0] * np.cos(turn) + axes.basis[:, 1] * np.sin(turn)
    return torch.from_numpy(np.eye(len(along)) + (ratio - 1) * np.outer(along, along))
