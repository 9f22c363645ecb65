"""The proof of the theorem in three steps, each with a picture, and what it means for the paper."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from ui.common.lessons import section

PICTURES = Path(__file__).resolve().parents[2] / "assets" / "keys"
STEPS = {  # the picture of a step, which is also its section, and what the picture shows
    "orbit": "a dome within a tetrahedron, and an arrow along it from one point to another",
    "tangent": "a line that touches a curve on one side, and one that crosses it, before and after"
    " a projective map",
    "arrangements": "a key inside the triangle of three others: plus; four keys in convex position:"
    " minus",
}


def draw(mode: str) -> None:
    """Draw the three steps side by side, and the consequences below."""
    heading = "Why four keys decide the sign: the proof in three steps"
    if mode == "none":  # the picture above has three keys
        heading = "With a fourth key, the four decide the sign: the proof in three steps"
    st.subheader(heading, anchor=False)
    for column, (name, alt) in zip(st.columns(3, gap="medium"), STEPS.items(), strict=True):
        column.image(str(PICTURES / f"{name}.svg"), width=240, alt=f"Picture: {alt}")
        column.markdown(section("keys", name))
    st.subheader("What this means", anchor=False)
    st.markdown(section("keys", "meaning"))
