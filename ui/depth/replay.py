"""The picture of one stack's surface after every layer, with its maps.

Shapes: L layers, R x R grid points, M points of a line in which rows of NaN separate pieces.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.geometry import SurfaceResult
from ui.drawing import palette
from ui.drawing.camera import best_camera
from ui.drawing.colours import ASINH_QUANTILE, SLACK, SOFT_QUANTILE, ColourScale
from ui.drawing.lines import border, grid_lines, hatch, lifted, zero_curve
from ui.drawing.panels import (
    LIGHTING,
    Panel,
    View,
    boxed,
    cells,
    chart_layout,
    heat,
    line2d,
    line3d,
    mesh,
    ref,
    scene_layout,
)
from ui.drawing.sheet import outermost, stacked

REPLAY_GRID = 31
ALIKE = 0.25  # of the largest diagonal: where no surface is smaller, all are drawn to one scale
GAP = 4  # cells between two maps of the strip
SMALLEST = np.finfo(float).tiny
NAMES = ("x<sub>1</sub>", "x<sub>2</sub>"), ("u", "v")  # of the chart: of stacks and of sheets
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Replay:
    """The linked view of one stack, and the ``diameters`` (L,) of its surfaces.

    Where surfaces are ``enlarged`` to one size, colours show the curvature of what is drawn: K
    times the square of the surface's diameter.
    """

    view: View
    diameters: np.ndarray
    enlarged: bool

    @property
    def symbol(self) -> str:
        return "K·d²" if self.enlarged else "K"


def replay_view(surface: SurfaceResult, sheet: bool) -> Replay:
    """Draw a surface whose frames are layers; the chart of a ``sheet`` is (u, v)."""
    sizes = surface.diagonal
    enlarged = bool(sizes.min() < ALIKE * sizes.max())
    field, values, diameters = surface.known, surface.values, surface.diameter
    symbol = "K·d²" if enlarged else "K"
    if enlarged:
        field = field * diameters[:, None, None] ** 2
        centre = (values.max((1, 2), keepdims=True) + values.min((1, 2), keepdims=True)) / 2
        values = (values - centre) / np.maximum(sizes, SMALLEST)[:, None, None, None]
    scale = _scale(field)
    style = {"colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high}
    framed = _framed(surface, values, field, scale)
    strip, still = _strip(framed["sheet_shade"], field, style, symbol)
    chart = _chart(surface.axis, style, symbol, NAMES[sheet])
    view = View(
        columns=[[_scene(values, style)], [chart], [strip]],
        arrays={"axis": surface.axis, **cells(len(surface.axis)), **framed, **still},
        framed=frozenset(framed),
        frames=len(values),
        camera=best_camera([values[0], values[-1]]),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )
    return Replay(view, diameters, enlarged)


def _scale(field: np.ndarray) -> ColourScale:
    """One asinh scale for all layers, which holds 98 % of the points of each."""
    sizes = [np.abs(each[np.isfinite(each)]) for each in field]
    sizes = [each for each in sizes if each.size]
    if not sizes:
        return ColourScale(palette.SIGNED_SCALE, *palette.symmetric_range(0.0))
    curved = np.concatenate(sizes)
    curved = curved[curved > palette.COLOUR_RANGE_FLOOR]
    soft = float(np.quantile(curved, SOFT_QUANTILE)) if curved.size else 1.0
    most = max(float(np.quantile(each, ASINH_QUANTILE)) for each in sizes)
    end = palette.symmetric_range(most)[1]
    high = float(np.arcsinh(end / soft))
    beyond = max(float((each > end * (1 + SLACK)).mean()) for each in sizes)
    return ColourScale(palette.SIGNED_SCALE, -high, high, soft=soft, beyond=beyond)


def _framed(
    surface: SurfaceResult, values: np.ndarray, field: np.ndarray, scale: ColourScale
) -> Arrays:
    """The arrays with a frame for every layer."""
    axis = surface.axis
    shade = np.clip(scale.apply(field), scale.low, scale.high)
    zeros = [
        zero_curve(decided, axis, drawn)
        for decided, drawn in zip(surface.gaussian_where(surface.decided), values, strict=True)
    ]
    on_surface = {
        "sheet": values,
        "sheet_edge": lifted(border(axis), axis, values),
        "sheet_grid": grid_lines(values),
        "sheet_zero": stacked([curve for _, curve in zeros]),
    }
    in_chart = {
        "zero": stacked([curve for curve, _ in zeros]),
        "hatch": stacked([hatch(unknown, axis) for unknown in np.isnan(field)]),
        "now": _frames(len(values)),
    }
    arrays = {
        "sheet_shade": shade,
        "sheet_colour": np.nan_to_num(shade, nan=0.0),
        "sheet_field": field,
        "sheet_gaussian": surface.known,
        "sheet_error": surface.known_error,
    }
    for name, points in on_surface.items():
        arrays |= {f"{name}_{x}": points[..., i] for i, x in enumerate("xyz")}
    for name, points in in_chart.items():
        arrays |= {f"{name}_{u}": points[..., i] for i, u in enumerate("uv")}
    return arrays


def _scene(values: np.ndarray, style: dict[str, Any]) -> Panel:
    return Panel(
        kind="scene",
        label="the surface after the shown layer, with the chart's grid lines",
        traces=[
            {**mesh("sheet", style), "lighting": LIGHTING, "hovertemplate": "<extra></extra>"},
            line3d("sheet_grid", palette.GRID_LINE, 2.5),
            line3d("sheet_edge", palette.GRID_LINE, 2.5),
            line3d("sheet_zero", palette.LINE, 6),
        ],
        layout=scene_layout(*boxed(values.min((0, 1, 2)), values.max((0, 1, 2))), ()),
        pick={letter: f"sheet_{letter}" for letter in "xyz"},
        inside=outermost(values.reshape(-1, 3)).tolist(),
    )


def _chart(axis: np.ndarray, style: dict[str, Any], symbol: str, names: tuple[str, str]) -> Panel:
    reading = f"{symbol} = %{{customdata:.3g}}"
    return Panel(
        kind="plane",
        label=f"{symbol} of the shown layer over the chart, the line K = 0 dashed, what is not"
        " known hatched",
        traces=[
            heat("sheet_shade", style, reading, customdata=ref("sheet_field")),
            line2d("zero_u", "zero_v", palette.LINE, 2, dash="dash"),
            line2d("hatch_u", "hatch_v", palette.GRID_LINE, 1),
        ],
        layout=chart_layout(axis, names),
        pick={"x": "axis", "y": "axis"},
    )


def _strip(
    shade: np.ndarray, field: np.ndarray, style: dict[str, Any], symbol: str
) -> tuple[Panel, Arrays]:
    """One map for every layer, side by side; what is not known is left blank."""
    count, size = shade.shape[:2]
    step = 1 / (size + GAP)
    gaps = ((0, 0), (0, 0), (GAP // 2, GAP - GAP // 2))
    both = (np.pad(maps, gaps, constant_values=np.nan) for maps in (shade, field))
    row, field_row = (np.concatenate(list(maps), axis=1) for maps in both)
    arrays = {
        "strip": row,
        "strip_field": field_row,
        "strip_x": 0.5 + (np.arange(row.shape[1]) + 0.5) * step,
        "strip_y": (np.arange(size) - (size - 1) / 2) * step,
    }
    bare = {"constrain": "domain", "zeroline": False, "showgrid": False}
    panel = Panel(
        kind="plane",
        label=f"{symbol} over the chart after every layer, side by side, the shown one framed",
        traces=[
            {
                **heat("strip", style, f"{symbol} = %{{customdata:.3g}}"),
                "x": ref("strip_x"), "y": ref("strip_y"), "customdata": ref("strip_field"),
                "hovertemplate": f"layer %{{x:.0f}}<br>{symbol} = %{{customdata:.3g}}"
                "<extra></extra>",
            },
            line2d("now_u", "now_v", palette.ACCENT, 3),
        ],
        layout={
            "xaxis": {
                **bare, "range": [0.5, count + 0.5], "tickvals": list(range(1, count + 1)),
            },
            "yaxis": {**bare, "range": [-0.5, 0.5], "scaleanchor": "x", "visible": False},
            "margin": {"l": 4, "r": 4, "t": 4, "b": 22},
        },
        pick={},
    )  # fmt: skip
    return panel, arrays


def _frames(count: int) -> np.ndarray:
    """A square round the map of each layer: (L, 5, 2)."""
    half = 0.5 - 1 / (2 * (REPLAY_GRID + GAP))
    square = half * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
    return square + np.array([[[layer, 0]] for layer in range(1, count + 1)])
