"""One classified surface as it is drawn: values, cuts, the classifier's plane, notes, box.

Shapes: T frames (versions of a model), R x C grid points, F faces of the mesh, K classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gating_core.experiments.comparison import ClassifierFrames, DrawnData
from ui.drawing.axes import Axes
from ui.drawing.camera import outermost
from ui.drawing.class_mesh import ClassMesh, class_mesh, class_triangle
from ui.drawing.lines import class_boundary, lifted, stacked
from ui.drawing.panels import Box, Note, boxed

NOTES = (("classifier's plane", 26, 22), ("cut = boundary", 34, -26))  # pixels right and down
PATCH_MARGIN = 1.15  # length of the drawn part of a plane, in lengths of the cut
PATCH_WIDTH = 0.35  # its least half-width, in root mean square radii of the surface
PLANE_TOLERANCE = 0.01  # share of the largest margin, and of the points, it may miss


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
    def box(self) -> Box:
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
        values = 0 if self.corners is None else self.corners.shape[1]
        texts = [*NOTES, *((f"U<sub>{i + 1}</sub>", 0, 0) for i in range(values))]
        return tuple(
            Note(text, f"{self.name}_note", index, right, down)
            for index, (text, right, down) in enumerate(texts)
        )

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


def boundaries(logits: np.ndarray, axis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return where the two likeliest classes are equally likely: (T, M, 5), chart and surface."""
    charts = [class_boundary(frame, axis) for frame in logits]
    pairs = zip(charts, values, strict=True)
    return stacked([np.concatenate([x, lifted(x, axis, y[None])[0]], -1) for x, y in pairs])


# --- The classifier's plane -----------------------------------------------------------------------


def classifier_planes(
    frames: ClassifierFrames, axes: Axes
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the classifier's planes normal . y + offset = 0 in the drawn axes.

    Returns ``normal`` (T, 3), ``offset`` (T,) and ``honest`` (T,): whether the plane's margin in
    the drawn axes is the classifier's to 1 % of the largest on the surface, and its decision the
    same at 99 % of the points. In R^3 it always is. In more dimensions some are not drawn, and a
    classifier that reads those has no plane in the view. ``None`` for more than two classes.
    """
    if frames.logits.shape[-1] != 2:
        return None
    if not axes.principal:
        return frames.normal, frames.offset, np.ones(len(frames.offset), dtype=bool)
    normal, offset = frames.normal @ axes.basis, frames.offset + frames.normal @ axes.origin
    drawn = np.einsum("trcd,td->trc", axes.project(frames.values), normal)
    drawn, margin = drawn + offset[:, None, None], frames.margin
    close = np.abs(drawn - margin).max((1, 2)) <= PLANE_TOLERANCE * np.abs(margin).max((1, 2))
    otherwise = ((drawn > 0) != (margin > 0)).mean((1, 2))
    return normal, offset, close & (otherwise <= PLANE_TOLERANCE)


def drawn_planes(frames: ClassifierFrames, axes: Axes, cuts: np.ndarray) -> np.ndarray | None:
    """Return the corners (T, 4, 3) of the drawn planes; ``None`` if none can be shown honestly.

    ``cuts`` (T, M, 3) are the curves in which the planes cut the surfaces, in the drawn ``axes``. A
    plane that misses its surface is not drawn.
    """
    planes = classifier_planes(frames, axes)
    if planes is None or not planes[2].any():
        return None
    values = axes.project(frames.values)
    out = np.full((len(cuts), 4, 3), np.nan)
    for frame, (normal, offset, honest) in enumerate(zip(*planes, strict=True)):
        cut = cuts[frame][~np.isnan(cuts[frame][:, 0])]
        if honest and len(cut) > 1:
            out[frame] = plane_patch(normal, offset, cut, values[frame])
    return out


def plane_patch(
    normal: np.ndarray, offset: float, cut: np.ndarray, surface: np.ndarray
) -> np.ndarray:
    """Return the corners (4, 3), in order, of a rectangle in the plane normal . y + offset = 0.

    It lies along the ``cut`` (M, 3), reaches a little beyond it, and is at least as wide as a good
    part of the ``surface`` (R, C, 3).
    """
    unit = normal / np.linalg.norm(normal)
    points = cut - (cut @ unit + offset / np.linalg.norm(normal))[:, None] * unit
    middle = points.mean(0)
    _, _, turn = np.linalg.svd(points - middle, full_matrices=False)
    along = turn[0] - (turn[0] @ unit) * unit
    along /= np.linalg.norm(along)
    sides = np.stack([along, np.cross(unit, along)])
    within = (points - middle) @ sides.T
    middle = middle + (within.min(0) + within.max(0)) / 2 @ sides
    spread = surface.reshape(-1, 3)
    least = PATCH_WIDTH * np.sqrt(((spread - spread.mean(0)) ** 2).sum(1).mean())
    half = np.maximum(PATCH_MARGIN * np.ptp(within, axis=0) / 2, least)
    return middle + np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half @ sides
