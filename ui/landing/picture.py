"""The landing page's pictures: two surfaces and their input planes, maps, learning curves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.geometry import CURVED, SurfaceResult
from gating_core.training import TrainedEnsemble
from ui.drawing import classified, palette
from ui.drawing.axes import coordinate_axes
from ui.drawing.camera import edge_on_camera
from ui.drawing.colours import ColourScale, scale_of
from ui.drawing.lines import plane_lines, zero_curve
from ui.drawing.panels import EdgeOn, View, cells, subplot, subplot_title
from ui.drawing.sheet import Sheet
from ui.drawing.surfaces import crease_curves
from ui.landing.pair import MeasuredModel, MeasuredPair

COLOURINGS = ("class", "curvature")
DISCS = ("circle", "circle")
CLASSES = ColourScale(palette.CLASS_SCALE, 0.0, 1.0)
TITLE_SIZE = 16  # pixels
GAP = 0.1  # between two maps, of the width


def curvature_colours(surface: SurfaceResult) -> ColourScale:
    """Return colours of K at full strength, symmetric about zero, on an asinh scale."""
    return scale_of("curvature", [surface.known[-1]])


def pair_view(pair: MeasuredPair, colouring: str = "class") -> View:
    """Draw two surfaces in R^3 beside their input planes; frames are those of the right model.

    The left model has a single frame. Two models with the same values are drawn in one box. Lines
    on the surfaces are straight where the gate is out. Where there is no surface to see, only the
    input planes are drawn, coloured by class.

    Args:
        pair: What is drawn.
        colouring: "class" for the classifier's probability, "curvature" for K on one scale.
    """
    left, right = pair.left, pair.right
    by_class = colouring == "class" or not pair.seen
    scale = CLASSES if by_class else curvature_colours(right.surface)
    reading = "p(class 1) = %{z:.2f}" if by_class else "K"
    style = classified.SheetStyle(scale.style, reading, DISCS, outline=0.6)
    sheets = [_sheet("left", left, scale, by_class), _sheet("right", right, scale, by_class)]
    room, alike = None, left.value_vectors.tolist() == right.value_vectors.tolist()
    if alike:
        low, high = zip(*(sheet.box for sheet in sheets), strict=True)
        room = np.minimum(*low), np.maximum(*high)
    arrays = {"axis": left.data.axis, **cells(len(left.data.axis))}
    columns, framed = [], set()
    for sheet in sheets:
        moving, fixed = classified.sheet_arrays(sheet)
        if len(sheet.frames.values) == 1:
            moving, fixed = {}, fixed | {key: array[0] for key, array in moving.items()}
        arrays |= moving | fixed
        framed |= set(moving)
        columns.append(classified.sheet_panels(sheet, style, room))
    edges = zip((left, right), sheets, strict=True)
    if alike:  # one plane: seen with one camera, along which the gated surface is broad
        edges = zip((left,), sheets[1:], strict=True)
    view = View(
        columns=columns,
        arrays=arrays,
        framed=frozenset(framed),
        frames=len(right.frames.values),
        camera=classified.sheets_camera(sheets),
        edge_on=tuple(
            EdgeOn(edge_on_camera(model.value_vectors, sheet.values[-1]),
                   tuple(model.value_vectors[0].tolist()))
            for model, sheet in edges
        ),
        colour_range=scale.ends,
        beyond=scale.beyond,
    )  # fmt: skip
    return view if pair.seen else _maps_alone(view)


def _maps_alone(view: View) -> View:
    """``view`` without its scenes, and without the arrays that only these need."""
    columns = [[panel for panel in panels if panel.kind == "plane"] for panels in view.columns]
    panels = [panel for column in columns for panel in column]
    drawn = set(_array_names([asdict(panel) for panel in panels]))
    drawn |= {name for panel in panels for name in panel.pick.values()}
    arrays = {name: array for name, array in view.arrays.items() if name in drawn}
    return replace(view, columns=columns, arrays=arrays, framed=view.framed & drawn, edge_on=())


def _array_names(tree: Any) -> Iterator[str]:
    """The names of all arrays that are referred to in ``tree``."""
    if isinstance(tree, dict):
        if "array" in tree:
            yield tree["array"]
        tree = list(tree.values())
    if isinstance(tree, list):
        for part in tree:
            yield from _array_names(part)


def _sheet(name: str, model: MeasuredModel, scale: ColourScale, by_class: bool) -> Sheet:
    known = model.surface.known
    return Sheet(
        name,
        model.frames,
        model.data,
        coordinate_axes(3),
        classified.class_colours(model.frames.logits)
        if by_class
        else np.nan_to_num(scale.apply(known)).clip(scale.low, scale.high),
        field=None if by_class else known,
        corners=np.tile(model.value_vectors, (len(model.frames.values), 1, 1)),
        lines=plane_lines(model.frames.values[0], model.data.axis, model.value_vectors),
        creases=None if by_class else crease_curves(model.surface, model.frames.values),
        grounded=by_class,
    )


# --- Plain figures --------------------------------------------------------------------------------


def curvature_maps(surfaces: dict[str, SurfaceResult], scale: ColourScale) -> go.Figure:
    """Draw K over the chart, one panel for each surface of one frame, with the line K = 0 dashed.

    Points where K is not known are left blank. The line is drawn only where |K| exceeds its error;
    elsewhere the sign is rounding.
    """
    traces, layout = [], _maps_layout(list(surfaces), scale)
    for index, surface in enumerate(surfaces.values()):
        axis, axes, (known,) = surface.axis, subplot(index), surface.known
        traces.append({
            "type": "heatmap", "x": axis, "y": axis, "z": scale.apply(known), "customdata": known,
            "coloraxis": "coloraxis", **axes,
            "hovertemplate": "x = (%{x:.2f}, %{y:.2f})<br>K = %{customdata:.3g}<extra></extra>",
            "hovertemplatefallback": "not known",
        })  # fmt: skip
        if surface.verdicts[0].word == CURVED:
            (decided,) = surface.gaussian_where(surface.decided)
            line, _ = zero_curve(decided, axis, surface.values[0])
            traces.append({
                "type": "scatter", "x": line[:, 0], "y": line[:, 1], "mode": "lines",
                "name": "K = 0", "line": {"color": palette.LINE, "dash": "dash", "width": 1.5},
                "hoverinfo": "skip", "showlegend": False, **axes,
            })  # fmt: skip
    return go.Figure({"data": traces, "layout": layout})


def _maps_layout(names: list[str], scale: ColourScale) -> dict[str, Any]:
    """Square panels side by side, each under its name, and one colour bar below."""
    square = {"constrain": "domain", "range": [-1, 1], "tickvals": [-1, 0, 1], "zeroline": False}
    width = (1 - GAP * (len(names) - 1)) / len(names)
    layout: dict[str, Any] = {"annotations": []}
    for index, name in enumerate(names):
        x, y = subplot(index).values()
        left = index * (width + GAP)
        layout[f"xaxis{x[1:]}"] = square | {
            "domain": [left, left + width], "anchor": y, "title": {"text": "x<sub>1</sub>"},
        }  # fmt: skip
        layout[f"yaxis{y[1:]}"] = square | {
            "anchor": x, "scaleanchor": x, "showticklabels": not index,
            **({} if index else {"title": {"text": "x<sub>2</sub>"}}),
        }  # fmt: skip
        layout["annotations"].append(subplot_title(name, left + width / 2, 1, TITLE_SIZE))
    layout["coloraxis"] = {
        "colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high,
        "colorbar": {
            "title": {"text": "K", "side": "right"}, "tickvals": [scale.low, 0, scale.high],
            "ticktext": [f"{end:.2g}" for end in (scale.ends[0], 0, scale.ends[1])],
            "orientation": "h", "y": -0.45, "thickness": 12, "len": 0.6,
        },
    }  # fmt: skip
    return layout | {"margin": {"l": 40, "r": 10, "t": 36, "b": 40}, "height": 400}


def learning_curves(ensembles: dict[str, TrainedEnsemble], colours: dict[str, str]) -> go.Figure:
    """Draw training loss against steps: every seed thin, the shown one thick."""
    figure = go.Figure()
    for name, ensemble in ensembles.items():
        losses, steps = ensemble.train_loss, ensemble.steps
        others = np.delete(losses, ensemble.best, axis=1)
        gap = np.full((1, others.shape[1]), np.nan)
        figure.add_scatter(
            x=np.tile(np.append(steps, steps[-1]), others.shape[1]),
            y=np.concatenate([others, gap]).T.ravel(),
            mode="lines", line={"color": colours[name], "width": 1}, opacity=0.35,
            name=f"{name}, other seeds", hoverinfo="skip", showlegend=False,
        )  # fmt: skip
        figure.add_scatter(
            x=steps, y=losses[:, ensemble.best], mode="lines", name=f"{name}, shown seed",
            line={"color": colours[name], "width": 3},
        )  # fmt: skip
    figure.update_layout(
        xaxis_title="step", yaxis_title="training loss", height=300,
        legend={"orientation": "h", "y": 1.12}, margin={"l": 40, "r": 10, "t": 30, "b": 40},
    )  # fmt: skip
    return figure
