"""The picture of a gated sheet: the surface, K or |H| over the chart, and the gate over the chart.

Frames are strengths of the gate; all are drawn in one box, beside the flat sheet, unless the image
is so much larger or smaller that nothing would be seen of it. Shapes: T frames, R x C grid points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.experiments.specimen import COLOURINGS
from ui.drawing import palette
from ui.drawing.camera import best_camera
from ui.drawing.colours import ColourScale, colour_scale
from ui.drawing.lines import border, grid_lines, hatch, lifted, zero_curve
from ui.drawing.panels import (
    LIGHTING,
    MILD,
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
)
from ui.drawing.sheet import outermost, stacked
from ui.gates.frames import GateFrame

SHOWN = {"K": "curvature", "|H|": "mean"}  # what the colours can show: a quantity of `COLOURINGS`
READ_OFF = {"K": "gaussian", "|H|": "mean"}  # the array of it
SIDE = "gated"
SMALL = 0.2  # of the largest extent: an image that is smaller has boxes of its own
LARGEST_DRAWN = 1e6  # of coordinates: in single precision a box that is larger loses its lines
AXIS_NAMES = ("y<sub>1</sub>", "y<sub>2</sub>", "y<sub>3</sub>")


@dataclass(frozen=True, eq=False)
class GatePicture:
    """The linked view, the colours of what is shown, and those of the gate."""

    view: View
    scale: ColourScale
    gate_scale: ColourScale
    boxes_vary: bool
    cut: bool  # whether points were left out because they are too far away


def gate_picture(frames: Sequence[GateFrame], shown: str = "K") -> GatePicture:
    """One column: the surface coloured by what is ``shown``, that over the chart, and the gate."""
    fields = [frame.known if shown == "K" else frame.mean for frame in frames]
    scale = colour_scale(COLOURINGS[SHOWN[shown]], fields, asinh=True)
    gates = [frame.gate for frame in frames]
    gate_scale = colour_scale(COLOURINGS["gate"], gates)
    values = [drawable(frame.values) for frame in frames]
    cut = any((np.isnan(v) & ~np.isnan(f.values)).any() for v, f in zip(values, frames,
                                                                       strict=True))  # fmt: skip
    axis = frames[0].axis
    found = [
        _arrays(frame, drawn, field, scale)
        for frame, drawn, field in zip(frames, values, fields, strict=True)
    ]
    arrays: dict[str, np.ndarray] = {"axis": axis, **cells(len(axis)), **_flat(frames[0])}
    arrays |= {f"{SIDE}_{key}": stacked([each[key] for each in found]) for key in found[0]}
    layouts = _layouts(values)
    zero = not any(np.nan_to_num(field, nan=1.0).any() for field in fields)
    last = np.where(np.isnan(values[-1]), 0.0, values[-1])
    view = View(
        columns=[[_scene(values, layouts, scale), _chart(axis, scale, shown, zero), _gate(axis,
                                                                                   gate_scale)]],
        arrays=arrays,
        framed=frozenset(name for name in arrays if name.startswith(f"{SIDE}_")),
        frames=len(frames),
        camera=best_camera([last]),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )  # fmt: skip
    return GatePicture(view, scale, gate_scale, len(layouts) > 1, cut)


def drawable(values: np.ndarray) -> np.ndarray:
    """(R, C, 3): ``values``, NaN where they are not finite or too far away."""
    size = np.abs(np.nan_to_num(values, nan=np.inf)).max(-1, keepdims=True)
    return np.where(size <= LARGEST_DRAWN, values, np.nan)


def _style(scale: ColourScale) -> dict[str, Any]:
    return {"colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high}


def _shade(field: np.ndarray, scale: ColourScale) -> np.ndarray:
    """What the colours show; what lies beyond the scale has the colour of its end."""
    return np.clip(scale.apply(field), scale.low, scale.high)


def _arrays(
    frame: GateFrame, values: np.ndarray, field: np.ndarray, scale: ColourScale
) -> dict[str, np.ndarray]:
    axis = frame.axis
    shade = _shade(field, scale)
    blank = 0.0 if scale.low < 0 < scale.high else scale.low
    chart_line, line = zero_curve(frame.signed, axis, values)
    strokes = hatch(np.isnan(field), axis)
    lost = hatch(np.isnan(frame.gate), axis)
    edge = lifted(border(axis), axis, values[None])[0]
    lines = {"": values, "edge_": edge, "grid_": grid_lines(values[None])[0], "zero_": line}
    found = {
        "shade": shade, "colour": np.nan_to_num(shade, nan=blank), "gate": frame.gate,
        "gaussian": frame.known, "error": frame.error, "mean": frame.mean,
        "zero_u": chart_line[:, 0], "zero_v": chart_line[:, 1],
        "hatch_u": strokes[:, 0], "hatch_v": strokes[:, 1],
        "lost_u": lost[:, 0], "lost_v": lost[:, 1],
        **{f"law_{name}": part for name, part in frame.law_parts.items()},
    }  # fmt: skip
    for prefix, points in lines.items():
        found |= {f"{prefix}{x}": points[..., i] for i, x in enumerate("xyz")}
    return found


def _flat(first: GateFrame) -> dict[str, np.ndarray]:
    """The sheet before any gate, drawn faintly beside its image."""
    across, along = np.meshgrid(first.axis, first.axis)
    values = np.stack([across, along, np.ones_like(across)], -1)
    edge = lifted(border(first.axis), first.axis, values[None])[0]
    return {f"flat_{x}": values[..., i] for i, x in enumerate("xyz")} | {
        f"flat_edge_{x}": edge[:, i] for i, x in enumerate("xyz")
    }


def _extents(values: Sequence[np.ndarray]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The box of what is drawn in each frame; that of the sheet where nothing is."""
    sheet = np.array([-1.0, -1.0, 1.0]), np.ones(3)
    boxes = []
    for each in values:
        points = each.reshape(-1, 3)
        points = points[~np.isnan(points[:, 0])]
        boxes.append((points.min(0), points.max(0)) if len(points) else sheet)
    return boxes


