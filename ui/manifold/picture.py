"""The Manifold page's picture: the ungated and the gated surface, their chart and their weights.

Frames are strengths of the gate; the ungated side has one. Panels of a side, from above: the
surface (for D = 2 the warped grid), the chart as a heatmap, and for inspection the weights'
triangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.experiments.specimen import COLOURINGS, MeasuredSpecimen
from ui.drawing import palette
from ui.drawing.axes import Axes
from ui.drawing.camera import best_camera, edge_on_camera
from ui.drawing.colours import ColourScale, colour_scale
from ui.drawing.lines import lies_in_a_plane, plane_lines
from ui.drawing.panels import (
    LIGHTING,
    MILD,
    QUIET,
    EdgeOn,
    Note,
    Panel,
    View,
    boxed,
    cells,
    chart_layout,
    ghost,
    heat,
    line2d,
    line3d,
    mesh,
    ref,
    scene_layout,
    value_triangle,
)
from ui.drawing.sheet import outermost
from ui.manifold.arrays import SIMPLEX, DrawnSide, Readout
from ui.manifold.boxes import boxes_of
from ui.manifold.plane import warped

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
    shares: list[float]  # of each side's variance that the drawn axes show, at its last strength

    @property
    def boxes_vary(self) -> bool:
        """Whether each strength of a side is drawn in a box of its own."""
        return any(panel.layouts for column in self.view.columns for panel in column)


def manifold_view(sides: Sides, axes: Axes, look: Look) -> ManifoldPicture:
    """One column for each of the ``sides``, ungated first, coloured on one scale.

    What is drawn on the surfaces are lines that are straight on the ungated sheet, where that lies
    in a plane. With a surface that is made of averages of three values their triangle is drawn,
    with any other that flat sheet.
    """
    colouring = COLOURINGS[look.colouring]
    fields = [[colouring.field(x, look.layer, look.part) for x in side] for side in sides]
    scale = colour_scale(colouring, [field for side in fields for field in side], look.asinh)
    drawn = drawn_sides(sides, fields, axes)
    axis = sides[0][0].surface.axis
    arrays: dict[str, np.ndarray] = {"axis": axis, **cells(len(axis))}
    style = {"colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high}
    solid = axes.basis.shape[1] == 3
    columns, readouts = [], []
    flat = drawn[0]
    # Where the triangle is whole, it says where a surface is; else numbers along the axes do.
    names = () if solid and boxes_of(flat, _beside(flat, flat))[1] else axes.names
    for side in drawn:
        surface = _scene(side, flat, style, names) if solid else warped(side, style)
        panels = [surface, _chart(side, style, colouring.symbol)]
        arrays |= side.arrays(scale)
        read: Readout = [("K", [f"{side.name}_gaussian"]), ("error", [f"{side.name}_error"])]
        if look.inspect:
            head = look.part if look.colouring == "entropy" and look.part is not None else 0
            inner, more = side.inner_arrays(look.layer, head)
            arrays |= inner
            read += more
            if side.frames[0].specimen.config.value_count == 3:
                panels.append(_simplex(side.name))
        columns.append(panels)
        readouts.append(read)
    framed = {side.name for side in drawn if len(side.frames) > 1}
    lasts = [side.values[-1] for side in drawn]
    view = View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(name for name in arrays if name.split("_")[0] in framed),
        frames=max(map(len, sides)),
        camera=best_camera(lasts) if solid else {},
        colour_range=scale.ends,
        beyond=scale.beyond,
        edge_on=_edge_on(lasts) if solid and drawn[0].lines is not None else None,
    )
    shares = [axes.share(side[-1].surface.values) for side in sides]
    return ManifoldPicture(view, scale, readouts, shares)


def drawn_sides(
    sides: Sides, fields: Sequence[Sequence[np.ndarray]], axes: Axes
) -> list[DrawnSide]:
    """What is drawn of each side, with the same lines on both."""
    first = sides[0][0]
    values, solid = axes.project(first.surface.values[0]), axes.basis.shape[1] == 3
    corners = [_corners(side, axes) if solid else None for side in sides]
    lines = None
    if solid and draws_plane(first):
        own = None if corners[0] is None else corners[0][0]
        lines = plane_lines(values, first.surface.axis, own)
    return [
        DrawnSide(
            name=name,
            frames=side,
            fields=of_side,
            axes=axes,
            lines=lines,
            corners=corners[place],
        )
        for place, (name, side, of_side) in enumerate(
            zip(("left", "right"), sides, fields, strict=False)
        )
    ]


def draws_plane(ungated: MeasuredSpecimen) -> bool:
    """Whether lines are drawn that are straight on the ungated sheet: it is flat, in one plane."""
    values = ungated.surface.values[0]
    return values.shape[-1] > 2 and bool(ungated.surface.flat[0]) and lies_in_a_plane(values)


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
    return side.values if plain and config.value_count == 3 and config.heads == 1 else None


def _edge_on(lasts: Sequence[np.ndarray]) -> EdgeOn:
    """From where the first of the surfaces, a flat one, is a line."""
    sheet = lasts[0]
    return EdgeOn(edge_on_camera(sheet, lasts[-1]), tuple(sheet[0, 0].tolist()))


def _beside(side: DrawnSide, flat: DrawnSide) -> np.ndarray | None:
    """(M, 3): what is drawn with a surface, the triangle of its values or the flat sheet."""
    if side.corners is not None:
        return side.corners.reshape(-1, 3)
    return flat.values.reshape(-1, 3) if side is not flat and flat.lines is not None else None


def _scene(
    side: DrawnSide, flat: DrawnSide, style: dict[str, Any], names: tuple[str, ...]
) -> Panel:
    """The surface in axes called ``names``, and beside it the triangle or the flat sheet."""
    name = side.name
    beside = _beside(side, flat)
    boxes, whole = boxes_of(side, beside)
    layouts = [scene_layout(*boxed(*box), names) for box in boxes]
    traces = [
        mesh(name, style) | {"lighting": LIGHTING | MILD},
        line3d(f"{name}_grid", palette.GRID_LINE, 2.5),
        line3d(f"{name}_edge", palette.GRID_LINE, 2.5),
        line3d(f"{name}_zero", palette.LINE, 6),
        line3d(f"{name}_crease", palette.CREASE, 5),
    ]
    notes: tuple[Note, ...] = ()
    seen = [side.values.reshape(-1, 3)] + ([beside] if whole and beside is not None else [])
    if side.corners is not None:
        traces += value_triangle(f"{name}_ring")[: 2 if whole else 1]  # of its edge no odd ends
        if whole and len(side.frames) == 1:
            notes = tuple(Note(f"U<sub>{i + 1}</sub>", f"{name}_ring", i) for i in range(3))
    elif whole:
        traces += ghost(flat.name)
    what = "the chart's grid lines" if side.lines is None else "lines of the flat sheet's plane"
    return Panel(
        kind="scene",
        label=f"{name}: the surface in representation space with {what}",
        traces=traces,
        layout=layouts[-1],
        layouts=layouts if len(layouts) > 1 else [],
        pick={letter: f"{name}_{letter}" for letter in "xyz"},
        notes=notes,
        inside=[] if names else outermost(np.concatenate(seen)).tolist(),
    )


def _chart(side: DrawnSide, style: dict[str, Any], symbol: str) -> Panel:
    name, first = side.name, side.frames[0]
    names = CHART_NAMES[first.specimen.chart]
    reading = f"{symbol} = %{{customdata:.3g}}"
    return Panel(
        kind="plane",
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
