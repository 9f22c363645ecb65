"""One gated model between gate strength 0 and 1 in its own coordinates: what a visitor may cut.

The flat surface at strength 0 lies in the plane z = 0, the triangle of the values about the origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.experiments.comparison.frames import Cut, cut_of, strengths_model
from gating_core.experiments.comparison.run import TrainedRun
from gating_core.experiments.comparison.sweep import STRENGTHS, StrengthSweep
from gating_core.geometry.grid import Grid

LINEAR = 1e-12  # of the values' size: outputs that differ less from a linear change are one


@dataclass(frozen=True, eq=False)
class Stage:
    """Surfaces, test points and fitted planes; T strengths, R x R grid points, P test points.

    Between two of the ``strengths`` (F,) outputs change linearly; of one layer these are 0 and 1.
    A plane (a, b, c, d) says class 1 where a x + b y + c z + d > 0; (a, b, c) is a unit vector.
    """

    strengths: np.ndarray  # (F,)
    surfaces: np.ndarray  # (F, R, R, 3)
    test_values: np.ndarray  # (F, P, 3)
    test_points: np.ndarray  # (P, 2)
    test_labels: np.ndarray  # (P,)
    planes: np.ndarray  # (T, 4): the fitted linear classifier at each of `STRENGTHS`
    corners: np.ndarray  # (n, 3): the value vectors
    seed: int
    axis: np.ndarray  # (R,): rows and columns of the grid

    def plane(self, strength: float) -> np.ndarray:
        """Return the plane (4,) fitted at the nearest of `STRENGTHS`."""
        return self.planes[np.abs(np.array(STRENGTHS) - strength).argmin()]

    def cut(self, strength: float, plane: Sequence[float] | np.ndarray) -> Cut:
        """Trace how a ``plane`` (4,) cuts the surface at a gate ``strength``."""
        surface = _between(self.strengths, self.surfaces, strength)
        return cut_of(surface @ plane[:3] + plane[3], self.axis)

    def accuracy(self, strength: float, plane: Sequence[float] | np.ndarray) -> float:
        """Return the share of test points on the side of their label."""
        values = _between(self.strengths, self.test_values, strength)
        return float(((values @ plane[:3] + plane[3] > 0) == self.test_labels).mean())


def measure_stage(run: TrainedRun, sweep: StrengthSweep, grid: Grid) -> Stage:
    """Sample the gated member of ``sweep`` with its test points; two strengths do for one layer.

    Raises:
        ValueError: If outputs have not three dimensions, or the values do not span a plane.
    """
    model, member = sweep.model(run), sweep.member
    points = run.task.test_points[member]
    corners = model.attention.blocks[-1].slot_values()[0].numpy()
    if corners.shape[-1] != 3:
        raise ValueError(f"outputs have {corners.shape[-1]} dimensions; a stage needs three")
    values = model.attention(torch.from_numpy(points)).numpy()
    share = np.array(STRENGTHS)[:, None, None]
    between = (1 - share) * values[0] + share * values[-1]
    linear = np.abs(values - between).max() <= LINEAR * np.abs(values).max()
    kept = [0, -1] if linear else slice(None)
    ensemble = run.variants[run.setting.compared[1]].ensemble
    strengths = np.array(STRENGTHS)[kept]
    surfaces = strengths_model(ensemble, member, strengths.tolist()).attention(grid.points).numpy()
    origin, basis, size = _frame(corners, surfaces[-1])
    normals = (model.weight[..., 1] - model.weight[..., 0]).numpy()
    offsets = (model.bias[:, 1] - model.bias[:, 0]).numpy() + normals @ origin
    planes = np.concatenate([size * normals @ basis, offsets[:, None]], 1)
    planes /= np.linalg.norm(planes[:, :3], axis=1, keepdims=True)
    shape = (len(surfaces), *grid.weights.shape, 3)
    return Stage(
        strengths=strengths,
        surfaces=((surfaces - origin) @ basis / size).reshape(shape),
        test_values=(values[kept] - origin) @ basis / size,
        test_points=points,
        test_labels=run.task.test_labels[member],
        planes=planes,
        corners=(corners - origin) @ basis / size,
        seed=run.setting.seeds[member],
        axis=grid.axis.numpy(),
    )


def _between(strengths: np.ndarray, arrays: np.ndarray, strength: float) -> np.ndarray:
    """Interpolate ``arrays`` (F, ...) linearly between two of the ``strengths`` (F,)."""
    index = int(np.clip(np.searchsorted(strengths, strength), 1, len(strengths) - 1))
    low, high = strengths[index - 1], strengths[index]
    share = (strength - low) / (high - low)
    return (1 - share) * arrays[index - 1] + share * arrays[index]


def _frame(corners: np.ndarray, surface: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return origin (3,), orthonormal basis (3, 3) by columns, and unit of length.

    The third axis is perpendicular to the plane of the ``corners`` (n, 3), on the side where the
    ``surface`` (N, 3) is.
    """
    origin = corners.mean(0)
    _, spreads, axes = np.linalg.svd(corners - origin)
    if not spreads[1] > 1e-12 * spreads[0]:
        raise ValueError("the values lie on one line; they span no plane")
    if (surface - origin) @ axes[2] @ np.ones(len(surface)) < 0:
        axes[2] *= -1
    axes[1] = np.cross(axes[2], axes[0])  # right-handed
    return origin, axes.T, float(np.linalg.norm(corners - origin, axis=1).max())
