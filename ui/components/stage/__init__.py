"""The stage: one surface that lifts while the gate opens, and a classifier's plane to cut it with.

All of it moves in the browser; Python hears of strength and plane when the visitor lets go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ui.components import wire
from ui.components.source import declare
from ui.drawing import palette

UNIT = 1e-3  # by which a normal may differ from length 1
FARTHEST = 10.0  # of a plane from the origin
Plane = tuple[float, ...]  # (4,): class 1 where a x + b y + c z + d > 0
_component = declare("stage")


def stage(
    scene: Any,
    *,
    key: str,
    flat: bool,
    curved: bool,
    strength: float,
    plane: Plane | None,
    on_leave: Callable[[float, Plane | None], None],
    ask: bool = False,
    hold: bool = False,
) -> None:
    """Draw ``scene`` at a gate ``strength``, cut by ``plane``, or by the fitted one.

    A scene has, for F surfaces, T fitted planes, R x R grid points and P test points, ``strengths``
    (F,), ``surfaces`` (F, R, R, 3), ``test_values`` (F, P, 3), ``test_points`` (P, 2),
    ``test_labels`` (P,), ``planes`` (T, 4) at T even strengths from 0 to 1, ``corners`` (3, 3),
    and an ``eye``, azimuth and elevation; between two strengths outputs change linearly.

    ``flat`` says that the surface at strength 0 is, by proof, ``curved`` that the one at strength 1
    is, by its verdict. With ``ask`` a visitor who comes for the first time is asked before anything
    is shown. With ``hold`` nothing but the flat surface is shown, until a call without it opens the
    gate. When the visitor lets go, ``on_leave`` gets strength and plane, once: it must store them.
    """

    def arrays() -> dict[str, np.ndarray]:
        return {
            "surfaces": scene.surfaces,
            "testValues": scene.test_values,
            "testPoints": scene.test_points,
            "labels": scene.test_labels.astype(np.uint8),
            "planes": scene.planes,
            "corners": scene.corners,
        }

    def hear(left: Any) -> None:
        on_leave(float(left["strength"]), left["plane"] and tuple(map(float, left["plane"])))

    header = {
        "strengths": [*map(float, scene.strengths)],
        "strength": float(strength),
        "plane": plane and [*map(float, plane)],
        "colours": palette.CLASS_COLOURS[:2],
        "pointColours": palette.POINT_COLOURS[:2],
        "flat": flat,
        "curved": curved,
        "eye": scene.eye,
        "ask": ask,
        "hold": hold,
    }
    packed = wire.packed_once(scene, arrays)
    receive = wire.listener(key, "left", is_sound, hear)
    wire.draw_large(_component, key, header, packed, on_left_change=receive)


def is_sound(message: Any) -> bool:
    """Return whether our own script could have sent this message; see `wire.receive`."""
    strength, plane = message["strength"], message["plane"]
    return (
        type(strength) in (int, float)
        and 0 <= strength <= 1
        and (plane is None or (isinstance(plane, list) and is_plane(plane)))
    )


def is_plane(numbers: Sequence[Any]) -> bool:
    """Return whether these are a unit normal and an offset within reach."""
    return (
        len(numbers) == 4
        and all(type(x) in (int, float) and abs(x) <= FARTHEST for x in numbers)
        and abs(math.hypot(*numbers[:3]) - 1) <= UNIT
    )
