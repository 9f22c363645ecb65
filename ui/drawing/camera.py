"""From where is a scene seen? The direction that shows most of every surface and every loop.

How far away the viewer stands is decided in the browser, which knows how large the panel is.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

CAMERA_DISTANCE = 2.05  # in units of Plotly's normalised scene, until the browser has fitted it
Camera = dict[str, dict[str, float]]
PICTURE = 32  # pixels each way, of what is asked for what is seen
FINEST = 30  # cells each way of the surface that is asked, or not quite twice as many
POINT_BITS, DEPTH_BITS = 12, 20  # room for all points of it, and for their depth
ENOUGH = 0.5  # of what the best direction shows of a part
TIE = 0.1  # weight of the mean share beside the smallest
UPRIGHT = np.array([0.0, 0.0, 1.0])


def best_camera(
    surfaces: Sequence[np.ndarray],
    parts: Sequence[np.ndarray] | None = None,
    loops: Sequence[np.ndarray] = (),
) -> Camera:
    """A Plotly camera that shows the least visible of all parts as broadly as it can.

    Surfaces are (R, C, 3), their ``parts`` (R, C) integers, such as classes; without them each is
    one part. ``loops`` are closed curves (M, 3). Of every part it counts how much area is seen, not
    hidden by its surface, of every loop how much its picture encloses, each as a share of the
    largest that any direction shows. Among directions around the horizon it is the one for which
    the smallest share is largest; where all are good `ENOUGH`, the mean decides.
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
    for place, surface in enumerate(surfaces):
        part = np.zeros(surface.shape[:2], int) if parts is None else parts[place]
        step = max(len(surface) // FINEST, 1)
        part, surface = part[::step, ::step], surface[::step, ::step]
        number = np.unique(part, return_inverse=True)[1].reshape(part.shape)
        areas += list(seen_areas(surface, number, eyes).T.astype(float))
    shares = np.array([area / max(area.max(), np.finfo(float).tiny) for area in areas])
    return camera_from(eyes[np.argmax(shares.min(0).clip(max=ENOUGH) + TIE * shares.mean(0))])


def _vector_area(loop: np.ndarray) -> np.ndarray:
    """(3,): what it projects onto any plane is the area that the loop's picture encloses."""
    centred = loop - loop.mean(0)
    return np.cross(centred, np.roll(centred, -1, axis=0)).sum(0) / 2


def seen_areas(surface: np.ndarray, parts: np.ndarray, eyes: np.ndarray) -> np.ndarray:
    """(E, P): how many pixels show each of the ``parts`` (R, C), from 0 to P - 1, of a ``surface``.

    Of the surface (R, C, 3), seen from afar in the directions ``eyes`` (E, 3) of length 1; its
    diagonal is `PICTURE` pixels long.
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
    found = np.bincount(eye * count + parts.ravel()[nearest], minlength=len(eyes) * count)
    return found.reshape(len(eyes), count)


def edge_on_camera(plane: np.ndarray, surface: np.ndarray) -> Camera:
    """A camera that looks along the plane of the points ``plane`` (..., 3), which is then a line.

    The plane's normal points up; of all directions in it, the one along which ``surface`` (..., 3)
    is narrowest, so that its broad side is seen.
    """
    flat = plane.reshape(-1, 3)
    _, _, frame = np.linalg.svd(flat - flat.mean(0), full_matrices=False)
    points = surface.reshape(-1, 3)
    within = (points - points.mean(0)) @ frame[:2].T
    _, _, inner = np.linalg.svd(within, full_matrices=False)
    up = frame[2] * (1 if frame[2, 2] >= 0 else -1)
    return camera_from(inner[1] @ frame[:2], up)


def camera_from(direction: np.ndarray, up: np.ndarray = UPRIGHT) -> Camera:
    """A Plotly camera that looks at the middle of a scene from a ``direction`` (3,) of length 1."""
    eye, middle = CAMERA_DISTANCE * direction, np.zeros(3)
    places = {"eye": eye, "up": up, "center": middle}
    return {name: dict(zip("xyz", x.tolist(), strict=True)) for name, x in places.items()}
