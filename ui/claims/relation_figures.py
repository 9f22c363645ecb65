"""The pictures of claim C6: accuracy against curvature, and correlations by kind of task."""

from __future__ import annotations

from typing import Any

import numpy as np

from gating_core.claims import ClaimVerdict
from gating_core.claims.relation import EXACT, MEASURES, PEARSON, PROXY, Relations
from gating_core.claims.second_relation import RelationsByKind
from gating_core.claims.text import fixed, fixed_interval
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
