"""The wall: a window for each head of a model that reads a text; a click opens the head.

All of it is drawn in the browser; Python hears of the open head and its mark when the visitor lets
go. Scores are affine in the chart's coordinates: three numbers for each key.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ui.components import wire
from ui.components.source import declare

Head = tuple[int, int]  # layer and head, from 0
Point = tuple[float, float]  # of the chart [-1, 1]²
_component = declare("heads")


@dataclass(frozen=True, eq=False)
class Wall:
    """The heads of one model on one text; L layers, H heads, T tokens, n of them keys."""

    scores: np.ndarray  # (L, H, 3, n): at the origin of the chart, and the slopes along u and v
    values: np.ndarray  # (L, H, n, 3): in the three principal components of the head's outputs
    states: np.ndarray  # (L, T, 2): the tokens' own states in the chart
    layer_names: Sequence[str]  # (L,)
    words: Sequence[str]  # (T,)
    glued: Sequence[bool]  # (T,): no space before the word
    special: Sequence[bool]  # (T,)
    ranks: np.ndarray  # (T,): of the token by the area where it gets most of the attention
    keys: Sequence[int]  # (n,): the tokens among the keys


@dataclass(frozen=True)
class Frames:
    """The windows' frames, coloured by one quantity; of each head a colour and a text, row-wise."""

    name: str
    colours: Sequence[str]
    texts: Sequence[str]


@dataclass(frozen=True)
class Numbers:
    """A finding about one head, the rows (name, total, span) of it and its twins, and the rest."""

    finding: str
    rows: Sequence[tuple[str, str, str]]
    rest: str


@dataclass(frozen=True, eq=False)
class Chart:
    """The open ``head`` on a plane of its own; arrays as those of the wall, for one head."""

    head: Head
    tokens: Sequence[int]  # (n,) of the keys
    scores: np.ndarray  # (3, n): the weights themselves where they are ``prescribed``
    values: np.ndarray  # (n, 3)
    states: np.ndarray  # (T, 2)
    prescribed: bool
    three: Sequence[int]  # tokens whose states are marked on the chart
    numbers: Numbers
    about: str


def heads(
    wall: Wall,
    *,
    key: str,
    numbers: Sequence[Numbers],
    hint: str,
    about: str,
    frames: Frames | None,
    opened: Head | None,
    chart: Chart | None,
    at: Point | None,
    on_open: Callable[[Head | None, Point | None], None],
) -> None:
    """Draw the ``wall``, or the head that is ``opened``, its mark ``at`` a point.

    ``numbers`` (L H) are those of the heads, row-wise. The ``hint`` stands over the wall, and
    ``about`` under an open head; its own ``chart``, if given, takes the place of the wall's. When a
    head is opened, its mark let go, or the wall shown again, ``on_open`` gets head and point, once:
    it must store them.
    """
    arrays = {"scores": wall.scores, "values": wall.values, "states": wall.states}
    layers, count = wall.scores.shape[:2]

    def hear(opened: Any) -> None:
        head, point = opened["open"], opened["at"]
        on_open(head and (head[0], head[1]), point and (float(point[0]), float(point[1])))

    header = {
        "layers": layers,
        "heads": count,
        "layerNames": [*wall.layer_names],
        "words": [*wall.words],
        "glued": [*map(bool, wall.glued)],
        "special": [*map(bool, wall.special)],
        "ranks": [*map(int, wall.ranks)],
        "keys": [*wall.keys],
        "numbers": [[x.finding, x.rows, x.rest] for x in numbers],
        "hint": hint,
        "about": about,
        "frames": frames and asdict(frames),
        "open": opened,
        "chart": chart and _as_json(chart),
        "at": at,
    }
    packed = wire.packed_once(wall, lambda: arrays)
    receive = wire.listener(key, "opened", lambda found: is_sound(found, layers, count), hear)
    wire.draw_large(_component, key, header, packed, on_opened_change=receive)


def _as_json(chart: Chart) -> dict[str, Any]:
    numbers = chart.numbers
    flat = {
        name: np.asarray(getattr(chart, name), float).ravel().tolist()
        for name in ("scores", "values", "states")
    }
    return flat | {
        "head": chart.head,
        "tokens": [*map(int, chart.tokens)],
        "prescribed": chart.prescribed,
        "three": [*chart.three],
        "numbers": [numbers.finding, numbers.rows, numbers.rest],
        "about": chart.about,
    }


def is_sound(message: Any, layers: int, count: int) -> bool:
    """Return whether our own script could have sent this message; see `wire.receive`."""
    head, point = message["open"], message["at"]
    if head is None:
        return point is None
    return (
        isinstance(head, list)
        and len(head) == 2
        and all(type(x) is int for x in head)
        and 0 <= head[0] < layers
        and 0 <= head[1] < count
        and isinstance(point, list)
        and len(point) == 2
        and all(type(x) in (int, float) and abs(x) <= 1 for x in point)
    )
