"""The landing page's picture: two classifiers' surfaces over their input planes, linked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

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

    def frame(self, place: int) -> Side:
        """Return one strength alone."""
        here = slice(place, place + 1)
        frames = self.frames.frame(place)
        if frames.averaged is None and self.surface.proof[place]:  # alone it is averages of values
            frames = replace(frames, averaged=self.value_vectors[None])
        return replace(
            self,
            frames=frames,
            surface=self.surface.frame(place),
            concentration=self.concentration[here],
            test_accuracy=self.test_accuracy[here],
        )


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
    room, alike = None, left.value_vectors.tolist() == right.value_vectors.tolist()
    if alike:
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
    pairs = zip((left, right), sheets, strict=True)
    if alike:  # one plane: seen with one camera, along which the gated surface is broad
        pairs = zip((left,), sheets[1:], strict=True)
    return View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(framed),
        frames=len(right.frames.values),
        camera=sheets_camera(sheets),
        edge_on=tuple(
            EdgeOn(edge_on_camera(own.value_vectors, sheet.values[-1]),
                   tuple(own.value_vectors[0].tolist()))
            for own, sheet in pairs
        ),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )  # fmt: skip


def maps_alone(view: View) -> View:
    """``view`` without its scenes, and without what is drawn in nothing else."""
    columns = [[panel for panel in panels if panel.kind == "plane"] for panels in view.columns]
    drawn = set(_names([asdict(panel) for panels in columns for panel in panels]))
    drawn |= {name for panels in columns for panel in panels for name in panel.pick.values()}
    arrays = {name: array for name, array in view.arrays.items() if name in drawn}
    return replace(view, columns=columns, arrays=arrays, framed=view.framed & drawn, edge_on=())


def _names(tree: Any) -> Iterator[str]:
    """Of all arrays that are referred to somewhere in ``tree``."""
    if isinstance(tree, dict):
        if "array" in tree:
            yield tree["array"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _names(part)


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
        grounded=by_class,
    )
