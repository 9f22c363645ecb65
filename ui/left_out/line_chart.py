"""Charts of a few lines with their intervals, all of one size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.at_work import PairedDifference
from ui.drawing import palette

HEIGHT_PIXELS = 178
LEGEND_ROW_PIXELS = 19


@dataclass(frozen=True)
class Style:
    """The style of a line; ``listed``: whether it is in the legend."""

    name: str
    colour: str
    dash: str = "solid"
    symbol: str = "circle"
    listed: bool = True
    width: float = 2.5

    @property
    def cost(self) -> Style:
        """The style of the cost of the same."""
        name = f"{self.name}, share of scores"
        return replace(self, name=name, dash="dot", symbol="line-ew", listed=False, width=1.5)

    @property
    def stored(self) -> Style:
        """The style of the numbers stored by the same."""
        name = f"{self.name}, numbers stored"
        return replace(self, name=name, dash="dot", listed=False, width=1.5)

    @property
    def without(self) -> Style:
        """The style of the same without correction."""
        name = f"{self.name}, without"
        return replace(self, name=name, dash="dash", symbol="x", listed=False, width=1.5)


@dataclass(frozen=True, eq=False)
class Line:
    """Points (n,) and the half-widths of their intervals, if there are any."""

    style: Style
    x: Sequence[object] | np.ndarray
    y: np.ndarray
    half_width: np.ndarray | None = None


def difference_line(style: Style, differences: Mapping[Any, PairedDifference]) -> Line:
    """The line through differences, with their intervals."""
    return Line(style, [*differences], np.array([one.mean for one in differences.values()]),
                np.array([one.half_width for one in differences.values()]))  # fmt: skip


def gate_styles(titles: Iterable[str]) -> list[Style]:
    """The styles of models without a gate and with one, by their titles in this order."""
    styles = ((palette.SIDE_COLOURS["left"], "dot", "x"),
              (palette.SIDE_COLOURS["right"], "solid", "circle"))  # fmt: skip
    return [Style(title, *style) for title, style in zip(titles, styles, strict=True)]


def gate_lines(losses: Mapping[str, Mapping[Any, PairedDifference]]) -> list[Line]:
    """The lines of two kinds of losses, in the styles of models without a gate and with one."""
    return [difference_line(style, of)
            for style, of in zip(gate_styles(losses), losses.values(), strict=True)]  # fmt: skip


def line_chart(
    lines: Sequence[Line],
    across: str,
    up: str,
    level: tuple[float, str] | None = None,
    log: bool = False,
    rows: int = 1,
) -> go.Figure:
    """Draw lines; ``level`` is a height that is marked, and its name.

    ``log``: both axes are. ``rows``: of the legend.
    """
    traces: list[dict[str, Any]] = []
    for line in lines:
        style = line.style
        trace: dict[str, Any] = {
            "type": "scatter", "mode": "lines+markers", "x": line.x, "y": line.y,
            "name": style.name, "showlegend": style.listed,
            "line": {"color": style.colour, "dash": style.dash, "width": style.width},
            "marker": {"size": 6, "symbol": style.symbol, "color": style.colour},
            "hovertemplate": f"{style.name}, {across} %{{x}}: %{{y:.3g}}<extra></extra>",
        }  # fmt: skip
        if line.half_width is not None:
            trace["error_y"] = {"type": "data", "array": line.half_width, "thickness": 1.2,
                                "width": 2}  # fmt: skip
        traces.append(trace)
    shapes = [] if level is None else [level_line(*level)]
    axis = {"type": "log", "exponentformat": "power", "dtick": 3} if log else {}
    text = any(isinstance(x, str) for line in lines for x in line.x)
    return go.Figure({"data": traces, "layout": {
        "height": HEIGHT_PIXELS + LEGEND_ROW_PIXELS * (rows - 1), "shapes": shapes,
        "margin": {"l": 46, "r": 6, "t": 26 + LEGEND_ROW_PIXELS * (rows - 1), "b": 34},
        "legend": {"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        "hovermode": "closest",
        "xaxis": {"title": {"text": across, "standoff": 2}, **({"type": "category"} if text else
                                                                axis)},
        "yaxis": {"title": {"text": up, "standoff": 4}, **axis},
    }})  # fmt: skip


def level_line(height: float, name: str) -> dict[str, Any]:
    """A dashed line across a chart at a ``height``, with its name."""
    return {
        "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": height, "y1": height,
        "line": {"dash": "dash", "width": 1, "color": palette.PLANE},
        "label": {"text": name, "textposition": "start", "font": {"size": 10}},
    }  # fmt: skip
