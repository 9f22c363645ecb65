"""One classified surface as it is drawn: values, cuts, the classifier's plane, notes, box.

Shapes: T frames (versions of a model), R x C grid points, F faces of the mesh, K classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gating_core.experiments.comparison import ClassifierFrames, DrawnData
from ui.drawing.axes import Axes
from ui.drawing.class_mesh import ClassMesh, class_mesh, class_triangle
from ui.drawing.lines import class_boundary, lifted
from ui.drawing.panels import Note, boxed
from ui.drawing.planes import drawn_planes

DIRECTIONS = 200  # in which the outermost points are found
NOTES = (("classifier's plane", 26, 22), ("cut = boundary", 34, -26))  # pixels right and down


@dataclass(frozen=True, eq=False)
class Sheet:
    """The ``frames`` of one variant in the drawn ``axes``, with the ``data`` points.

    - ``shown`` (T, R, C): the coloured quantity. A ``parted`` mesh shows the likeliest class
      instead, cut where it changes.
    - ``fine`` (T, F, F): colours of the input plane, if they are finer.
    - ``field`` (T, R, C): the quantity that is read off the chart, hatched where it is NaN.
    - ``corners`` (T, 3, 3): the triangle of values. A ``grounded`` sheet fills it with the class of
      each of its points.
    - ``lines`` (M, 2): lines of the chart, drawn on the surface in place of its grid.
    - ``creases``: T outlines of the most curved part, from `crease_curves`.
    - ``labelled``: whether parts are named in the picture; the axes then have no text.
    """

    name: str
    frames: ClassifierFrames
    data: DrawnData
    axes: Axes
    shown: np.ndarray
    parted: bool = False
    fine: np.ndarray | None = None
    field: np.ndarray | None = None
    corners: np.ndarray | None = None
    lines: np.ndarray | None = None
    creases: list[np.ndarray] | None = None
    labelled: bool = False
    grounded: bool = False

    @cached_property
    def values(self) -> np.ndarray:
        """The drawn points (T, R, C, 3)."""
        return self.axes.project(self.frames.values)

    @cached_property
    def class_mesh(self) -> ClassMesh:
        return class_mesh(self.values, self.frames.logits)

    @cached_property
    def ground(self) -> tuple[ClassMesh, np.ndarray] | None:
        """The triangle of values by likeliest class, and its cuts; see `class_triangle`.

        ``None`` unless the surfaces lie in its plane, where logits are affine.
        """
        frames = self.frames
        if not self.grounded or self.corners is None or frames.averaged is None:
            return None
        logits = np.einsum("tnd,tdk->tnk", frames.averaged, frames.weight) + frames.bias[:, None]
        return class_triangle(self.corners, logits)

    @cached_property
    def cuts(self) -> np.ndarray:
        """The decision boundary (T, M, 5) in the chart and on the drawn surface."""
        return boundaries(self.frames.logits, self.data.axis, self.values)

    @cached_property
    def chart_cuts(self) -> np.ndarray:
        """The decision boundary (T, M, 2) in the chart, as fine as it is known."""
        fine = self.frames.fine_logits
        if fine is None:
            return self.cuts[..., :2]
        axis = np.linspace(self.data.axis[0], self.data.axis[-1], fine.shape[1])
        return stacked([class_boundary(frame, axis) for frame in fine])

    @cached_property
    def plane(self) -> np.ndarray | None:
        return drawn_planes(self.frames, self.axes, self.cuts[..., 2:])

    @cached_property
    def inside(self) -> np.ndarray:
        """Points (M, 3) that reach as far as anything drawn in any frame."""
        parts = [self.values.reshape(-1, 3), self.axes.project(self.frames.data_values)]
        parts += [x for x in (self.corners, self.plane) if x is not None]
        points = np.concatenate([part.reshape(-1, 3) for part in parts])
        return outermost(points[~np.isnan(points[:, 0])])

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """The drawn box of space, the same in all frames."""
        return boxed(self.inside.min(0), self.inside.max(0))

    def loops(self, frame: int) -> list[np.ndarray]:
        """Return the closed curves (M, 3) among the cuts of one frame."""
        cut = self.cuts[frame, :, 2:]
        pieces = np.split(cut, np.flatnonzero(np.isnan(cut[:, 0])))
        pieces = [piece[~np.isnan(piece[:, 0])] for piece in pieces]
        return [piece for piece in pieces if len(piece) > 3 and (piece[0] == piece[-1]).all()]

    @property
    def notes(self) -> tuple[Note, ...]:
        """The names of the parts, at the points `note_places`."""
        if not self.labelled:
            return ()
        notes = [Note(text, f"{self.name}_note", index, right, down)
                 for index, (text, right, down) in enumerate(NOTES)]  # fmt: skip
        values = 0 if self.corners is None else self.corners.shape[1]
        return (*notes, *(
            Note(f"U<sub>{i + 1}</sub>", f"{self.name}_note", len(NOTES) + i)
            for i in range(values)
        ))  # fmt: skip

    @property
    def note_places(self) -> np.ndarray:
        """Points (T, ., 3): the plane's lowest corner, a point of the cut, and the corners."""
        count = len(self.values)
        plane = np.full((count, 1, 3), np.nan)
        if self.plane is not None:
            lowest = self.plane[..., 2].argmin(1)
            plane = np.take_along_axis(self.plane, lowest[:, None, None], 1)
        cut = np.stack([_middle(curve) for curve in self.cuts[..., 2:]])[:, None]
        corners = np.empty((count, 0, 3)) if self.corners is None else self.corners
        return np.concatenate([plane, cut, corners], 1)


def _middle(curve: np.ndarray) -> np.ndarray:
    """Return the point (3,) halfway along a curve (M, 3); NaN if it has none."""
    points = curve[~np.isnan(curve[:, 0])]
    return points[len(points) // 2] if len(points) else np.full(3, np.nan)


def outermost(points: np.ndarray) -> np.ndarray:
    """Return those of ``points`` (M, 3) that lie farthest in some of many directions."""
    turns = np.arange(DIRECTIONS) * np.pi * (3 - np.sqrt(5))  # a spiral from pole to pole
    heights = np.linspace(-1, 1, DIRECTIONS)
    rings = np.sqrt(1 - heights**2)
    directions = np.stack([rings * np.cos(turns), rings * np.sin(turns), heights], 1)
    upright = np.ascontiguousarray(points.T)  # one direction at a time: what is compared is small
    return points[np.unique([int((each @ upright).argmax()) for each in directions])]


def boundaries(logits: np.ndarray, axis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where the two likeliest classes are equally likely: (T, M, 5), chart and surface."""
    curves = []
    for frame, surface in zip(logits, values, strict=True):
        chart = class_boundary(frame, axis)
        curves.append(np.concatenate([chart, lifted(chart, axis, surface[None])[0]], -1))
    return stacked(curves)


def stacked(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """Stack arrays to (T, ...); lines (M, ...) are filled up with NaN to the longest."""
    if len({x.shape for x in arrays}) == 1:
        return np.stack(arrays)
    out = np.full((len(arrays), max(map(len, arrays)), *arrays[0].shape[1:]), np.nan)
    for row, line in zip(out, arrays, strict=True):
        row[: len(line)] = line
    return out
