"""The landing page's picture: two classifiers' surfaces over their input planes, linked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.experiments.comparison import ClassifierFrames, DrawnData
from gating_core.geometry import SurfaceResult
from ui.drawing import palette
from ui.drawing.axes import coordinate_axes
from ui.drawing.camera import best_camera
from ui.drawing.classified import (
    Look,
    Sheet,
    class_colours,
    curvature_scale,
    sheet_arrays,
    sheet_panels,
    style_of,
)
from ui.drawing.colours import ColourScale
from ui.drawing.panels import View, cells

COLOURINGS = ("class", "curvature")
DISCS = ("circle", "circle")
CLASSES = ColourScale(palette.CLASS_SCALE, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Side:
    """One model of the pair, measured; its frames are strengths of its gate."""

    frames: ClassifierFrames
    surface: SurfaceResult
    data: DrawnData
    test_accuracy: np.ndarray  # (T,)
    value_vectors: np.ndarray  # (n, D): the last layer's


def curvature_colours(surface: SurfaceResult, frame: int = -1) -> ColourScale:
    """Colours of K, symmetric about zero, and the share of points beyond them."""
    resolved = surface.resolved[frame]
    return curvature_scale([np.where(resolved, surface.gaussian[frame], np.nan)])


def pair_view(left: Side, right: Side, colouring: str = "class") -> View:
    """Two surfaces in R^3 over their input planes; frames are those of ``right``.

    ``colouring`` "class" shows the classifier's probability, "curvature" shows K on one scale. A
    side with a single frame is the same in all frames of the other.
    """
    if colouring not in COLOURINGS:
        raise ValueError(f"colouring is {colouring!r}; it must be one of {COLOURINGS}")
    by_class = colouring == "class"
    scale = CLASSES if by_class else curvature_colours(right.surface)
    look = Look(style_of(scale), "%{z:.3g}", DISCS, outline=0.6)
    arrays = {"axis": left.data.axis, **cells(len(left.data.axis))}
    columns, framed = [], set()
    for name, side in (("left", left), ("right", right)):
        sheet = Sheet(
            name,
            side.frames,
            side.data,
            coordinate_axes(3),
            class_colours(side.frames.logits) if by_class else side.surface.gaussian,
            corners=side.value_vectors if name == "left" else None,
        )
        moving, fixed = sheet_arrays(sheet)
        if len(side.frames.values) == 1:
            moving, fixed = {}, fixed | {key: array[0] for key, array in moving.items()}
        arrays |= moving | fixed
        framed |= set(moving)
        columns.append(sheet_panels(sheet, look))
    lasts = [left.frames.values[-1], right.frames.values[-1]]
    return View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(framed),
        frames=len(right.frames.values),
        camera=best_camera(lasts, right.frames.normal[-1]),
        colour_range=(scale.low, scale.high),
        beyond=scale.beyond,
    )
