"""The picture of a gated surface: itself and the flat one, arrows from that, maps over the chart.

Frames are strengths of the gate. Shapes: F frames, R x R grid points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gating_core.theory import FLAT
from ui.common.formatting import rough
from ui.components.pair import Map, Pair, Side
from ui.drawing.colours import ColourScale, scale_of, share_beyond
from ui.drawing.first_view import NO_SEGMENTS, best_eye, scale_share, straight_segments
from ui.drawing.lines import lies_in_a_plane
from ui.gates.frames import GateFrame

SHOWN = {"K": "curvature", "|H|": "mean"}  # what the colours can show: a quantity of `COLOURINGS`
SMALLEST = 0.45  # of the largest diagonal: where one is smaller, each is enlarged
LARGEST_DRAWN = 1e6  # of coordinates: in single precision a picture that is larger loses its lines
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
            Map("gate over the chart", gate_scale.colours, _ends(gate_scale)),
            np.stack([scale_share(frame.gate, gate_scale) for frame in frames]),
        ),
    )
    strengths = [frame.strength for frame in frames]
    pair = Pair(
        (side,),
        [f"λ = {strength:.2f}" for strength in strengths],
        strengths,
        best_eye([np.nan_to_num(drawn[-1], nan=0.0)]),
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
