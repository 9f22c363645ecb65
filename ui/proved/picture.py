"""Pictures of proofs: the map of the chart's cells, and an explanation of enclosures."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from gating_core.proved import FLAT, LABELS, NEGATIVE, OPEN, POSITIVE, ProvedCurvature
from ui.drawing import palette
from ui.drawing.chart_map import CellKind, cell_map, kinds_of_pixels

SIZE = 380  # pixels
KINDS = {
    POSITIVE: CellKind("K > 0", palette.SIGNED_SCALE[-1][1]),
    NEGATIVE: CellKind("K < 0", palette.SIGNED_SCALE[0][1]),
    FLAT: CellKind("K = 0", palette.NEUTRAL),
    OPEN: CellKind("open", None),
}
assert tuple(KINDS) == LABELS
SIGNS = np.array([1, -1, 0, 0, 0])  # by label, the last for pixels of several kinds
SPEAKS = np.array([True, True, True, False, False])  # whether a sign is proved there


def proof_map(proof: ProvedCurvature, names: tuple[str, str]) -> go.Figure:
    """Draw the map of cells with the proved sign of K; ``names`` are those of the chart's axes."""
    return cell_map(*_arrays(proof), [*KINDS.values()], names, SIZE)


def contradicted(proof: ProvedCurvature, axis: np.ndarray, known: np.ndarray) -> int:
    """Count grid points whose measured sign of K contradicts the proved one.

    ``known`` (R, C) is K over the chart ``axis`` x ``axis``, NaN where its sign is not known. A
    point is compared where its pixel of the map is of one kind.
    """
    pixels = kinds_of_pixels(*_arrays(proof), len(KINDS))
    pixel = np.clip(((axis + 1) * len(pixels) / 2).astype(int), 0, len(pixels) - 1)
    label = pixels[np.ix_(pixel, pixel)]
    return int((SPEAKS[label] & np.isfinite(known) & (np.sign(known) != SIGNS[label])).sum())


def _arrays(proof: ProvedCurvature) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cells = proof.cells
    return cells.centres.numpy(), cells.radius.numpy(), proof.labels.numpy()


# --- What an enclosure is -------------------------------------------------------------------------

CURVE_POINTS = 241
HALVED = (1, 4, 16)  # cells of each picture


def enclosure_figure() -> go.Figure:
    """Draw a function, and boxes that hold it on one cell, on four and on sixteen.

    A box is the value in the middle of the cell, plus and minus the steepest slope times half the
    cell's width: a ball. Boxes are coloured by the sign of all that is in them.
    """
    x = np.linspace(-1, 1, CURVE_POINTS)
    figure = make_subplots(1, len(HALVED), horizontal_spacing=0.06)
    for column, count in enumerate(HALVED, 1):
        half = 1 / count
        for centre in (2 * np.arange(count) + 1) / count - 1:
            low, high = enclosure(float(centre), half)
            sign = POSITIVE if low > 0 else NEGATIVE if high < 0 else OPEN
            figure.add_shape(
                type="rect", x0=centre - half, x1=centre + half, y0=low, y1=high, row=1, col=column,
                fillcolor=KINDS[sign].colour or palette.PLANE,
                opacity=0.3 if sign == OPEN else 0.55,
                line={"width": 1, "color": palette.GRID_LINE}, layer="below",
            )  # fmt: skip
        figure.add_scatter(
            x=x, y=example(x), mode="lines", hoverinfo="skip", showlegend=False, row=1, col=column,
            line={"width": 2, "color": palette.ACCENT},
        )  # fmt: skip
        figure.update_xaxes(title_text=f"{count} cell{'s' if count > 1 else ''}", col=column)
        figure.update_yaxes(showticklabels=column == 1, col=column)
    figure.update_xaxes(tickvals=[-1, 0, 1], showgrid=False, zeroline=False)
    figure.update_yaxes(range=[-1.3, 2.1], tickvals=[0], zeroline=False)
    return figure.update_layout(
        height=230, margin={"l": 24, "r": 8, "t": 8, "b": 40}, dragmode=False, hovermode=False
    )


def example(x: np.ndarray | float) -> np.ndarray | float:
    """Return the function that is drawn."""
    return 0.4 + 1.5 * x - x**3


def enclosure(centre: float, half: float) -> tuple[float, float]:
    """Return numbers between which `example` lies within ``half`` of ``centre``."""
    ends = [centre - half, centre + half]
    turning = [0.0] if ends[0] < 0 < ends[1] else []  # of the slope 1.5 - 3 x^2
    steepest = max(abs(1.5 - 3 * x**2) for x in [*ends, *turning])
    middle = float(example(centre))
    return middle - steepest * half, middle + steepest * half
