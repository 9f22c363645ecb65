"""The tabs Theorem and Gate design.

Theorem: the flatness theorem, and counterexamples to what it does not say. Gate design: the gate
that turns the flat surface into a shape.
"""

from __future__ import annotations

import numpy as np
import streamlit as st

import gating_core.theory as theory
from gating_core.geometry import SurfaceResult, square_grid
from gating_core.theory import GateDesign
from ui.common.charts import Charts
from ui.common.formatting import short, verdict_text
from ui.common.lessons import section
from ui.common.links import LINK
from ui.drawing.colours import scale_of
from ui.gates.frames import GRID_SIZE, frame_of
from ui.gates.maps import map_figure
from ui.gates.picture import (
    CSS,
    SEEDS,
    GatePicture,
    draw_gate,
    finding,
    gate_picture,
    range_with_doubt,
)
from ui.work import pool
from ui.work.cache import cached

# --- Theorem --------------------------------------------------------------------------------------


SLICES = tuple(name for name, each in theory.COUNTEREXAMPLES.items() if each.point == "slice")
OTHERS = tuple(name for name, each in theory.COUNTEREXAMPLES.items() if each.point != "slice")


@cached("Measuring the counterexamples …")
def counterexamples(names: tuple[str, ...], seed: int) -> tuple[theory.MeasuredCounterexample, ...]:
    """Measure ungated models that curve, each with its twin: a third of a second each."""
    return pool.POOL.map(
        theory.measure_counterexample, [(name, seed, square_grid(GRID_SIZE)) for name in names]
    )


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
        column.markdown(f"$K$ of an ungated layer with {record.title}")
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


# --- Gate design ----------------------------------------------------------------------------------


SIZES = (0.25, 2.0)  # of the shape, where the surface is 1 from the origin


@cached()
def designed(shape: str, size: float) -> tuple[GateDesign, GatePicture]:
    """Return the gate for a shape, and its picture: some tenth of a second."""
    found = pool.POOL.call(theory.design, shape, size, square_grid(GRID_SIZE))
    return found, gate_picture([frame_of(found.image)], title="The gated surface")


def draw_design() -> None:
    """Draw the gate that a shape needs, and the surface under it."""
    st.html(CSS)
    left, right, _ = st.columns([3, 3, 5], vertical_alignment="bottom")
    shape = left.selectbox("Shape", [*theory.SHAPES], key="target", **LINK)
    size = right.slider("Its size", *SIZES, 0.75, 0.05, key="target_size", **LINK,
                        help=section("gates", "help_size"))  # fmt: skip
    design, picture = designed(shape, size)
    frame, why = frame_of(design.image), theory.SHAPES[shape].why
    st.markdown(f"*{why[:1].upper()}{why[1:]}.* {design_text(design)}")
    with st.container(key="gates_shape"):
        draw_gate(
            picture,
            [frame],
            "K",
            [finding(f"Under the gate for the {shape}, the surface is", frame, ".")],
            key="gates_shape_view",
            scene=f"{shape} {size}",
            frame=0,
        )


def design_text(design: GateDesign) -> str:
    """Say at the grid's points the gate's range, and whether a sigmoid has such values."""
    agree = "agree" if design.agrees else "**do not agree**"
    text = (
        f"The gate's values lie between {short(design.lowest)} and {short(design.highest)}. K of"
        f" its image and of the shape itself, {range_with_doubt(design.image.surface)}, {agree}"
        " within their errors."
    )
    if design.sigmoid_reaches:
        return f"{text} **A sigmoid reaches it**: all values are between 0 and 1."
    return (
        f"{text} **No sigmoid reaches it**: that needs values below 1, a size below"
        f" {short(design.size_limit)}."
    )
