"""The Manifold page's picture: the ungated and the gated surface, their chart and their weights.

Frames are strengths of the gate; the ungated side has one. Panels of a side, from above: the
surface (for D = 2 the warped grid), the chart as a heatmap, and for inspection the weights'
triangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gating_core.experiments.specimen import COLOURINGS, MeasuredSpecimen
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.drawing.camera import best_camera, edge_on_camera
from ui.drawing.colours import ColourScale, colour_scale, share_beyond
from ui.drawing.lines import plane_lines
from ui.drawing.panels import (
    QUIET,
    EdgeOn,
    Panel,
    View,
    cells,
    chart_layout,
    heat,
    line2d,
    ref,
)
from ui.manifold.arrays import SIMPLEX, DrawnSide, Readout, draws_plane, draws_simplex
from ui.manifold.boxes import boxes_of
from ui.manifold.plane import warped
from ui.manifold.scene import corner_points, scene
from ui.manifold.whole import ALONG, PLAIN, Whole, frame_of, whole_of

CHART_NAMES = {"inputs": ("x<sub>1</sub>", "x<sub>2</sub>"), "weights": ("u", "v")}
Sides = Sequence[Sequence[MeasuredSpecimen]]  # each at one or more strengths


@dataclass(frozen=True)
class Look:
    """What the colours show: a key of `COLOURINGS`, of which layer and head or channel."""

    colouring: str = "curvature"
    layer: int = -1  # the last
    part: int | None = None  # head or channel; None: the mean over them
    asinh: bool = True
    inspect: bool = False  # with the weights' triangle


@dataclass(frozen=True, eq=False)
class ManifoldPicture:
    """The linked view, its colour scale, and by side which arrays can be read off at a point."""

    view: View
    scale: ColourScale
    readouts: list[Readout]
    shares: list[float]  # of each side's variance that the drawn axes show, at full strength
    stretches: list[float]  # how many times broader than true each side is drawn
    beyond: list[list[float]]  # by side and frame: the share of points that the colours cut off

    @property
    def boxes_vary(self) -> bool:
        """Whether each strength of a side is drawn in a box of its own."""
        return any(panel.fits for column in self.view.columns for panel in column)


def manifold_view(
    sides: Sides, axes: Axes, look: Look, wholes: Sequence[Whole] | None = None
) -> ManifoldPicture:
    """One column for each of the ``sides``, ungated first, coloured on one scale.

    What is drawn on the surfaces are lines that are straight on the ungated sheet, where that lies
    in a plane. With a surface that is made of averages of three values their triangle is drawn.
    Scale, camera and boxes come from ``wholes`` alone; these are the sides themselves unless said.
    """
    wholes = wholes or [whole_of(side) for side in sides]
    colouring = COLOURINGS[look.colouring]
    fields = [[colouring.field(x, look.layer, look.part) for x in side] for side in sides]
    ends = [colouring.field(whole.full, look.layer, look.part) for whole in wholes]
    scale = colour_scale(colouring, ends, look.asinh)
    drawn = drawn_sides(sides, fields, axes, wholes)
    axis = sides[0][0].surface.axis
    arrays: dict[str, np.ndarray] = {"axis": axis, **cells(len(axis))}
    style = {"colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high}
    solid = axes.basis.shape[1] == 3
    columns, readouts = [], []
    # Where the triangle is whole, it says where a surface is; else numbers along the axes do.
    names = () if solid and boxes_of(drawn[0], corner_points(drawn[0]))[1] else axes.names
    for side in drawn:
        own = names if side.frame is PLAIN else ALONG
        surface = scene(side, style, own) if solid else warped(side, style)
        panels = [surface, _chart(side, style, colouring.symbol)]
        arrays |= side.arrays(scale)
        read: Readout = [("K", [f"{side.name}_gaussian"]), ("error", [f"{side.name}_error"])]
        if look.inspect:
            head = look.part if look.colouring == "entropy" and look.part is not None else 0
            inner, more = side.inner_arrays(look.layer, head)
            arrays |= inner
            read += more
            if draws_simplex(side.frames[0].specimen.config):
                panels.append(_simplex(side.name))
        columns.append(panels)
        readouts.append(read)
    framed = {side.name for side in drawn if len(side.frames) > 1}
    view = View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(name for name in arrays if name.split("_")[0] in framed),
        frames=max(map(len, sides)),
        camera=best_camera([side.frame.drawn(side.full) for side in drawn]) if solid else {},
        colour_range=scale.ends,
        beyond=scale.beyond,
        edge_on=_edge_on(drawn) if solid and drawn[0].lines is not None else (),
    )
    shares = [axes.share(whole.full.surface.values) for whole in wholes]
    stretches = [side.frame.stretch for side in drawn]
    return ManifoldPicture(view, scale, readouts, shares, stretches, _beyond(fields, scale))


def _beyond(fields: Sequence[Sequence[np.ndarray]], scale: ColourScale) -> list[list[float]]:
    return [[share_beyond(field, scale) for field in side] for side in fields]


def drawn_sides(
    sides: Sides,
    fields: Sequence[Sequence[np.ndarray]],
    axes: Axes,
    wholes: Sequence[Whole] | None = None,
) -> list[DrawnSide]:
    """What is drawn of each side, with the same lines on both."""
    wholes = wholes or [whole_of(side) for side in sides]
    first = sides[0][0]
    values, solid = axes.project(first.surface.values[0]), axes.basis.shape[1] == 3
    corners = [_corners(side, axes) if solid else None for side in sides]
    lines = None
    if solid and draws_plane(first):
        own = None if corners[0] is None else corners[0][0]
        lines = plane_lines(values, first.surface.axis, own)
    frames = [frame_of(whole, axes) for whole in wholes]
    return [
        DrawnSide(
            name=name,
            frames=side,
            fields=of_side,
            axes=axes,
            whole=whole,
            frame=frame,
            lines=lines,
            corners=None if of_values is None else frame.place(of_values),
        )
        for name, side, of_side, whole, frame, of_values in zip(
            ("left", "right"), sides, fields, wholes, frames, corners, strict=False
        )
    ]


def _corners(side: Sequence[MeasuredSpecimen], axes: Axes) -> np.ndarray | None:
    """(T, 3, 3): the values in force, where the outputs of all frames are averages of them."""
    own = [values for frame in side if (values := averaged(frame)) is not None]
    return axes.project(np.stack(own)) if len(own) == len(side) else None


def averaged(side: MeasuredSpecimen) -> np.ndarray | None:
    """(3, D): the last layer's three values, where the outputs are averages of them and no more."""
    config = side.specimen.config
    gate = config.gate
    plain = not config.residual and config.norm != "post" and not config.output_projection
    plain = plain and (gate is None or gate.position in ("G2", "G3", "G4"))
    plain = plain and config.layer.weights_on_simplex
    return side.values if plain and config.value_count == 3 and config.heads == 1 else None


