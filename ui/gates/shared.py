"""Shared by the tabs of *Which gates curve?*: maps over the chart, legends, and their words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

from gating_core.geometry import SEEN, SurfaceResult, knowledge_text
from gating_core.theory import ALGEBRA, BENT, CAUSES, MIXED, NEGATIVE, PLANE, POSITIVE, GateVerdict
from ui.common.formatting import beyond_text, error_text, percent, rough, short
from ui.components.view3d import Legend
from ui.drawing.chart_map import chart_map
from ui.drawing.colours import ColourScale
from ui.gates.frames import TERM_NAMES, GateFrame
from ui.gates.picture import GatePicture

CSS = Path(__file__).with_name("gates.css")
SEEDS = (0, 9999)
SPARE = 600  # pixels of the window's height that all but the pictures takes
ONE_VALUE = 1e-9  # relative: a range that is no longer is written as one number
Ends = tuple[float | None, float | None]
MEASURED = [("K measured", ["gated_gaussian"]), ("error", ["gated_error"]),
            ("|H|", ["gated_mean"])]  # fmt: skip
BY_FORMULA = [
    ("g", ["gated_gate"]),
    ("det Hess(1/g)", ["gated_term_hessian"]),
    ("K by the formula = ({})⁴ · ({}) / ({})² = {}", [f"gated_term_{x}" for x in TERM_NAMES]),
]


# --- Words ----------------------------------------------------------------------------------------


def range_text(ends: Ends | None) -> str:
    """The least and the largest K, as one number where three figures cannot tell them apart.

    An end that is nothing beside the other is written as 0: next to where K vanishes, it is.
    """
    least, largest = ends or (None, None)
    if least is None or largest is None:
        return "K not known"
    if largest - least <= ONE_VALUE * max(abs(least), abs(largest)):
        return f"K = {short(largest)}"
    nothing = ONE_VALUE * (largest - least)
    ends_text = [short(end) if abs(end) > nothing else "0" for end in (least, largest)]
    return f"K {' to '.join(ends_text)}"


def verdict_text(frame: GateFrame) -> str:
    """The verdict of one frame, how it is known, and of which part of the chart."""
    whole = frame.whole
    if frame.share_lost == 1:
        return "**no gate** anywhere on the chart"
    if whole.knowledge is None:
        return f"**{whole.word}**"
    word = whole.word
    if whole.knowledge == SEEN:
        word = {PLANE: "without curvature", BENT: "bent, without curvature"}[word]
    where = "on the whole chart"
    if whole.broken or whole.rough:  # which cells leave out, smooth or not
        where = "in every smooth piece" if whole.by == ALGEBRA else "wherever nothing is hatched"
    elif frame.share_lost:
        where = "wherever there is a gate"
    zero = " or K = 0" if whole.weak else ""
    return (
        f"**{word}**{zero}, {knowledge_text(whole.knowledge, whole.points, where, whole.between)}"
    )


def _missed(frame: GateFrame) -> bool:
    """Return whether K has a sign that it has at no grid point."""
    least, largest = frame.range or (0.0, 0.0)
    word = frame.whole.word
    return (word in (MIXED, POSITIVE) and largest <= 0) or (
        word in (MIXED, NEGATIVE) and least >= 0
    )


def grid_range_text(frame: GateFrame) -> str:
    """The range of K, and that it is not all of it where the grid misses a sign."""
    missed = " on the grid, more between its points" if _missed(frame) else ""
    return range_text(frame.range) + missed


def caption(frame: GateFrame, shown: str = "K") -> str:
    """The verdict of one frame, and the numbers behind it; what is ``shown`` in colour first."""
    bend = ""
    if frame.largest_bend > 0 and frame.whole.word != PLANE:  # not NaN
        bend = f" · |H| up to {short(frame.largest_bend)}"
    parts = [verdict_text(frame)]
    if shown == "|H|" and bend:
        parts.append(f"{bend}, in colour")
    parts.append(f" · {grid_range_text(frame)}")
    if shown == "K":
        parts.append(bend)
    if frame.share_undetermined > 0 and frame.share_lost < 1:
        share = percent(frame.share_undetermined)
        parts.append(f" · K is not known, for rounding, on {share} of the area")
    if 0 < frame.share_lost < 1:
        parts.append(f" · no gate on {percent(frame.share_lost)} of the chart")
    return "".join(parts)


def causes_text(whole: GateVerdict) -> str:
    """Say what may break a gate."""
    return " or ".join(CAUSES[cause] for cause in whole.causes) or "it is too steep to tell"


def range_with_doubt(surface: SurfaceResult) -> str:
    """The range of a surface's known K and the largest error in it."""
    known = np.isfinite(surface.known[-1])
    errors = surface.known_error[-1][known]
    doubt = error_text(float(errors.max())) if errors.size else "no bound"
    return f"{range_text(known_range(surface))}, error at most {doubt} each"


