"""Shared by the tabs of *Which gates curve?*: the picture of a gated surface, and its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from gating_core.geometry import SEEN, SurfaceResult, knowledge_text
from gating_core.theory import ALGEBRA, BENT, CAUSES, FLAT, MIXED, NEGATIVE, POSITIVE, GateVerdict
from ui.common.formatting import beyond_text, error_text, percent, short
from ui.components.pair import Point, draw_pair
from ui.gates.frames import GateFrame
from ui.gates.picture import GatePicture

CSS = Path(__file__).with_name("gates.css")
SEEDS = (0, 9999)
ONE_VALUE = 1e-9  # relative: a range that is no longer is written as one number
Ends = tuple[float | None, float | None]
Told = tuple[str, str]  # what is large or bold, and the rest


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


def verdict_of(frame: GateFrame) -> Told:
    """The verdict of one frame; how it is known, and of which part of the chart."""
    whole = frame.whole
    if frame.share_lost == 1:
        return "no gate", " anywhere on the chart"
    if whole.knowledge is None:
        return whole.word, ""
    word = whole.word
    if whole.knowledge == SEEN:
        word = {FLAT: "without curvature", BENT: "bent, without curvature"}[word]
    where = "on the whole chart"
    if whole.broken or whole.rough:  # which cells leave out, smooth or not
        where = "in every smooth piece" if whole.by == ALGEBRA else "wherever nothing is hatched"
    elif frame.share_lost:
        where = "wherever there is a gate"
    zero = " or K = 0" if whole.weak else ""
    return word, f"{zero}, {knowledge_text(whole.knowledge, whole.points, where, whole.between)}"


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


def numbers_text(frame: GateFrame, shown: str = "K") -> Told:
    """The numbers of one frame: of what is ``shown`` in colour, and the others."""
    parts = [grid_range_text(frame)]
    if frame.largest_bend > 0 and frame.whole.word != FLAT:  # not NaN
        bend = f"|H| up to {short(frame.largest_bend)}"
        parts.insert(0, f"{bend}, in colour") if shown == "|H|" else parts.append(bend)
    if frame.share_undetermined > 0 and frame.share_lost < 1:
        share = percent(frame.share_undetermined)
        parts.append(f"K is not known, for rounding, on {share} of the area")
    if 0 < frame.share_lost < 1:
        parts.append(f"no gate on {percent(frame.share_lost)} of the chart")
    return parts[0], " · ".join(parts[1:])


def caption(frame: GateFrame, shown: str = "K") -> str:
    """The verdict of one frame, and the numbers behind it."""
    word, known = verdict_of(frame)
    return " · ".join(filter(None, [f"**{word}**{known}", *numbers_text(frame, shown)]))


def causes_text(whole: GateVerdict) -> str:
    """Say what may break a gate."""
    return " or ".join(CAUSES[cause] for cause in whole.causes) or "it is too steep to tell"


def range_with_doubt(surface: SurfaceResult) -> str:
    """The range of a surface's known K and the largest error in it."""
    there = np.isfinite(surface.known[-1])
    if not there.any():
        return range_text(None)
    known, errors = surface.known[-1][there], surface.known_error[-1][there]
    ends = range_text((float(known.min()), float(known.max())))
    return f"{ends}, error at most {error_text(float(errors.max()))} each"


# --- The picture ----------------------------------------------------------------------------------


def draw_gate(
    picture: GatePicture,
    frames: Sequence[GateFrame],
    shown: str,
    findings: Sequence[Told],
    *,
    key: str,
    scene: str,
    frame: int,
    point: Point | None = None,
    on_leave: Callable[[int, Point | None, np.ndarray | None], None] = lambda *_: None,
) -> None:
    """Draw a gated surface with its ``findings`` above it, by frame."""
    draw_pair(
        picture.pair,
        key=key,
        scene=scene,
        frame=frame,
        point=point,
        verdicts=[[numbers_text(each, shown) for each in frames]],
        findings=findings,
        quantity=f"{shown} over the chart",
        names=("u", "v"),
        note=notes_of(picture, frames),
        on_leave=on_leave,
    )


def finding(begin: str, frame: GateFrame, end: str = "") -> Told:
    """Return bold text, ``begin`` and the verdict, and the rest: how that is known, ``end``."""
    word, known = verdict_of(frame)
    comma = "," if known.startswith(",") else ""
    return f"{begin} {word}{comma}", f"{known.lstrip(', ')}{end}"


def notes_of(picture: GatePicture, frames: Sequence[GateFrame]) -> list[str]:
    """Return what colour scale and pictures do not show by themselves, in every frame."""
    scale, every = picture.scale, zip(picture.beyond, frames, strict=True)
    soft = None if scale.collapsed else scale.soft
    return [
        " · ".join(note for note, there in {
            _zero_text(frame, scale.collapsed): True,
            "outlined: the flat surface (u, v, 1)": True,
            f"asinh scale, linear within ±{short(soft or 0.0)}": soft is not None,
            beyond_text(beyond): beyond > 0,
            "hatched: no gate, or K not known": frame.share_lost > 0 and not frame.whole.broken,
            "hatched: no gate, or none that is smooth": frame.whole.broken > 0,
            "at each λ enlarged until one point is on the outline": picture.one_size,
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