def _edge_on(drawn: Sequence[DrawnSide]) -> tuple[EdgeOn, ...]:
    """For each side, from where its plane is a line: that of its values, or else the flat sheet's.

    One for both where that is the same plane, drawn in the same axes.
    """
    flat, last = drawn[0], drawn[-1]
    sheet = flat.axes.project(flat.whole.full.surface.values[0])
    planes = [
        side.frame.place(sheet) if side is flat or side.corners is None else side.corners[-1]
        for side in drawn
    ]
    own = last is not flat and last.corners is not None and flat.corners is not None
    moved = own and not np.allclose(planes[-1], np.asarray(flat.corners)[-1])
    if flat.frame is last.frame and not moved:
        return (_looking_along(planes[0], last),)
    found = [_looking_along(plane, side) for plane, side in zip(planes, drawn, strict=True)]
    if last.corners is None:  # the sheet may lie far outside the gated side's box
        found[-1] = replace(found[-1], level=tuple(last.full.reshape(-1, 3).mean(0).tolist()))
    return tuple(found)


def _looking_along(plane: np.ndarray, side: DrawnSide) -> EdgeOn:
    camera = edge_on_camera(side.frame.drawn(plane), side.frame.drawn(side.full))
    return EdgeOn(camera, tuple(plane.reshape(-1, 3)[0].tolist()))


def _chart(side: DrawnSide, style: dict[str, Any], symbol: str) -> Panel:
    name, first = side.name, side.frames[0]
    names = CHART_NAMES[first.specimen.chart]
    reading = f"{symbol} = %{{customdata:.3g}}"
    known = [np.nan_to_num(field, nan=1.0) for field in side.fields]
    return Panel(
        kind="plane",
        plain=f"{symbol} = 0 everywhere" if not any(field.any() for field in known) else "",
        label=f"{name}: {symbol} over the chart, the line K = 0 dashed, what is not known hatched",
        traces=[
            heat(f"{name}_shade", style, reading, customdata=ref(f"{name}_field")),
            line2d(f"{name}_zero_u", f"{name}_zero_v", palette.LINE, 2, dash="dash"),
            line2d(f"{name}_crease_u", f"{name}_crease_v", palette.CREASE, 2),
            line2d(f"{name}_hatch_u", f"{name}_hatch_v", palette.GRID_LINE, 1),
        ],
        layout=chart_layout(first.surface.axis, names),
        pick={"x": "axis", "y": "axis"},
    )


def _simplex(name: str) -> Panel:
    ring = np.concatenate([SIMPLEX, SIMPLEX[:1]])
    bare = {"visible": False, "constrain": "domain"}
    return Panel(
        kind="plane",
        label=f"{name}: the triangle of attention weights with the chart's grid lines in it",
        traces=[
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "x": ring[:, 0].tolist(),
                "y": ring[:, 1].tolist(),
                "text": ["α<sub>1</sub> = 1", "α<sub>2</sub> = 1", "α<sub>3</sub> = 1", ""],
                "textposition": ["bottom center", "bottom center", "top center", "top center"],
                "line": {"color": palette.ACCENT, "width": 2},
                "marker": {"color": palette.ACCENT, "size": 7},
                **QUIET,
            },
            line2d(f"{name}_simplex_grid_x", f"{name}_simplex_grid_y", palette.GRID_LINE, 1.5),
        ],
        layout={
            "xaxis": {**bare, "range": [-0.2, 1.2]},
            "yaxis": {**bare, "range": [-0.25, 1.2], "scaleanchor": "x"},
            "margin": dict.fromkeys("lrtb", 0),  # nothing stands beside it
        },
        pick={letter: f"{name}_simplex_{letter}" for letter in "xy"},
    )
