"""A surface with a plane to drag: where its cut closes, a dome of glass touches the island.

All of it moves in the browser; Python hears of plane and shadow when the visitor lets go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ui.components import wire
from ui.components.source import declare
from ui.components.stage import Plane, is_plane

FARTHEST_TURN = 90  # degrees
_component = declare("islands")


@dataclass(frozen=True, eq=False)
class Scene:
    """A surface at R x R points of its chart; of D = 4 coordinates three at a time are drawn."""

    values: np.ndarray  # (R, R, D)
    gaussian: np.ndarray  # (R, R)
    positive: np.ndarray  # (R, R): max(K, 0) dA for each area of the chart
    mean: np.ndarray  # (R, R): |H|
    thin: np.ndarray  # (R, R): where the map may fold
    shares: np.ndarray  # (R, R): the place of K on the colour scale, 0 to 1


def draw_islands(
    scene: Scene,
    *,
    key: str,
    plane: Plane,
    first: Plane,
    turn: int,
    turns: Sequence[tuple[int, str]],
    scale: Sequence[tuple[float, str]],
    texts: Mapping[str, tuple[str, str]],
    on_move: Callable[[Plane, int], None],
    hold: bool = False,
) -> None:
    """Draw ``scene``, cut by ``plane``; a button goes back to the ``first`` one.

    The third coordinate is turned by ``turn`` degrees towards the fourth; ``turns`` name what the
    shadow is from so many degrees on, and are empty where there is no fourth. ``texts`` are what is
    said of a cut that is "closed" or "open": what is bold, and the rest. When the visitor lets go,
    ``on_move`` gets plane and turn, once: it must store them. With ``hold`` the picture says
    nothing; the first call without it turns the shadow.
    """
    header = {
        "plane": [*map(float, plane)],
        "first": [*map(float, first)],
        "turn": turn,
        "turns": turns or None,
        "scale": scale,
        "texts": texts,
        "hold": hold,
    }
    packed = wire.packed_once(scene, lambda: vars(scene))
    receive = wire.listener(
        key,
        "moved",
        is_sound,
        lambda moved: on_move(tuple(map(float, moved["plane"])), moved["turn"]),
    )
    wire.draw_large(_component, key, header, packed, on_moved_change=receive)


def is_sound(message: Any) -> bool:
    """Return whether our own script could have sent this message; see `wire.receive`."""
    plane, turn = message["plane"], message["turn"]
    return isinstance(plane, list) and is_plane(plane) and type(turn) is int and is_turn(turn)


def is_turn(degrees: float) -> bool:
    """Return whether a shadow can be turned by so many whole degrees."""
    return degrees % 1 == 0 and 0 <= degrees <= FARTHEST_TURN