def _layouts(values: Sequence[np.ndarray]) -> list[dict[str, Any]]:
    """One layout for all frames, or, where the last image would be too small in it, one each."""
    boxes = _extents(values)
    whole = np.min([low for low, _ in boxes], 0), np.max([high for _, high in boxes], 0)
    sizes = [float((high - low).max()) for low, high in boxes]
    if min(sizes) >= SMALL * float((whole[1] - whole[0]).max()):
        return [scene_layout(*boxed(*whole), AXIS_NAMES)]
    return [scene_layout(*boxed(*box), AXIS_NAMES) for box in boxes]


def _scene(
    values: Sequence[np.ndarray], layouts: list[dict[str, Any]], scale: ColourScale
) -> Panel:
    points = np.concatenate([each.reshape(-1, 3) for each in values])
    points = points[~np.isnan(points[:, 0])]
    return Panel(
        kind="scene",
        label="the sheet (u, v, 1) under its gate, with the chart's grid lines; faint: the sheet",
        traces=[
            mesh(SIDE, _style(scale)) | {"lighting": LIGHTING | MILD},
            line3d(f"{SIDE}_grid", palette.GRID_LINE, 2.5),
            line3d(f"{SIDE}_edge", palette.GRID_LINE, 2.5),
            line3d(f"{SIDE}_zero", palette.LINE, 6),
            *(ghost("flat") if len(layouts) == 1 else []),
        ],
        layout=layouts[-1],
        layouts=layouts if len(layouts) > 1 else [],
        pick={letter: f"{SIDE}_{letter}" for letter in "xyz"},
        notes=(Note("the flat sheet", "flat_edge", 0),) if len(layouts) == 1 else (),
        inside=[] if len(layouts) > 1 or not len(points) else outermost(points).tolist(),
    )


def _chart(axis: np.ndarray, scale: ColourScale, shown: str, zero: bool) -> Panel:
    reading = f"{shown} = %{{customdata:.3g}}"
    return Panel(
        kind="plane",
        plain=f"{shown} = 0 everywhere" if zero else "",
        label=f"{shown} over the chart, the line K = 0 dashed, what is not known hatched",
        traces=[
            heat(
                f"{SIDE}_shade", _style(scale), reading, customdata=ref(f"{SIDE}_{READ_OFF[shown]}")
            ),
            line2d(f"{SIDE}_zero_u", f"{SIDE}_zero_v", palette.LINE, 2, dash="dash"),
            line2d(f"{SIDE}_hatch_u", f"{SIDE}_hatch_v", palette.GRID_LINE, 1),
        ],
        layout=_titled(axis, shown),
        pick={"x": "axis", "y": "axis"},
    )


def _gate(axis: np.ndarray, scale: ColourScale) -> Panel:
    style = _style(scale)
    return Panel(
        kind="plane",
        label="the gate in force over the chart, hatched where it is not positive or not finite",
        traces=[
            heat(f"{SIDE}_gate", style, "gate = %{customdata:.3g}",
                 customdata=ref(f"{SIDE}_gate")),
            line2d(f"{SIDE}_lost_u", f"{SIDE}_lost_v", palette.GRID_LINE, 1),
        ],
        layout=_titled(axis, "gate"),
        pick={"x": "axis", "y": "axis"},
    )  # fmt: skip


def _titled(axis: np.ndarray, name: str) -> dict[str, Any]:
    return chart_layout(axis, (f"u · colour: {name}", "v"))
