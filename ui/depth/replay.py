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
from ui.drawing.colours import scale_of
from ui.drawing.lines import Arrays, framed, on_chart
from ui.drawing.panels import CHART_NAMES, LIGHTING, Panel, View, cells, heat, line2d, ref
from ui.drawing.surfaces import chart_panel, colour_arrays, scene_panel, surface_arrays

REPLAY_GRID = 31
ALIKE = 0.25  # of the largest diagonal: where no surface is smaller, all are drawn to one scale
GAP = 4  # cells between two maps of the strip
SMALLEST = np.finfo(float).tiny
LOOK = {"lighting": LIGHTING, "hovertemplate": "<extra></extra>"}  # of the surface


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
    # One for all layers, which holds 98 % of the points of each.
    scale = scale_of("curvature", list(field), each=True)
    signed = surface.gaussian_where(surface.decided)
    layers = [
        surface_arrays(drawn, surface.axis, shown, decided) | colour_arrays(shown, scale)
        for drawn, shown, decided in zip(values, field, signed, strict=True)
    ]
    arrays = framed("sheet", layers) | on_chart(now=_frames(len(values)))
    arrays |= {
        "sheet_field": field,
        "sheet_gaussian": surface.known,
        "sheet_error": surface.known_error,
    }
    strip, still = _strip(arrays["sheet_shade"], field, scale.style, symbol)
    scene = scene_panel(
        "sheet",
        "the surface after the shown layer, with the chart's grid lines",
        scale.style | LOOK,
        {0: (values.min((0, 1, 2)), values.max((0, 1, 2)))},
        [0],
        (),
        seen=[values.reshape(-1, 3)],
    )
    chart = chart_panel(
        "sheet",
        f"{symbol} of the shown layer over the chart, the line K = 0 dashed, what is not"
        " known hatched",
        surface.axis,
        CHART_NAMES["weights" if sheet else "inputs"],
        scale.style,
        symbol,
    )
    view = View(
        columns=[[scene], [chart], [strip]],
        arrays={"axis": surface.axis, **cells(len(surface.axis)), **arrays, **still},
        framed=frozenset(arrays),
        frames=len(values),
        camera=best_camera([values[0], values[-1]]),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )
    return Replay(view, diameters, enlarged)


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
            line2d("now", palette.ACCENT, 3),
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
