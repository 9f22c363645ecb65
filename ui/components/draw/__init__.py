"""A square to draw in: the visitor paints points of two to four classes and erases them.

The browser has the picture while it is drawn; Python receives all points after each stroke.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from ui.components import wire
from ui.components.source import declare

CLASSES_RANGE = (2, 4)  # each class has a shape of its own, and there are four shapes
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
    on_change: Callable[[], None],
    most: int = 500,
) -> None:
    """Show ``points`` of [-1, 1]^2 in a square and let the visitor draw more, or erase some.

    ``labels`` are indices of ``class_names``, of which there are two to four; ``colours`` are any
    CSS colours. At most ``most`` points fit. After a stroke, a tap, an undo or a clearing,
    ``on_change`` is called; it gets all points from `drawn` and stores them, as the next run shows
    ``points`` and ``labels`` again, except for strokes that Python has not received yet. Raises
    ``ValueError`` for points and classes that cannot be shown.
    """
    _check(points, labels, class_names, colours, most)

    def receive() -> None:
        message = wire.receive(key, "drawn", lambda x: _is_sound(x, len(class_names), most))
        if message:
            drawn_points = tuple((_rounded(x), _rounded(y)) for x, y in message["points"])
            st.session_state[_drawn_key(key)] = drawn_points, tuple(message["labels"])
            on_change()

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
        on_drawn_change=receive,
    )


def drawn(key: str) -> tuple[tuple[Point, ...], tuple[int, ...]]:
    """Return points and labels as the visitor of `draw` left them; for its ``on_change``.

    Checked, rounded to three digits, and hashable, so that they can be a cache's key.
    """
    return st.session_state[_drawn_key(key)]


def _drawn_key(key: str) -> str:
    return f"{key}_drawn"


def _check(
    points: Sequence[Point],
    labels: Sequence[int],
    class_names: Sequence[str],
    colours: Sequence[str],
    most: int,
) -> None:
    fewest_classes, most_classes = CLASSES_RANGE
    if not fewest_classes <= len(class_names) <= most_classes:
        raise ValueError(
            f"Points can be drawn in {fewest_classes} to {most_classes} classes,"
            f" not in {len(class_names)}."
        )
    if len(colours) != len(class_names):
        raise ValueError(f"There are {len(class_names)} classes, but {len(colours)} colours.")
    if len(points) != len(labels):
        raise ValueError(f"There are {len(points)} points, but {len(labels)} labels.")
    if len(points) > most:
        raise ValueError(f"At most {most} points can be drawn, not {len(points)}.")
    for (x, y), label in zip(points, labels, strict=True):
        if not (abs(x) <= 1 and abs(y) <= 1):
            raise ValueError(f"The point ({x}, {y}) lies outside the square from -1 to 1.")
        if label not in range(len(class_names)):
            raise ValueError(
                f"The label {label} is none of the {len(class_names)} classes, counted from 0."
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
