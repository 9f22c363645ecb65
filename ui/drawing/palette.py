"""Colours: chosen to be told apart with every colour deficiency and on both themes.

The neutral colour in the middle of a diverging scale is a grey that stands out from white and
from black paper. Colour is never the only channel: contours and signs go with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

CLASS_COLOURS = ("#2b6cb0", "#e07b1a", "#2a9d63", "#a855c7")  # blue, orange, green, purple
POINT_COLOURS = ("#0b3c6f", "#8f4300", "#0f5132", "#581c87")  # dark enough on their own class
SIDE_COLOURS = {"left": "#6b7280", "right": "#a21caf"}  # of compared variants: grey, magenta
BESIDE = "#0f8f7f"  # variants that are neither left nor right
NEUTRAL = "#c9c9c9"
LINE = "#1b1b1b"  # decision curve and K = 0, on coloured surfaces
GRID_LINE = "#5b5f66"
ACCENT = "#c026d3"  # the picked point, and the triangle of the values
PLANE = "#7a8794"

Scale = list[tuple[float, str]]


# PuOr of ColorBrewer (Brewer, Harrower and Penn State, Apache 2.0), its middle made darker.
SIGNED_SCALE: Scale = [
    (0.0, "#542788"),
    (0.25, "#998ec3"),
    (0.5, NEUTRAL),
    (0.75, "#f1a340"),
    (1.0, "#b35806"),
]


# Cividis (Nunez, Anderton and Renslow 2018), at five stops.
SEQUENTIAL_SCALE: Scale = [
    (0.0, "#00204d"),
    (0.25, "#414d6b"),
    (0.5, "#7c7b78"),
    (0.75, "#bcaf6f"),
    (1.0, "#ffea46"),
]
COLOUR_RANGE_FLOOR = 1e-6  # a flat pair is drawn neutral, not as amplified rounding


def symmetric_range(largest: float) -> tuple[float, float]:
    """Return a range of colours about zero that never collapses."""
    end = max(largest, COLOUR_RANGE_FLOOR)
    return -end, end


def class_scale(colours: Sequence[int]) -> Scale:
    """Return the colour scale of classes, given by their numbers in `CLASS_COLOURS`.

    Two classes: a scale of the probability of the second, with a neutral middle. More: one flat
    colour each, for numbers from 0 to the count less 1.
    """
    first, *rest = (CLASS_COLOURS[number] for number in colours)
    if len(rest) == 1:
        return [(0.0, first), (0.5, NEUTRAL), (1.0, rest[0])]
    edges = [(2 * i - 1) / (2 * len(rest)) for i in range(len(rest) + 2)]
    ends = [min(max(edge, 0.0), 1.0) for edge in edges]
    return steps(ends, (first, *rest))


def steps(ends: Sequence[float], colours: Sequence[str]) -> Scale:
    """Return a scale of flat ``colours``, each between two of one more ``ends``."""
    pairs = zip(ends, ends[1:], colours, strict=False)
    return [(end, colour) for low, high, colour in pairs for end in (low, high)]


CLASS_SCALE = class_scale((0, 1))


def colour_at(scale: Scale, share: float) -> str:
    """Return the colour of a ``scale`` at a ``share`` from 0 to 1, linear between its stops."""
    share = min(max(share, 0.0), 1.0)
    low, high = next(pair for pair in pairwise(scale) if share <= pair[1][0])
    part = (share - low[0]) / (high[0] - low[0])
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for _, colour in (low, high)]
    return "#" + "".join(f"{round(a + part * (b - a)):02x}" for a, b in zip(*ends, strict=True))
