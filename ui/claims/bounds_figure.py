"""The picture of claims C1 and C2: is |K| below its bound?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.claims import ClaimVerdict, ModelRow
from gating_core.claims.bounds import CURVED, FLAT, Charts, chart_word
from gating_core.claims.design import CONTROLS, GATED, WITHOUT_GATE
from gating_core.claims.text import counted
from ui.claims.picture import Figure, Palette, layout_of, lines, markers
from ui.common.lessons import section

OUTERMOST = 0.05  # share of each kind's models at either end that may lie beyond: some collapse
ROOM = 1.0  # decades round the others
# Arrowheads at the frame, by where a point lies: left, within or right, and below, within or above.
ARROWS = {(-1, -1): "sw", (-1, 0): "left", (-1, 1): "nw", (0, -1): "down", (0, 1): "up",
          (1, -1): "se", (1, 0): "right", (1, 1): "ne"}  # fmt: skip

Frame = tuple[tuple[float, float], tuple[float, float]]  # ends of both axes, powers of ten


@dataclass(frozen=True, eq=False)
class ModelGroup:
    """Models that are drawn alike; ``sizes`` (M, 2) are bound and |K|, ``logs`` their log10."""

    name: str
    rows: list[ModelRow]
    sizes: np.ndarray
    logs: np.ndarray
    colour: str
    symbol: str

    def traces(self, frame: Frame) -> tuple[dict[str, Any], dict[str, Any]]:
        """The models within ``frame``, and those beyond, as arrowheads at its edge."""
        low, high = np.transpose(frame)
        sides = (self.logs > high).astype(int) - (self.logs < low)  # 0 within
        out = sides.any(axis=1)
        edge = 10 ** np.clip(self.logs[out], low, high)
        arrows = [f"triangle-{ARROWS[tuple(side)]}" for side in sides[out].tolist()]
        return self._trace(~out, self.sizes[~out], self.symbol), self._trace(out, edge, arrows)

    def _trace(self, drawn: np.ndarray, sizes: np.ndarray, symbol: str | list[str]) -> dict:
        rows = [row for row, here in zip(self.rows, drawn, strict=True) if here]
        return markers(
            self.name, *sizes.T.tolist(), customdata=[row.key for row in rows],
            text=[f"{row.task}, {row.variant}, seed {row.seed}<br>|K| {row.chart_largest:.3g},"
                  f" bound {row.chart_bound:.3g}" for row in rows],
            hovertemplate="%{text}<extra></extra>",
            marker={"color": self.colour, "size": 7, "line": {"width": 1.2}, "symbol": symbol},
        )  # fmt: skip


def bounds(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    kinds, zeros = _kinds(verdict.evidence, palette)
    if not kinds:
        return ()
    frame = _frame(kinds)
    within, beyond = zip(*(kind.traces(frame) for kind in kinds), strict=True)
    far = [trace for trace in beyond if trace["x"]]
    count = sum(len(trace["x"]) for trace in far)
    for trace in far:  # of all kinds, named once
        trace |= {"legendgroup": "beyond", "cliponaxis": False,
                  "name": f"{count} beyond the frame", "showlegend": trace is far[0]}  # fmt: skip
    ends = [10.0 ** max(low for low, _ in frame), 10.0 ** min(high for _, high in frame)]
    line = lines("|K| = bound", ends, ends, hoverinfo="skip",
                 line={"color": palette.ink, "dash": "dash", "width": 1})  # fmt: skip
    layout = layout_of(palette, "largest bound on the error of K", "largest |K|")
    for axis, range_ in zip(("xaxis", "yaxis"), frame, strict=True):
        layout[axis] |= {"type": "log", "exponentformat": "power", "nticks": 7,
                         "range": list(range_)}  # fmt: skip
    data = [*within, *far, line]
    cut = _cut_text(count, zeros, frame)
    return (Figure("|K| against its bound", {"data": data, "layout": layout}, verdict.sentences,
                   section("claims", "bounds", cut=cut)),)  # fmt: skip


def _kinds(evidence: Charts, palette: Palette) -> tuple[list[ModelGroup], int]:
    """What is drawn, and how many models have no place on logarithmic axes."""
    controls = tuple(name for name in CONTROLS if name not in WITHOUT_GATE)
    groups = {
        "without a gate": (WITHOUT_GATE, palette.ungated, "circle"),
        "gated": (GATED, palette.gated, "diamond"),
        "controls": (controls, palette.control, "square"),
    }
    kinds, zeros = [], 0
    for name, (variants, colour, symbol) in groups.items():
        for word in (FLAT, CURVED):
            rows = [row for row in evidence.of(variants)
                    if chart_word(row, evidence.flat_bound) == word]  # fmt: skip
            drawn = [row for row in rows if row.chart_largest and row.chart_bound]
            zeros += len(rows) - len(drawn)
            if drawn:
                sizes = np.array([(row.chart_bound, row.chart_largest) for row in drawn])
                sign = symbol + "-open" * (word == FLAT)
                title = f"{name}: {word}"
                kinds.append(ModelGroup(title, drawn, sizes, np.log10(sizes), colour, sign))
    return kinds, zeros


def _frame(kinds: Sequence[ModelGroup]) -> Frame:
    """Whole decades that hold all but the outermost of each kind, with some room.

    By kinds, so that those of which there are many do not decide for the others.
    """
    ends = np.array([np.quantile(kind.logs, [OUTERMOST, 1 - OUTERMOST], axis=0) for kind in kinds])
    low, high = np.floor(ends[:, 0].min(axis=0) - ROOM), np.ceil(ends[:, 1].max(axis=0) + ROOM)
    return (float(low[0]), float(high[0])), (float(low[1]), float(high[1]))


def _cut_text(beyond: int, zeros: int, frame: Frame) -> str:
    text, ((left, right), (bottom, top)) = "", frame
    if beyond:
        text = (
            f" The axes are cut at 10^{left:.0f} and 10^{right:.0f} for bounds, 10^{bottom:.0f} and"
            f" 10^{top:.0f} for |K|: {counted(beyond, 'model')} with extreme numbers are drawn as"
            " triangles at the edge. They point to where they lie. Hover over one to read its"
            " numbers."
        )
    if zeros:
        text += f" {counted(zeros, 'model')} with K exactly 0, or without a bound, cannot be drawn"
        text += " here."
    return text
