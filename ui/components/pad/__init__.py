"""A pad: dots and arrows that the visitor drags with pointer or finger, or moves by keys.

They move in the browser at once; Python receives positions several times a second, and always the
last one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ui.components import wire
from ui.components.source import declare

_component = declare("pad")


@dataclass(frozen=True)
class Handle:
    """A named point of the plane, drawn as a dot, or as an arrow that reaches it from the origin.

    ``name`` stands beside it and is read aloud; ``colour`` is any CSS colour.
    """

    name: str
    x: float
    y: float
    colour: str
    arrow: bool = False


def pad(
    *,
    key: str,
    handles: Sequence[Handle],
    extent: float,
    label: str,
    x_name: str,
    y_name: str,
    polygon: bool = False,
    on_move: Callable[[], None],
) -> None:
    """Draw ``handles`` on a square from ``-extent`` to ``extent`` both ways, y upwards.

    A move calls ``on_move``, once, with ``st.session_state[key]["moved"]`` = {index, x, y, done,
    serial}, where x and y lie within the extent and ``done`` says that the visitor has let go. A
    trigger's value is there for one run only: ``on_move`` stores what it needs. The positions drawn
    are those of ``handles``, but a handle stays where the visitor has dragged it until Python has
    received that. A handle outside the extent is shown hollow at the rim.
    ``polygon`` joins the dots, in their order, by a closed line. Whenever it is drawn, other
    components hear of the positions: the event `PAD_MOVED` of svg.js.
    """
    _check(handles, extent)

    def receive() -> None:
        if wire.receive(key, "moved", lambda moved: _is_sound(moved, len(handles), extent)):
            on_move()

    _component(
        key=key,
        data={
            "handles": [
                {**asdict(handle), "x": float(handle.x), "y": float(handle.y)} for handle in handles
            ],
            "key": key,
            "extent": float(extent),
            "label": label,
            "x_name": x_name,
            "y_name": y_name,
            "polygon": polygon,
            "heard": wire.heard(key),
        },
        on_moved_change=receive,
    )


def _check(handles: Sequence[Handle], extent: float) -> None:
    if not (math.isfinite(extent) and extent > 0):
        raise ValueError(f"The extent of a pad must be positive and finite, not {extent}.")
    for handle in handles:
        if not (math.isfinite(handle.x) and math.isfinite(handle.y)):
            raise ValueError(
                f"The handle “{handle.name}” is at ({handle.x}, {handle.y}): "
                "a pad can show finite positions only."
            )


def _is_sound(moved: Any, count: int, extent: float) -> bool:
    """Return whether our own script could have sent this message; see `wire.receive`."""
    return (
        0 <= moved["index"] < count
        and isinstance(moved["index"], int)
        and isinstance(moved["done"], bool)
        and abs(moved["x"]) <= extent
        and abs(moved["y"]) <= extent
    )
