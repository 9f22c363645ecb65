"""The pictures of the second edition: effects by measure (C3), and correlations by kind (C6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from gating_core.claims import ClaimVerdict
from gating_core.claims.gain import Comparison
from gating_core.claims.relation import EXACT, MEASURES, PROXY
from gating_core.claims.second_gain import SETTINGS, ByMeasure
from gating_core.claims.second_relation import RelationsByKind
from gating_core.claims.text import fixed, fixed_interval
from ui.claims.style import Figure, Palette, layout_of, lines, markers, rows_axis, vertical
from ui.common.lessons import section

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
SPREAD = 0.3  # of tasks or variants round their row
GAP = 0.03  # between two panels, of the width

# --- C3: effects by measure -----------------------------------------------------------------------


def effects(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
    """Draw the mean difference over its standard deviation, a panel for each measure."""
    evidence: ByMeasure = verdict.evidence
    every = [one for family in evidence.cells.values() for one in family]
    rows = [at for at in SETTINGS[::-1] if any(one.pairs.conditions == at for one in every)]
    tasks = list(dict.fromkeys(one.pairs.task for one in every))
    if not rows:
        return ()
    layout = layout_of(palette, "", "") | {"shapes": []}
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
        name = title + below * (number == len(evidence.cells) // 2)
        layout[axis.replace("x", "xaxis")] = layout_of(palette, name, "")["xaxis"] | {
            "domain": [number * width, (number + 1) * width - GAP], "anchor": "y",
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
    shift = SPREAD * (1 - 2 * index / max(len(tasks) - 1, 1))
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


# --- C6: correlations by kind ---------------------------------------------------------------------


def groups(verdict: ClaimVerdict, palette: Palette) -> tuple[Figure, ...]:
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
            shift = SPREAD * (1 - 2 * index / max(len(variants) - 1, 1))
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
