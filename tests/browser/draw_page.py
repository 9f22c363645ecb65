"""A page for the tests of `ui.components.draw`: a square to draw in, what it reported, a reset.

The address says how many classes there are and how many points fit.
"""

import json

import streamlit as st

from ui.components.draw import draw, drawn
from ui.drawing.palette import CLASS_COLOURS

NAMES = ("blue", "orange", "green", "purple")
COLOURS = (*CLASS_COLOURS, "#2a9d63", "#a855c7")
START = ((-0.5, 0.5), (0.5, -0.5), (0.75, -0.25)), (0, 1, 1)


def key() -> str:
    """Another one for each visit, so that the browser makes a new square."""
    return f"own {st.session_state['visit']}"


def hear() -> None:
    st.session_state["heard"].append(drawn(key()))
    st.session_state["drawing"] = drawn(key())


def reset() -> None:
    st.session_state["drawing"] = START


def page() -> None:
    heard = st.session_state.setdefault("heard", [])
    classes = int(st.query_params.get("classes", 2))
    points, labels = st.session_state.setdefault("drawing", ((), ()))
    st.button("Reset", on_click=reset)
    draw(
        key=key(),
        points=points,
        labels=labels,
        class_names=NAMES[:classes],
        colours=COLOURS[:classes],
        on_change=hear,
        most=int(st.query_params.get("most", 500)),
    )
    st.code(json.dumps(heard), language=None)
    for _ in range(60):
        st.write("Something to scroll by.")
