"""The picture of *Which keys curve?*: keys to drag, and the surface that the browser draws of them.

Everything moves in the browser; Python hears of a change when the visitor lets go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ui.components import wire
from ui.components.source import declare
from ui.components.stage import Plane, is_plane

Rows = tuple[tuple[float, ...], ...]
SLOTS = 4
MODES = ("none", "key", "sink")  # what the fourth slot is
EXTENT = 4.0  # of a key's coordinates
LARGEST_BIAS = 4.0
LARGEST_VALUE = 2.0  # of a value's coordinates
_component = declare("keys")


@dataclass(frozen=True)
class FourKeys:
    """Keys in the plane, biases and values in space of four slots; ``at`` is the marked point.

    ``cut`` is a plane (a, b, c, d) that cuts the surface.
    """

    keys: Rows  # (4, 2)
    biases: tuple[float, ...]  # (4,)
    values: Rows  # (4, 3)
    at: tuple[float, ...] | None = None  # (2,)
    cut: Plane | None = None  # (4,)


def keys(
    *,
    key: str,
    mode: str,
    model: FourKeys,
    first: FourKeys,
    on_move: Callable[[FourKeys], None],
    hold: bool = False,
    alone: bool = False,
    elevations: tuple[float, float] | None = None,
) -> None:
    """Draw the plane of the keys and the surface of ``model``; ``mode`` is one of `MODES`.

    In the mode "none" the fourth slot is left out. In "sink" its key and value are the origin, and
    its bias is the sink logit. A button goes back to ``first``. When the visitor lets go,
    ``on_move`` gets the new model, once: it must store what it needs.

    Unless it stands ``alone``, the surface of the other sign is beside it.

    With ``hold`` the picture is shown and says nothing; the first call without it moves keys,
    biases and values to those of its ``model``. ``elevations`` are those of the camera, in radians,
    before and after; with them key 1 and value 1 are both above. Of three values with a marked
    point nothing but that is drawn of the surface while the picture is held.
    """
    _component(
        key=key,
        data={
            "mode": mode,
            "model": asdict(model),
            "first": asdict(first),
            "hold": hold,
            "alone": alone,
            "elevations": elevations,
            "heard": wire.heard(key),
        },
        on_moved_change=wire.listener(key, "moved", is_sound, lambda moved: on_move(_model(moved))),
    )


def is_sound(message: Any) -> bool:
    """Return whether our own script could have sent this message; see `wire.receive`."""
    point, cut = message["at"], message["cut"]
    return (
        _is_table(message["keys"], SLOTS, 2, EXTENT)
        and _is_table([message["biases"]], 1, SLOTS, LARGEST_BIAS)
        and _is_table(message["values"], SLOTS, 3, LARGEST_VALUE)
        and (point is None or _is_table([point], 1, 2, 1.0))
        and (cut is None or (isinstance(cut, list) and is_plane(cut)))
    )


def _is_table(table: Any, rows: int, columns: int, largest: float) -> bool:
    return (
        isinstance(table, list)
        and len(table) == rows
        and all(isinstance(row, list) and len(row) == columns for row in table)
        and all(type(x) in (int, float) and abs(x) <= largest for row in table for x in row)
    )


def _model(message: dict[str, Any]) -> FourKeys:
    def rows(table: Sequence[Sequence[float]]) -> tuple[Any, ...]:
        return tuple(tuple(map(float, row)) for row in table)

    (biases,) = rows([message["biases"]])
    at, cut = (x and rows([x])[0] for x in (message["at"], message["cut"]))
    return FourKeys(rows(message["keys"]), biases, rows(message["values"]), at, cut)
