"""A square to draw in: the visitor paints points of two to four classes and erases them.

The browser has the picture while it is drawn; Python receives all points after each stroke.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ui.components import wire
from ui.components.source import declare

DIGITS = 3  # of a coordinate: finer than a hand can point

Point = tuple[float, float]

_component = declare("draw")


def draw(
    *,
    key: str,
    points: Sequence[Point],
    labels: Sequence[int],
    class_names: Sequence[str],
    colours: Sequence[str],
    on_change: Callable[[tuple[Point, ...], tuple[int, ...]], None],
    most: int = 500,
) -> None:
    """Show ``points`` of [-1, 1]^2 in a square and let the visitor draw more, or erase some.

    ``labels`` are indices of ``class_names``, of which there are two to four; ``colours`` are any
    CSS colours. At most ``most`` points fit. After a stroke, a tap, an undo or a clearing,
    ``on_change`` gets all points, rounded to three digits, and their labels, and stores them, as
    the next run shows ``points`` and ``labels`` again, except for strokes that Python has not
    received yet.
    """

    def hear(message: Any) -> None:
        drawn = tuple((_rounded(x), _rounded(y)) for x, y in message["points"])
        on_change(drawn, tuple(message["labels"]))

    _component(
        key=key,
        data={
            # Rounded as in the browser, or they would come back as changes.
            "points": [[_rounded(x), _rounded(y)] for x, y in points],
            "labels": [int(label) for label in labels],
            "class_names": list(class_names),
            "colours": list(colours),
            "most": most,
            "heard": wire.heard(key),
        },
        on_drawn_change=wire.listener(
            key, "drawn", lambda x: _is_sound(x, len(class_names), most), hear
        ),
    )


def _is_sound(message: Any, classes: int, most: int) -> bool:
    """Return whether our own script could have sent this message."""
    points, labels = message["points"], message["labels"]
    return (
        isinstance(points, list)
        and isinstance(labels, list)
        and len(points) == len(labels) <= most
        and all(len(point) == 2 for point in points)
        and all(type(x) in (int, float) and abs(x) <= 1 for point in points for x in point)
        and all(type(label) is int and 0 <= label < classes for label in labels)
    )


def _rounded(x: float) -> float:
    return round(float(x), DIGITS) + 0.0  # no -0
