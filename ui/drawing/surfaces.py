"""One measured surface as panels: in space, in a box for each frame, and over its chart.

Shapes: R x C grid points, M points of a line, in which rows of NaN separate pieces.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gating_core.geometry import SurfaceResult, ridge_levels
from ui.drawing import palette, panels
from ui.drawing.camera import outermost
from ui.drawing.colours import ColourScale
from ui.drawing.lines import (
    Arrays,
    border,
    grid_lines,
    hatch,
    in_space,
    lifted,
    on_chart,
    zero_curve,
)
from ui.drawing.panels import Box, Note, Panel

TRUE_SIZE = np.ones(3)
LABEL_ROOM = 1.2  # times a box, where numbers and names stand beside it
ChartLine = tuple[str, str, float, dict[str, Any]]  # array, colour, width, more of the line
ZERO_DASHED: ChartLine = ("zero", palette.LINE, 2.0, {"dash": "dash"})
HATCH: ChartLine = ("hatch", palette.GRID_LINE, 1.0, {})


# --- Arrays ---------------------------------------------------------------------------------------


def surface_arrays(
    values: np.ndarray,
    axis: np.ndarray,
    field: np.ndarray,
    signed: np.ndarray,
    lines: np.ndarray | None = None,
) -> Arrays:
    """A surface ``values`` (R, C, 2 or 3) and the lines on it and over its chart.

    These are its edge; the chart's grid, or ``lines`` (M, 2) in its place; the zeros of ``signed``
    (R, C); and hatches where ``field`` (R, C) is NaN.
    """
    grid = grid_lines(values[None])[0] if lines is None else lifted(lines, axis, values[None])[0]
    zero, zero_on_surface = zero_curve(signed, axis, values)
    edge = lifted(border(axis), axis, values[None])[0]
    on_surface = {"": values, "edge": edge, "grid": grid, "zero": zero_on_surface}
    arrays = on_chart(zero=zero, hatch=hatch(np.isnan(field), axis))
    for name, points in on_surface.items():
        arrays |= in_space(name, points)
    return arrays


def ridge_curves(surface: SurfaceResult, drawn: np.ndarray) -> list[np.ndarray]:
    """Return the outline (M, 2 + D) of each frame's most curved part, in the chart and as drawn.

    ``drawn`` (T, R, C, D) are the surface's points in the drawn axes. There is one row of NaN alone
    if that part holds too little curvature (see `ridge_levels`).
    """
    sizes = np.where(surface.decided, np.abs(surface.gaussian), 0.0)
    outlines = []
    for size, level, values in zip(sizes, ridge_levels(surface), drawn, strict=True):
        above = size - level if np.isfinite(level) else np.ones_like(size)
        outlines.append(np.concatenate(zero_curve(above, surface.axis, values), -1))
    return outlines


def colour_arrays(field: np.ndarray, scale: ColourScale) -> Arrays:
    """Return the colours of a ``field`` (R, C), and the same without holes for the surface.

    What exceeds the scale has the colour of its end, which is also safe in float32.
    """
    shade = np.clip(scale.apply(field), scale.low, scale.high)
    blank = 0.0 if scale.low < 0 < scale.high else scale.low
    return {"shade": shade, "colour": np.nan_to_num(shade, nan=blank)}


# --- Boxes ----------------------------------------------------------------------------------------


def boxes_of(
    reach: Mapping[float, np.ndarray], smallest: float, beside: np.ndarray | None = None
) -> tuple[dict[float, Box], bool]:
    """The box of each of several surfaces (R, C, 3), and whether ``beside`` is in it.

    All have one box, so that the surface moves in it, unless one of them would be smaller than
    ``smallest`` of its diagonal: then each has its own. Points ``beside`` (M, 3) them are in the
    box if all surfaces are large enough in it.
    """
    boxes = {key: _box(seen.reshape(-1, 3)) for key, seen in reach.items()}
    own = list(boxes.values())
    if beside is not None:
        around = _around([*own, _box(beside)])
        if _all_seen(own, around, smallest):
            return dict.fromkeys(boxes, around), True
    around = _around(own)
    return (dict.fromkeys(boxes, around) if _all_seen(own, around, smallest) else boxes), False


def vary(boxes: Mapping[float, Box]) -> bool:
    """Return whether each surface has a box of its own."""
    first, *rest = boxes.values()
    return any(box is not first for box in rest)


def _box(points: np.ndarray) -> Box:
    """The box of ``points`` (M, 3); that of the sheet (u, v, 1) where all are NaN."""
    points = points[~np.isnan(points[:, 0])]
    if not len(points):
        return np.array([-1.0, -1.0, 1.0]), np.ones(3)
    return points.min(0), points.max(0)


def _around(boxes: Sequence[Box]) -> Box:
    lows, highs = zip(*boxes, strict=True)
    return np.min(lows, 0), np.max(highs, 0)


def _all_seen(boxes: Sequence[Box], around: Box, smallest: float) -> bool:
    low, high = around
    return min(np.linalg.norm(b - a) for a, b in boxes) >= smallest * np.linalg.norm(high - low)


# --- Panels ---------------------------------------------------------------------------------------


def scene_panel(
    name: str,
    label: str,
    style: dict[str, Any],
    boxes: Mapping[float, Box],
    frames: Sequence[float],
    names: tuple[str, ...],
    *,
    factors: np.ndarray = TRUE_SIZE,
    more: Sequence[dict[str, Any]] = (),
    notes: tuple[Note, ...] = (),
    seen: Sequence[np.ndarray] = (),
) -> Panel:
    """The surface called ``name`` in axes called ``names``, each of its ``frames`` in its box.

    ``more`` traces are drawn beside it. Everything is drawn ``factors`` (3,) times its true size.
    The camera keeps all points ``seen`` (M, 3) in the picture, or, without any, the box.
    """
    layouts = {
        key: panels.scene_layout(low / factors, high / factors, names, factors)
        for key, (low, high) in ((key, panels.boxed(*box)) for key, box in boxes.items())
    }
    own = vary(boxes)
    fits = []
    if own:  # the camera is the same, however many frames are there
        each = [_corners(layout) for layout in layouts.values()] if names else seen
        room = LABEL_ROOM if names else 1.0
        fits = [
            panels.in_camera_units(x, y) * room for x, y in zip(each, layouts.values(), strict=True)
        ]
    return Panel(
        kind="scene",
        label=label,
        traces=[
            panels.mesh(name, {"lighting": panels.LIGHTING | panels.MILD} | style),
            panels.line3d(f"{name}_grid", palette.GRID_LINE, 2.5),
            panels.line3d(f"{name}_edge", palette.GRID_LINE, 2.5),
            panels.line3d(f"{name}_zero", palette.LINE, 6),
            *more,
        ],
        layout=layouts[frames[-1]],
        layouts=[layouts[frame] for frame in frames] if own else [],
        pick={letter: f"{name}_{letter}" for letter in "xyz"},
        notes=notes,
        inside=outermost(np.concatenate(seen)).tolist() if len(seen) and not own else [],
        fits=outermost(np.concatenate(fits)).tolist() if fits else [],
    )


def _corners(layout: dict[str, Any]) -> np.ndarray:
    """(8, 3): the corners of a scene's box."""
    return np.array(list(itertools.product(*(layout[f"{x}axis"]["range"] for x in "xyz"))))


def chart_panel(
    name: str,
    label: str,
    axis: np.ndarray,
    titles: tuple[str, str],
    style: dict[str, Any],
    symbol: str,
    *,
    shade: str = "shade",
    read: str = "field",
    lines: Sequence[ChartLine] = (ZERO_DASHED, HATCH),
    plain: bool = False,
) -> Panel:
    """The array NAME_SHADE over the chart in colour, ``lines`` on it, and NAME_READ to read off.

    ``plain``: it is zero everywhere, which a phone says in one line.
    """
    reading = f"{symbol} = %{{customdata:.3g}}"
    return Panel(
        kind="plane",
        label=label,
        plain=f"{symbol} = 0 everywhere" if plain else "",
        traces=[
            panels.heat(f"{name}_{shade}", style, reading, customdata=panels.ref(f"{name}_{read}")),
            *(
                panels.line2d(f"{name}_{line}", colour, width, **more)
                for line, colour, width, more in lines
            ),
        ],
        layout=panels.chart_layout(axis, titles),
        pick={"x": "axis", "y": "axis"},
    )
