"""The picture of a gated surface, and its words: arrows from the flat one, maps over the chart.

Frames are strengths of the gate. Shapes: F frames, R x R grid points.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gating_core.geometry import SEEN, SurfaceResult, knowledge_text
from gating_core.theory import ALGEBRA, BENT, CAUSES, FLAT, MIXED, NEGATIVE, POSITIVE, GateVerdict
from ui.common.formatting import beyond_text, error_text, percent, rough, short
from ui.components.pair import Map, Pair, Point, Side, draw_pair
from ui.drawing.colours import ColourScale, scale_of, share_beyond
from ui.drawing.first_view import NO_SEGMENTS, best_eye, scale_share, straight_segments
from ui.drawing.lines import lies_in_a_plane
from ui.gates.frames import GateFrame

SHOWN = {"K": "curvature", "|H|": "mean"}  # what the colours can show: a quantity of `COLOURINGS`
SMALLEST = 0.45  # of the largest diagonal: where one is smaller, each is enlarged
LARGEST_DRAWN = 1e6  # of coordinates: in single precision a picture that is larger loses its lines
LOW = np.radians([25])  # from above, the surface would hide what it is pulled towards
TOP = np.array([0.0, 0, 1])  # the middle of the sheet, and of the picture
SHEET = np.array([[-1.0, -1, 1], [1, -1, 1], [1, 1, 1], [-1, 1, 1]])  # corners of (u, v, 1)


@dataclass(frozen=True, eq=False)
class GatePicture:
    """A picture, and the colour scale of its quantity."""

    pair: Pair
    scale: ColourScale
    one_size: bool  # whether each frame is enlarged by a factor of its own
    cut: bool  # whether points were left out because they are too far away
    beyond: list[float]  # by frame: the share of points beyond the scale


def gate_picture(
    frames: Sequence[GateFrame],
    shown: str = "K",
    settled: Sequence[GateFrame] = (),
    *,
    title: str,
    smallest: float = SMALLEST,
) -> GatePicture:
    """Draw the surface coloured by what is ``shown``, beside the flat one it was made of.

    Colours, sizes and the first view come from ``settled``, some of the frames, the full gate last,
    whichever others have been measured so far. Where their sizes differ too much to be seen
    together, by less than ``smallest``, each is enlarged from the origin until the point that is
    pulled least is on the flat surface.
    """
    settled = settled or frames
    scale = scale_of(SHOWN[shown], [field_of(frame, shown) for frame in settled])
    gate_scale = scale_of("gate", [frame.gate for frame in settled], asinh=False)
    drawn = [drawable(frame.values) for frame in settled]
    sizes = [_extent(points) for points in drawn]
    one_size = min(sizes) < smallest * max(sizes)
    far = [np.abs(x - TOP).max(initial=0, where=~np.isnan(x)) for x in drawn]
    reach = 1.0 if one_size else max(1.0, *map(float, far))
    values, lines = [], []
    for frame in frames:
        points = drawable(frame.values)
        values.append((points * (_enlargement(points, frame) if one_size else 1) - TOP) / reach)
        straight = frame.strength > 0 and frame.whole.word == FLAT
        straight = straight and bool(np.isfinite(points).all()) and lies_in_a_plane(points)
        lines.append(
            straight_segments(points, values[-1], frame.axis) if straight else NO_SEGMENTS[0]
        )
    most = max(map(len, lines))
    side = Side(
        name=title,
        short="",
        values=np.stack(values),
        shares=np.stack([scale_share(field_of(frame, shown), scale) for frame in frames]),
        signed=np.stack([frame.signed for frame in frames]),
        gaussian=np.stack([frame.known for frame in frames]),
        error=np.stack([frame.error for frame in frames]),
        flat=[len(x) > 1 for x in lines],
        corners=None,
        lines=np.stack([np.pad(x, [(0, most - len(x)), (0, 0), (0, 0)]) for x in lines]),
        ground=(SHEET - TOP) / reach,
        origin=-TOP / reach,
        read={"|H|": np.stack([x.mean for x in frames]), "g": np.stack([x.gate for x in frames])},
        second=(
            Map("gate; 1 at λ = 0", gate_scale.colours, _ends(gate_scale)),
            np.stack([scale_share(frame.gate, gate_scale) for frame in frames]),
        ),
    )
    strengths = [frame.strength for frame in frames]
    pair = Pair(
        (side,),
        [f"λ = {strength:.2f}" for strength in strengths],
        strengths,
        best_eye([np.nan_to_num(drawn[-1], nan=0.0)], rises=LOW),
        scale.colours,
        ("", "") if scale.collapsed else _ends(scale),
    )
    cut = any(
        bool((np.isnan(x) & ~np.isnan(frame.values)).any())
        for x, frame in zip(drawn, settled, strict=True)
    )
    beyond = [share_beyond(field_of(frame, shown), scale) for frame in frames]
    return GatePicture(pair, scale, one_size, cut, beyond)


def side_by_side(pictures: Sequence[GatePicture]) -> Pair:
    """Join the surfaces of ``pictures`` with the same strengths, all at one size, alone."""
    sides = [_at_one_size(picture.pair.sides[0]) for picture in pictures]
    return replace(
        pictures[0].pair,
        sides=tuple(sides),
        eye=best_eye([np.nan_to_num(side.values[-1], nan=0.0) for side in sides]),
    )


def _at_one_size(side: Side) -> Side:
    """The surface alone, centred in every frame, with a diagonal of 2."""
    there = ~np.isnan(side.values)
    low = side.values.min((1, 2), keepdims=True, initial=np.inf, where=there)
    high = side.values.max((1, 2), keepdims=True, initial=-np.inf, where=there)
    with np.errstate(invalid="ignore"):  # nothing is there
        middle, size = (low + high) / 2, np.linalg.norm(high - low, axis=-1, keepdims=True) / 2
        values, lines = ((x - middle) / size for x in (side.values, side.lines))
    return replace(side, values=values, lines=lines, second=None, ground=None, origin=None)


def drawable(values: np.ndarray) -> np.ndarray:
    """(R, R, 3): ``values``, NaN where they are not finite or too far away."""
    size = np.abs(np.nan_to_num(values, nan=np.inf)).max(-1, keepdims=True)
    return np.where(size <= LARGEST_DRAWN, values, np.nan)


def field_of(frame: GateFrame, shown: str) -> np.ndarray:
    return frame.known if shown == "K" else frame.mean


def _extent(points: np.ndarray) -> float:
    """The diagonal of the drawn among points (R, R, 3)."""
    there = points[np.isfinite(points[..., 0])]
    return float(np.linalg.norm(np.ptp(there, 0))) if len(there) else 1.0


def _enlargement(points: np.ndarray, frame: GateFrame) -> float:
    """The factor by which the largest gate of the drawn ``points`` becomes 1."""
    gates = frame.channels[np.isfinite(points[..., 0])]
    return 1 / float(gates.max()) if gates.size else 1.0


def _ends(scale: ColourScale) -> tuple[str, str]:
    low, high = map(rough, scale.ends)
    return low, high


# --- Words ----------------------------------------------------------------------------------------

CSS = Path(__file__).with_name("gates.css")
SEEDS = (0, 9999)
ONE_VALUE = 1e-9  # relative: a range that is no longer is written as one number
Ends = tuple[float | None, float | None]
Told = tuple[str, str]  # what is large or bold, and the rest


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


def numbers_text(frame: GateFrame, shown: str = "K") -> Told:
    """The numbers of one frame: of what is ``shown`` in colour, and the others."""
    missed = " on the grid, more between its points" if _missed(frame) else ""
    parts = [range_text(frame.range) + missed]
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
    return [
        " · ".join(note for note, there in {
            _zero_text(frame, scale.collapsed): True,
            "outlined: flat surface (u, v, 1)": True,
            "asinh scale": not scale.collapsed,
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
