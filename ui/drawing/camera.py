"""Cameras: the direction that shows most of every surface and every loop of a scene.

The browser, which knows the size of the panel, decides the distance.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

CAMERA_DISTANCE = 2.05  # in units of Plotly's normalised scene, until the browser has fitted it
Camera = dict[str, dict[str, float]]
PICTURE = 32  # pixels each way of the image in which visible area is counted
FINEST = 30  # cells each way of the surface in that image, or not quite twice as many
POINT_BITS, DEPTH_BITS = 12, 20  # of a sort key, for the number and the depth of a point
ENOUGH = 0.5  # share of what the best direction shows of a part
TIE = 0.1  # weight of the mean share beside the smallest
UPRIGHT = np.array([0.0, 0.0, 1.0])
DIRECTIONS = 200  # in which the outermost points are searched


def best_camera(
    surfaces: Sequence[np.ndarray],
    parts: Sequence[np.ndarray] | None = None,
    loops: Sequence[np.ndarray] = (),
) -> Camera:
    """Return the Plotly camera that shows the least visible part as broadly as possible.

    ``surfaces`` are (R, C, 3); ``parts`` (R, C) integers, such as classes (default: one part each);
    ``loops`` closed curves (M, 3). A part counts by its visible area, a loop by the area that its
    image encloses, both as a share of the largest in any direction. The direction around the
    horizon with the largest smallest share wins; if all shares are `ENOUGH`, the mean decides.
    """
    turns = np.radians(np.arange(0, 360, 10))
    rises = np.radians([-65, -50, -35, -20, -5, 5, 20, 35, 50, 65])
    eyes = np.array(
        [
            (np.cos(r) * np.cos(t), np.cos(r) * np.sin(t), np.sin(r))
            for r, t in itertools.product(rises, turns)
        ]
    )
    areas = [np.abs(_vector_area(loop) @ eyes.T) for loop in loops]
    for index, surface in enumerate(surfaces):
        part = np.zeros(surface.shape[:2], int) if parts is None else parts[index]
        step = max(len(surface) // FINEST, 1)
        part, surface = part[::step, ::step], surface[::step, ::step]
        number = np.unique(part, return_inverse=True)[1].reshape(part.shape)
        areas += list(seen_areas(surface, number, eyes).T.astype(float))
    shares = np.array([area / max(area.max(), np.finfo(float).tiny) for area in areas])
    return camera_from(eyes[np.argmax(shares.min(0).clip(max=ENOUGH) + TIE * shares.mean(0))])


def _vector_area(loop: np.ndarray) -> np.ndarray:
    """Return (3,) whose component along a direction is the area enclosed by the loop's image."""
    centred = loop - loop.mean(0)
    return np.cross(centred, np.roll(centred, -1, axis=0)).sum(0) / 2


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


def camera_from(direction: np.ndarray, up: np.ndarray = UPRIGHT) -> Camera:
    """Return a Plotly camera at a unit ``direction`` (3,) that looks at the scene's middle."""
    eye, middle = CAMERA_DISTANCE * direction, np.zeros(3)
    vectors = {"eye": eye, "up": up, "center": middle}
    return {name: dict(zip("xyz", x.tolist(), strict=True)) for name, x in vectors.items()}


def outermost(points: np.ndarray) -> np.ndarray:
    """Return those of ``points`` (M, 3) that lie farthest in some of many directions."""
    turns = np.arange(DIRECTIONS) * np.pi * (3 - np.sqrt(5))  # a spiral from pole to pole
    heights = np.linspace(-1, 1, DIRECTIONS)
    rings = np.sqrt(1 - heights**2)
    directions = np.stack([rings * np.cos(turns), rings * np.sin(turns), heights], 1)
    upright = np.ascontiguousarray(points.T)  # one direction at a time: what is compared is small
    return points[np.unique([int((each @ upright).argmax()) for each in directions])]
