"""The pictures that decide the claims, as Plotly figures.

Every point of a trained model carries the key of its row as ``customdata``, so that a page can open
the model.
"""

from __future__ import annotations

from collections.abc import Callable
from textwrap import wrap
from typing import Any

import numpy as np

from gating_core.claims import ClaimVerdict
from gating_core.claims.bounds import Charts
from gating_core.claims.design import GATED, UNGATED
from gating_core.claims.equality import Equivalences
from gating_core.claims.gain import Comparison, Differences, Pairs
from gating_core.claims.growth import CENTRE, TITLES, Slopes, expected
from gating_core.claims.relation import Relations
from gating_core.claims.second_gain import SETTINGS, ByMeasure
from gating_core.claims.second_relation import RelationsByKind
from ui.claims.model_figures import bounds, relation, relation_by_kind
from ui.claims.picture import (
    LIGHT,
    ROUND_A_ROW,
    SYMBOLS,
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
GAP = 0.03  # between two panels, of the width
PANEL_CHARACTERS = 15  # in a line of a panel's title, on a phone


def figures(verdict: ClaimVerdict, palette: Palette = LIGHT) -> tuple[Figure, ...]:
    """Return the pictures of a claim; none where there is nothing to draw."""
    return FIGURES[type(verdict.evidence)](verdict, palette)


# --- C3 and C4: forest plots ----------------------------------------------------------------------


def _forest(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    evidence: Differences = verdict.evidence
    measure = evidence.measure
    gates = [name for name in GATED if name in evidence.families]  # controls come after them
    families = [evidence.families[name] for name in dict.fromkeys([*gates, *evidence.families])]
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
    dots = _seeds(at, name, one.pairs, factor, colour, "%{x:.3g}")
    mean = markers(
        name, [factor * of.mean], [at], hovertemplate=f"{name}: %{{x:.3g}}<extra></extra>",
        marker={"color": colour, "size": 10, "line": {"color": palette.ink, "width": 1},
                "symbol": "diamond" if gate else "square"},
    )  # fmt: skip
    if of.count > 1:
        half = factor * (of.high - of.mean)
        mean["error_x"] = {"type": "data", "array": [half], "color": palette.ink, "width": 5}
    return [dots, mean]


def _seeds(
    at: int, name: str, pairs: Pairs, factor: float, colour: str, form: str
) -> dict[str, Any]:
    """The differences of single seeds, as dots round row ``at``."""
    return markers(
        name, [factor * value for value in pairs.values], jittered(at, pairs.count),
        customdata=list(pairs.keys), text=[f"seed {seed}" for seed in pairs.seeds],
        hovertemplate=f"{name}, %{{text}}: {form}<extra></extra>",
        marker={"color": colour, "size": 4, "opacity": 0.45},
    )  # fmt: skip


# --- C3, second edition: effects by measure -------------------------------------------------------


def _by_measure(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    """Draw the mean difference over its standard deviation, a panel for each measure."""
    evidence: ByMeasure = verdict.evidence
    every = [one for family in evidence.cells.values() for one in family]
    rows = [at for at in SETTINGS[::-1] if any(one.pairs.conditions == at for one in every)]
    tasks = list(dict.fromkeys(one.pairs.task for one in every))
    if not rows:
        return ()
    layout = layout_of(palette, "", "") | {"shapes": []}
    layout["margin"] |= {"b": 90}
    layout["yaxis"] |= rows_axis([at.text for at in rows], 0.6, 0.4)
    data: list[dict[str, Any]] = []
    width = (1 + GAP) / len(evidence.cells)
    for number, (title, family) in enumerate(evidence.cells.items()):
        axis = f"x{number + 1 if number else ''}"
        data += [
            _effects(task, [one for one in family if one.pairs.task == task], rows, axis, palette,
                     tasks, verdict.thresholds.level)
            for task in tasks
        ]  # fmt: skip
        below = "<br><sub>mean difference, in its standard deviations over seeds</sub>"
        name = "<br>".join(wrap(title, PANEL_CHARACTERS))
        name += below * (number == len(evidence.cells) // 2)
        layout[axis.replace("x", "xaxis")] = layout_of(palette, "", "")["xaxis"] | {
            "domain": [number * width, (number + 1) * width - GAP], "anchor": "y",
            "title": {"text": name, "font": {"size": 11}},
        }  # fmt: skip
        layout["shapes"].append(vertical(0.0, palette.ink) | {"xref": axis})
    data = [trace for trace in data if trace["x"]]
    return (Figure("Effects by measure", {"data": data, "layout": layout}, verdict.sentences,
                   section("claims", "effects")),)  # fmt: skip


def _effects(
    task: str, cells: list[Comparison], rows: list, axis: str, palette: Palette,
    tasks: list[str], level: float,
) -> dict[str, Any]:  # fmt: skip
    """One task in one panel; a filled mark is a significant difference."""
    index = tasks.index(task)
    shift = ROUND_A_ROW * (1 - 2 * index / max(len(tasks) - 1, 1))
    colour = palette.tasks[index % len(palette.tasks)]
    here = [(one, one.measured) for one in cells if one.measured and one.measured.deviation > 0]
    symbol = SYMBOLS[index % len(SYMBOLS)]
    return markers(
        task, [of.mean / of.deviation for _, of in here],
        [rows.index(one.pairs.conditions) + shift for one, _ in here], xaxis=axis, legendgroup=task,
        showlegend=axis == "x",
        text=[f"{one.pairs.conditions.text}, {task}: {of.mean:.3g} [{of.low:.3g}, {of.high:.3g}]"
              for one, of in here],
        hovertemplate="%{text}<br>%{x:.2f} standard deviations<extra></extra>",
        error_x={"type": "data", "array": [(of.high - of.mean) / of.deviation for _, of in here],
                 "color": colour, "width": 0, "thickness": 1.5},
        marker={"color": colour, "size": 8,
                "symbol": [symbol if one.p <= level else f"{symbol}-open" for one, _ in here]},
    )  # fmt: skip


# --- C5: a margin ---------------------------------------------------------------------------------


def _equal(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    evidence: Equivalences = verdict.evidence
    t, tasks = verdict.thresholds, evidence.done[::-1]
    if not tasks:
        return ()
    data: list[dict[str, Any]] = []
    for at, (one, of) in enumerate(tasks):
        data.append(_seeds(at, one.pairs.task, one.pairs, 100, palette.gated, "%{x:.2f} points"))
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
    # Two lines: in one, a phone cuts the end off.
    layout = layout_of(palette, "difference of test accuracy,<br>points: sigmoid − ungated", "")
    layout["margin"] |= {"b": 80}
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
    Relations: relation,
    ByMeasure: _by_measure,
    RelationsByKind: relation_by_kind,
    Slopes: _deeper,
}
