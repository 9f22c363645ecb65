"""Position of surfaces in a picture of the small renderer, and their first view."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ui.drawing.colours import ColourScale
from ui.drawing.lines import lifted, plane_lines

TURNS, RISES = np.radians(np.arange(0, 360, 15)), np.radians([25, 35, 45])  # of the first view
PICTURE = 32  # pixels each way of the image in which visible area is counted
POINT_BITS, DEPTH_BITS = 12, 20  # of a sort key, for the number and the depth of a point
UPRIGHT = np.array([0.0, 0.0, 1.0])
OVER, ASIDE = 0.47, 0.17  # radians: over a plane; straight on, a dome looks flat
UPRIGHT_TILT = 0.15  # radians: what is steeper, no camera can look down on so far
STEEPEST = 1.5  # radians: of the camera, as `ui/components/surface/view.js` has it
SADDLE_RISE = np.radians(30)  # above, bends look flat; below, the near one hides the far one
NO_SEGMENTS = np.zeros((1, 1, 2, 3))  # of one frame


@dataclass(frozen=True, eq=False)
class Place:
    """Where surfaces stand in a picture: about their ``middle`` (3,), turned (3, 3), in units."""

    middle: np.ndarray
    turn: np.ndarray
    unit: float

    def drawn(self, points: np.ndarray) -> np.ndarray:
        """Return ``points`` (..., 3) as they are drawn."""
        return (points - self.middle) @ self.turn * self.unit

    def planes(self, normal: np.ndarray, offset: np.ndarray) -> np.ndarray:
        """Return planes normal (T, 3) . y + offset (T,) = 0 as rows (a, d): a . drawn + d = 0."""
        moved = self.unit * (normal @ self.middle + offset)[:, None]
        length = np.linalg.norm(normal, axis=-1, keepdims=True)
        return np.concatenate([normal @ self.turn, moved], -1) / length


def level(flat: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """The middle of points (R, R, 3), axes (3, 3), and a unit.

    The axes are the widest, a narrower one, and up to the ``other``; in units, both surfaces lie
    within one of the middle.
    """
    size = max(float(np.abs(flat).max()), float(np.finfo(float).tiny))
    points = flat.reshape(-1, 3) / size  # sums of the largest would overflow
    centre = points.mean(0)
    middle, turn = size * centre, np.linalg.svd(points - centre, full_matrices=False)[2].T
    if ((other.reshape(-1, 3) - middle) @ turn[:, 2]).mean() < 0:
        turn[:, 2] *= -1
    turn[:, 1] *= np.sign(np.linalg.det(turn))  # no mirror image
    extent = max(float(np.abs(x - middle).max()) for x in (flat, other))
    return middle, turn, 1 / max(extent, float(np.finfo(np.float32).tiny))


def best_eye(
    surfaces: list[np.ndarray],
    classes: Sequence[np.ndarray] | None = None,
    rises: np.ndarray = RISES,
    crossing: bool = False,
) -> tuple[float, float]:
    """Azimuth and elevation that show the least visible of ``surfaces`` (R, R, 3) most broadly.

    With ``classes`` (R, R), integers of each surface, the least visible class of one of them. The
    elevation is one of ``rises``. ``crossing``: area counts by how far both bends of the last
    surface are seen from the side, without which a saddle looks rolled.
    """
    azimuth, elevation = (x.ravel() for x in np.meshgrid(TURNS, rises))
    level = np.cos(elevation)
    eyes = np.stack([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)], -1)
    areas = []
    for index, surface in enumerate(x[::2, ::2] for x in surfaces):
        part = np.zeros(surface.shape[:2], int)
        if classes is not None:
            part = np.unique(classes[index][::2, ::2], return_inverse=True)[1].reshape(part.shape)
        areas += list(seen_areas(surface, part, eyes).T)
    seen = np.min([x / max(x.max(), 1) for x in areas], 0)
    best = int(np.argmax(seen * _twist(surfaces[-1][::2, ::2], eyes) if crossing else seen))
    return float(azimuth[best]), float(elevation[best])


def _twist(surface: np.ndarray, eyes: np.ndarray) -> np.ndarray:
    """Integrate |II(e, n x e)| dA of a ``surface``, where e is the tangent part of an eye; (E,).

    That is |k1 - k2| times the cosines between the eye and both principal directions: 0 where one
    bend is seen end-on. A little more, so that a flat surface prefers no eye.
    """
    surface = surface / max(float(np.abs(surface).max()), np.finfo(float).tiny)
    along, across = np.gradient(surface, axis=(1, 0))
    normal = np.cross(along, across)
    normal /= np.maximum(np.linalg.norm(normal, axis=-1, keepdims=True), np.finfo(float).tiny)
    beside = np.cross(normal, eyes[:, None, None])  # n x e; with an edge: the other's coefficient
    edges = across, along, *np.gradient(normal, axis=(1, 0))
    first, second, along, across = ((beside * edge).sum(-1) for edge in edges)
    return np.abs(first * along - second * across).sum((1, 2)) + np.finfo(float).tiny


def both_bends(
    surface: np.ndarray, eye: tuple[float, float], weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the turn (3, 3) that shows both bends of a ``surface`` (R, R, 3) to an ``eye``.

    Its vector area is upright. Of the quadratic that fits its height, the bend that rises more has
    its ends left and right; the eye looks down along the other one, from the end that shows more.
    A surface that bends by more than a right angle needs ``weights`` (R, R), by which its area and
    height count, and is then seen from that side and end which show most of both bends.
    """
    points = surface[::2, ::2] - surface.mean((0, 1))
    points = points / max(float(np.abs(points).max()), np.finfo(float).tiny)
    area = np.cross(np.gradient(points, axis=1), np.gradient(points, axis=0))
    counts = np.ones((*points.shape[:2], 1)) if weights is None else weights[::2, ::2, None]
    axes = np.linalg.svd((counts * area).sum((0, 1))[:, None])[0][:, ::-1]
    axes = axes * [1, np.sign(np.linalg.det(axes)), 1]  # no mirror image
    x, y, z = (points @ axes).reshape(-1, 3).T
    terms = np.stack([x * x / 2, x * y, y * y / 2, x, y, np.ones_like(x)], -1)
    root = np.sqrt(counts.ravel())
    a, b, c = np.linalg.lstsq(terms * root[:, None], z * root)[0][:3]
    falls, rises = np.linalg.eigh([[a, b], [b, c]])[1].T
    sides = [(falls, axes), (rises * [1, -1], axes * [1, -1, -1])]  # upside down: y, z change signs
    if weights is None:
        sides = sides[:1] if a + c >= 0 else sides[1:]
    views = [
        view_axes(float(np.arctan2(along[1], along[0])) + turn, SADDLE_RISE) @ up.T
        for along, up in sides
        for turn in (0, np.pi)
    ]
    eyes = np.stack(views)[:, 0]
    seen = seen_areas(points, np.zeros(points.shape[:2], int), eyes)[:, 0]
    if weights is not None:
        seen = seen * _twist(points, eyes)
    return views[seen.argmax()].T @ view_axes(*eye)


