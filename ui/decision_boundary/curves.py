"""The plots under the films: loss, accuracy, total curvature against steps, of all seeds.

Shapes: T frames (snapshots of a run), S seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ui.drawing import palette
from ui.drawing.panels import QUIET, Panel, ref

BAND = (0.1, 0.9)  # quantiles over the seeds
DRAWN = ("shown", "high")
BAR_ROOM = 1.5  # of the curves' height: bars may take that much, and are cut off beyond
GAP = 0.06  # between the plots, of their height


@dataclass(frozen=True, eq=False)
class Curve:
    """A quantity along the run: by side (T, S) over seeds; NaN where it is not known yet.

    ``errors`` (T,) by side are those of the shown seed's curve; where it is ``open`` (T,) the curve
    is a lower estimate.
    """

    title: str
    by_side: dict[str, np.ndarray]
    shown: dict[str, int]  # the shown seed's column
    errors: dict[str, np.ndarray] = field(default_factory=dict)
    open: dict[str, np.ndarray] = field(default_factory=dict)


def curves_panel(steps: np.ndarray, curves: list[Curve], arrays: dict[str, np.ndarray]) -> Panel:
    """All curves above each other on one step axis: the shown seed, and the band over seeds.

    What they need is added to ``arrays``; "now" (T, 2) among them, the current step, is the
    caller's.
    """
    traces: list[dict[str, Any]] = []
    height = (1 - GAP * (len(curves) - 1)) / len(curves)
    layout: dict[str, Any] = {
        "xaxis": {
            "title": {"text": "step"},
            "range": [0, float(steps[-1])],
            "zeroline": False,
            "anchor": "y",
        }
    }
    arrays["steps"] = steps.astype(float)
    for number, curve in enumerate(curves):
        axis = "y" if number == 0 else f"y{number + 1}"
        bottom = number * (height + GAP)
        for side, over_seeds in curve.by_side.items():
            arrays |= _band(f"curve{number}_{side}", over_seeds, curve.shown[side])
        drawn = [arrays[f"curve{number}_{side}_{part}"] for side in curve.by_side for part in DRAWN]
        top = max((float(x[np.isfinite(x)].max(initial=0)) for x in drawn), default=0) * 1.05 or 1.0
        top = min(max(top, _highest_bar(curve)), top * BAR_ROOM)
        layout[axis.replace("y", "yaxis")] = {
            "title": {"text": curve.title},
            "domain": [bottom, min(bottom + height, 1.0)],
            "range": [0, top],
            "zeroline": False,
            "nticks": 4,
        }
        for side, over_seeds in curve.by_side.items():
            key = f"curve{number}_{side}"
            traces += _curve_traces(key, palette.SIDE_COLOURS[side], axis, over_seeds.shape[1] > 1)
            traces += _doubt_traces(key, side, curve, axis, arrays)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": ref("now"),
                "y": [0, top],
                "yaxis": axis,
                "line": {"color": palette.ACCENT, "width": 2},
                **QUIET,
            }
        )
    return Panel(
        kind="plane",
        label="loss, accuracy and total curvature against steps, with the current step marked",
        traces=traces,
        layout=layout,
        pick={},
    )


def _highest_bar(curve: Curve) -> float:
    """Where the highest bar of a shown seed's curve ends; 0 without any."""
    ends = [curve.by_side[side][:, curve.shown[side]] + curve.errors[side] for side in curve.errors]
    return max((float(x[np.isfinite(x)].max(initial=0)) for x in ends), default=0.0)


def _band(key: str, over_seeds: np.ndarray, shown: int) -> dict[str, np.ndarray]:
    known = np.isfinite(over_seeds).all(1)
    ends = np.full((2, len(over_seeds)), np.nan)
    if known.any():
        ends[:, known] = np.quantile(over_seeds[known], BAND, axis=1)
    return {f"{key}_low": ends[0], f"{key}_high": ends[1], f"{key}_shown": over_seeds[:, shown]}


def _curve_traces(key: str, colour: str, axis: str, band: bool) -> list[dict[str, Any]]:
    thin = {"color": colour, "width": 0}
    shared = {"type": "scatter", "mode": "lines", "x": ref("steps"), "yaxis": axis, **QUIET}
    traces = []
    if band:
        traces = [
            {**shared, "y": ref(f"{key}_low"), "line": thin},
            {
                **shared,
                "y": ref(f"{key}_high"),
                "line": thin,
                "fill": "tonexty",
                "fillcolor": f"{colour}33",
            },
        ]
    return [*traces, {**shared, "y": ref(f"{key}_shown"), "line": {"color": colour, "width": 2.5}}]


def _doubt_traces(
    key: str, side: str, curve: Curve, axis: str, arrays: dict[str, np.ndarray]
) -> list[dict[str, Any]]:
    """Bars as long as the error of the shown seed's curve, rings where it is ``open``."""
    shared = {"type": "scatter", "mode": "markers", "x": ref("steps"), "yaxis": axis, **QUIET}
    traces = []
    if side in curve.errors:
        arrays[f"{key}_error"] = curve.errors[side]
        bars = {"type": "data", "array": ref(f"{key}_error"), "width": 0, "thickness": 1.5,
                "color": palette.SIDE_COLOURS[side]}  # fmt: skip
        marker = {"size": 1, "color": palette.SIDE_COLOURS[side]}
        traces.append({**shared, "y": ref(f"{key}_shown"), "error_y": bars, "marker": marker})
    where = curve.open.get(side)
    if where is not None and where.any():
        arrays[f"{key}_open"] = np.where(where, arrays[f"{key}_shown"], np.nan)
        marker = {"size": 7, "symbol": "circle-open", "color": palette.SIDE_COLOURS[side]}
        traces.append({**shared, "y": ref(f"{key}_open"), "marker": marker})
    return traces
