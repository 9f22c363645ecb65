"""The charts that decide the claims, one function for each kind of evidence.

Every point of a trained model carries the key of its row as ``customdata``, so that the page can
open the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.claims import THRESHOLDS, Verdict
from gating_core.claims.accuracy import POINTS, SHOWN
from gating_core.claims.claim import CONTROLS, GATED, UNGATED, WITHOUT_GATE
from gating_core.claims.curvature import CURVED, FLAT, SETTINGS
from gating_core.claims.growth import CENTRE, TITLES, expected
from gating_core.claims.pairs import Pairs
from gating_core.claims.relation import EXACT, MEASURES, PROXY, Relations
from gating_core.claims.text import counted, interval, number, share
from ui.common import charts as c
from ui.common.charts import Trace
from ui.common.lessons import section

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
COLOURS = (c.BLUE, c.ORANGE, c.GREEN, c.PURPLE, c.MAGENTA, c.TEAL, c.GREY, "#a3721a")  # of tasks
HEIGHT, FOREST_ROW = 330, 30  # pixels
SPREAD = 0.22  # of single seeds, above and below their row
PLOT, LEFT, RIGHT = 340, 136, 326  # pixels of a small one: its width, and its axis from and to
LETTERS = 12  # pixels, of its words
BESIDE = 0.3  # of tasks or variants, above and below their row
GAP = 0.03  # between two panels, of the width
PANEL_CHARACTERS = 15  # in a line of a panel's title, on a phone
OUTERMOST = 0.05  # share of each kind's models at either end that may lie beyond the frame
ROOM = 1.0  # decades round the others
DIFFERENCE = "difference of test accuracy,<br>points: variant − ungated"  # on a phone in two lines


@dataclass(frozen=True, eq=False)
class ClaimChart:
    """A chart: its finding as a sentence, and how to read it."""

    title: str
    figure: go.Figure
    alt: str
    explanation: str


def claim_charts(claim: str, verdict: Verdict) -> list[ClaimChart]:
    """Return the charts of a claim, that of what decides it first; none if nothing is to draw."""
    return CHARTS[claim](verdict) if claim in CHARTS else []


def small_plot(brief: Mapping[str, Any], colour: str, ink: str) -> str:
    """Return the picture of a row of the list as SVG with words in ``ink``; ``brief``: `Brief`."""
    marks, ticks = brief["marks"], brief["ticks"]
    step = max(LETTERS + 1 if any(name for *_, name in marks) else 6, 22 / max(len(marks), 1))
    height = step * max(len(marks), 1)
    ends = [x for x in (*ticks, *(end for mark in marks for end in mark[:2])) if not np.isnan(x)]
    first, last = min(ends), max(ends)

    def at(value: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * (value - first) / ((last - first) or 1), 1)

    def bar(low: float, high: float, y: float, thick: float, look: str) -> str:
        size = f'width="{at(high) - at(low):.1f}" height="{thick:.1f}"'
        return f'<rect x="{at(low)}" y="{y - thick / 2:.1f}" {size} {look}/>'

    def words(text: str, x: float, y: float, anchor: str) -> str:
        return f'<text x="{x}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'

    parts = [f'<path d="M{at(0)} 0V{height:.1f}" stroke="{c.GREY}" stroke-width="1.5"/>']
    if brief["aim"]:
        low, high = brief["aim"]
        parts.append(bar(low, high, height / 2, height, f'fill="{c.GREY}" opacity=".25"'))
    for row, (low, high, middle, name) in enumerate(marks):
        y, thick = step * (row + 0.5), min(0.7 * step, 14)
        parts.append(words(name, LEFT - 12, y + LETTERS / 3, "end"))
        if middle is None:
            parts.append(bar(0, high, y, thick, f'fill="{colour}"'))
            parts.append(bar(0, ticks[-1], y, thick - 1, f'fill="none" stroke="{c.GREY}"'))
        elif not np.isnan(high - low):
            parts.append(bar(low, high, y, 2.5, f'fill="{colour}"'))
            radius = min(0.45 * step, 5)
            parts.append(f'<circle cx="{at(middle)}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')
    axis = "".join(f"M{at(x)} {height:.1f}v3" for x in ticks)
    parts.append(f'<path d="{axis}" stroke="{c.GREY}"/>')
    bottom = height + LETTERS + 2
    parts.append(words(brief["axis"], LEFT - 12, bottom, "end"))
    parts += [words(f"{x:,g}".replace("-", "−"), at(x), bottom, "middle") for x in ticks]
    size = f'width="{PLOT}" height="{bottom + 3:.0f}" viewBox="0 0 {PLOT} {bottom + 3:.0f}"'
    font = f'font-family="sans-serif" font-size="{LETTERS}" fill="{ink}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>{"".join(parts)}</svg>'


def dots(
    name: str,
    x: Any,
    y: Any,
    labels: Sequence[str],
    marker: dict[str, Any],
    keys: Sequence[str] | None = None,
    reach: Any = None,
    width: float = 0,
    **more: Any,
) -> Trace:
    """Return points with a tooltip each; ``keys`` of the rows behind them.

    Error bars ``reach`` to both sides, or as far below and above as its two rows say.
    """
    x, y = np.asarray([x, y], float).tolist()  # lists: Plotly would pack arrays
    trace = {"type": "scatter", "mode": "markers", "name": name, "x": x, "y": y,
             "text": [*labels], "customdata": keys, "marker": marker,
             "hovertemplate": "%{text}<extra></extra>"} | more  # fmt: skip
    if reach is not None:
        reach = np.asarray(reach, float)
        below, above = reach.tolist() if reach.ndim == 2 else (None, reach.tolist())
        bars = {"type": "data", "array": above, "color": marker["color"], "width": 0,
                "thickness": width}  # fmt: skip
        trace["error_x"] = bars | (
            {} if below is None else {"symmetric": False, "arrayminus": below}
        )
    return trace


def rows_axis(labels: Sequence[str], below: float = 0.6, above: float = 0.4) -> dict[str, Any]:
    """Return an axis with a labelled row for each of ``labels``, from the bottom up."""
    ends = [-below, len(labels) - above]
    look = {"showgrid": False, "zeroline": False, "range": ends, "automargin": True}
    return c.ticks(range(len(labels)), labels) | look


def jittered(row: int, count: int) -> np.ndarray:
    """(count,): heights of single seeds round their row, in order, so that equal ones differ."""
    return row + SPREAD * np.linspace(-1, 1, count) * (count > 1)


def upright(x: float, dash: str = "solid", axis: str = "x") -> dict[str, Any]:
    """Return an upright line at ``x``."""
    return {"type": "line", "xref": axis, "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
            "line": {"color": c.GREY, "width": 1, "dash": dash}}  # fmt: skip


def _axis(number: int, letter: str = "x") -> str:
    """The name of a panel's axis."""
    return f"{letter}{number + 1 if number else ''}"


