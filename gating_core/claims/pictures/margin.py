"""Is a difference within the margin? The picture of claim C5."""

from __future__ import annotations

from typing import Any

from gating_core.claims.pairs import Equivalences
from gating_core.claims.pictures.figure import Figure, Palette, jittered, layout_of, vertical
from gating_core.claims.verdicts import Verdict

ROW_HEIGHT = 68  # pixels of one task


def equal(verdict: Verdict, palette: Palette) -> tuple[Figure, ...]:
    found: Equivalences = verdict.evidence  # type: ignore[assignment]
    t = verdict.thresholds
    tasks = [(one, one.measured) for one in found.tasks if one.measured is not None]
    if not tasks:
        return ()
    data: list[dict[str, Any]] = []
    for place, (one, of) in enumerate(reversed(tasks)):
        low, high = (100 * end for end in of.interval)
        mean = 100 * of.paired.mean
        data.append({
            "type": "scatter", "mode": "markers", "name": one.task,
            "x": (100 * of.paired.differences).tolist(), "y": jittered(place, one.count),
            "customdata": list(one.keys), "text": [f"seed {seed}" for seed in of.paired.seeds],
            "hovertemplate": one.task + ", %{text}: %{x:.2f} points<extra></extra>",
            "marker": {"color": palette.gated, "size": 4, "opacity": 0.45},
        })  # fmt: skip
        if one.count > 1:
            data.append({"type": "scatter", "mode": "lines", "name": one.task, "x": [low, high],
                         "y": [place, place], "line": {"color": palette.gated, "width": 5},
                         "hovertemplate": "%{x:.2f} points<extra></extra>"})  # fmt: skip
        data.append({
            "type": "scatter", "mode": "markers", "name": one.task, "x": [mean], "y": [place],
            "hovertemplate": one.task + ": %{x:.2f} points<extra></extra>",
            "marker": {"color": palette.gated, "size": 11, "symbol": "diamond",
                       "line": {"color": palette.ink, "width": 1}},
        })  # fmt: skip
    layout = layout_of(palette, "difference of test accuracy, points: sigmoid − ungated", "")
    layout |= {"height": 150 + ROW_HEIGHT * len(tasks), "showlegend": False}
    texts = [f"{one.task}<br>power {of.power:.0%}" for one, of in reversed(tasks)]
    layout["yaxis"] |= {"tickvals": [*range(len(tasks))], "ticktext": texts, "showgrid": False,
                        "range": [-0.6, len(tasks) - 0.4], "automargin": True}  # fmt: skip
    margin = t.margin_points
    layout["shapes"] = [
        {"type": "rect", "xref": "x", "yref": "paper", "x0": -margin, "x1": margin, "y0": 0,
         "y1": 1, "fillcolor": palette.band, "line": {"width": 0}, "layer": "below"},
        *(vertical(x, palette.control, "dot") for x in (-margin, margin)),
        vertical(0.0, palette.ink),
    ]  # fmt: skip
    return (Figure(
        "Is the difference within the margin?", {"data": data, "layout": layout},
        verdict.sentences,
        f"The band is the margin of ±{margin:g} point. A thick bar that lies wholly inside it shows"
        f" equivalence: it is the {1 - 2 * t.level:.0%} Student interval, which belongs to two"
        f" one-sided tests at {t.level:.0%}. Small dots are single seeds. The power is how often"
        " the bar would lie inside if there were no difference at all, at these deviations: where"
        " it is low, a bar that reaches out says nothing. It does not show that the difference is"
        " zero, only that it is small.",
    ),)  # fmt: skip