def view_axes(azimuth: float, elevation: float) -> np.ndarray:
    """(3, 3): rows are the directions to the viewer, to the right, and up in the picture."""
    back = np.array([np.cos(azimuth), np.sin(azimuth), 0]) * np.cos(elevation)
    back[2] = np.sin(elevation)
    right = np.array([-np.sin(azimuth), np.cos(azimuth), 0])
    return np.stack([back, right, np.cross(back, right)])


def eye_over(plane: np.ndarray) -> tuple[float, float]:
    """Return the eye past the zenith that looks down a little on a ``plane`` (a, b, c, ...).

    It sees a ring in the plane as an ellipse, what is beyond it as a hill, a level surface broadly.
    An upright plane is seen from below, as much aslant.
    """
    x, y, z = plane[:3] * (-1 if plane[2] < 0 else 1)
    tilt = np.arctan2(z, np.hypot(x, y))
    past = np.pi / 2 - tilt + (OVER if tilt > UPRIGHT_TILT else -OVER)
    return float(np.arctan2(-y, -x)) + ASIDE, float(min(past, STEEPEST))


def seen_areas(surface: np.ndarray, parts: np.ndarray, eyes: np.ndarray) -> np.ndarray:
    """Count the pixels that show each of the ``parts`` of a surface; returns (E, P).

    ``surface`` is (R, C, 3), ``parts`` (R, C) from 0 to P - 1. ``eyes`` (E, 3) are unit directions
    of a viewer far away. The diagonal of the surface is `PICTURE` pixels long.
    """
    beside = np.cross(eyes, UPRIGHT)
    beside /= np.linalg.norm(beside, axis=1, keepdims=True)
    points = surface.reshape(-1, 3)
    points = points - points.min(0)
    largest = max(float(points.max()), np.finfo(float).tiny)  # squares of small ones would be zero
    size = largest * max(float(np.linalg.norm(points.max(0) / largest)), 1.0)
    across, up, depth = (x @ points.T / size for x in (beside, np.cross(beside, eyes), eyes))
    columns, rows = (((x - x.min(1, keepdims=True)) * PICTURE).astype(int) for x in (across, up))
    picture = np.arange(len(eyes))[:, None] * (PICTURE + 1) ** 2  # one after the other
    pixels = picture + columns * (PICTURE + 1) + rows
    # One number for pixel, depth and point: sorted, the nearest point of each pixel comes first.
    far = ((1 - depth) * 2 ** (DEPTH_BITS - 2)).astype(int)
    keys = (((pixels << DEPTH_BITS) + far) << POINT_BITS) + np.arange(len(points))
    keys = np.sort(keys.ravel())
    pixels = keys >> (DEPTH_BITS + POINT_BITS)
    first = np.flatnonzero(np.diff(pixels, prepend=-1))
    nearest = keys[first] & (2**POINT_BITS - 1)
    count = int(parts.max()) + 1
    eye = pixels[first] // (PICTURE + 1) ** 2
    counts = np.bincount(eye * count + parts.ravel()[nearest], minlength=len(eyes) * count)
    return counts.reshape(len(eyes), count)


def scale_share(field: np.ndarray, scale: ColourScale) -> np.ndarray:
    """The place of a ``field`` on the scale, 0 to 1; NaN where it is not known."""
    return ((scale.apply(field) - scale.low) / (scale.high - scale.low)).clip(0, 1)


def straight_segments(
    values: np.ndarray, drawn: np.ndarray, axis: np.ndarray, plane: np.ndarray | None = None
) -> np.ndarray:
    """Segments (S, 2, 3) on the ``drawn`` flat surface that are straight there."""
    return segments_on(plane_lines(values, axis, plane), axis, drawn)


def segments_on(chart: np.ndarray, axis: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Segments (S, 2, 3), at least one, on the ``drawn`` surface of lines (M, 2) of its chart.

    The lines are straight there, though they may run to and fro: one segment has all of a piece.
    """
    lines, found = lifted(chart, axis, drawn[None])[0], list[np.ndarray]()
    for piece in np.split(lines, np.flatnonzero(np.isnan(lines[:, 0]))):
        points = piece[np.isfinite(piece[:, 0])]
        if len(points):
            along = points[:, np.ptp(points, axis=0).argmax()]
            found.append(points[[along.argmin(), along.argmax()]])
    return np.stack(found) if found else NO_SEGMENTS[0]