def bounds_charts(verdict: Verdict) -> list[ClaimChart]:
    """C1, C2: draw max |K| of every model over the bound on its error, both axes logarithmic."""
    controls = tuple(name for name in CONTROLS if name not in WITHOUT_GATE)
    groups = (
        ("without a gate", WITHOUT_GATE, c.GREY, "circle"),
        ("gated", GATED, c.MAGENTA, "diamond"),
        ("controls", controls, c.TEAL, "square"),
    )
    traces: list[Trace] = []
    kinds, zeros = [], 0
    for name, variants, colour, symbol in groups:
        for word in (FLAT, CURVED):
            every = verdict.evidence.of(variants, word)
            rows = [row for row in every if row.chart_largest and row.chart_bound]
            zeros += len(every) - len(rows)
            if not rows:
                continue
            points = np.array([(row.chart_bound, row.chart_largest) for row in rows])
            labels = [
                f"{row.task}, {row.variant}, seed {row.seed}<br>|K| {row.chart_largest:.3g},"
                f" bound {row.chart_bound:.3g}"
                for row in rows
            ]
            marker = {"color": colour, "size": 7, "symbol": symbol + "-open" * (word == FLAT)}
            keys = [row.key for row in rows]
            x, y = points.T
            traces.append(dots(f"{name}: {word}", x, y, labels, marker, keys))
            kinds.append(np.log10(points))
    if not kinds:
        return []
    # By kinds, so that those of which there are many do not decide for the others.
    ends = np.array([np.quantile(x, [OUTERMOST, 1 - OUTERMOST], axis=0) for x in kinds])
    low, high = np.floor(ends[:, 0].min(0) - ROOM), np.ceil(ends[:, 1].max(0) + ROOM)
    beyond = sum(int(((x < low) | (x > high)).any(1).sum()) for x in kinds)
    diagonal = 10.0 ** np.array([max(low), min(high)])
    traces.append(
        c.line("|K| = bound", diagonal, diagonal, colour=c.GREY, dash="dash", width=1, mode="lines")
    )
    title = "Largest |K| against its bound"
    figure = c.chart(
        title,
        traces,
        "largest bound on the error of K",
        "largest |K|",
        height=HEIGHT + 30,
        legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"},  # three rows on a phone
        x_axis=c.log_axis(10 ** low[0], 10 ** high[0], None),
        y_axis=c.log_axis(10 ** low[1], 10 ** high[1], None),
    )
    cut = f" Beyond the axes: {counted(beyond, 'model')}." if beyond else ""
    if zeros:
        cut += f" {counted(zeros, 'model')} with K exactly 0, or without a bound, cannot be drawn."
    return [ClaimChart(title, figure, verdict.sentences, section("claims", "bounds", cut=cut))]


