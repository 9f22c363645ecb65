"""The pictures of models: |K| against its bound (C1, C2), accuracy against curvature (C6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gating_core.claims import ClaimVerdict, ModelRow
from gating_core.claims.bounds import CURVED, FLAT, Charts, chart_word
from gating_core.claims.design import CONTROLS, GATED, WITHOUT_GATE
from gating_core.claims.relation import EXACT, MEASURES, PEARSON, PROXY, Relations
from gating_core.claims.second_relation import RelationsByKind
from gating_core.claims.text import counted, fixed, fixed_interval
from ui.claims.picture import (
    ROUND_A_ROW,
    SYMBOLS,
    Figure,
    Palette,
    layout_of,
    lines,
    markers,
    rows_axis,
    vertical,
)
from ui.common.lessons import section

FIT_POINTS = 24  # of a straight line, which is a curve over a logarithmic axis
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


# --- C6: accuracy against curvature ---------------------------------------------------------------


def relation(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    evidence: Relations = verdict.evidence
    measures = (x for x in (PROXY, EXACT) if evidence.pooled[x, PEARSON].groups)
    return tuple(_relation(evidence, measure, palette) for measure in measures)


def _relation(evidence: Relations, measure: str, palette: Palette) -> Figure:
    pooled = evidence.pooled[measure, PEARSON]
    tasks = list(dict.fromkeys(group.task for group in pooled.groups))
    variants = list(dict.fromkeys(group.variant for group in pooled.groups))
    data: list[dict[str, Any]] = []
    for group in pooled.groups:
        colour = palette.tasks[tasks.index(group.task) % len(palette.tasks)]
        name = f"{group.task}, {group.variant}"
        data.append(markers(
            name, group.x.tolist(), group.y.tolist(), legendgroup=name, customdata=list(group.keys),
            text=[f"{name}, seed {seed}" for seed in group.seeds],
            hovertemplate="%{text}<br>%{x:.3g}, accuracy %{y:.1%}<extra></extra>",
            marker={"color": colour, "size": 7, "opacity": 0.75,
                    "symbol": SYMBOLS[variants.index(group.variant) % len(SYMBOLS)]},
        ))  # fmt: skip
        if group.r is not None:
            x, y = fitted(group.x, group.y)
            data.append(lines(
                name, x.tolist(), y.tolist(), legendgroup=name, showlegend=False, hoverinfo="text",
                text=f"{name}: r = {group.r:.2f}", line={"color": colour, "width": 1.5},
            ))  # fmt: skip
    layout = layout_of(palette, MEASURES[measure], "test accuracy")
    layout["xaxis"] |= {"type": "log", "exponentformat": "power", "nticks": 7}
    layout["yaxis"] |= {"tickformat": ".0%"}
    layout["height"] += 60
    return Figure(f"Accuracy against {MEASURES[measure]}", {"data": data, "layout": layout},
                  f"r within groups {pooled.r:.2f} for {MEASURES[measure]}.",
                  section("claims", "relation"))  # fmt: skip


def fitted(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares line of ``y`` on ``x`` (M,), which must vary, at even steps of log x."""
    slope = ((x - x.mean()) * (y - y.mean())).sum() / np.square(x - x.mean()).sum()
    steps = np.geomspace(x[x > 0].min(), x.max(), FIT_POINTS)
    return steps, y.mean() + slope * (steps - x.mean())


# --- Second edition: correlations by kind ---------------------------------------------------------


def relation_by_kind(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    """Draw r of every group and of each kind, a picture for each measure."""
    evidence: RelationsByKind = verdict.evidence
    return tuple(
        _forest(evidence, measure, palette, verdict)
        for measure in (PROXY, EXACT)
        if any(evidence.pooled(kind, measure).groups for kind in evidence.kinds)
    )


def _forest(
    evidence: RelationsByKind, measure: str, palette: Palette, verdict: ClaimVerdict
) -> Figure:
    confidence = verdict.thresholds.confidence
    colours = dict(zip(evidence.kinds, (palette.gated, palette.control), strict=True))
    pooled = {kind: evidence.pooled(kind, measure) for kind in evidence.kinds}
    every = [group for of in pooled.values() for group in of.groups]
    variants = list(dict.fromkeys(group.variant for group in every))
    labels = [
        label for kind, of in pooled.items()
        for label in (*dict.fromkeys(group.task for group in of.groups), f"<b>{kind}</b>")
    ][::-1]  # fmt: skip
    data: list[dict[str, Any]] = []
    for kind, of in pooled.items():
        for index, variant in enumerate(variants):
            here = [x for x in of.groups if x.variant == variant and x.r is not None]
            r = np.array([x.r for x in here], dtype=float)
            reach = np.array([x.interval(confidence) for x in here]).reshape(-1, 2) - r[:, None]
            shift = ROUND_A_ROW * (1 - 2 * index / max(len(variants) - 1, 1))
            data.append(markers(
                f"{kind}, {variant}", r.tolist(), [labels.index(x.task) + shift for x in here],
                text=[f"{x.task}, {variant}: r = {fixed(x.r or 0.0)}, {x.count} models"
                      for x in here],
                hovertemplate="%{text}<extra></extra>",
                error_x={"type": "data", "symmetric": False, "array": reach[:, 1].tolist(),
                         "arrayminus": (-reach[:, 0]).tolist(), "color": colours[kind],
                         "width": 0, "thickness": 1},
                marker={"color": colours[kind], "size": 7, "symbol": SYMBOLS[index]},
                showlegend=False,
            ))  # fmt: skip
        at = labels.index(f"<b>{kind}</b>")
        if np.isfinite(of.low):
            data.append(lines(
                f"{kind}, pooled", [of.low, of.high], [at, at], showlegend=False,
                hoverinfo="skip", line={"color": colours[kind], "width": 5},
            ))  # fmt: skip
        if np.isfinite(of.r):
            data.append(markers(
                f"{kind}, pooled", [of.r], [at], showlegend=False,
                text=[f"{kind}, pooled: r = {fixed(of.r)} {fixed_interval(of.low, of.high)}"],
                hovertemplate="%{text}<extra></extra>",
                marker={"color": colours[kind], "size": 12, "symbol": "diamond",
                        "line": {"color": palette.ink, "width": 1}},
            ))  # fmt: skip
    # Two lines: in one, a phone cuts the measure off.
    layout = layout_of(palette, f"r of test accuracy with<br>{MEASURES[measure]}", "")
    layout["margin"] |= {"b": 80}
    layout["yaxis"] |= rows_axis(labels, 0.6, 0.4)
    layout["xaxis"] |= {"range": [-1, 1]}
    layout["shapes"] = [vertical(0.0, palette.ink)]
    # The rows name the kinds: the legend names the variants alone, by their symbols.
    data += [markers(variant, [None], [None],
                     marker={"color": palette.ink, "size": 7, "symbol": SYMBOLS[index]})
             for index, variant in enumerate(variants)]  # fmt: skip
    data = [trace for trace in data if trace["x"]]
    correlations = "; ".join(f"{kind} {fixed(of.r)}" for kind, of in pooled.items())
    return Figure(f"r by group, {MEASURES[measure]}", {"data": data, "layout": layout},
                  f"r of test accuracy with {MEASURES[measure]}: {correlations}.",
                  section("claims", "groups"))  # fmt: skip
