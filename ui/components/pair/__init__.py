"""One to four output surfaces under one camera that change by frames, and maps over their chart.

All of it moves in the browser, also the ungated surface with the corners of its values' triangle.
Python hears of frame, marked point and corners when the visitor lets go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ui.components import wire
from ui.components.source import declare

Point = tuple[int, int]  # row and column of the grid
SIDES = ("left", "right", "third", "fourth")
FARTHEST = 1e4  # of a dragged corner, in units of the picture
_component = declare("pair")


@dataclass(frozen=True)
class Map:
    """Another quantity over the chart: its title, colours, and their ends."""

    title: str
    scale: Sequence[tuple[float, str]]
    ends: tuple[str, str]


@dataclass(frozen=True, eq=False)
class Classified:
    """The data points in the chart of one surface, and its classifier in F frames.

    P points. Of two classes the second is more likely where a . y + d > 0 for a row (a, d) of
    ``planes``; NaN where no plane is drawn. Of more, ``cuts`` are the boundaries: S segments on the
    surface and in the chart. The map may have a finer grid of Q x Q points: of what colours show,
    and of the difference of two logits.
    """

    chart: np.ndarray  # (P, 2): from -1 to 1
    labels: np.ndarray  # (P,)
    tested: np.ndarray  # (P,): test points, which are open
    planes: np.ndarray  # (F, 4)
    colours: Sequence[str]  # of the points, by class
    cuts: tuple[np.ndarray, np.ndarray] | None = None  # (F, S, 2, 3) and (F, S, 2, 2)
    fine_shares: np.ndarray | None = None  # (F, Q, Q) uint8: 0 to 255 along the scale
    fine_signed: np.ndarray | None = None  # (F, Q, Q)


@dataclass(frozen=True, eq=False)
class Side:
    """One surface in all F frames, or in one for all of them; R x R grid points.

    What is not known is NaN; where ``values`` are, the surface has a hole.

    ``shares`` are places on the colour scale, 0 to 1; ``gaussian`` is what is read off at a point.
    ``signed`` is K where its sign is known, of a ``classified`` surface the difference of logits: a
    line is drawn where it changes its sign.
    """

    name: str
    short: str  # before a number
    values: np.ndarray  # (F, R, R, 3)
    shares: np.ndarray  # (F, R, R)
    signed: np.ndarray  # (F, R, R)
    gaussian: np.ndarray  # (F, R, R)
    error: np.ndarray  # (F, R, R)
    flat: Sequence[bool]  # (F,): by proof
    corners: np.ndarray | None  # (3, 3) or (F, 3, 3): the triangle of the values
    lines: np.ndarray  # (F, S, 2, 3): segments in place of the chart's lines, where it is flat
    ground: np.ndarray | None = None  # (4, 3): corners of a level flat surface, below or above it
    origin: np.ndarray | None = None  # (3,): towards which a gate pulls that one; arrows show it
    read: Mapping[str, np.ndarray] = field(default_factory=dict)  # symbol: (F, R, R), beside K
    second: tuple[Map, np.ndarray] | None = None  # of one side alone; shares (F, R, R) of its scale
    classified: Classified | None = None
    lined: bool = True  # the line on the surface, too; else on the map alone
    cut: bool = False  # ``signed`` is a classifier's: where it is zero is a decision boundary


@dataclass(frozen=True, eq=False)
class Pair:
    """Surfaces to draw; frames have a ``label`` beside the slider and a place, a number.

    ``back`` (k, 3) takes a step in the picture to one along the k drawn axes, where corners move.
    ``symbol`` names what is read off at a point; with ``keys``, words and their colours, it is one
    of these. ``alone``: there is no surface to see, only maps. ``whole``: nothing is drawn between
    two frames. ``headlit``: the light turns with the camera, and is the same on all sides.
    """

    sides: tuple[Side, ...]
    labels: Sequence[str]
    places: Sequence[float]
    eye: tuple[float, float]  # azimuth and elevation of the first view, in radians
    scale: Sequence[tuple[float, str]]
    ends: tuple[str, str]
    back: np.ndarray | None = None
    symbol: str = "K"
    alone: bool = False
    keys: Sequence[tuple[str, str]] = ()
    whole: bool = False
    headlit: bool = False


def draw_pair(
    pair: Pair,
    *,
    key: str,
    on_leave: Callable[[int, Point | None, np.ndarray | None], None],
    **shown: Any,
) -> None:
    """Draw ``pair``; for what is ``shown`` with it see `header_of`.

    When the visitor lets go, ``on_leave`` gets frame, point and, where they were dragged, the
    corners (3, 3) of the left triangle, once: it must store them.
    """
    size, frames = pair.sides[0].values.shape[1], len(pair.places)

    def hear(left: Any) -> None:
        point, corners = left["point"], left["corners"]
        moved = None if corners is None else np.array(corners)
        on_leave(left["frame"], point and (point[0], point[1]), moved)

    receive = wire.listener(key, "left", lambda left: is_sound(left, frames, size), hear)
    wire.draw_large(
        _component, key, header_of(pair, **shown), packed_arrays(pair), on_left_change=receive
    )


def packed_arrays(pair: Pair) -> wire.Packed:
    """Return places of all arrays of ``pair``, and their bytes."""

    def arrays() -> dict[str, np.ndarray]:
        arrays: dict[str, np.ndarray] = {}
        for name, side in zip(SIDES, pair.sides, strict=False):
            arrays |= {name: side.values, f"{name}Shares": side.shares, f"{name}K": side.gaussian}
            arrays |= {f"{name}Signed": side.signed, f"{name}Error": side.error}
            arrays |= {f"{name}Lines": side.lines}
            arrays |= {f"{name}Read{n}": values for n, values in enumerate(side.read.values())}
            if side.second:
                arrays |= {f"{name}Second": side.second[1]}
            if (data := side.classified) is not None:
                arrays |= {f"{name}Chart": data.chart, f"{name}Labels": data.labels.astype("u1")}
                arrays |= {f"{name}Tested": data.tested.astype(np.uint8)}
                arrays |= {f"{name}Planes": data.planes}
                if data.cuts is not None:
                    arrays |= {f"{name}Cuts": data.cuts[0], f"{name}ChartCuts": data.cuts[1]}
                elif data.fine_signed is not None:
                    arrays |= {f"{name}FineSigned": data.fine_signed}
                if data.fine_shares is not None:
                    arrays |= {f"{name}FineShares": data.fine_shares}
        return arrays

    return wire.packed_once(pair, arrays)


def header_of(
    pair: Pair,
    *,
    scene: str,
    frame: int,
    point: Point | None,
    verdicts: Sequence[Sequence[tuple[str, str]]],
    quantity: str,
    names: tuple[str, str],
    note: str | Sequence[str],
    findings: Sequence[tuple[str, str]] = (),
    maps: bool = True,
    strip: Sequence[int] = (),
    curve: Mapping[str, Any] | None = None,
    follow: str = "",
    grows: bool = False,
    exact: Sequence[Sequence[str]] = (),
) -> dict[str, Any]:
    """Return what pair.js is told: ``pair`` at a ``frame``, with a marked ``point`` of the grid.

    ``verdicts`` are by side and frame: the verdict, and what is known besides. ``findings`` are, if
    any, by frame: what is bold, and the rest; a ``note`` may be, too. Another ``scene`` is seen
    from the first view again. Without ``maps`` there are surfaces and colours alone, and nothing is
    read at a point. The maps of the frames in ``strip`` stand below; with a ``curve`` they are
    the axis of a column chart that is drawn as the frames play: its title, (name, colour, numbers,
    complete) of one or two "bars", and perhaps their "ranges" (low, high) over several "seeds". For
    a new text ``follow`` frames play once from the first; while the run ``grows``, whoever looks at
    the last one sees the next ones. ``exact`` is shown on hover, by side and frame.
    """
    sides = [
        {
            "name": side.name,
            "short": side.short,
            "flat": [*map(bool, side.flat)],
            "corners": None if side.corners is None else side.corners.reshape(-1, 3, 3).tolist(),
            "classes": side.classified and [*side.classified.colours],
            "plain": not maps or _is_plain(side),
            "ground": None if side.ground is None else side.ground.tolist(),
            "origin": None if side.origin is None else side.origin.tolist(),
            "second": side.second and asdict(side.second[0]),
            "cut": side.cut or side.classified is not None,
            "lined": side.lined,
            "symbols": [*side.read],
            "verdict": [word for word, _ in told],
            "more": [more for _, more in told],
            "exact": [*hover],
        }
        for side, told, hover in zip(
            pair.sides, verdicts, exact or [[]] * len(pair.sides), strict=True
        )
    ]
    return {
        "scene": scene,
        "eye": pair.eye,
        "labels": [*pair.labels],
        "places": [*map(float, pair.places)],
        "frame": frame,
        "point": point,
        "sides": sides,
        "findings": findings,
        "scale": pair.scale,
        "ends": pair.ends,
        "symbol": pair.symbol,
        "alone": pair.alone,
        "keys": pair.keys,
        "whole": pair.whole,
        "headlit": pair.headlit,
        "moves": pair.back is not None,
        "quantity": quantity,
        "names": names,
        "notes": [note] * len(pair.places) if isinstance(note, str) else note,
        "maps": maps,
        "strip": [*strip],
        "curve": curve,
        "follow": follow,
        "grows": grows,
    }


def _is_plain(side: Side) -> bool:
    """Return whether K is known to be zero everywhere, and the map would show nothing else."""
    curved = side.classified is not None or np.nan_to_num(side.gaussian, nan=1.0).any()
    return not curved and not np.ptp(np.nan_to_num(side.shares, nan=2.0))


def is_sound(message: Any, frames: int, size: int) -> bool:
    """Return whether our own script could have sent this message; see `wire.receive`."""
    frame, point, corners = message["frame"], message["point"], message["corners"]
    return (
        type(frame) is int
        and 0 <= frame < frames
        and (point is None or (isinstance(point, list) and len(point) == 2))
        and all(type(x) is int and 0 <= x < size for x in point or ())
        and (corners is None or (isinstance(corners, list) and len(corners) == 3))
        and all(isinstance(x, list) and len(x) == 3 for x in corners or ())
        and all(
            type(x) in (int, float) and abs(x) <= FARTHEST for row in corners or () for x in row
        )
    )