def known_range(surface: SurfaceResult) -> tuple[float, float] | None:
    known = surface.known[-1]
    return (float(np.nanmin(known)), float(np.nanmax(known))) if np.isfinite(known).any() else None


def readout(scalar: bool) -> list[tuple[str, list[str]]]:
    """Return the rows under the pointer: the formula with the numbers there, and K as measured."""
    return [*(BY_FORMULA if scalar else [("mean gate", ["gated_gate"])]), *MEASURED]


# --- Colours and maps -----------------------------------------------------------------------------


def legend_of(picture: GatePicture, shown: str, frames: tuple[GateFrame, ...]) -> Legend:
    """Return the colours of a picture, and what else is to be known of it."""
    ends = [f"{shown} = {rough(end)}" for end in picture.scale.ends]
    low, high = ("", "") if picture.scale.collapsed else ends
    return Legend(picture.scale.colours, low, high, legend_notes(picture, frames))


def legend_notes(picture: GatePicture, frames: tuple[GateFrame, ...]) -> list[str]:
    """Return what colour scale and pictures do not show by themselves, in every frame."""
    low, high = picture.gate_scale.ends
    scale, every = picture.scale, zip(picture.beyond, frames, strict=True)
    soft = None if scale.collapsed else scale.soft
    return [
        " · ".join(note for note, there in {
            _zero_text(frame, scale.collapsed): True,
            f"gate: dark {short(low)}, bright {short(high)}": True,
            f"asinh scale, linear within ±{short(soft or 0.0)}": soft is not None,
            beyond_text(beyond): beyond > 0,
            "hatched: no gate, or K not known": frame.share_lost > 0 and not frame.whole.broken,
            "hatched: no gate, or none that is smooth": frame.whole.broken > 0,
            "each λ is drawn to its own scale": picture.boxes_vary,
            "left open: farther than a million from the origin": picture.cut,
        }.items() if there)
        for beyond, frame in every
    ]  # fmt: skip


def _zero_text(frame: GateFrame, collapsed: bool) -> str:
    """A note on K = 0 in the picture of a frame."""
    if frame.range is None:
        return "K is known nowhere"
    largest, missed = max(map(abs, frame.range)), _missed(frame)
    where = "at every grid point, not between them" if missed else "wherever it is known"
    if largest == 0:
        return f"K = 0 {where}"
    if collapsed:
        return f"grey: |K| is at most {short(largest)}{f' {where}' * missed}"
    return "black: K = 0"


def map_figure(
    field: np.ndarray,
    axis: np.ndarray,
    scale: ColourScale,
    symbol: str,
    signed: np.ndarray | None = None,
    error: np.ndarray | None = None,
) -> go.Figure:
    """Draw ``field`` (R, C) over the chart, hatched where it is NaN; see `chart_map`."""
    return chart_map(
        field,
        axis,
        scale,
        symbol,
        ("u", "v"),
        colour_bar(scale),
        map_layout(280),
        signed=signed,
        error=error,
        hatched=True,
    )


def map_layout(height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 36, "r": 8, "t": 8, "b": 36},
        "showlegend": False,
        "hovermode": "closest",
        "dragmode": False,
    }


def colour_bar(scale: ColourScale) -> dict[str, Any]:
    """The ends of the colours in the quantity's own unit, at shares of the scale."""
    low, high = map(rough, scale.ends)
    ticks = {0.0: low, 1.0: high}
    if scale.collapsed:
        ticks = {0.5: "0"}
    elif scale.low < 0 < scale.high:
        ticks |= {-scale.low / (scale.high - scale.low): "0"}
    return {
        "thickness": 8,
        "len": 0.9,
        "xpad": 2,
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
    }
