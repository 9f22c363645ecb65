"""The linked view: the ungated and the gated surface, their chart and their weights.

Frames are strengths of the gate; the ungated variant has one. Panels of a variant, from above: the
surface (for D = 2 the warped grid), the chart as a heatmap, and for inspection the weights'
triangle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gating_core.experiments.instance import COLOURINGS
from ui.drawing import palette, panels, surfaces
from ui.drawing.axes import Axes
from ui.drawing.camera import best_camera, edge_on_camera
from ui.drawing.colours import ColourScale, colour_scale, share_beyond
from ui.drawing.lines import Arrays
from ui.drawing.panels import CHART_NAMES, Box, EdgeOn, Note, Panel, View
from ui.drawing.surfaces import ChartLine
from ui.manifold.variants import (
    ALONG,
    SHARED_AXES,
    SIMPLEX,
    DrawnVariant,
    Readout,
    Settled,
    Variants,
    drawn_variants,
    draws_simplex,
    settled_by,
    strength_of,
)

SMALLEST = 0.35  # of a box's diagonal: a surface that is smaller gets a box of its own
RIDGE: ChartLine = ("ridge", palette.RIDGE, 2.0, {})


@dataclass(frozen=True)
class ManifoldView:
    """The quantity that is coloured, a key of `COLOURINGS`; its layer, and head or channel."""

    colouring: str = "curvature"
    layer: int = -1  # the last
    part: int | None = None  # head or channel; None: the mean over them
    asinh: bool = True
    inspect: bool = False  # with the weights' triangle


@dataclass(frozen=True, eq=False)
class ManifoldPicture:
    """The linked view, its colour scale, and by variant which arrays can be read off at a point."""

    view: View
    scale: ColourScale
    readouts: list[Readout]
    shares: list[float]  # of each variant's variance that the drawn axes show, at full strength
    stretches: list[float]  # how many times broader than true each variant is drawn
    beyond: list[list[float]]  # by variant and frame: the share of points beyond the scale

    @property
    def boxes_vary(self) -> bool:
        """True if each strength of a variant is drawn in a box of its own."""
        return any(panel.fits for column in self.view.columns for panel in column)


def manifold_picture(
    variants: Variants, axes: Axes, view: ManifoldView, settled: Sequence[Settled] | None = None
) -> ManifoldPicture:
    """Draw one column for each of the ``variants``, ungated first, coloured on one scale.

    What is drawn on the surfaces are lines that are straight without a gate, where the surface lies
    in a plane. With a surface that is made of averages of three values their triangle is drawn.
    Scale, camera and boxes come from ``settled`` alone, by default the variants themselves.
    """
    settled = settled or [settled_by(frames) for frames in variants]
    colouring = COLOURINGS[view.colouring]
    fields = [[colouring.field(x, view.layer, view.part) for x in frames] for frames in variants]
    ends = [colouring.field(each.full, view.layer, view.part) for each in settled]
    scale = colour_scale(colouring, ends, view.asinh)
    style = scale.style
    drawn = drawn_variants(variants, fields, axes, settled)
    axis, solid = variants[0][0].surface.axis, axes.basis.shape[1] == 3
    arrays: Arrays = {"axis": axis, **panels.cells(len(axis))}
    columns, readouts = [], []
    # Where the triangle is whole, it says where a surface is; else numbers along the axes do.
    names = () if solid and _boxes(drawn[0])[1] else axes.names
    for variant in drawn:
        own = names if variant.own is SHARED_AXES else ALONG
        surface = _scene(variant, style, own) if solid else _warped(variant, style)
        # A map of nothing but zeros would fill a third of the screen.
        empty = not any(np.nan_to_num(field, nan=1.0).any() for field in variant.fields)
        column = [surface]
        if view.inspect or not empty:
            column.append(_chart(variant, style, colouring.symbol, empty))
        arrays |= variant.arrays(scale)
        name = variant.name
        readout: Readout = [("K", [f"{name}_gaussian"]), ("error", [f"{name}_error"])]
        if view.inspect:
            head = view.part if view.colouring == "entropy" and view.part is not None else 0
            inner, more = variant.inner_arrays(view.layer, head)
            arrays |= inner
            readout += more
            if draws_simplex(variant.frames[0].instance.config):
                column.append(_simplex(name))
        columns.append(column)
        readouts.append(readout)
    framed = {variant.name for variant in drawn if len(variant.frames) > 1}
    return ManifoldPicture(
        view=View(
            columns=columns,
            arrays=arrays,
            framed=frozenset(name for name in arrays if name.split("_")[0] in framed),
            frames=max(map(len, variants)),
            camera=best_camera([x.own.as_seen(x.full) for x in drawn]) if solid else {},
            colour_range=scale.ends,
            beyond=scale.beyond,
            edge_on=_edge_on(drawn) if solid and drawn[0].lines is not None else (),
        ),
        scale=scale,
        readouts=readouts,
        shares=[axes.share(each.full.surface.values) for each in settled],
        stretches=[variant.own.stretch for variant in drawn],
        beyond=[[share_beyond(field, scale) for field in each] for each in fields],
    )


def _boxes(variant: DrawnVariant) -> tuple[dict[float, Box], bool]:
    """The box of each strength, and whether the triangle of the values is whole in it."""
    own, corners = variant.own, variant.corner_points
    reach = {strength: own.as_seen(values) for strength, values in variant.reach.items()}
    return surfaces.boxes_of(reach, SMALLEST, None if corners is None else own.as_seen(corners))


def _scene(variant: DrawnVariant, style: dict[str, Any], names: tuple[str, ...]) -> Panel:
    """The surface in axes called ``names``, and the triangle of its values if that is whole."""
    name, corners = variant.name, variant.corner_points
    boxes, whole = _boxes(variant)
    more = [panels.line3d(f"{name}_ridge", palette.RIDGE, 5)]
    notes: tuple[Note, ...] = ()
    seen = [values.reshape(-1, 3) for values in variant.reach.values()]
    if whole and corners is not None:
        more += panels.value_triangle(f"{name}_ring")
        notes = tuple(Note(f"U<sub>{i + 1}</sub>", f"{name}_ring", i) for i in range(3))
        seen.append(corners)
    what = (
        "the chart's grid lines" if variant.lines is None else "lines of the flat surface's plane"
    )
    if variant.flat:  # shades would say nothing of a plane, and it is dark from one of its sides
        style = style | {"lighting": panels.UNSHADED}
    return surfaces.scene_panel(
        name,
        f"{name}: the surface in representation space with {what}",
        style,
        boxes,
        list(map(strength_of, variant.frames)),
        names,
        factors=variant.own.factors,
        more=more,
        notes=notes,
        seen=() if names else seen,
    )


def _warped(variant: DrawnVariant, style: dict[str, Any]) -> Panel:
    """D = 2: the chart's grid as the model bends it, in the plane."""
    name = variant.name
    layouts = [
        _plane_layout(values.reshape(-1, 2), variant.axes.names) for values in variant.values
    ]
    marker = {"size": 3, "color": panels.ref(f"{name}_colour", flat=True), **style}
    dots = {letter: panels.ref(f"{name}_{letter}", flat=True) for letter in "xy"}
    return Panel(
        kind="plane",
        label=f"{name}: the chart's grid lines in the plane of the outputs",
        traces=[
            {"type": "scatter", "mode": "markers", **dots, "marker": marker, **panels.QUIET},
            panels.line2d(f"{name}_grid", palette.GRID_LINE, 1, "xy"),
        ],
        layout=layouts[-1],
        layouts=layouts if len(layouts) > 1 else [],
        pick={letter: f"{name}_{letter}" for letter in "xy"},
    )


