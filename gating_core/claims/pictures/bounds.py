"""Is |K| below its bound? The picture of claims C1 and C2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gating_core.claims.charts import CURVED, FLAT, Charts, chart_word
from gating_core.claims.models import GATED, WITHOUT_GATE
from gating_core.claims.pictures.figure import Figure, Palette, layout_of
from gating_core.claims.verdicts import Verdict

OUTERMOST = 0.01  # share of models at either end that may lie outside the frame: some collapse
ROOM = 1.5  # decades beyond the others


def bounds(verdict: Verdict, palette: Palette) -> tuple[Figure, ...]:
    found: Charts = verdict.evidence  # type: ignore[assignment]
    groups = {
        "without a gate": (WITHOUT_GATE, palette.ungated, "circle"),
        "gated": (GATED, palette.gated, "diamond"),
        "controls": (("additive", "pointwise", "half"), palette.control, "square"),
    }
    data, zeros = [], 0
    points: list[tuple[float, float]] = []
    for name, (variants, colour, symbol) in groups.items():
        for word in (FLAT, CURVED):
            rows = [row for row in found.of(variants) if chart_word(row, found.flat_bound) == word]
            drawn = [row for row in rows if row.chart_largest and row.chart_bound]
            zeros += len(rows) - len(drawn)
            if not drawn:
                continue
            x, y = ([getattr(row, field) for row in drawn] for field in ("chart_bound",
                    "chart_largest"))  # fmt: skip
            points += zip(x, y, strict=True)
            data.append({
                "type": "scatter", "mode": "markers", "name": f"{name}: {word}",
                "x": x, "y": y, "customdata": [row.key for row in drawn],
                "text": [f"{row.task}, {row.variant}, seed {row.seed}" for row in drawn],
                "hovertemplate": "%{text}<br>|K| %{y:.3g}, bound %{x:.3g}<extra></extra>",
                "marker": {"color": colour, "size": 7, "symbol": symbol + "-open" * (word == FLAT),
                           "line": {"width": 1.2}},
            })  # fmt: skip
    if not data:
        return ()
    line = [min(map(min, points)), max(map(max, points))]
    data.append(
        {
            "type": "scatter",
            "mode": "lines",
            "name": "|K| = bound",
            "x": line,
            "y": line,
            "hoverinfo": "skip",
            "line": {"color": palette.ink, "dash": "dash", "width": 1},
        }
    )
    layout = layout_of(palette, "largest bound on the error of K", "largest |K|")
    ranges = [_frame(values) for values in zip(*points, strict=True)]
    for axis, ends in zip(("xaxis", "yaxis"), ranges, strict=True):
        layout[axis] |= {"type": "log", "exponentformat": "power", "nticks": 7, "range": list(ends)}
    outside = sum(
        not all(a <= np.log10(value) <= b for value, (a, b) in zip(point, ranges, strict=True))
        for point in points
    )
    told = f" {zeros} with K exactly 0, or without a bound, have no place here." * bool(zeros)
    told += f" {outside} lie outside the frame; “autoscale” shows them, too." * bool(outside)
    return (Figure(
        "|K| against its bound", {"data": data, "layout": layout}, verdict.sentences,
        "Each point is a trained model on the attention-weight chart: upwards the largest |K| at"
        " any of its points, to the right the largest rigorous bound on the rounding of K. Below"
        " the dashed line |K| cannot be told from zero; above it the model is known to be curved."
        " Open symbols are flat: |K| is below its own bound at every point. A filled one below the"
        f" line exceeds its bound at one point while another has a larger bound.{told} Both axes"
        " are logarithmic. It does not show how much of the area curves, nor which sign K has, and"
        " sizes of K do not compare between models: they change with the scale of the output.",
    ),)  # fmt: skip


def _frame(values: Sequence[float]) -> tuple[float, float]:
    """Powers of ten between which all but the outermost of ``values`` lie, with some room."""
    low, high = np.quantile(np.log10(values), [OUTERMOST, 1 - OUTERMOST])
    return float(low) - ROOM, float(high) + ROOM
