"""The tab Gate design: the gate that turns the flat surface into a shape."""

from __future__ import annotations

import streamlit as st

import gating_core.theory as theory
from gating_core.geometry import square_grid
from gating_core.theory import GateDesign
from ui.common.formatting import short
from ui.common.lessons import section
from ui.common.links import LINK
from ui.gates.frames import GRID_SIZE, frame_of
from ui.gates.picture import GatePicture, gate_picture
from ui.gates.shared import CSS, draw_gate, finding, range_with_doubt
from ui.work import pool
from ui.work.cache import cached

SIZES = (0.25, 2.0)  # of the shape, where the surface is 1 from the origin


@cached()
def designed(shape: str, size: float) -> tuple[GateDesign, GatePicture]:
    """Return the gate for a shape, and its picture: some tenth of a second."""
    found = pool.POOL.call(theory.design, shape, size, square_grid(GRID_SIZE))
    return found, gate_picture([frame_of(found.image)], title="The gated surface")


def draw() -> None:
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
