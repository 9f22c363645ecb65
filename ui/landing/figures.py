"""Plain Plotly figures of the landing page: curvature maps and learning curves."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.geometry import CURVED, SurfaceResult
from gating_core.training import TrainedEnsemble
from ui.drawing import palette
from ui.drawing.colours import ColourScale
from ui.drawing.lines import zero_curve
from ui.drawing.panels import subplot, subplot_title

TITLE_SIZE = 16  # pixels
GAP = 0.1  # between two panels, of the width


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
