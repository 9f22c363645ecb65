"""The pictures that decide the claims, as Plotly figures.

Every point of a trained model carries the key of its row as ``customdata``, so that a page can open
the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gating_core.claims import ClaimVerdict
from gating_core.claims.bounds import Charts
from gating_core.claims.design import GATED, UNGATED
from gating_core.claims.equality import Equivalences
from gating_core.claims.gain import Comparison, Differences
from gating_core.claims.growth import CENTRE, TITLES, Slopes, expected
from gating_core.claims.relation import EXACT, MEASURES, PEARSON, PROXY, Relations
from gating_core.claims.second_gain import ByMeasure
from gating_core.claims.second_relation import RelationsByKind
from ui.claims.bounds_figure import bounds
from ui.claims.second_figures import effects, groups
from ui.claims.style import (
    LIGHT,
    Figure,
    Palette,
    jittered,
    layout_of,
    lines,
    markers,
    rows_axis,
    vertical,
)
from ui.common.lessons import section

FOREST_ROW, MARGIN_ROW = 24, 68  # pixels
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
FIT_POINTS = 24  # of a straight line, which is a curve over a logarithmic axis


def figures(verdict: ClaimVerdict, palette: Palette = LIGHT) -> tuple[Figure, ...]:
    """Return the pictures of a claim; none where there is nothing to draw."""
    return FIGURES[type(verdict.evidence)](verdict, palette)


# --- C3 and C4: forest plots ----------------------------------------------------------------------


def _forest(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    evidence: Differences = verdict.evidence
    measure = evidence.measure
    families = [family for _, family in sorted(evidence.families.items(), key=_gates_first)]
    rows = [
        (f"{one.pairs.task}: {one.pairs.variant}", one)
        for task in dict.fromkeys(one.pairs.task for family in families for one in family)
        for family in families
        for one in family
        if one.pairs.task == task and one.measured is not None
    ][::-1]
    if not rows:
        return ()
    data = [trace for at, (name, one) in enumerate(rows)
            for trace in _forest_row(at, name, one, measure.factor, palette)]  # fmt: skip
    layout = layout_of(palette, measure.title, "")
    layout |= {"height": 110 + FOREST_ROW * len(rows), "showlegend": False}
    layout["yaxis"] |= rows_axis([name for name, _ in rows], 0.7, 0.3)
    layout["shapes"] = [vertical(0.0, palette.ink)]
    confidence = f"{verdict.thresholds.confidence:.0%}"
    return (Figure(f"Differences from {UNGATED}, by task", {"data": data, "layout": layout},
                   verdict.sentences, section("claims", "forest", confidence=confidence)),
            )  # fmt: skip


def _forest_row(
    at: int, name: str, one: Comparison, factor: float, palette: Palette
) -> list[dict[str, Any]]:
    of, gate = one.measured, one.pairs.variant in GATED
    assert of is not None
    colour = palette.gated if gate else palette.control
    dots = markers(
        name, (factor * of.differences).tolist(), jittered(at, of.count),
        customdata=list(one.pairs.keys), text=[f"seed {seed}" for seed in of.seeds],
        hovertemplate=f"{name}, %{{text}}: %{{x:.3g}}<extra></extra>",
        marker={"color": colour, "size": 4, "opacity": 0.45},
    )  # fmt: skip
    mean = markers(
        name, [factor * of.mean], [at], hovertemplate=f"{name}: %{{x:.3g}}<extra></extra>",
        marker={"color": colour, "size": 10, "line": {"color": palette.ink, "width": 1},
                "symbol": "diamond" if gate else "square"},
    )  # fmt: skip
    if of.count > 1:
        half = factor * (of.high - of.mean)
        mean["error_x"] = {"type": "data", "array": [half], "color": palette.ink, "width": 5}
    return [dots, mean]


def _gates_first(family: tuple[str, tuple[Comparison, ...]]) -> int:
    """The rank of a variant: the gate that decides, other gates, controls."""
    return GATED.index(family[0]) if family[0] in GATED else len(GATED)


# --- C5: a margin ---------------------------------------------------------------------------------


def _equal(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    evidence: Equivalences = verdict.evidence
    t, tasks = verdict.thresholds, evidence.done[::-1]
    if not tasks:
        return ()
    data: list[dict[str, Any]] = []
    for at, (one, of) in enumerate(tasks):
        data.append(markers(
            one.pairs.task, (100 * of.paired.differences).tolist(), jittered(at, one.pairs.count),
            customdata=list(one.pairs.keys), text=[f"seed {seed}" for seed in of.paired.seeds],
            hovertemplate=one.pairs.task + ", %{text}: %{x:.2f} points<extra></extra>",
            marker={"color": palette.gated, "size": 4, "opacity": 0.45},
        ))  # fmt: skip
        if one.pairs.count > 1:
            data.append(lines(
                one.pairs.task, [100 * end for end in of.interval], [at, at],
                line={"color": palette.gated, "width": 5},
                hovertemplate="%{x:.2f} points<extra></extra>",
            ))  # fmt: skip
        data.append(markers(
            one.pairs.task, [100 * of.paired.mean], [at],
            hovertemplate=one.pairs.task + ": %{x:.2f} points<extra></extra>",
            marker={"color": palette.gated, "size": 11, "symbol": "diamond",
                    "line": {"color": palette.ink, "width": 1}},
        ))  # fmt: skip
    layout = layout_of(palette, "difference of test accuracy, points: sigmoid − ungated", "")
    layout |= {"height": 150 + MARGIN_ROW * len(tasks), "showlegend": False}
    names = [f"{one.pairs.task}<br>power {of.power:.0%}" for one, of in tasks]
    layout["yaxis"] |= rows_axis(names, 0.6, 0.4)
    margin = t.margin_points
    layout["shapes"] = [
        {"type": "rect", "xref": "x", "yref": "paper", "x0": -margin, "x1": margin, "y0": 0,
         "y1": 1, "fillcolor": palette.band, "line": {"width": 0}, "layer": "below"},
        *(vertical(x, palette.control, "dot") for x in (-margin, margin)),
        vertical(0.0, palette.ink),
    ]  # fmt: skip
    text = section("claims", "margin", margin=f"{margin:g}", level=f"{t.level:.0%}",
                   confidence=f"{1 - 2 * t.level:.0%}")  # fmt: skip
    return (Figure("Is the difference within the margin?", {"data": data, "layout": layout},
                   verdict.sentences, text),)  # fmt: skip


# --- C6: accuracy against curvature ---------------------------------------------------------------


def _together(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
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


# --- C7: growth with depth ------------------------------------------------------------------------


def _deeper(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    evidence: Slopes = verdict.evidence
    if not len(evidence.seeds):
        return ()
    data: list[dict[str, Any]] = []
    ends = evidence.depths[[0, -1]].astype(float)
    for name, (slope, _) in expected(verdict.thresholds).items():
        colour, symbol, dash = (palette.gated, "diamond", "dash") if name == CENTRE else (
            palette.control, "square", "dot")  # fmt: skip
        for at, seed in enumerate(evidence.seeds):
            ratio = evidence.values[name][at] / evidence.values[name][at, 0]
            here = np.isfinite(ratio) & (ratio > 0)
            symbols = [symbol if small else f"{symbol}-open" for small in evidence.small[at][here]]
            data.append(markers(
                TITLES[name], evidence.depths[here].tolist(), ratio[here].tolist(),
                legendgroup=name, showlegend=not at, customdata=evidence.keys[at][here].tolist(),
                text=[f"seed {seed}"] * int(here.sum()),
                hovertemplate=TITLES[name] + ", %{text}, depth %{x}: %{y:.3g}<extra></extra>",
                line={"color": colour, "width": 0.8},
                marker={"color": colour, "size": 6, "symbol": symbols},
            ) | {"mode": "lines+markers"})  # fmt: skip
        data.append(lines(
            f"slope {slope:g}", ends.tolist(), ((ends / ends[0]) ** slope).tolist(),
            hoverinfo="skip", line={"color": palette.ink, "dash": dash, "width": 1.2},
        ))  # fmt: skip
    layout = layout_of(palette, "depth, layers", "times that of one layer")
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"type": "log", "nticks": 8}
    return (Figure("Growth with depth", {"data": data, "layout": layout}, verdict.sentences,
                   section("claims", "growth")),)  # fmt: skip


FIGURES: dict[type, Callable[[ClaimVerdict, Palette], tuple[Figure, ...]]] = {
    Charts: bounds,
    Differences: _forest,
    Equivalences: _equal,
    Relations: _together,
    ByMeasure: effects,
    RelationsByKind: groups,
    Slopes: _deeper,
}
