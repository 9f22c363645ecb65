"""How is a side drawn whose outputs lie in the plane, D = 2? As the chart's grid, warped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ui.drawing import palette
from ui.drawing.panels import QUIET, Panel, line2d, ref, round_numbers
from ui.manifold.arrays import DrawnSide


def warped(side: DrawnSide, style: dict[str, Any]) -> Panel:
    """D = 2: the chart's grid as the model bends it, in the plane."""
    name = side.name
    layouts = [_plane_layout(values.reshape(-1, 2), side.axes.names) for values in side.values]
    marker = {"size": 3, "color": ref(f"{name}_colour", flat=True), **style}
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            **{letter: ref(f"{name}_{letter}", flat=True) for letter in "xy"},
            "marker": marker,
            **QUIET,
        },
        line2d(f"{name}_grid_x", f"{name}_grid_y", palette.GRID_LINE, 1),
    ]
    return Panel(
        kind="plane",
        label=f"{name}: the chart's grid lines in the plane of the outputs",
        traces=traces,
        layout=layouts[-1],
        layouts=layouts if len(layouts) > 1 else [],
        pick={letter: f"{name}_{letter}" for letter in "xy"},
    )


def _plane_layout(points: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Both axes as the browser fits them to the points (M, 2), with few numbers."""
    axes = {
        f"{letter}axis": {
            "title": {"text": name},
            "tickvals": round_numbers(along.min(), along.max()),
            "zeroline": False,
        }
        for letter, name, along in zip("xy", names, points.T, strict=True)
    }
    axes["yaxis"]["scaleanchor"] = "x"
    return axes
