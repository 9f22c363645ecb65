"""The landing page's picture: two classifiers' surfaces over their input planes, linked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gating_core.experiments.comparison import ClassifierFrames, DrawnData
from gating_core.geometry import SurfaceResult
from ui.drawing import palette
from ui.drawing.axes import coordinate_axes
from ui.drawing.camera import edge_on_camera
from ui.drawing.classified import (
    Look,
    class_colours,
    curvature_scale,
    sheet_arrays,
    sheet_panels,
    sheets_camera,
    style_of,
)
from ui.drawing.colours import ColourScale
from ui.drawing.creases import crease_curves
from ui.drawing.lines import plane_lines
from ui.drawing.panels import EdgeOn, View, cells
from ui.drawing.sheet import Sheet

COLOURINGS = ("class", "curvature")
DISCS = ("circle", "circle")
CLASSES = ColourScale(palette.CLASS_SCALE, 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Side:
    """One model of the pair, measured; its T frames are strengths of its gate."""

    seed: int
    frames: ClassifierFrames
    surface: SurfaceResult
    concentration: np.ndarray  # (T,): the share of |K| on the most curved part
    data: DrawnData
    test_accuracy: np.ndarray  # (T,)
    value_vectors: np.ndarray  # (3, D): the last layer's


def curvature_colours(surface: SurfaceResult) -> ColourScale:
    """Colours of K at full strength, symmetric about zero, an asinh scale."""
    return curvature_scale([surface.known[-1]], asinh=True)


def pair_view(left: Side, right: Side, colouring: str = "class") -> View:
    """Two surfaces in R^3 beside their input planes; frames are those of ``right``.

    ``colouring`` "class" shows the classifier's probability, "curvature" shows K on one scale. The
    left side has a single frame. Sides of one model are drawn in one box. On the surfaces are lines
    that are straight where the gate is out.
    """
    if colouring not in COLOURINGS:
        raise ValueError(f"colouring is {colouring!r}; it must be one of {COLOURINGS}")
    by_class = colouring == "class"
    scale = CLASSES if by_class else curvature_colours(right.surface)
    reading = "p(class 1) = %{z:.2f}" if by_class else "K"
    look = Look(style_of(scale), reading, DISCS, outline=0.6)
    sheets = [_sheet("left", left, scale, by_class), _sheet("right", right, scale, by_class)]
    room = None
    if left.value_vectors.tolist() == right.value_vectors.tolist():
        low, high = zip(*(sheet.box for sheet in sheets), strict=True)
        room = np.minimum(*low), np.maximum(*high)
    arrays = {"axis": left.data.axis, **cells(len(left.data.axis))}
    columns, framed = [], set()
    for sheet in sheets:
        moving, fixed = sheet_arrays(sheet)
        if len(sheet.frames.values) == 1:
            moving, fixed = {}, fixed | {key: array[0] for key, array in moving.items()}
        arrays |= moving | fixed
        framed |= set(moving)
        columns.append(sheet_panels(sheet, look, room))
    lasts = [sheet.values[-1] for sheet in sheets]
    return View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(framed),
        frames=len(right.frames.values),
        camera=sheets_camera(sheets),
        edge_on=EdgeOn(
            edge_on_camera(left.value_vectors, lasts[1]), tuple(left.value_vectors[0].tolist())
        ),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )


def _sheet(name: str, side: Side, scale: ColourScale, by_class: bool) -> Sheet:
    known = side.surface.known
    field = None if by_class else known
    shown = (
        class_colours(side.frames.logits)
        if by_class
        else np.nan_to_num(scale.apply(known)).clip(scale.low, scale.high)
    )
    return Sheet(
        name,
        side.frames,
        side.data,
        coordinate_axes(3),
        shown,
        field=field,
        corners=np.tile(side.value_vectors, (len(side.frames.values), 1, 1)),
        lines=plane_lines(side.frames.values[0], side.data.axis, side.value_vectors),
        creases=None if by_class else crease_curves(side.surface, side.frames.values),
        labelled=True,
    )
