"""How is one side drawn in space? Its surface in a box, with the triangle of its values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ui.drawing import palette
from ui.drawing.panels import (
    LIGHTING,
    MILD,
    UNSHADED,
    Note,
    Panel,
    boxed,
    in_camera_units,
    line3d,
    mesh,
    scene_layout,
    value_triangle,
)
from ui.drawing.sheet import outermost
from ui.manifold.arrays import DrawnSide
from ui.manifold.boxes import boxes_of, vary
from ui.manifold.whole import strength_of


def corner_points(side: DrawnSide) -> np.ndarray | None:
    """(M, 3): the corners of the triangle of a side's values, at all strengths."""
    return None if side.corners is None else side.corners.reshape(-1, 3)


def scene(side: DrawnSide, style: dict[str, Any], names: tuple[str, ...]) -> Panel:
    """The surface in axes called ``names``, and the triangle of its values if that is whole."""
    name, corners = side.name, corner_points(side)
    boxes, whole = boxes_of(side, corners)
    factors = side.frame.factors
    own = {}
    for strength, box in boxes.items():
        low, high = boxed(*box)
        own[strength] = scene_layout(low / factors, high / factors, names, factors)
    layouts = [own[strength_of(frame)] for frame in side.frames]
    seen = [values.reshape(-1, 3) for values in side.reach.values()]
    fits = []
    if vary(boxes):  # the camera is the same, however many of them are there
        fits = [in_camera_units(x, y) for x, y in zip(seen, own.values(), strict=True)]
        if names:
            fits = [in_camera_units(_ends(y), y) for y in own.values()]
    traces = [
        # Shades would say nothing of a plane, and it is dark from one of its sides.
        mesh(name, style) | {"lighting": UNSHADED if side.flat else LIGHTING | MILD},
        line3d(f"{name}_grid", palette.GRID_LINE, 2.5),
        line3d(f"{name}_edge", palette.GRID_LINE, 2.5),
        line3d(f"{name}_zero", palette.LINE, 6),
        line3d(f"{name}_crease", palette.CREASE, 5),
    ]
    notes: tuple[Note, ...] = ()
    if whole and corners is not None:
        traces += value_triangle(f"{name}_ring")
        seen.append(corners)
        notes = tuple(Note(f"value U<sub>{i + 1}</sub>", f"{name}_ring", i) for i in range(3))
    what = "the chart's grid lines" if side.lines is None else "lines of the flat sheet's plane"
    return Panel(
        kind="scene",
        label=f"{name}: the surface in representation space with {what}",
        traces=traces,
        layout=layouts[-1],
        layouts=layouts if fits else [],
        pick={letter: f"{name}_{letter}" for letter in "xyz"},
        notes=notes,
        inside=[] if names or fits else outermost(np.concatenate(seen)).tolist(),
        fits=outermost(np.concatenate(fits)).tolist() if fits else [],
    )


def _ends(layout: dict[str, Any]) -> np.ndarray:
    """(8, 3)."""
    return np.array(list(itertools.product(*(layout[f"{x}axis"]["range"] for x in "xyz"))))
