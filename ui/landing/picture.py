"""The landing page's pictures of a training: two models side by side, and one surface to cut.

Shapes: T frames, which are strengths of a gate; F strengths of the surface that is cut; D model
dimension; R x R grid points, P test points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gating_core.attention import Classifier
from gating_core.experiments.comparison import (
    STRENGTHS,
    ClassifierFrames,
    Cut,
    DrawnData,
    StrengthSweep,
    TrainedRun,
    cut_of,
    drawn_data,
    frame_accuracies,
    load_surface,
    refitted,
    sample,
    select_ungated,
    shows_surface,
    strengths_model,
)
from gating_core.geometry import (
    Grid,
    SurfaceResult,
    concentration,
    measure_surface,
    square_grid,
)
from ui.drawing.first_view import eye_over

PAIR_POINTS = 200  # training points that are drawn
NO_GATE = STRENGTHS.index(0.0)
FEWEST = 3  # points along each side of a grid
LINEAR = 1e-12  # of the values' size: outputs that differ less from a linear change are one


# --- Two models -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeasuredModel:
    """One model of a pair; ``concentration`` is the share of ∫|K| dA on the most curved part."""

    seed: int
    frames: ClassifierFrames
    surface: SurfaceResult
    concentration: np.ndarray  # (T,)
    data: DrawnData
    test_accuracy: np.ndarray  # (T,)
    value_vectors: np.ndarray  # (3, D): the last layer's

    def frame(self, index: int) -> MeasuredModel:
        """Return the model at one strength alone."""
        frames = self.frames.frame(index)
        if frames.averaged is None and self.surface.proof[index]:  # outputs are averages of values
            frames = replace(frames, averaged=self.value_vectors[None])
        return replace(
            self,
            frames=frames,
            surface=self.surface.frame(index),
            concentration=self.concentration[index : index + 1],
            test_accuracy=self.test_accuracy[index : index + 1],
        )


@dataclass(frozen=True, eq=False)
class MeasuredPair:
    """A model without a gate, a gated one at every strength, and whether its surface is visible."""

    left: MeasuredModel
    right: MeasuredModel
    seen: bool


def measure_model(
    model: Classifier,
    run: TrainedRun,
    member: int,
    grid: Grid | None = None,
    bundled: str | None = None,
) -> MeasuredModel:
    """Sample and measure all frames of one member, with the first of its training points.

    The curvature of a ``bundled`` run, one of `PRESETS`, is loaded and not measured.
    """
    grid = grid or square_grid()
    first = np.arange(min(PAIR_POINTS, run.task.train_points.shape[1]))
    data = drawn_data(run, member, grid, train=first, test=first[:0])
    frames = sample(model, grid, data.points)
    surface = (
        measure_surface(model.attention, grid)
        if bundled is None
        else load_surface(bundled, frames.values, grid)
    )
    return MeasuredModel(
        seed=run.setting.seeds[member],
        frames=frames,
        surface=surface,
        concentration=concentration(surface),
        data=data,
        test_accuracy=frame_accuracies(model, run, member),
        value_vectors=model.attention.blocks[-1].slot_values()[0].numpy(),
    )


def measure_pair(
    left: str, run: TrainedRun, sweep: StrengthSweep, bundled: str | None = None
) -> MeasuredPair:
    """Measure the gated member of a ``sweep`` at all strengths, and the model beside it.

    Args:
        left: "same" for the same member with its gate ablated, "own" for the member that was
            trained without a gate whose surface is broadest, with its classifier refitted.
        run: The training of both.
        sweep: The gated member, with a classifier refitted at every strength.
        bundled: The name of the run among `PRESETS`, see `measure_model`.
    """
    right = measure_model(sweep.model(run), run, sweep.member, bundled=bundled)
    if left == "same":
        beside = right.frame(NO_GATE)
    else:
        ensemble = run.variants[run.setting.compared[0]].ensemble
        member, task = select_ungated(run), run.task
        model = refitted(
            strengths_model(ensemble, member), task.train_points[member], task.train_labels[member]
        )
        beside = measure_model(model, run, member)
    return MeasuredPair(beside, right, shows_surface(run, sweep.member))


# --- One surface, to be cut -----------------------------------------------------------------------


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
    eye: tuple[float, float]  # azimuth and elevation of the first view

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
    classified = sample(model, square_grid(FEWEST), points)
    values = classified.data_values
    share = np.array(STRENGTHS)[:, None, None]
    between = (1 - share) * values[0] + share * values[-1]
    linear = np.abs(values - between).max() <= LINEAR * np.abs(values).max()
    kept = [0, -1] if linear else slice(None)
    ensemble = run.variants[run.setting.compared[1]].ensemble
    strengths = np.array(STRENGTHS)[kept]
    shown = strengths_model(ensemble, member, strengths.tolist())
    surfaces = sample(shown, grid, points[:1]).values
    origin, basis, size = _frame(corners, surfaces[-1].reshape(-1, 3))
    normals, offsets = classified.normal, classified.offset + classified.normal @ origin
    planes = np.concatenate([size * normals @ basis, offsets[:, None]], 1)
    planes /= np.linalg.norm(planes[:, :3], axis=1, keepdims=True)
    return Stage(
        strengths=strengths,
        surfaces=(surfaces - origin) @ basis / size,
        test_values=(values[kept] - origin) @ basis / size,
        test_points=points,
        test_labels=run.task.test_labels[member],
        planes=planes,
        corners=(corners - origin) @ basis / size,
        seed=run.setting.seeds[member],
        axis=grid.axis.numpy(),
        eye=eye_over(planes[-1]),
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
