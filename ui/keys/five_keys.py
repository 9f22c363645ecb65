"""Where the theorem ends: with five keys K may have both signs on one chart."""

from __future__ import annotations

from typing import Any

import streamlit as st

from gating_core.geometry import SurfaceResult, square_grid
from gating_core.theory import measure_keys, random_keys
from ui.common.charts import Charts
from ui.common.formatting import percent
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing.chart_map import chart_map
from ui.drawing.colours import scale_of
from ui.work import pool
from ui.work.cache import cached

COUNTS = (4, 8)  # keys
SEEDS = (0, 9999)
GRID_SIZE = 61
MAP: dict[str, Any] = {
    "height": 320,
    "margin": {"l": 36, "r": 8, "t": 8, "b": 36},
    "showlegend": False,
    "hovermode": "closest",
    "dragmode": False,
}


@cached("Measuring curvature …")
def measured(count: int, seed: int) -> SurfaceResult:
    """Measure random attention over ``count`` slots: a quarter of a second."""
    return pool.POOL.call(measure_random, count, seed)


def measure_random(count: int, seed: int) -> SurfaceResult:
    """Measure it here."""
    layer = random_keys(count, seed)
    return measure_keys(layer.keys, layer.biases, layer.values, square_grid(GRID_SIZE))


def draw() -> None:
    """Draw the controls, the map of K and its sentence, where it is opened."""
    fold = st.expander(
        "Five keys: where the theorem ends", key="five_keys", on_change="rerun", **LINK
    )
    if not fold.open:
        return
    with fold:
        charts = Charts("keys")
        left, right = st.columns([2, 3], gap="large")
        first, second = left.columns(2)
        count = first.number_input("Keys n", *COUNTS, 5, 1, key="key_count", **LINK)
        seed = second.number_input("Seed of the keys", *SEEDS, 3, 1, key="key_seed", **LINK)
        surface = measured(count, seed)
        text = signs_text(count, surface)
        left.markdown(f"**{text}**")
        left.markdown(section("keys", "five"))
        scale = scale_of("curvature", [surface.known[0]])
        figure = chart_map(
            surface.known[0], surface.axis, scale, "K", ("u", "v"), {"thickness": 8, "len": 0.9,
            "tickvals": [0, 0.5, 1], "ticktext": ["K < 0", "0", "K > 0"]}, MAP,
            signed=surface.signed[0], error=surface.known_error[0],
            hatched=True,
        )  # fmt: skip
        charts.draw("signs", right, figure, text)
        charts.draw_footer(section("keys", "five_data", size=GRID_SIZE))


def signs_text(count: int, surface: SurfaceResult) -> str:
    """The shares of the area with each sign, and what that says of the theorem."""
    positive, negative = float(surface.shares.positive[0]), float(surface.shares.negative[0])
    shares = f"K > 0 on {percent(positive)} of the area, K < 0 on {percent(negative)}"
    if positive and negative:
        return f"{count} keys: {shares}. Both signs on one chart."
    return f"{count} keys: {shares}. One sign at the sampled points."
