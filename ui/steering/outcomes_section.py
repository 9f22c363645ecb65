"""The tab Measured: how often steering succeeds, at what cost, against which controls."""

from __future__ import annotations

import streamlit as st

from ui.common.front import front_rows
from ui.common.language_models import UNGATED
from ui.common.lessons import section
from ui.common.words import percent
from ui.drawing.reliability import reliability_chart
from ui.drawing.titled import titled
from ui.steering import outcomes, outcomes_picture, outcomes_words
from ui.steering.controls import MEASURED_CONTROLS, WIDTHS
from ui.steering.parts import draw_csv, draw_explanation, draw_figure
from ui.steering.request import GATES, HELD, RELEASED


def draw_measured() -> None:
    """Draw outcomes of released and of held pushes, the gate's part, and the classifier's."""
    (columns,) = front_rows([[WIDTHS[key] for key in MEASURED_CONTROLS]])
    name, target = (control.draw(column) for control, column in
                    zip(MEASURED_CONTROLS.values(), columns, strict=True))  # fmt: skip
    both = {mode: outcomes.outcome(name, mode, target) for mode in (RELEASED, HELD)}
    most = max(float(of.means[outcomes.NATS].max()) for of in both.values()) + 0.5
    for column, (mode, of) in zip(st.columns(2), both.items(), strict=True):
        with column:
            _draw_outcome(of, mode, (name, target), most)
    released = both[RELEASED]
    st.markdown(f"{outcomes_words.layers_text(released)} {outcomes_words.back_text(released)}")
    left, right = st.columns([7, 6])
    gated = next(value for value in GATES.values() if value != UNGATED)
    differences = outcomes.gate_difference(gated, UNGATED, RELEASED, target)
    with left:
        sentence = outcomes_words.gate_text(differences)
        draw_figure(("gate", target), lambda: titled(outcomes_picture.gate_chart(differences),
                    section("steering", "head_gate")), sentence)  # fmt: skip
        st.markdown(sentence)
    with right:
        bins, ends, share = outcomes.calibration()
        sentence = outcomes_words.calibration_text(bins, share, int(bins[2].sum()))
        draw_figure(("calibration",), lambda: titled(
            reliability_chart([("classifier", bins, ends)], outcomes_picture.HALF_PIXELS),
            section("steering", "head_calibration")), sentence)  # fmt: skip
        st.markdown(sentence)
    with st.container(horizontal=True):
        draw_explanation("outcomes", "outcomes", works=percent(outcomes_words.WORKS),
                         words=percent(outcomes_words.FEW_WORDS),
                         nats=outcomes_words.DEAREST)  # fmt: skip
        draw_csv("Outcomes", lambda: outcomes_words.outcomes_csv(outcomes.shipped()))


def _draw_outcome(
    of: outcomes.Outcome, mode: str, of_what: tuple[str, str], most_nats: float
) -> None:
    sentence = outcomes_words.best_text(of, mode)
    draw_figure((f"outcomes_{mode}", *of_what), lambda: titled(
        outcomes_picture.outcome_chart(of, most_nats),
        section("steering", f"head_{mode}")), sentence)  # fmt: skip
    st.markdown(sentence)