def seeds_and_mean(
    at: int,
    name: str,
    pairs: Pairs,
    mean: float,
    end: float,
    colour: str,
    symbol: str,
    thick: float,
) -> list[Trace]:
    """Return in a row the differences of ``pairs``, and their mean with a bar to ``end``."""
    seeds = [
        f"{name}, seed {seed}: {POINTS * value:.3g} points"
        for seed, value in zip(pairs.seeds, pairs.values, strict=True)
    ]
    values, half = POINTS * np.array(pairs.values), POINTS * np.nan_to_num(end - mean)
    small = {"color": colour, "size": 4, "opacity": 0.45}
    large = {"color": colour, "size": 10, "symbol": symbol}
    text = f"{name}: {POINTS * mean:.3g} ± {half:.2g} points"
    return [
        dots(f"{name}: seeds", values, jittered(at, pairs.count), seeds, small, pairs.keys),
        dots(f"{name}: mean", [POINTS * mean], [at], [text], large, reach=[half], width=thick),
    ]


def forest_charts(verdict: Verdict) -> list[ClaimChart]:
    """C4: draw the differences from the ungated model: of what decides, and of all variants.

    A row for each task and variant.
    """
    families, _ = verdict.evidence
    every = [*dict.fromkeys([*(x for x in GATED if x in families), *families])]  # gates first
    shown = [name for name in SHOWN if name in families] if SHOWN[0] in families else every
    charts = []
    for variants in (shown, every):
        found = [x for name in variants for x in families[name]]
        rows = [
            x
            for task in dict.fromkeys(x.task for x in found)
            for x in found
            if x.task == task and x.measured is not None
        ][::-1]
        if not rows:
            return []
        names, traces = [f"{x.task}: {x.variant}" for x in rows], []
        for at, x in enumerate(rows):
            look = (c.MAGENTA, "diamond") if x.variant in GATED else (c.TEAL, "square")
            traces += seeds_and_mean(at, names[at], x, x.measured.mean, x.measured.high, *look, 1.5)
        title = f"Difference from {UNGATED}, by task"
        figure = c.chart(
            title,
            traces,
            DIFFERENCE,
            height=max(HEIGHT, FOREST_ROW * len(rows)),
            y_axis=rows_axis(names, 0.7, 0.3),
            shapes=[upright(0.0)],
            showlegend=False,
        )
        text = section("claims", "forest", confidence=share(THRESHOLDS.confidence))
        charts.append(ClaimChart(title, figure, verdict.sentences, text))
    return charts


