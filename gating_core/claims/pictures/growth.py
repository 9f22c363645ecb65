"""How do curvature and proxy grow with depth? The picture of claim C7."""

from __future__ import annotations

from typing import Any

import numpy as np

from gating_core.claims.pictures.figure import Figure, Palette, layout_of
from gating_core.claims.slopes import CENTRE, TITLES, Slopes
from gating_core.claims.slopes import PROXY as DEPTH_PROXY
from gating_core.claims.thresholds import Thresholds
from gating_core.claims.verdicts import Verdict


def deeper(verdict: Verdict, palette: Palette) -> tuple[Figure, ...]:
    found: Slopes = verdict.evidence  # type: ignore[assignment]
    t: Thresholds = verdict.thresholds
    if not len(found.seeds):
        return ()
    kinds = {CENTRE: (palette.gated, "diamond", t.curvature_slope),
             DEPTH_PROXY: (palette.control, "square", t.proxy_slope)}  # fmt: skip
    data: list[dict[str, Any]] = []
    for name, (colour, symbol, slope) in kinds.items():
        drawn = False
        for place, seed in enumerate(found.seeds):
            ratio = found.values[name][place] / found.values[name][place, 0]
            here = np.isfinite(ratio) & (ratio > 0)
            small = found.small[place][here]
            data.append({
                "type": "scatter", "mode": "lines+markers", "name": TITLES[name],
                "legendgroup": name, "showlegend": not drawn, "x": found.depths[here].tolist(),
                "y": ratio[here].tolist(), "customdata": found.keys[place][here].tolist(),
                "text": [f"seed {seed}"] * int(here.sum()),
                "hovertemplate": TITLES[name] + ", %{text}, depth %{x}: %{y:.3g}<extra></extra>",
                "line": {"color": colour, "width": 0.8},
                "marker": {"color": colour, "size": 6,
                           "symbol": [symbol if s else f"{symbol}-open" for s in small]},
            })  # fmt: skip
            drawn = True
        ends = found.depths[[0, -1]].astype(float)
        data.append({
            "type": "scatter", "mode": "lines", "name": f"slope {slope:g}", "x": ends.tolist(),
            "y": ((ends / ends[0]) ** slope).tolist(), "hoverinfo": "skip",
            "line": {"color": palette.ink, "dash": "dash" if name == CENTRE else "dot",
                     "width": 1.2},
        })  # fmt: skip
    layout = layout_of(palette, "depth, layers", "times that of one layer")
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"type": "log", "nticks": 8}
    return (Figure(
        "Growth with depth", {"data": data, "layout": layout}, verdict.sentences,
        "Each line is one seed, which draws ε: |K(0)| and the paper's proxy after each layer,"
        " divided by their value after the first, over depth; both axes are logarithmic, so a power"
        " is a straight line, and dashed and dotted lines have the exponents of the theory. Filled"
        " marks lie in the structured regime and are fitted; open ones are not. It shows no trained"
        " model: stacks that are not built like this need not accumulate curvature.",
    ),)  # fmt: skip
