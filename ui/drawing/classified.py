"""The panels of a classified surface: its classes, boundary, and the plane that cuts it.

Shapes: T frames (versions of a model), R x C grid points, F faces of the mesh, D model dimension,
K classes, P data points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.experiments.comparison import DrawnData
from ui.drawing import palette, panels
from ui.drawing.camera import Camera, best_camera
from ui.drawing.class_mesh import ClassMesh
from ui.drawing.lines import Arrays, border, grid_lines, hatch, in_space, lifted, on_chart, stacked
from ui.drawing.panels import Box, Panel, ground, mesh
from ui.drawing.sheet import Sheet

PAPER = "#ffffff"
SYMBOLS = ("circle", "square", "diamond", "cross")


@dataclass(frozen=True)
class SheetStyle:
    """The style in which both variants of a view draw a classified surface.

    ``mesh`` colours meshes and heat maps; ``reading`` is a heat map's text under the pointer; each
    class has one of ``symbols``; points in a scene have an ``outline`` in pixels. Test points are
    drawn in the input plane if ``tested``, ``filled`` with white if the colours below them could be
    mistaken for those of classes.
    """

    mesh: dict[str, Any]
    reading: str
    symbols: tuple[str, ...] = SYMBOLS
    outline: float = 1.0
    tested: bool = True
    filled: bool = False


def sheet_arrays(sheet: Sheet) -> tuple[Arrays, Arrays]:
    """Return the arrays of one variant by name: those with a frame axis, and those without."""
    name, data, values = sheet.name, sheet.data, sheet.values
    lines = grid_lines(values) if sheet.lines is None else lifted(sheet.lines, data.axis, values)
    on_surface = sheet.axes.project(sheet.frames.data_values)
    spatial = {
        "": values,
        "_grid": lines,
        "_edge": lifted(border(data.axis), data.axis, values),
        "_curve": sheet.cuts[..., 2:],
        "_note": sheet.note_places,
    } | {
        f"_data{label}": on_surface[:, (data.labels == label) & ~data.tested]
        for label in range(data.class_count)
    }
    charted = {"curve": sheet.chart_cuts}
    framed: Arrays = {f"{name}_colour": sheet.shown}
    if sheet.plane is not None:
        spatial["_plane"] = sheet.plane
    if sheet.corners is not None:
        spatial["_ring"] = panels.closed(sheet.corners)
    if sheet.ground is not None:
        ground, spatial["_split"] = sheet.ground
        framed |= _mesh_arrays(f"{name}_ground", ground)
    if sheet.parted:
        framed |= _mesh_arrays(f"{name}_part", sheet.class_mesh)
    if sheet.field is not None:
        framed[f"{name}_field"] = sheet.field
        charted["hatch"] = stacked([hatch(np.isnan(frame), data.axis) for frame in sheet.field])
    for part, points in spatial.items():
        framed |= in_space(f"{name}{part}", points)
    framed |= on_chart(**{f"{name}_{line}": points for line, points in charted.items()})
    fixed = on_chart(
        **{
            f"{name}_{part}{label}": data.points[(data.labels == label) & where]
            for part, where in _parts(data)
            for label in range(data.class_count)
        }
    )
    if sheet.fine is not None:
        framed[f"{name}_fine"] = sheet.fine
        fixed["fine_axis"] = np.linspace(data.axis[0], data.axis[-1], sheet.fine.shape[1])
    return framed, fixed


def _mesh_arrays(prefix: str, mesh: ClassMesh) -> Arrays:
    corners = {f"{prefix}_{x}": mesh.corners[..., i] for i, x in enumerate("ijk")}
    return in_space(prefix, mesh.vertices) | corners | {f"{prefix}_class": mesh.classes}


def _parts(data: DrawnData) -> list[tuple[str, np.ndarray]]:
    """Return the training points, and the test points if there are any."""
    parts = [("data", ~data.tested), ("test", data.tested)]
    return [(part, where) for part, where in parts if where.any()]


def sheet_panels(sheet: Sheet, style: SheetStyle, room: Box | None = None) -> list[Panel]:
    """Return one variant's scene, in the box ``room`` or its own, and its input plane."""
    return [_scene(sheet, style, room or sheet.box), _plane(sheet, style)]


