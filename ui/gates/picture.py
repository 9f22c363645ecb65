"""The picture of a gated surface: itself, K or |H| over the chart, and the gate over the chart.

Frames are strengths of the gate. All are drawn in one box, beside the flat surface, unless the
image is so much larger or smaller that nothing would be seen of it. Shapes: R x C grid points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ui.drawing import palette, surfaces
from ui.drawing.camera import best_camera
from ui.drawing.colours import ColourScale, scale_of, share_beyond
from ui.drawing.lines import Arrays, border, framed, hatch, in_space, lifted, on_chart
from ui.drawing.panels import Note, Panel, View, cells, ghost
from ui.drawing.surfaces import ChartLine
from ui.gates.frames import STRENGTHS, GateFrame

SHOWN = {"K": "curvature", "|H|": "mean"}  # what the colours can show: a quantity of `COLOURINGS`
READ_OFF = {"K": "gaussian", "|H|": "mean"}  # the array of it
NAME = "gated"
SMALLEST = 0.2  # of a box's diagonal: with a smaller image each frame has a box of its own
LARGEST_DRAWN = 1e6  # of coordinates: in single precision a box that is larger loses its lines
AXIS_NAMES = ("y<sub>1</sub>", "y<sub>2</sub>", "y<sub>3</sub>")
LOST: ChartLine = ("lost", palette.GRID_LINE, 1.0, {})


@dataclass(frozen=True, eq=False)
class Scales:
    """The base of colours, camera and boxes, whichever strengths have been measured so far.

    ``frames`` are some of them, the full gate last; ``reach`` is where the images of all lie.
    """

    frames: Sequence[GateFrame]
    reach: Mapping[float, np.ndarray]  # (R, C, 3)


@dataclass(frozen=True, eq=False)
class GatePicture:
    """The linked view, the colours of what is shown, and those of the gate."""

    view: View
    scale: ColourScale
    gate_scale: ColourScale
    boxes_vary: bool
    cut: bool  # whether points were left out because they are too far away
    beyond: list[float]  # by frame: the share of points beyond the scale


def settled_by(frames: Sequence[GateFrame]) -> Scales:
    """Return what some strengths settle for all: ``frames`` from the flat surface to the full gate.

    A point moves on a straight line with the strength.
    """
    flat, full = frames[0].values, frames[-1].values
    moved = {strength: (1 - strength) * flat + strength * full for strength in STRENGTHS[1:]}
    return Scales(frames, {STRENGTHS[0]: flat} | moved)


def gate_picture(
    frames: Sequence[GateFrame],
    shown: str = "K",
    settled: Scales | None = None,
    name: str = NAME,
) -> GatePicture:
    """Draw one column: the surface coloured by what is ``shown``, that over the chart, the gate.

    The flat surface shows the scale; where the boxes vary and hide it, numbers along the axes do.
    Without ``settled`` the frames are all that there is, in any order. Arrays begin with ``name``.
    """
    keys: Sequence[float] = [frame.strength for frame in frames]
    if settled is None:
        keys = range(len(frames))
        settled = Scales(
            frames, {key: frame.values for key, frame in zip(keys, frames, strict=True)}
        )
    scale = scale_of(SHOWN[shown], [_field(frame, shown) for frame in settled.frames])
    gate_scale = scale_of("gate", [frame.gate for frame in settled.frames], asinh=False)
    reach = {key: drawable(values) for key, values in settled.reach.items()}
    boxes, _ = surfaces.boxes_of(reach, SMALLEST)
    own = surfaces.vary(boxes)
    axis = frames[0].axis
    rows = [_arrays(frame, _field(frame, shown), scale) for frame in frames]
    moving = framed(name, rows)
    fields = [_field(frame, shown) for frame in settled.frames]
    style = scale.style
    seen = [points[~np.isnan(points[..., 0])] for points in reach.values()]
    scene = surfaces.scene_panel(
        name,
        "(u, v, 1) under its gate, with the chart's grid lines; faint: the flat surface",
        style,
        boxes,
        keys,
        AXIS_NAMES if own else (),
        more=[] if own else ghost("flat"),
        notes=() if own else (Note("the flat surface", "flat_edge", 0, right=8, down=18),),
        seen=seen if any(map(len, seen)) else (),
    )
    chart = surfaces.chart_panel(
        name,
        f"{shown} over the chart, the line K = 0 dashed, what is not known hatched",
        axis,
        _titles(shown),
        style,
        shown,
        read=READ_OFF[shown],
        plain=not any(np.nan_to_num(field, nan=1.0).any() for field in fields),
    )
    view = View(
        columns=[[scene, chart, _gate_panel(name, axis, gate_scale)]],
        arrays={"axis": axis, **cells(len(axis)), **_flat_surface(axis), **moving},
        framed=frozenset(moving),
        frames=len(frames),
        camera=best_camera([np.nan_to_num(drawable(settled.frames[-1].values), nan=0.0)]),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )
    cut = any((np.isnan(reach[key]) & ~np.isnan(x)).any() for key, x in settled.reach.items())
    beyond = [share_beyond(_field(frame, shown), scale) for frame in frames]
    return GatePicture(view, scale, gate_scale, own, cut, beyond)


def side_by_side(pictures: Sequence[GatePicture]) -> View:
    """Join the surfaces of ``pictures`` with the same strengths and different names."""
    views = [picture.view for picture in pictures]
    arrays: Arrays = {}
    for view in views:
        arrays |= view.arrays
    return replace(
        views[0],
        columns=[view.columns[0][:1] for view in views],
        arrays=arrays,
        framed=frozenset().union(*(view.framed for view in views)),
    )


def drawable(values: np.ndarray) -> np.ndarray:
    """(R, C, 3): ``values``, NaN where they are not finite or too far away."""
    size = np.abs(np.nan_to_num(values, nan=np.inf)).max(-1, keepdims=True)
    return np.where(size <= LARGEST_DRAWN, values, np.nan)


def _field(frame: GateFrame, shown: str) -> np.ndarray:
    return frame.known if shown == "K" else frame.mean


def _arrays(frame: GateFrame, field: np.ndarray, scale: ColourScale) -> Arrays:
    axis = frame.axis
    read_off = {
        "gaussian": frame.known,
        "error": frame.error,
        "mean": frame.mean,
        "gate": frame.gate,
        **{f"term_{name}": part for name, part in frame.terms.items()},
    }
    drawn = surfaces.surface_arrays(drawable(frame.values), axis, field, frame.signed)
    lost = on_chart(lost=hatch(np.isnan(frame.gate), axis))
    return read_off | drawn | lost | surfaces.colour_arrays(field, scale)


def _flat_surface(axis: np.ndarray) -> Arrays:
    """The surface before any gate, drawn faintly beside its image."""
    across, along = np.meshgrid(axis, axis)
    values = np.stack([across, along, np.ones_like(across)], -1)
    edge = lifted(border(axis), axis, values[None])[0]
    return in_space("flat", values) | in_space("flat_edge", edge)


def _gate_panel(name: str, axis: np.ndarray, scale: ColourScale) -> Panel:
    return surfaces.chart_panel(
        name,
        "the gate in use over the chart, hatched where it is not positive or not finite",
        axis,
        _titles("gate"),
        scale.style,
        "gate",
        shade="gate",
        read="gate",
        lines=(LOST,),
    )


def _titles(name: str) -> tuple[str, str]:
    return f"u · colour: {name}", "v"
