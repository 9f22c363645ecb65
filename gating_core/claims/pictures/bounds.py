"""Is |K| below its bound? The picture of claims C1 and C2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.claims.charts import CURVED, FLAT, Charts, chart_word
from gating_core.claims.models import GATED, WITHOUT_GATE
from gating_core.claims.pictures.figure import Figure, Palette, layout_of
from gating_core.claims.rows import ModelRow
from gating_core.claims.verdicts import Verdict
from gating_core.claims.wording import counted

OUTERMOST = 0.05  # share of each kind's models at either end that may lie beyond: some collapse
ROOM = 1.0  # decades round the others
# Arrowheads at the frame, by where a point lies: left, within or right, and below, within or above.
ARROWS = {(-1, -1): "sw", (-1, 0): "left", (-1, 1): "nw", (0, -1): "down", (0, 1): "up",
          (1, -1): "se", (1, 0): "right", (1, 1): "ne"}  # fmt: skip

Frame = tuple[tuple[float, float], tuple[float, float]]  # ends of both axes, powers of ten


@dataclass(frozen=True, eq=False)
class Kind:
    """Models that are drawn alike; ``places`` (M, 2) are log10 of bound and of |K|."""

    name: str
    rows: list[ModelRow]
    places: np.ndarray
    colour: str
    symbol: str

    def trace(self, frame: Frame) -> dict[str, Any]:
        """Those within ``frame``."""
        inside = ~np.any(self.sides(frame), axis=1)
        rows = [row for row, here in zip(self.rows, inside, strict=True) if here]
        return self._trace(rows, [row.chart_bound for row in rows],
                           [row.chart_largest for row in rows],
                           {"symbol": self.symbol}) | {"name": self.name}  # fmt: skip

    def beyond(self, frame: Frame) -> dict[str, Any] | None:
        """Those beyond ``frame``, as arrowheads at its edge, if there are any."""
        sides = self.sides(frame)
        out = np.any(sides, axis=1)
        if not out.any():
            return None
        rows = [row for row, there in zip(self.rows, out, strict=True) if there]
        x, y = (10 ** np.clip(self.places[out], *np.transpose(frame))).T
        arrows = [f"triangle-{ARROWS[tuple(side)]}" for side in sides[out].tolist()]
        trace = self._trace(rows, x.tolist(), y.tolist(), {"symbol": arrows})
        return trace | {"legendgroup": "beyond", "cliponaxis": False}

    def sides(self, frame: Frame) -> np.ndarray:
        """(M, 2): -1 below the frame's ends, 1 above, 0 within."""
        low, high = np.transpose(frame)
        return (self.places > high).astype(int) - (self.places < low)

    def _trace(
        self, rows: list[ModelRow], x: Sequence[Any], y: Sequence[Any], marker: dict[str, Any]
    ) -> dict[str, Any]:
        return {
            "type": "scatter", "mode": "markers", "x": list(x), "y": list(y),
            "customdata": [row.key for row in rows], "text": [_told(row) for row in rows],
            "hovertemplate": "%{text}<extra></extra>",
            "marker": {"color": self.colour, "size": 7, "line": {"width": 1.2}} | marker,
        }  # fmt: skip


def bounds(verdict: Verdict, palette: Palette) -> tuple[Figure, ...]:
    found: Charts = verdict.evidence  # type: ignore[assignment]
    kinds, zeros = _kinds(found, palette)
    if not kinds:
        return ()
    frame = _frame(kinds)
    far = [trace for kind in kinds if (trace := kind.beyond(frame)) is not None]
    count = sum(len(trace["x"]) for trace in far)
    for trace in far:  # of all kinds, named once
        trace |= {"name": f"{count} beyond the frame", "showlegend": trace is far[0]}
    ends = [10.0 ** max(low for low, _ in frame), 10.0 ** min(high for _, high in frame)]
    line = {
        "type": "scatter", "mode": "lines", "name": "|K| = bound", "x": ends, "y": ends,
        "hoverinfo": "skip", "line": {"color": palette.ink, "dash": "dash", "width": 1},
    }  # fmt: skip
    layout = layout_of(palette, "largest bound on the error of K", "largest |K|")
    for axis, range_ in zip(("xaxis", "yaxis"), frame, strict=True):
        layout[axis] |= {"type": "log", "exponentformat": "power", "nticks": 7,
                         "range": list(range_)}  # fmt: skip
    data = [*(kind.trace(frame) for kind in kinds), *far, line]
    return (Figure(
        "|K| against its bound", {"data": data, "layout": layout}, verdict.sentences,
        "Each point is a trained model on the attention-weight chart: upwards the largest |K| at"
        " any of its points, to the right the largest rigorous bound on the rounding of K. Below"
        " the dashed line |K| cannot be told from zero; above it the model is known to be curved."
        " Open symbols are flat: |K| is below its own bound at every point. A filled one below the"
        " line exceeds its bound at one point while another has a larger bound."
        f"{_beyond_text(count, frame)}{_zero_text(zeros)} Both axes are logarithmic. It does not"
        " show how much of the area curves, nor which sign K has, and sizes of K do not compare"
        " between models: they change with the scale of the output.",
    ),)  # fmt: skip


def _kinds(found: Charts, palette: Palette) -> tuple[list[Kind], int]:
    """What is drawn, and how many models have no place on logarithmic axes."""
    groups = {
        "without a gate": (WITHOUT_GATE, palette.ungated, "circle"),
        "gated": (GATED, palette.gated, "diamond"),
        "controls": (("additive", "pointwise", "half"), palette.control, "square"),
    }
    kinds, zeros = [], 0
    for name, (variants, colour, symbol) in groups.items():
        for word in (FLAT, CURVED):
            rows = [row for row in found.of(variants) if chart_word(row, found.flat_bound) == word]
            drawn = [row for row in rows if row.chart_largest and row.chart_bound]
            zeros += len(rows) - len(drawn)
            if drawn:
                sizes = np.array(
                    [(row.chart_bound, row.chart_largest) for row in drawn], dtype=float
                )
                sign = symbol + "-open" * (word == FLAT)
                kinds.append(Kind(f"{name}: {word}", drawn, np.log10(sizes), colour, sign))
    return kinds, zeros


def _frame(kinds: Sequence[Kind]) -> Frame:
    """Whole decades that hold all but the outermost of each kind, with some room.

    By kinds, so that those of which there are many do not decide for the others.
    """
    ends = np.array([np.quantile(kind.places, [OUTERMOST, 1 - OUTERMOST], axis=0)
                     for kind in kinds])  # fmt: skip
    low, high = np.floor(ends[:, 0].min(axis=0) - ROOM), np.ceil(ends[:, 1].max(axis=0) + ROOM)
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def _told(row: ModelRow) -> str:
    name = f"{row.task}, {row.variant}, seed {row.seed}"
    return f"{name}<br>|K| {row.chart_largest:.3g}, bound {row.chart_bound:.3g}"


def _beyond_text(count: int, frame: Frame) -> str:
    if not count:
        return ""
    (left, right), (bottom, top) = frame
    return (
        f" The axes are cut at 10^{left:.0f} and 10^{right:.0f} for bounds, 10^{bottom:.0f} and"
        f" 10^{top:.0f} for |K|: {counted(count, 'model')} beyond, whose numbers are extreme, are"
        " triangles at the edge that point to where they lie; hovering tells their numbers."
    )


def _zero_text(zeros: int) -> str:
    return f" {zeros} with K exactly 0, or without a bound, have no place here." * bool(zeros)