def _plane_layout(points: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Both axes as the browser fits them to the points (M, 2), with few numbers."""
    axes = {
        f"{letter}axis": {
            "title": {"text": name},
            "tickvals": panels.round_numbers(along.min(), along.max()),
            "zeroline": False,
        }
        for letter, name, along in zip("xy", names, points.T, strict=True)
    }
    axes["yaxis"]["scaleanchor"] = "x"
    return axes


def _edge_on(drawn: Sequence[DrawnVariant]) -> tuple[EdgeOn, ...]:
    """From where each variant's plane is a line: that of its values, or else the flat surface's.

    One for both where that is the same plane, drawn in the same axes.
    """
    flat, last = drawn[0], drawn[-1]
    plane = flat.axes.project(flat.settled.full.surface.values[0])
    planes = [
        x.own.to_own(plane) if x is flat or x.corners is None else x.corners[-1] for x in drawn
    ]
    moved = last is not flat and last.corners is not None and flat.corners is not None
    moved = moved and not np.allclose(planes[-1], np.asarray(flat.corners)[-1])
    if flat.own is last.own and not moved:
        return (_looking_along(planes[0], last),)
    cameras = [_looking_along(plane, x) for plane, x in zip(planes, drawn, strict=True)]
    if last.corners is None:  # the surface may lie far outside the gated variant's box
        level = tuple(last.full.reshape(-1, 3).mean(0).tolist())
        cameras[-1] = replace(cameras[-1], level=level)
    return tuple(cameras)


def _looking_along(plane: np.ndarray, variant: DrawnVariant) -> EdgeOn:
    camera = edge_on_camera(variant.own.as_seen(plane), variant.own.as_seen(variant.full))
    return EdgeOn(camera, tuple(plane.reshape(-1, 3)[0].tolist()))


def _chart(variant: DrawnVariant, style: dict[str, Any], symbol: str, empty: bool) -> Panel:
    name, first = variant.name, variant.frames[0]
    return surfaces.chart_panel(
        name,
        f"{name}: {symbol} over the chart, the line K = 0 dashed, what is not known hatched",
        first.surface.axis,
        CHART_NAMES[first.instance.chart],
        style,
        symbol,
        lines=(surfaces.ZERO_DASHED, RIDGE, surfaces.HATCH),
        plain=empty,
    )


def _simplex(name: str) -> Panel:
    x, y = panels.closed(SIMPLEX).T.tolist()
    bare = {"visible": False, "constrain": "domain"}
    return Panel(
        kind="plane",
        label=f"{name}: the triangle of attention weights with the chart's grid lines in it",
        traces=[
            {
                "type": "scatter",
                "mode": "lines+markers+text",
                "x": x,
                "y": y,
                "text": ["α<sub>1</sub> = 1", "α<sub>2</sub> = 1", "α<sub>3</sub> = 1", ""],
                "textposition": ["bottom center", "bottom center", "top center", "top center"],
                "line": {"color": palette.ACCENT, "width": 2},
                "marker": {"color": palette.ACCENT, "size": 7},
                **panels.QUIET,
            },
            panels.line2d(f"{name}_simplex_grid", palette.GRID_LINE, 1.5, "xy"),
        ],
        layout={
            "xaxis": {**bare, "range": [-0.2, 1.2]},
            "yaxis": {**bare, "range": [-0.25, 1.2], "scaleanchor": "x"},
            "margin": dict.fromkeys("lrtb", 0),  # nothing stands beside it
        },
        pick={letter: f"{name}_simplex_{letter}" for letter in "xy"},
    )
