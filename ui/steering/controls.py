"""The controls of the page Steering, all of them in its link."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.language import SEEDS
from gating_core.steering import STRONGEST_PUSH
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Number, Tabs
from ui.common.front import front_rows
from ui.common.language_models import TONGUES
from ui.common.lessons import section
from ui.common.link_controls import Typed
from ui.limits import STEERED_CHARACTERS
from ui.steering import request

TABS = (request.STEER, request.FEATURES, request.MEASURED)  # as in ui/steering/sections.py
TARGETS = {request.BOTH: request.BOTH, **TONGUES}
FIRST = request.SteeringSelection()
DRAW = Number("opening_draw", "Seed of the text", field="draw", default=FIRST.draw,
              within=(0, 9999), step=1, shape="box",
              help=section("steering", "opening_draw"))  # fmt: skip
TAB = table(Tabs("tab_steering", words=TABS, default=TABS[0]))
ALL = table(
    Choice("steered_gate", "Gate", field="name", words=request.GATES, shape="selectbox"),
    Choice("steered_seed", "Seed", field="seed", words={str(seed): seed for seed in SEEDS},
        shape="selectbox"),
    Typed("opening", "Beginning", field="typed", most=STEERED_CHARACTERS,
        placeholder=section("steering", "placeholder"), shown_instead="a beginning of ours",
        help=section("steering", "opening")),
    Choice("opening_in", "Or one in", field="language", words=TONGUES),
    DRAW,
    Choice("after_layer", "After layer", field="layer",
        words={str(layer): layer for layer in range(1, request.DEPTH + 1)},
        help=section("steering", "after_layer")),
    Choice("dictionary", "Dictionary", field="kind", words=request.DICTIONARIES, shape="selectbox",
        help=section("steering", "dictionary")),
    Number("feature", "Feature", within=(1, request.SIZE), step=1, shape="box"),
    Choice("push_along", "Push along", field="along", words=request.ALONG, shape="selectbox",
        help=section("steering", "push_along")),
    Number("push", "Strength (below 0: the other way)", within=(-STRONGEST_PUSH, STRONGEST_PUSH),
        step=0.5, help=section("steering", "push")),
    Choice("pushed", "The push is", field="mode", words=request.PUSHED,
        help=section("steering", "pushed")),
    of=FIRST,
)  # fmt: skip
MEASURED_CONTROLS = {"steered_gate": ALL["steered_gate"]} | table(
    Choice("outcomes_of", "Seed", field="seed",
        words={request.ALL_SEEDS: request.ALL_SEEDS, **{str(seed): seed for seed in SEEDS}},
        shape="selectbox",
        help=section("steering", "outcomes_of")),
    Choice("steered_to", "Steered to", field="target", words=TARGETS, shape="selectbox",
        help=section("steering", "steered_to")),
    Number("grid_draw", "Seed of the texts", field="draw", within=(0, 9999), step=1, shape="box",
        help=section("steering", "grid_draw")),
    of=request.OutcomeSelection(),
)  # fmt: skip
STEERING: Controls = TAB | ALL | MEASURED_CONTROLS
WIDTHS = {
    "steered_gate": 2.2, "steered_seed": 1.1, "opening": 6, "opening_in": 2.6, "opening_draw": 1.8,
    "after_layer": 2.4, "push_along": 2.6, "dictionary": 2, "feature": 1.6, "push": 3.4,
    "pushed": 3, "outcomes_of": 1.6, "steered_to": 2, "grid_draw": 1.8,
}  # fmt: skip
STEER_ROWS = (
    ("opening", "opening_in", "opening_draw", "steered_gate", "steered_seed"),
    ("push", "pushed", "after_layer", "push_along", "dictionary", "feature"),
)
START_WIDTH = 4  # of the button that measures
FEATURE_ROWS = (("steered_gate", "steered_seed", "after_layer", "dictionary", "feature", "push"),)


def read_selection(rows: Sequence[Sequence[str]], *, steers: bool) -> request.SteeringSelection:
    """Draw the rows of controls and read them; say what is another than was selected.

    Where it ``steers``, a feature is chosen only to be pushed along.
    """
    columns = front_rows([[WIDTHS[key] for key in keys] for keys in rows])
    drawn = {}
    for key, column in zip(chain(*rows), chain(*columns), strict=True):
        chosen = key not in ("dictionary", "feature") or ALL["push_along"].value == request.OWN
        if steers and not chosen:
            continue
        ALL[key].draw(column)
        drawn[key] = ALL[key]
    selection = read(drawn, request.SteeringSelection)
    for note in selection.notes:
        st.caption(f":material/info: {note}")
    return selection


def read_outcome_selection() -> tuple[request.OutcomeSelection, DeltaGenerator]:
    """Draw the controls of outcomes, and read them; return also the column of a button."""
    (columns,) = front_rows([[*(WIDTHS[key] for key in MEASURED_CONTROLS), START_WIDTH]])
    drawn = {}
    for (key, control), column in zip(MEASURED_CONTROLS.items(), columns, strict=False):
        if key == "grid_draw" and MEASURED_CONTROLS["outcomes_of"].value == request.ALL_SEEDS:
            continue
        control.draw(column)
        drawn[key] = control
    return read(drawn, request.OutcomeSelection), columns[-1]
