"""From results to plain Plotly figures: curvature maps and learning curves."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gating_core.geometry import CURVED, SurfaceResult
from gating_core.training import TrainedEnsemble
from ui.drawing import palette
from ui.drawing.colours import ColourScale
from ui.drawing.lines import zero_curve


def curvature_maps(
    surfaces: dict[str, SurfaceResult], frames: dict[str, int], scale: ColourScale
) -> go.Figure:
    """K over the chart, one panel a surface, one zero-centred scale, the line K = 0 dashed.

    Points where K is not known are left open; the line is drawn only where |K| exceeds its error:
    elsewhere the sign is rounding.
    """
    figure = make_subplots(1, len(surfaces), subplot_titles=list(surfaces))
    for column, (name, surface) in enumerate(surfaces.items(), 1):
        frame = frames[name]
        known, axis = surface.known[frame], surface.axis
        figure.add_heatmap(
            x=axis, y=axis, z=scale.apply(known), customdata=known, coloraxis="coloraxis",
            row=1, col=column,
            hovertemplate="x = (%{x:.2f}, %{y:.2f})<br>K = %{customdata:.3g}<extra></extra>",
            hovertemplatefallback="not known",
        )  # fmt: skip
        if surface.verdicts[frame].word == CURVED:
            decided = surface.gaussian_where(surface.decided)[frame]
            line, _ = zero_curve(decided, axis, surface.values[frame])
            figure.add_scatter(
                x=line[:, 0], y=line[:, 1], mode="lines", name="K = 0", row=1, col=column,
                line={"color": palette.LINE, "dash": "dash", "width": 1.5},
                hoverinfo="skip", showlegend=False,
            )  # fmt: skip
        figure.update_yaxes(scaleanchor=f"x{column if column > 1 else ''}", row=1, col=column)
    square = {"constrain": "domain", "range": [-1, 1], "tickvals": [-1, 0, 1], "zeroline": False}
    figure.update_xaxes(title_text="x<sub>1</sub>", **square)
    figure.update_yaxes(**square)
    figure.update_yaxes(showticklabels=False)
    figure.update_yaxes(title_text="x<sub>2</sub>", showticklabels=True, col=1)
    figure.update_layout(
        coloraxis={
            "colorscale": scale.colours, "cmin": scale.low, "cmax": scale.high,
            "colorbar": {
                "title": {"text": "K", "side": "right"}, "tickvals": [scale.low, 0, scale.high],
                "ticktext": [f"{end:.2g}" for end in (scale.ends[0], 0, scale.ends[1])],
                "orientation": "h", "y": -0.45, "thickness": 12, "len": 0.6,
            },
        },
        margin={"l": 40, "r": 10, "t": 36, "b": 40}, height=400,
    )  # fmt: skip
    return figure


def learning_curves(ensembles: dict[str, TrainedEnsemble], colours: dict[str, str]) -> go.Figure:
    """Training loss against steps: every seed thin, the shown one thick."""
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


def seed_strip(accuracies: dict[str, np.ndarray], colours: dict[str, str]) -> go.Figure:
    """Accuracy on new points: a row for each variant, a dot for each seed."""
    figure = go.Figure()
    for name, values in accuracies.items():
        figure.add_scatter(
            x=100 * values, y=[name] * len(values), mode="markers", name=name, showlegend=False,
            marker={"color": colours[name], "size": 10, "opacity": 0.55},
            hovertemplate="%{x:.1f} %<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(title_text="% of new points right", title_standoff=4, nticks=6)
    figure.update_yaxes(autorange="reversed", ticklabelstandoff=6)
    figure.update_layout(margin={"l": 90, "r": 10, "t": 4, "b": 40}, height=125)
    return figure
