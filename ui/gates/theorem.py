"""The tab Theorem: the flatness theorem, and counterexamples to what it does not say."""

from __future__ import annotations

import numpy as np
import streamlit as st

import gating_core.theory as theory
from gating_core.geometry import SurfaceResult, square_grid
from ui.common.charts import Charts
from ui.common.formatting import verdict_text
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing.colours import scale_of
from ui.gates.frames import GRID_SIZE
from ui.gates.maps import map_figure
from ui.gates.shared import SEEDS, range_with_doubt
from ui.work import pool
from ui.work.cache import cached

SLICES = tuple(name for name, each in theory.COUNTEREXAMPLES.items() if each.point == "slice")
OTHERS = tuple(name for name, each in theory.COUNTEREXAMPLES.items() if each.point != "slice")


@cached("Measuring the counterexamples …")
def counterexamples(names: tuple[str, ...], seed: int) -> tuple[theory.MeasuredCounterexample, ...]:
    """Measure ungated models that curve, each with its twin: a third of a second each."""
    grid = square_grid(GRID_SIZE)
    return pool.POOL.map(theory.measure_counterexample, [(name, seed, grid) for name in names])


def draw() -> None:
    """Draw the theorem, and K of three ungated models that curve."""
    charts = Charts("theorem")
    st.markdown(section("gates", "theorem"))
    left, right, _ = st.columns([5, 3, 3], vertical_alignment="bottom")
    chosen = left.radio(
        "Counterexample of a curved slice", SLICES, key="slice_by", horizontal=True, **LINK
    )
    seed = right.number_input(
        "Seed of all models",
        *SEEDS,
        0,
        1,
        key="premise_seed",
        **LINK,
        help=section("gates", "help_premise_seed"),
    )
    names = (chosen, *OTHERS)
    rows = zip(st.columns(3), names, counterexamples(names, seed), strict=True)
    for number, (column, name, each) in enumerate(rows, 1):
        record, surface = theory.COUNTEREXAMPLES[name], each.surface
        text = counterexample_text(surface, each.twin, each.exact)
        column.markdown(f"**{number}. {theory.THEOREM_GAPS[record.point]}**  \n{record.why}")
        column.markdown(f"K of an ungated layer with {record.title}")
        known, error = surface.known[-1], surface.known_error[-1]
        signed, scale = surface.signed[-1], scale_of("curvature", [known])
        figure = map_figure(known, surface.axis, scale, "K", signed, error)
        charts.draw(name.replace(" ", "_"), column, figure, text.replace("*", ""))
        column.markdown(text)
    charts.draw_footer(section("gates", "premises", seed=seed))


def counterexample_text(surface: SurfaceResult, twin: SurfaceResult, exact: float | None) -> str:
    """Say what an ungated model and its twin do."""
    closed = ""
    if exact is not None:
        gap = np.abs(surface.known[-1] - exact)
        held = bool((gap <= surface.known_error[-1])[np.isfinite(gap)].all())
        agrees = "within its error everywhere" if held else "**not within its error everywhere**"
        closed = f" Exact K = {exact:.6g}: {agrees}."
    return (
        f"**{verdict_text(surface.verdicts[0])}**; {range_with_doubt(surface)}.{closed}"
        f"  \nWithout it: **{verdict_text(twin.verdicts[0])}**."
    )
