"""The charts that decide the claims, one function for each kind of evidence.

Every point of a trained model carries the key of its row as ``customdata``, so that the page can
open the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.claims import ClaimVerdict
from gating_core.claims.bounds import CURVED, FLAT, Charts, chart_word
from gating_core.claims.design import CONTROLS, GATED, UNGATED, WITHOUT_GATE
from gating_core.claims.equality import Equivalences
from gating_core.claims.gain import POINTS, SHOWN, Differences
from gating_core.claims.growth import CENTRE, TITLES, Slopes, expected
from gating_core.claims.measures import SETTINGS, ByMeasure
from gating_core.claims.pairs import Comparison
from gating_core.claims.relation import EXACT, MEASURES, PROXY, RelationsByKind
from gating_core.claims.text import counted, fixed, fixed_interval
from ui.common import charts as c
from ui.common.charts import Trace
from ui.common.lessons import section

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
COLOURS = (c.BLUE, c.ORANGE, c.GREEN, c.PURPLE, c.MAGENTA, c.TEAL, c.GREY, "#a3721a")  # of tasks
HEIGHT, FOREST_ROW = 330, 30  # pixels
SPREAD = 0.22  # of single seeds, above and below their row
BESIDE = 0.3  # of tasks or variants, above and below their row
GAP = 0.03  # between two panels, of the width
PANEL_CHARACTERS = 15  # in a line of a panel's title, on a phone
OUTERMOST = 0.05  # share of each kind's models at either end that may lie beyond the frame
ROOM = 1.0  # decades round the others
# Arrowheads at the frame, by where a point lies: left, within or right, and below, within or above.
ARROWS = {(-1, -1): "sw", (-1, 0): "left", (-1, 1): "nw", (0, -1): "down", (0, 1): "up",
          (1, -1): "se", (1, 0): "right", (1, 1): "ne"}  # fmt: skip


@dataclass(frozen=True, eq=False)
class ClaimChart:
    """A chart: its finding as a sentence, and how to read it."""

    title: str
    figure: go.Figure
    alt: str
    explanation: str


def claim_charts(verdict: ClaimVerdict, wide: bool = False) -> list[ClaimChart]:
    """Return the charts of a claim: of what decides it, or with ``wide`` of all variants.

    None where there is nothing to draw.
    """
    return CHARTS[type(verdict.evidence)](verdict, wide)


def dots(
    name: str,
    x: Any,
    y: Any,
    labels: Sequence[str],
    keys: Sequence[str] | None = None,
    **more: Any,
) -> Trace:
    """Return points with a tooltip each; ``keys`` of the rows behind them."""
    return {"type": "scatter", "mode": "markers", "name": name, "x": np.asarray(x, float),
            "y": np.asarray(y, float), "text": [*labels], "customdata": keys,
            "hovertemplate": "%{text}<extra></extra>"} | more  # fmt: skip


def rows_axis(labels: Sequence[str], below: float, above: float) -> dict[str, Any]:
    """Return an axis with a labelled row for each of ``labels``, from the bottom up."""
    return c.ticks(range(len(labels)), labels) | {
        "showgrid": False,
        "zeroline": False,
        "range": [-below, len(labels) - above],
        "automargin": True,
    }


def jittered(row: int, count: int) -> np.ndarray:
    """(count,): heights of single seeds round their row, in order, so that equal ones differ."""
    return row + SPREAD * np.linspace(-1, 1, count) * (count > 1)


def upright(x: float, dash: str = "solid", axis: str = "x") -> dict[str, Any]:
    """Return an upright line at ``x``."""
    return {"type": "line", "xref": axis, "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
            "line": {"color": c.GREY, "width": 1, "dash": dash}}  # fmt: skip


# --- C1, C2: |K| against its bound ----------------------------------------------------------------


def bounds_charts(verdict: ClaimVerdict, wide: bool) -> list[ClaimChart]:
    """Draw max |K| of every model over the bound on its error, both axes logarithmic."""
    evidence: Charts = verdict.evidence
    controls = tuple(name for name in CONTROLS if name not in WITHOUT_GATE)
    kinds = [
        (f"{name}: {word}", colour, symbol + "-open" * (word == FLAT),
         [row for row in evidence.of(variants) if chart_word(row, evidence.flat_bound) == word])
        for name, variants, colour, symbol in (
            ("without a gate", WITHOUT_GATE, c.GREY, "circle"),
            ("gated", GATED, c.MAGENTA, "diamond"), ("controls", controls, c.TEAL, "square"))
        for word in (FLAT, CURVED)
    ]  # fmt: skip
    every = sum(len(rows) for *_, rows in kinds)
    kinds = [
        (name, colour, symbol, [x for x in rows if x.chart_largest and x.chart_bound])
        for name, colour, symbol, rows in kinds
    ]
    kinds = [kind for kind in kinds if kind[-1]]
    if not kinds:
        return []
    sizes = [
        np.log10(np.array([(row.chart_bound, row.chart_largest) for row in rows], float))
        for *_, rows in kinds
    ]
    # By kinds, so that those of which there are many do not decide for the others.
    ends = np.array([np.quantile(of, [OUTERMOST, 1 - OUTERMOST], axis=0) for of in sizes])
    low, high = np.floor(ends[:, 0].min(0) - ROOM), np.ceil(ends[:, 1].max(0) + ROOM)
    traces, beyond = [], 0
    for (name, colour, symbol, rows), logs in zip(kinds, sizes, strict=True):
        sides = (logs > high).astype(int) - (logs < low)  # 0 within
        order = np.abs(sides).any(1).argsort(kind="stable")  # the legend shows the first symbol
        symbols = [
            f"triangle-{ARROWS[side]}" if any(side) else symbol
            for side in map(tuple, sides[order].tolist())
        ]
        beyond += int(np.abs(sides).any(1).sum())
        chosen = [rows[index] for index in order]
        labels = [
            f"{row.task}, {row.variant}, seed {row.seed}<br>|K| {row.chart_largest:.3g},"
            f" bound {row.chart_bound:.3g}"
            for row in chosen
        ]
        x, y = (10 ** np.clip(logs[order], low, high)).T
        traces.append(
            dots(
                name,
                x,
                y,
                labels,
                [row.key for row in chosen],
                cliponaxis=False,
                marker={"color": colour, "size": 7, "symbol": symbols},
            )
        )
    diagonal = 10.0 ** np.array([max(low), min(high)])
    traces.append(
        c.line("|K| = bound", diagonal, diagonal, colour=c.GREY, dash="dash", width=1, mode="lines")
    )
    figure = c.chart(
        "Largest |K| against its bound",
        traces,
        "largest bound on the error of K",
        "largest |K|",
        height=HEIGHT,
        x_axis=c.log_axis(10 ** low[0], 10 ** high[0], None),
        y_axis=c.log_axis(10 ** low[1], 10 ** high[1], None),
    )
    zeros = every - sum(len(rows) for *_, rows in kinds)
    cut = f" {counted(zeros, 'model')} with K exactly 0, or without a bound, cannot be drawn."
    cut *= zeros > 0
    if beyond:
        cut = (
            f" The axes are cut at 10^{low[0]:.0f} and 10^{high[0]:.0f} for bounds, 10^{low[1]:.0f}"
            f" and 10^{high[1]:.0f} for |K|: {counted(beyond, 'model')} beyond are drawn as"
            f" triangles at the edge that point to where they lie.{cut}"
        )
    return [
        ClaimChart(
            "Largest |K| against its bound",
            figure,
            verdict.sentences,
            section("claims", "bounds", cut=cut),
        )
    ]


# --- C4: a forest plot ----------------------------------------------------------------------------


def forest_charts(verdict: ClaimVerdict, wide: bool) -> list[ClaimChart]:
    """Draw the differences from the ungated model, a row for each task and variant."""
    evidence: Differences = verdict.evidence
    chosen = [name for name in SHOWN if name in evidence.families]
    if wide or not evidence.deciding:  # gates before controls
        chosen = [
            *dict.fromkeys([*(x for x in GATED if x in evidence.families), *evidence.families])
        ]
    families = [evidence.families[name] for name in chosen]
    rows = [
        one
        for task in dict.fromkeys(one.pairs.task for family in families for one in family)
        for family in families
        for one in family
        if one.pairs.task == task and one.measured is not None
    ][::-1]
    if not rows:
        return []
    names = [f"{one.pairs.task}: {one.pairs.variant}" for one in rows]
    traces = []
    for gate, colour, symbol in ((True, c.MAGENTA, "diamond"), (False, c.TEAL, "square")):
        here = [(at, one) for at, one in enumerate(rows) if (one.pairs.variant in GATED) == gate]
        if here:
            kind = "gates" if gate else "controls"
            traces += forest_traces(kind, names, here, colour, symbol)
    name = f"Difference from {UNGATED}, by task"
    figure = c.chart(
        name,
        traces,
        "difference of test accuracy, points",
        height=max(HEIGHT, FOREST_ROW * len(rows)),
        y_axis=rows_axis(names, 0.7, 0.3),
        shapes=[upright(0.0)],
        showlegend=False,
    )
    confidence = f"{verdict.thresholds.confidence:.0%}"
    return [
        ClaimChart(
            name, figure, verdict.sentences, section("claims", "forest", confidence=confidence)
        )
    ]


def forest_traces(
    kind: str,
    names: Sequence[str],
    rows: Sequence[tuple[int, Comparison]],
    colour: str,
    symbol: str,
) -> list[Trace]:
    """Return single seeds, and means with their intervals, at the heights of ``rows``."""
    seeds = dots(
        f"{kind}: seeds",
        np.concatenate([POINTS * np.array(one.pairs.values) for _, one in rows]),
        np.concatenate([jittered(at, one.pairs.count) for at, one in rows]),
        [
            f"{names[at]}, seed {seed}: {POINTS * value:.3g}"
            for at, one in rows
            for seed, value in zip(one.pairs.seeds, one.pairs.values, strict=True)
        ],
        [key for _, one in rows for key in one.pairs.keys],
        marker={"color": colour, "size": 4, "opacity": 0.45},
    )
    means = [(at, one.measured) for at, one in rows if one.measured is not None]
    half = [0.0 if of.count < 2 else POINTS * (of.high - of.mean) for _, of in means]
    mean = dots(
        f"{kind}: mean",
        [POINTS * of.mean for _, of in means],
        [at for at, _ in means],
        [
            f"{names[at]}: {POINTS * of.mean:.3g} ± {reach:.2g}"
            for (at, of), reach in zip(means, half, strict=True)
        ],
        error_x={"type": "data", "array": half, "color": colour, "width": 4, "thickness": 1.5},
        marker={"color": colour, "size": 10, "symbol": symbol},
    )
    return [seeds, mean]


# --- C3: effects by measure -----------------------------------------------------------------------


def effects_charts(verdict: ClaimVerdict, wide: bool) -> list[ClaimChart]:
    """Draw the mean difference over its standard deviation, a panel for each measure."""
    evidence: ByMeasure = verdict.evidence
    every = [one for family in evidence.cells.values() for one in family]
    rows = [at for at in SETTINGS[::-1] if any(one.pairs.conditions == at for one in every)]
    tasks = [*dict.fromkeys(one.pairs.task for one in every)]
    if not rows:
        return []
    traces, layout = [], {}
    width = (1 + GAP) / len(evidence.cells)
    for number, (measure, family) in enumerate(evidence.cells.items()):
        axis = f"x{number + 1 if number else ''}"
        traces += [
            effects_trace(task, family, rows, tasks, axis, verdict.thresholds.level)
            for task in tasks
        ]
        name = "<br>".join(wrap(measure, PANEL_CHARACTERS))
        if number == len(evidence.cells) // 2:
            name += "<br><sub>mean difference, in its standard deviations over seeds</sub>"
        layout[axis.replace("x", "xaxis")] = {
            "domain": [number * width, (number + 1) * width - GAP], "anchor": "y",
            "title": {"text": name, "font": {"size": 11}}, "zeroline": False,
        }  # fmt: skip
    shapes = [
        upright(0.0, axis=f"x{number + 1 if number else ''}")
        for number in range(len(evidence.cells))
    ]
    figure = c.chart(
        "Effect of the gate, by measure",
        [x for x in traces if len(x["x"])],
        height=HEIGHT + 40,
        y_axis=rows_axis([at.text for at in rows], 0.6, 0.4),
        shapes=shapes,
    )
    figure.update_layout(layout)
    return [
        ClaimChart(
            "Effect of the gate, by measure",
            figure,
            verdict.sentences,
            section("claims", "effects"),
        )
    ]


def effects_trace(
    task: str, family: Sequence[Comparison], rows: list, tasks: list[str], axis: str, level: float
) -> Trace:
    """Return one task in one panel; a filled mark is a significant difference."""
    index = tasks.index(task)
    shift = BESIDE * (1 - 2 * index / max(len(tasks) - 1, 1))
    colour, symbol = COLOURS[index % len(COLOURS)], SYMBOLS[index % len(SYMBOLS)]
    here = [
        (one, one.measured)
        for one in family
        if one.pairs.task == task
        if one.measured is not None and one.measured.deviation > 0
    ]
    return dots(
        task,
        [of.mean / of.deviation for _, of in here],
        [rows.index(one.pairs.conditions) + shift for one, _ in here],
        [
            f"{one.pairs.conditions.text}, {task}: {of.mean:.3g} [{of.low:.3g}, {of.high:.3g}]<br>"
            f"{of.mean / of.deviation:.2f} standard deviations"
            for one, of in here
        ],
        xaxis=axis,
        legendgroup=task,
        showlegend=axis == "x",
        error_x={
            "type": "data",
            "array": [(of.high - of.mean) / of.deviation for _, of in here],
            "color": colour,
            "width": 0,
            "thickness": 1.5,
        },
        marker={
            "color": colour,
            "size": 8,
            "symbol": [symbol if one.p <= level else f"{symbol}-open" for one, _ in here],
        },
    )


# --- C5: a margin ---------------------------------------------------------------------------------


def margin_charts(verdict: ClaimVerdict, wide: bool) -> list[ClaimChart]:
    """Draw the differences on linear tasks with the margin of equivalence."""
    evidence: Equivalences = verdict.evidence
    t, tasks = verdict.thresholds, evidence.done[::-1]
    if not tasks:
        return []
    margin, traces = t.margin_points, []
    for at, (one, of) in enumerate(tasks):
        name, mean = one.pairs.task, 100 * of.paired.mean
        values = 100 * np.array(one.pairs.values)
        labels = [
            f"{name}, seed {seed}: {value:.2f} points"
            for seed, value in zip(one.pairs.seeds, values, strict=True)
        ]
        traces.append(
            dots(
                name,
                values,
                jittered(at, one.pairs.count),
                labels,
                one.pairs.keys,
                marker={"color": c.MAGENTA, "size": 4, "opacity": 0.45},
            )
        )
        half = 100 * of.interval[1] - mean if one.pairs.count > 1 else 0.0
        traces.append(
            dots(
                name,
                [mean],
                [at],
                [f"{name}: {mean:.2f} ± {half:.2f} points"],
                error_x={
                    "type": "data",
                    "array": [half],
                    "color": c.MAGENTA,
                    "width": 0,
                    "thickness": 5,
                },
                marker={"color": c.MAGENTA, "size": 11, "symbol": "diamond"},
            )
        )
    band = {"type": "rect", "xref": "x", "yref": "paper", "x0": -margin, "x1": margin, "y0": 0,
            "y1": 1, "fillcolor": c.TEAL, "opacity": 0.14, "line": {"width": 0},
            "layer": "below"}  # fmt: skip
    names = [f"{one.pairs.task}<br>power {of.power:.0%}" for one, of in tasks]
    # Two lines: in one, a phone cuts the end off.
    figure = c.chart(
        "Is the difference within the margin?",
        traces,
        "difference of test accuracy,<br>points: sigmoid − ungated",
        height=HEIGHT,
        y_axis=rows_axis(names, 0.6, 0.4),
        showlegend=False,
        shapes=[band, *(upright(x, "dot") for x in (-margin, margin)), upright(0.0)],
    )
    text = section(
        "claims",
        "margin",
        margin=f"{margin:g}",
        level=f"{t.level:.0%}",
        confidence=f"{1 - 2 * t.level:.0%}",
    )
    return [ClaimChart("Is the difference within the margin?", figure, verdict.sentences, text)]


# --- C6: correlations by kind of task -------------------------------------------------------------


def groups_charts(verdict: ClaimVerdict, wide: bool) -> list[ClaimChart]:
    """Draw r of every group and pooled within each kind of task, for each of two measures."""
    evidence: RelationsByKind = verdict.evidence
    return [
        groups_chart(evidence, name, verdict.thresholds.confidence)
        for name in (PROXY, EXACT)
        if any(evidence.pooled(kind, name).groups for kind in evidence.kinds)
    ]


def groups_chart(evidence: RelationsByKind, measure: str, confidence: float) -> ClaimChart:
    """Draw one measure; a kind has a colour, a variant a symbol."""
    pooled = {kind: evidence.pooled(kind, measure) for kind in evidence.kinds}
    variants = [*dict.fromkeys(x.variant for of in pooled.values() for x in of.groups)]
    symbols = dict(zip(variants, SYMBOLS, strict=False))
    labels = [
        label
        for kind, of in pooled.items()
        for label in (*dict.fromkeys(group.task for group in of.groups), f"<b>{kind}, pooled</b>")
    ][::-1]
    shifts = dict(zip(variants, np.linspace(BESIDE, -BESIDE, len(variants)), strict=True))
    traces = []
    for (kind, of), colour in zip(pooled.items(), (c.MAGENTA, c.TEAL), strict=True):
        here = [group for group in of.groups if group.r is not None]
        r = np.array([group.r for group in here], dtype=float)
        ends = np.array([group.interval(confidence) for group in here]).reshape(-1, 2)
        traces.append(
            dots(
                kind,
                r,
                [labels.index(x.task) + shifts[x.variant] for x in here],
                [f"{x.task}, {x.variant}: r = {fixed(x.r or 0.0)}, {x.count} models" for x in here],
                showlegend=False,
                error_x={
                    "type": "data",
                    "symmetric": False,
                    "array": ends[:, 1] - r,
                    "arrayminus": r - ends[:, 0],
                    "color": colour,
                    "width": 0,
                    "thickness": 1,
                },
                marker={"color": colour, "size": 7, "symbol": [symbols[x.variant] for x in here]},
            )
        )
        if np.isfinite(of.r):
            reach = [[of.high - of.r], [of.r - of.low]] if np.isfinite(of.low) else [[0.0], [0.0]]
            traces.append(
                dots(
                    f"{kind}, pooled",
                    [of.r],
                    [labels.index(f"<b>{kind}, pooled</b>")],
                    [f"{kind}, pooled: r = {fixed(of.r)} {fixed_interval(of.low, of.high)}"],
                    showlegend=False,
                    error_x={
                        "type": "data",
                        "symmetric": False,
                        "array": reach[0],
                        "arrayminus": reach[1],
                        "color": colour,
                        "width": 0,
                        "thickness": 5,
                    },
                    marker={"color": colour, "size": 12, "symbol": "diamond"},
                )
            )
    # Two lines: in one, a phone cuts the measure off. The legend names the variants by symbols.
    figure = c.chart(
        "Correlation by group",
        [x for x in traces if len(x["x"])] + variant_legend(symbols),
        f"r of test accuracy with<br>{MEASURES[measure]}",
        height=HEIGHT + 40,
        x_axis={"range": [-1, 1], "zeroline": False},
        y_axis=rows_axis(labels, 0.6, 0.4),
        shapes=[upright(0.0)],
    )
    correlations = "; ".join(f"{kind} {fixed(of.r)}" for kind, of in pooled.items())
    return ClaimChart(
        f"Correlation by group, {MEASURES[measure]}",
        figure,
        f"r of test accuracy with {MEASURES[measure]}: {correlations}.",
        section("claims", "groups"),
    )


def variant_legend(symbols: dict[str, str]) -> list[Trace]:
    """Return traces without points that name the symbols of variants."""
    return [{"type": "scatter", "mode": "markers", "name": variant, "x": [None], "y": [None],
             "hoverinfo": "skip", "marker": {"color": c.GREY, "size": 7, "symbol": symbol}}
            for variant, symbol in symbols.items()]  # fmt: skip


# --- C7: growth with depth ------------------------------------------------------------------------


def growth_charts(verdict: ClaimVerdict, wide: bool) -> list[ClaimChart]:
    """Draw |K(0)| and the proxy of every seed over depth, with lines of the exponents."""
    evidence: Slopes = verdict.evidence
    if not len(evidence.seeds):
        return []
    traces, ends = [], evidence.depths[[0, -1]].astype(float)
    for name, (slope, _) in expected(verdict.thresholds).items():
        colour, symbol, dash = (
            (c.MAGENTA, "diamond", "dash") if name == CENTRE else (c.TEAL, "square", "dot")
        )
        ratios = evidence.values[name] / evidence.values[name][:, :1]
        ratios = np.where(ratios > 0, ratios, np.nan)
        gap = np.full((len(ratios), 1), np.nan)
        traces.append(
            dots(
                TITLES[name],
                np.tile([*evidence.depths, np.nan], len(ratios)),
                np.hstack([ratios, gap]).ravel(),
                [
                    f"{TITLES[name]}, seed {seed}, depth {depth}: {ratio:.3g}"
                    for seed, of in zip(evidence.seeds, ratios, strict=True)
                    for depth, ratio in zip([*evidence.depths, 0], [*of, np.nan], strict=True)
                ],
                [key for of in evidence.keys for key in (*of, "")],
                mode="lines+markers",
                line={"color": colour, "width": 0.8},
                marker={
                    "color": colour,
                    "size": 6,
                    "symbol": [
                        symbol if small else f"{symbol}-open"
                        for of in evidence.small
                        for small in (*of, False)
                    ],
                },
            )
        )
        traces.append(
            c.line(
                f"slope {slope:g}",
                ends,
                (ends / ends[0]) ** slope,
                colour=c.GREY,
                dash=dash,
                width=1.2,
                mode="lines",
            )
        )
    figure = c.chart(
        "Growth with depth",
        traces,
        "depth, layers",
        "times that of one layer",
        height=HEIGHT,
        x_axis=c.log_axis(decades=None),
        y_axis=c.log_axis(decades=None),
    )
    return [ClaimChart("Growth with depth", figure, verdict.sentences, section("claims", "growth"))]


CHARTS: dict[type, Callable[[ClaimVerdict, bool], list[ClaimChart]]] = {
    Charts: bounds_charts,
    Differences: forest_charts,
    ByMeasure: effects_charts,
    Equivalences: margin_charts,
    RelationsByKind: groups_charts,
    Slopes: growth_charts,
}
