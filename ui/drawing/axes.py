"""The drawn axes of representation space.

Up to three dimensions they are the coordinates. Above, they are principal components of the gated
and ungated points together at full gate strength: one basis for both panels, at every strength.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.experiments.comparison import ClassifierFrames

DRAWN = 3  # axes at most


@dataclass(frozen=True, eq=False)
class Axes:
    """Axes ``basis`` (D, 2 or 3), orthonormal columns, through ``origin`` (D,), with ``names``."""

    basis: np.ndarray
    origin: np.ndarray
    names: tuple[str, ...]

    @property
    def principal(self) -> bool:
        """True if the axes are principal components, not coordinates."""
        return self.basis.shape[0] > self.basis.shape[1]

    def project(self, values: np.ndarray) -> np.ndarray:
        """Project ``values`` (..., D) to (..., 2 or 3)."""
        return (values - self.origin) @ self.basis if self.principal else values

    def share(self, values: np.ndarray) -> float:
        """Return the share of the variance of ``values`` (..., D) that the axes show."""
        centred = _near_one(_finite(values.reshape(-1, values.shape[-1])))
        centred = centred - centred.mean(0) if len(centred) else centred
        whole = float((centred**2).sum())
        return float(((centred @ self.basis) ** 2).sum()) / whole if whole > 0 else 1.0


def coordinate_axes(dim: int) -> Axes:
    """Return the coordinate axes of R^``dim``, 2 or 3."""
    return Axes(np.eye(dim), np.zeros(dim), tuple(f"y<sub>{i + 1}</sub>" for i in range(dim)))


def principal_axes(clouds: Sequence[np.ndarray]) -> Axes:
    """Return the three principal components of all ``clouds`` (N, D) of points together.

    Each cloud is first centred and scaled to variance 1, or the widest would take all axes. The
    entry of largest size in every component is positive, which fixes the signs. Points that are
    not finite, as where outputs overflow, have no say; without any other the axes are coordinates.
    """
    clouds = [cloud for cloud in map(_finite, clouds) if len(cloud)] or [np.eye(clouds[0].shape[1])]
    points = np.concatenate(clouds)
    origin = (points / len(points)).sum(0)  # their sum may overflow
    scaled = []
    for near in map(_near_one, clouds):
        centred = _near_one(near - near.mean(0))
        scaled.append(centred / max(float(np.sqrt((centred**2).sum())), np.finfo(float).tiny))
    basis = np.linalg.svd(np.concatenate(scaled), full_matrices=False)[2][:DRAWN].T
    signs = np.sign(basis[np.abs(basis).argmax(0), np.arange(basis.shape[1])])
    return Axes(basis * signs, origin, tuple(f"PC {i + 1}" for i in range(basis.shape[1])))


def _finite(points: np.ndarray) -> np.ndarray:
    """The rows of ``points`` (N, D) that are finite."""
    return points[np.isfinite(points).all(-1)]


def _near_one(x: np.ndarray) -> np.ndarray:
    """Scale ``x`` by a power of two, which is exact, so that no square overflows or is lost."""
    largest = float(np.abs(x).max(initial=0.0))
    return np.ldexp(x, -int(np.frexp(largest)[1])) if 0 < largest < np.inf else x


def frame_axes(sides: dict[str, ClassifierFrames]) -> dict[str, Axes]:
    """The drawn axes by side: one basis for both where they have as many dimensions."""
    clouds = {name: x.values[-1].reshape(-1, x.values.shape[-1]) for name, x in sides.items()}
    by_side = {}
    for name, cloud in clouds.items():
        dim = cloud.shape[-1]
        alike = [other for other in clouds.values() if other.shape[-1] == dim]
        by_side[name] = coordinate_axes(dim) if dim == 3 else principal_axes(alike)
    return by_side
