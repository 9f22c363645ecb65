"""A page for the tests of `ui.components.pad`: a pad, everything that it reported, and an undo.

It takes a position over only when the visitor lets go: until then the pad is redrawn with stale
positions, which must not pull a handle out of the visitor's hand.
"""

import json

import streamlit as st

from ui.components.pad import Handle, pad

EXTENT = 2.0
NAMES = ("value 1", "value 2", "far", "query")
COLOURS = ("#2f7fd1", "#e07b00", "#3a9d5d", "#b0489c")
START = ((0.5, 1.0), (-1.0, -0.5), (3.2, -0.4), (1.0, -1.0))  # the third lies outside


def key() -> str:
    """Another one for each visit, so that the browser makes a new pad."""
    return f"triangle {st.session_state['visit']}"


def hear() -> None:
    moved = st.session_state[key()]["moved"]
    states = st.session_state["states"]
    st.session_state["heard"].append(moved)
    if moved["done"]:
        places = list(states[-1])
        places[moved["index"]] = (moved["x"], moved["y"])
        states.append(tuple(places))


def undo() -> None:
    if len(st.session_state["states"]) > 1:
        st.session_state["states"].pop()


def page() -> None:
    heard = st.session_state.setdefault("heard", [])
    states = st.session_state.setdefault("states", [START])
    st.button("Undo", on_click=undo)
    pad(
        key=key(),
        handles=[
            Handle(name, x, y, colour, arrow=name == "query")
            for name, colour, (x, y) in zip(NAMES, COLOURS, states[-1], strict=True)
        ],
        extent=EXTENT,
        label="Values and query",
        x_name="x",
        y_name="y",
        polygon=True,
        on_move=hear,
    )
    st.code(json.dumps(heard), language=None)
    for _ in range(60):
        st.write("Something to scroll by.")
