"""What does a gate change on each task? The pictures of claims C3 and C4, forest plots."""

from __future__ import annotations

from typing import Any

from gating_core.claims.models import GATED, UNGATED
from gating_core.claims.pairs import Comparison, Differences
from gating_core.claims.pictures.figure import Figure, Palette, jittered, layout_of, vertical
from gating_core.claims.verdicts import Verdict

ROW_HEIGHT = 24  # pixels of one line


def more_curvature(verdict: Verdict, palette: Palette) -> tuple[Figure, ...]:
    return _forest(verdict, palette, 1.0, "difference of ∫|K| dA")


def better(verdict: Verdict, palette: Palette) -> tuple[Figure, ...]:
    return _forest(verdict, palette, 100.0, "difference of test accuracy, points")


def _forest(verdict: Verdict, palette: Palette, factor: float, unit: str) -> tuple[Figure, ...]:
    found: Differences = verdict.evidence  # type: ignore[assignment]
    families = [
        (name, of, palette.gated if name in GATED else palette.control)
        for name, of in sorted(found.families.items(), key=_gates_first)
    ]
    lines = [
        (f"{one.task}: {one.variant}", one, colour)
        for task in dict.fromkeys(one.task for _, of, _ in families for one in of)
        for _, of, colour in families
        for one in of
        if one.task == task and one.measured is not None
    ]
    if not lines:
        return ()
    data = [trace for place, line in enumerate(reversed(lines))
            for trace in _forest_line(place, *line, factor, palette)]  # fmt: skip
    layout = layout_of(palette, unit, "")
    layout["height"] = 110 + ROW_HEIGHT * len(lines)
    layout["showlegend"] = False
    layout["yaxis"] |= {"tickvals": [*range(len(lines))], "range": [-0.7, len(lines) - 0.3],
                        "ticktext": [name for name, *_ in reversed(lines)], "showgrid": False,
                        "automargin": True}  # fmt: skip
    layout["shapes"] = [vertical(0.0, palette.ink)]
    confidence = f"{verdict.thresholds.confidence:.0%}"
    return (Figure(
        f"Differences from {UNGATED}, by task", {"data": data, "layout": layout}, verdict.sentences,
        f"Each line is one variant less the ungated model on one task: the large mark is the mean"
        f" over seeds, its bar the {confidence} Student interval, the small dots are single seeds"
        " (click one to open its model). Right of the vertical line at zero the variant has more."
        " Diamonds are gates, squares are controls. Bars are not adjusted for the number of tasks;"
        " the table's p-values are (Holm). It does not show why a variant is ahead: compare the"
        " controls, which change something else than a gate.",
    ),)  # fmt: skip


def _forest_line(
    place: int, name: str, one: Comparison, colour: str, factor: float, palette: Palette
) -> list[dict[str, Any]]:
    of = one.measured
    assert of is not None
    some = {"type": "scatter", "mode": "markers", "name": name}
    dots = some | {
        "x": (factor * of.differences).tolist(), "y": jittered(place, of.count),
        "customdata": list(one.keys), "text": [f"seed {seed}" for seed in of.seeds],
        "hovertemplate": f"{name}, %{{text}}: %{{x:.3g}}<extra></extra>",
        "marker": {"color": colour, "size": 4, "opacity": 0.45},
    }  # fmt: skip
    mean = some | {
        "x": [factor * of.mean], "y": [place],
        "hovertemplate": f"{name}: %{{x:.3g}}<extra></extra>",
        "marker": {"color": colour, "size": 10, "line": {"color": palette.ink, "width": 1},
                   "symbol": "diamond" if one.variant in GATED else "square"},
    }  # fmt: skip
    if of.count > 1:
        half = factor * (of.high - of.mean)
        mean["error_x"] = {"type": "data", "array": [half], "color": palette.ink, "width": 5}
    return [dots, mean]


def _gates_first(family: tuple[str, tuple[Comparison, ...]]) -> int:
    """Where a variant stands: the gate that decides, other gates, controls."""
    return GATED.index(family[0]) if family[0] in GATED else len(GATED)