def effects_charts(verdict: Verdict) -> list[ClaimChart]:
    """C3: draw the mean difference over its standard deviation, a panel for each measure.

    A filled mark is a significant difference.
    """
    cells = verdict.evidence
    every = [x for family in cells.values() for x in family]
    rows = [at for at in SETTINGS[::-1] if any(x.conditions == at for x in every)]
    tasks = [*dict.fromkeys(x.task for x in every)]
    if not rows:
        return []
    traces, layout, width = [], {}, (1 + GAP) / len(cells)
    for panel, (measure, family) in enumerate(cells.items()):
        for index, task in enumerate(tasks):
            shift = BESIDE * (1 - 2 * index / max(len(tasks) - 1, 1))
            symbol = SYMBOLS[index % len(SYMBOLS)]
            drawn = [
                x for x in family if x.task == task and x.measured and x.measured.deviation > 0
            ]
            if not drawn:
                continue
            sizes = [x.measured.mean / x.measured.deviation for x in drawn]
            labels = [
                f"{x.conditions.text}, {task}: {x.measured.mean:.3g} [{x.measured.low:.3g},"
                f" {x.measured.high:.3g}]<br>{size:.2f} standard deviations"
                for x, size in zip(drawn, sizes, strict=True)
            ]
            filled = [symbol if x.p <= THRESHOLDS.level else f"{symbol}-open" for x in drawn]
            marker = {"color": COLOURS[index % len(COLOURS)], "size": 8, "symbol": filled}
            heights = [rows.index(x.conditions) + shift for x in drawn]
            reach = [(x.measured.high - x.measured.mean) / x.measured.deviation for x in drawn]
            look = {"xaxis": _axis(panel), "legendgroup": task, "showlegend": panel == 0}
            traces.append(
                dots(task, sizes, heights, labels, marker, reach=reach, width=1.5, **look)
            )
        name = "<br>".join(wrap(measure, PANEL_CHARACTERS))
        if panel == len(cells) // 2:
            name += "<br><sub>mean difference, in its standard deviations over seeds</sub>"
        layout[_axis(panel, "xaxis")] = {
            "domain": [panel * width, (panel + 1) * width - GAP], "anchor": "y",
            "title": {"text": name, "font": {"size": 12}}, "zeroline": False,
        }  # fmt: skip
    title = "Effect of the gate, by measure"
    figure = c.chart(
        title,
        traces,
        height=HEIGHT + 40,
        y_axis=rows_axis([at.text for at in rows]),
        shapes=[upright(0.0, axis=_axis(panel)) for panel in range(len(cells))],
    )
    figure.update_layout(layout)
    return [ClaimChart(title, figure, verdict.sentences, section("claims", "effects"))]


def margin_charts(verdict: Verdict) -> list[ClaimChart]:
    """C5: draw the differences on linear tasks with the margin of equivalence."""
    t, tasks, traces = THRESHOLDS, verdict.evidence[::-1], []
    if not tasks:
        return []
    for at, (pairs, of) in enumerate(tasks):
        look = c.MAGENTA, "diamond", 5
        traces += seeds_and_mean(at, pairs.task, pairs, of.paired.mean, of.interval[1], *look)
    margin = t.margin_points
    band = {"type": "rect", "xref": "x", "yref": "paper", "x0": -margin, "x1": margin, "y0": 0,
            "y1": 1, "fillcolor": c.TEAL, "opacity": 0.14, "line": {"width": 0},
            "layer": "below"}  # fmt: skip
    title = "Is the difference within the margin?"
    figure = c.chart(
        title,
        traces,
        DIFFERENCE,
        height=HEIGHT,
        y_axis=rows_axis([f"{pairs.task}<br>power {share(of.power)}" for pairs, of in tasks]),
        showlegend=False,
        shapes=[band, *(upright(x, "dot") for x in (-margin, margin)), upright(0.0)],
    )
    numbers = {"margin": f"{margin:g}", "level": share(t.level)}
    text = section("claims", "margin", **numbers, confidence=share(1 - 2 * t.level))
    return [ClaimChart(title, figure, verdict.sentences, text)]


def groups_charts(verdict: Verdict) -> list[ClaimChart]:
    """C6: draw r of every group and pooled within each kind of task, for each of two measures."""
    kinds = verdict.evidence
    measures = [x for x in (PROXY, EXACT) if any(of.of(x).groups for of in kinds.values())]
    return [groups_chart(kinds, measure) for measure in measures]


