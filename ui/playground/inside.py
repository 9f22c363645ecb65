"""What goes on inside both models, where the film stands: every attention weight and gate?"""

from __future__ import annotations

import streamlit as st

from gating_core.experiments.comparison import drawn_frames, inside
from ui.common.words import short
from ui.playground.figures import inside_figure, span
from ui.playground.training import Wish, sides_of, stopped_frame
from ui.work.runs import Shown

SMALL = "inside_small"
NOTHING = 1e-6  # of the other end of a scale


def draw_inside(shown: Shown, wished: Wish) -> None:
    """Small multiples of weights and gates of both models where the film stands; or one of them."""
    run, member = shown.run, wished.member(shown.run)
    frame = int(drawn_frames(run)[stopped_frame(run)])
    fields = {
        f"{side} · {place}": field
        for side, name in sides_of(run).items()
        for place, field in inside(run, name, member, frame).items()
    }
    low, high = span(fields)
    st.caption(
        f"Every attention weight and gate over the input square, seed {run.task.seeds[member]},"
        f" step {run.steps[frame]}, where the film stands. One colour scale, from {_end(low, high)}"
        f" (dark) to {_end(high, low)}. Click one to enlarge it, or choose it here."
    )
    large = st.pills("Enlarge", tuple(fields), key="enlarged")
    chosen = {large: fields[large]} if large in fields else fields
    st.plotly_chart(
        inside_figure(chosen, (low, high)), key="inside_large" if large in fields else SMALL,
        on_select=_on_field, selection_mode="points", config={"displayModeBar": False},
        alt="Attention weights and gates of both models over the input square.",
    )  # fmt: skip
    if large in fields:
        st.button("Show all", icon=":material/grid_view:", on_click=_show_all, key="inside_all")


def _end(number: float, other: float) -> str:
    """An end of the scale; zero where no colour tells it from that."""
    return short(0.0 if abs(number) < NOTHING * abs(other) else number)


def _on_field() -> None:
    chart = st.session_state.get(SMALL)
    points = chart["selection"]["points"] if chart else ()
    if points:
        st.session_state["enlarged"] = points[0]["customdata"]


def _show_all() -> None:
    st.session_state["enlarged"] = None
