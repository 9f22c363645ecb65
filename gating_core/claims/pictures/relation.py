"""Do accuracy and curvature rise together? The pictures of claim C6."""

from __future__ import annotations

from typing import Any

import numpy as np

from gating_core.claims.pictures.figure import Figure, Palette, layout_of
from gating_core.claims.relations import EXACT, MEASURES, PEARSON, PROXY, Relations
from gating_core.claims.verdicts import Verdict

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "x", "star", "hexagon")
FIT_POINTS = 24  # of a straight line, which is a curve over a logarithmic axis


def together(verdict: Verdict, palette: Palette) -> tuple[Figure, ...]:
    found: Relations = verdict.evidence  # type: ignore[assignment]
    some = (_relation(verdict, found, measure, palette) for measure in (PROXY, EXACT))
    return tuple(one for one in some if one is not None)


def _relation(verdict: Verdict, found: Relations, measure: str, palette: Palette) -> Figure | None:
    groups = found.groups[measure]
    if not groups:
        return None
    tasks = list(dict.fromkeys(group.task for group in groups))
    variants = list(dict.fromkeys(group.variant for group in groups))
    correlations = found.pooled[measure, PEARSON].groups
    data: list[dict[str, Any]] = []
    for group, keys, r in zip(groups, found.keys[measure], correlations, strict=True):
        colour = palette.tasks[tasks.index(group.task) % len(palette.tasks)]
        name = f"{group.task}, {group.variant}"
        data.append({
            "type": "scatter", "mode": "markers", "name": name, "legendgroup": name,
            "x": group.x.tolist(), "y": group.y.tolist(), "customdata": list(keys),
            "text": [f"{name}, seed {seed}" for seed in group.seeds],
            "hovertemplate": "%{text}<br>%{x:.3g}, accuracy %{y:.1%}<extra></extra>",
            "marker": {"color": colour, "size": 7, "opacity": 0.75,
                       "symbol": SYMBOLS[variants.index(group.variant) % len(SYMBOLS)]},
        })  # fmt: skip
        if r.r is not None:
            x, y = fitted(group.x, group.y)
            data.append({
                "type": "scatter", "mode": "lines", "name": name, "legendgroup": name,
                "showlegend": False, "x": x.tolist(), "y": y.tolist(), "hoverinfo": "text",
                "text": f"{name}: r = {r.r:.2f}", "line": {"color": colour, "width": 1.5},
            })  # fmt: skip
    layout = layout_of(palette, MEASURES[measure], "test accuracy")
    layout["xaxis"] |= {"type": "log", "exponentformat": "power", "nticks": 7}
    layout["yaxis"] |= {"tickformat": ".0%"}
    layout["height"] += 60
    pooled = found.pooled[measure, PEARSON]
    return Figure(
        f"Accuracy against {MEASURES[measure]}", {"data": data, "layout": layout},
        f"r within groups {pooled.r:.2f} for {MEASURES[measure]}.",
        "Each point is a trained model, its colour the task, its symbol the variant; click one to"
        " open it. The lines are least-squares fits of accuracy, one for each task and variant,"
        " straight in the measure itself and so bent over this logarithmic axis. What counts is"
        " whether points rise along their own line: clouds that lie higher and further right than"
        " others only say that tasks and gates differ. Exactly flat models are left out. It does"
        " not show a cause: seeds that learn well may curve more for a third reason.",
    )  # fmt: skip


def fitted(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least-squares line of ``y`` on ``x`` (M,), which must vary, at even steps of log x."""
    slope = ((x - x.mean()) * (y - y.mean())).sum() / np.square(x - x.mean()).sum()
    places = np.geomspace(x[x > 0].min(), x.max(), FIT_POINTS)
    return places, y.mean() + slope * (places - x.mean())