def groups_chart(kinds: dict[str, Relations], measure: str) -> ClaimChart:
    """Draw one measure; a kind has a colour, a variant a symbol."""
    pooled = {kind: relation.of(measure) for kind, relation in kinds.items()}
    variants = [*dict.fromkeys(x.variant for of in pooled.values() for x in of.groups)]
    symbols = dict(zip(variants, SYMBOLS, strict=False))
    shifts = dict(zip(variants, np.linspace(BESIDE, -BESIDE, len(variants)), strict=True))
    labels = [
        label
        for kind, of in pooled.items()
        for label in (*dict.fromkeys(group.task for group in of.groups), f"<b>{kind}, pooled</b>")
    ][::-1]
    traces = []
    for (kind, of), colour in zip(pooled.items(), (c.MAGENTA, c.TEAL), strict=True):
        drawn = [group for group in of.groups if group.r is not None]
        r = np.array([group.r for group in drawn], dtype=float)
        ends = np.array([x.interval(THRESHOLDS.confidence) for x in drawn]).reshape(-1, 2)
        texts = [
            f"{x.task}, {x.variant}: r = {number(x.r, '.2f')}, {x.count} models" for x in drawn
        ]
        heights = [labels.index(x.task) + shifts[x.variant] for x in drawn]
        marker = {"color": colour, "size": 7, "symbol": [symbols[x.variant] for x in drawn]}
        if drawn:
            reach: Any = r - ends[:, 0], ends[:, 1] - r
            traces.append(
                dots(kind, r, heights, texts, marker, reach=reach, width=1, showlegend=False)
            )
        if np.isfinite(of.r):
            reach = [[of.r - of.low], [of.high - of.r]] if np.isfinite(of.low) else [[0.0], [0.0]]
            text = f"{kind}, pooled: r = {number(of.r, '.2f')} {interval(of.low, of.high, '.2f')}"
            height = labels.index(f"<b>{kind}, pooled</b>")
            marker = {"color": colour, "size": 12, "symbol": "diamond"}
            trace = dots(f"{kind}, pooled", [of.r], [height], [text], marker, reach=reach, width=5)
            traces.append(trace | {"showlegend": False})
    for variant, symbol in symbols.items():  # the legend names the variants by symbols
        marker = {"color": c.GREY, "size": 7, "symbol": symbol}
        traces.append({"type": "scatter", "mode": "markers", "name": variant, "x": [None],
                       "y": [None], "hoverinfo": "skip", "marker": marker})  # fmt: skip
    figure = c.chart(
        "Correlation by group",
        traces,
        f"r of test accuracy with<br>{MEASURES[measure]}",  # on a phone in two lines
        height=HEIGHT + 40,
        x_axis={"range": [-1, 1], "zeroline": False},
        y_axis=rows_axis(labels),
        shapes=[upright(0.0)],
    )
    correlations = "; ".join(f"{kind} {number(of.r, '.2f')}" for kind, of in pooled.items())
    return ClaimChart(
        f"Correlation by group, {MEASURES[measure]}",
        figure,
        f"r of test accuracy with {MEASURES[measure]}: {correlations}.",
        section("claims", "groups"),
    )


def growth_charts(verdict: Verdict) -> list[ClaimChart]:
    """C7: draw |K(0)| and the proxy of every seed over depth, with lines of the exponents."""
    evidence = verdict.evidence
    if not len(evidence.seeds):
        return []
    traces, ends = [], evidence.depths[[0, -1]].astype(float)
    for name, (slope, _) in expected(THRESHOLDS).items():
        ratios = evidence.values[name] / evidence.values[name][:, :1]
        ratios = np.where(ratios > 0, ratios, np.nan)
        gap = np.full((len(ratios), 1), np.nan)  # between the lines of two seeds
        colour, symbol, dash = (
            (c.MAGENTA, "diamond", "dash") if name == CENTRE else (c.TEAL, "square", "dot")
        )
        points = [
            (seed, depth, ratio, key, symbol if small else f"{symbol}-open")
            for seed, *columns in zip(
                evidence.seeds, np.hstack([ratios, gap]), evidence.keys, evidence.small, strict=True
            )
            for depth, ratio, key, small in zip(
                [*evidence.depths, np.nan], columns[0], [*columns[1], ""], [*columns[2], False],
                strict=True,
            )
        ]  # fmt: skip
        labels = [f"{TITLES[name]}, seed {s}, depth {d:.0f}: {r:.3g}" for s, d, r, *_ in points]
        _, depths, values, keys, filled = zip(*points, strict=True)
        marker = {"color": colour, "size": 6, "symbol": filled}
        trace = dots(TITLES[name], depths, values, labels, marker, keys, mode="lines+markers")
        expect = (ends / ends[0]) ** slope
        traces += [
            trace | {"line": {"color": colour, "width": 0.8}},
            c.line(
                f"slope {slope:g}", ends, expect, colour=c.GREY, dash=dash, width=1.2, mode="lines"
            ),
        ]
    title = "Growth with depth"
    figure = c.chart(
        title,
        traces,
        "depth, layers",
        "times that of one layer",
        height=HEIGHT,
        x_axis=c.log_axis(decades=None),
        y_axis=c.log_axis(decades=None),
    )
    return [ClaimChart(title, figure, verdict.sentences, section("claims", "growth"))]


CHARTS: dict[str, Callable[[Verdict], list[ClaimChart]]] = {
    "C1": bounds_charts,
    "C2": bounds_charts,
    "C3": effects_charts,
    "C4": forest_charts,
    "C5": margin_charts,
    "C6": groups_charts,
    "C7": growth_charts,
}
