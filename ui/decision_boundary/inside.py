"""What goes on inside both models, where the film stands: every attention weight and gate?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import drawn_frames, layer_maps
from ui.common.words import short
from ui.decision_boundary.figures import SEPARATOR, inside_figure, span
from ui.decision_boundary.film import sides_of
from ui.decision_boundary.names import TITLES
from ui.decision_boundary.training import Wish, stopped_frame
from ui.work.runs import Shown

SMALL = "inside_small_"
NOTHING = 1e-6  # of the other end of a scale


def draw_inside(shown: Shown, wished: Wish) -> None:
    """Small multiples of weights and gates of both models where the film stands; or one of them."""
    run, member = shown.run, wished.member(shown.run)
    frame = int(drawn_frames(run)[stopped_frame(run)])
    found = {s: layer_maps(run, name, member, frame) for s, name in sides_of(run).items()}
    fields = {f"{s}{SEPARATOR}{place}": x for s, own in found.items() for place, x in own.items()}
    low, high = span(fields)
    st.caption(
        f"Every attention weight and gate over the input square, seed {run.task.seeds[member]},"
        f" step {run.steps[frame]}, where the film stands. One colour scale, from {_end(low, high)}"
        f" (dark) to {_end(high, low)}. Click one to enlarge it, or choose it here."
    )
    large = st.pills("Enlarge", tuple(fields), key="enlarged")
    if large in fields:
        _draw({large: fields[large]}, (low, high), (large,), "inside_large")
        st.button("Show all", icon=":material/grid_view:", on_click=_show_all, key="inside_all")
        return
    places = max(found.values(), key=len)  # the other model has some of them
    for column, (side, own) in zip(st.columns(len(found)), found.items(), strict=True):
        column.markdown(f"**{TITLES[sides_of(run)[side]]}**")
        with column:
            _draw(
                {f"{side}{SEPARATOR}{place}": field for place, field in own.items()},
                (low, high),
                [f"{side}{SEPARATOR}{place}" for place in {**places, **own}],
                SMALL + side,
            )


def _draw(
    fields: dict[str, np.ndarray], ends: tuple[float, float], order: Sequence[str], key: str
) -> None:
    st.plotly_chart(
        inside_figure(fields, ends, order), key=key, on_select=lambda: _on_field(key),
        selection_mode="points", config={"displayModeBar": False},
        alt="Attention weights and gates over the input square.",
    )  # fmt: skip


def _end(number: float, other: float) -> str:
    """An end of the scale; zero where no colour tells it from that."""
    return short(0.0 if abs(number) < NOTHING * abs(other) else number)


def _on_field(key: str) -> None:
    chart = st.session_state.get(key)
    points = chart["selection"]["points"] if chart else ()
    if points:
        st.session_state["enlarged"] = points[0]["customdata"]


def _show_all() -> None:
    st.session_state["enlarged"] = None
