"""Colours, one meaning each, told apart with every colour deficiency and on both themes.

Blue and orange are classes; green and violet are the signs of curvature; grey and magenta are the
two variants compared; the brand is none of these. The neutral colour in the middle of a diverging
scale is a grey that stands out from white and from black paper. Colour is never the only channel:
contours, symbols and signs go with it. Scripts and style sheets get these colours from here
(`css_variables`); Streamlit's own theme, in ``.streamlit/config.toml``, repeats `BRAND`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

BRAND = {"light": "#374151", "dark": "#d1d5db"}  # of buttons and links
CLASS_COLOURS = ("#2b6cb0", "#db7616", "#1c93a1", "#c9709b")  # blue, orange, teal, pink
POINT_COLOURS = ("#0b3c6f", "#8f4300", "#0b4a52", "#7a2850")  # dark enough on their own class
SIDE_COLOURS = {"left": "#6b7280", "right": "#cc0066"}  # of compared variants: grey, magenta
BESIDE = "#0f8f7f"  # variants that are neither left nor right
SERIES = ("#2a9d63", "#a855c7")  # green, purple: two more lines of a chart without curvature
NEUTRAL = "#c9c9c9"
LINE = "#1b1b1b"  # decision curve and K = 0, on coloured surfaces
GRID_LINE = "#5b5f66"
ACCENT = "#c026d3"  # the picked point, and the triangle of the values
PLANE = "#7a8794"

Scale = list[tuple[float, str]]


# After PRGn and PuOr of ColorBrewer (Brewer, Harrower, Penn State; Apache 2.0), the middle darker.
NEGATIVE, POSITIVE = ("#542788", "#998ec3"), ("#17602a", "#6fb36b")  # whole and half
SIGNED_SCALE: Scale = [
    (0.0, NEGATIVE[0]),
    (0.25, NEGATIVE[1]),
    (0.5, NEUTRAL),
    (0.75, POSITIVE[1]),
    (1.0, POSITIVE[0]),
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


# What scripts and style sheets use of them.
NAMED = {
    "accent": ACCENT,
    "neutral": NEUTRAL,
    "line": LINE,
    "grid": GRID_LINE,
    "negative": NEGATIVE[0],
    "half-negative": NEGATIVE[1],
    "half-positive": POSITIVE[1],
    "positive": POSITIVE[0],
    "class-0": CLASS_COLOURS[0],
    "class-1": CLASS_COLOURS[1],
    "left": SIDE_COLOURS["left"],
    "right": SIDE_COLOURS["right"],
    "beside": BESIDE,
}


def css_variables() -> str:
    """Return the rule that names the colours in style sheets: ``var(--gc-accent)``."""
    brand = f"light-dark({BRAND['light']}, {BRAND['dark']})"
    parts = [f"--gc-{name}: {colour};" for name, colour in (NAMED | {"brand": brand}).items()]
    return f":root {{ {' '.join(parts)} }}\n"
