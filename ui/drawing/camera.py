"""From where is a scene seen? The direction that shows most of every surface."""

from __future__ import annotations

import itertools

import numpy as np

CAMERA_DISTANCE = 2.05  # in units of Plotly's normalised scene


def best_camera(
    surfaces: list[np.ndarray], face: np.ndarray | None = None
) -> dict[str, dict[str, float]]:
    """A Plotly camera that shows the least visible of the surfaces (R, C, 3) as broadly as it can.

    Among directions around the horizon, the one for which the smallest of these is largest: the
    share of each surface's area that faces the viewer, and, if it is given, how squarely the viewer
    looks against the direction ``face`` (3,), so that a loop in the plane with that normal is seen
    as one.
    """
    turns = np.radians(np.arange(0, 360, 15))
    rises = np.radians([-40, -25, -10, 10, 25, 40, 55])
    eyes = np.array(
        [
            (np.cos(r) * np.cos(t), np.cos(r) * np.sin(t), np.sin(r))
            for r, t in itertools.product(rises, turns)
        ]
    )
    shares = [] if face is None else [eyes @ (face / np.linalg.norm(face))]
    for surface in surfaces:
        across, along = np.diff(surface[:-1], axis=1), np.diff(surface[:, :-1], axis=0)
        cell = np.cross(across, along).reshape(-1, 3)
        area = max(np.linalg.norm(cell, axis=-1).sum(), np.finfo(float).tiny)
        shares.append(np.abs(cell @ eyes.T).sum(0) / area)
    return camera_from(eyes[np.argmax(np.min(shares, axis=0))])


def camera_from(direction: np.ndarray) -> dict[str, dict[str, float]]:
    """A Plotly camera that looks at the middle of a scene from a ``direction`` (3,) of length 1."""
    x, y, z = CAMERA_DISTANCE * direction
    return {
        "eye": {"x": float(x), "y": float(y), "z": float(z)},
        "up": {"x": 0.0, "y": 0.0, "z": 1.0},
        "center": {"x": 0.0, "y": 0.0, "z": 0.0},
    }