def sheets_camera(sheets: list[Sheet]) -> Camera:
    """Return the camera that shows all classes of all last surfaces, and the last one's loops.

    The triangle of values and the classifier's plane count as loops.
    """
    classes = [sheet.frames.logits[-1].argmax(-1) for sheet in sheets]
    outlines = [x[-1] for sheet in sheets for x in (sheet.corners, sheet.plane) if x is not None]
    loops = [
        *sheets[-1].loops(-1),
        *(outline for outline in outlines if np.isfinite(outline).all()),
    ]
    return best_camera([sheet.values[-1] for sheet in sheets], classes, loops)


def _scene(sheet: Sheet, style: SheetStyle, room: Box) -> Panel:
    name, data = sheet.name, sheet.data
    surface = mesh(name, style.mesh)
    if sheet.parted:
        surface |= panels.by_class(f"{name}_part")
    traces = [
        surface,
        panels.line3d(f"{name}_grid", palette.GRID_LINE, 2.5),
        panels.line3d(f"{name}_edge", palette.GRID_LINE, 2.5),
        panels.line3d(f"{name}_curve", palette.LINE, 8),
    ]
    for label, colour in enumerate(data.colours):
        marker = _marker(colour, 3, style.symbols, style.outline)
        dots = {**panels.xyz(f"{name}_data{label}"), "marker": marker}
        traces.append({"type": "scatter3d", "mode": "markers", **dots, **panels.QUIET})
    content = "data and decision curve"
    if sheet.plane is not None:
        traces.append(panels.plane_trace(panels.xyz(f"{name}_plane")))
        content = "data, decision curve and the classifier's plane"
    if sheet.corners is not None:
        traces += panels.value_triangle(
            f"{name}_ring", sheet.ground and ground(f"{name}_ground", style.mesh)
        )
    if sheet.ground is not None:
        traces.append(panels.line3d(f"{name}_split", palette.INK, 4))
    return Panel(
        kind="scene",
        label=f"{name} model: surface in representation space, with {content}",
        traces=traces,
        layout=panels.scene_layout(*room, ()),
        pick={x: f"{name}_{x}" for x in "xyz"},
        notes=sheet.notes,
        inside=sheet.inside.tolist(),
    )


def _plane(sheet: Sheet, style: SheetStyle) -> Panel:
    name, data, reading = sheet.name, sheet.data, style.reading
    extra: dict[str, Any] = {}
    if sheet.field is not None:
        reading, extra = "K = %{customdata:.3g}", {"customdata": panels.ref(f"{name}_field")}
    shown = f"{name}_colour"
    if sheet.fine is not None:
        shown, extra = f"{name}_fine", {"x": panels.ref("fine_axis"), "y": panels.ref("fine_axis")}
    traces = [
        panels.heat(shown, style.mesh, reading, **extra),
        panels.line2d(f"{name}_curve", palette.LINE, 3),
    ]
    if sheet.field is not None:
        traces.append(panels.line2d(f"{name}_hatch", palette.GRID_LINE, 1))
    for part, _ in _parts(data):
        if part == "test" and not style.tested:
            continue
        for label, index in enumerate(data.colours):
            uv = {
                x: panels.ref(f"{name}_{part}{label}_{u}") for x, u in zip("xy", "uv", strict=True)
            }
            marker = _marker(index, 6, style.symbols, hollow=part == "test", filled=style.filled)
            traces.append(
                {"type": "scatter", "mode": "markers", **uv, "marker": marker, **panels.QUIET}
            )
    return Panel(
        kind="plane",
        label=f"{name} model: decision boundary in the input plane",
        traces=traces,
        layout=panels.chart_layout(data.axis, panels.CHART_NAMES["inputs"]),
        pick={"x": "axis", "y": "axis"},
    )


def _marker(
    index: int,
    size: int,
    symbols: tuple[str, ...],
    outline: float = 1.0,
    hollow: bool = False,
    filled: bool = False,
) -> dict[str, Any]:
    colour = palette.POINT_COLOURS[index]
    line = {"color": colour if hollow else PAPER, "width": 1.5 if hollow else outline}
    if hollow and filled:
        return {"size": size, "color": PAPER, "symbol": symbols[index], "line": line}
    symbol = symbols[index] + ("-open" if hollow else "")
    return {"size": size, "color": colour, "symbol": symbol, "line": line}


def class_colours(logits: np.ndarray, discrete: bool = False) -> np.ndarray:
    """(..., R, C): the probability of the second of two classes; the likeliest of several."""
    if logits.shape[-1] > 2 or discrete:
        return logits.argmax(-1).astype(np.uint8)
    # Not SciPy's softmax: its import takes a tenth of a second of a first visit.
    return np.exp(logits[..., 1] - np.logaddexp(logits[..., 0], logits[..., 1]))
