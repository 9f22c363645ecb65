"""The controls of the Depth page, all of them in its link."""

from __future__ import annotations

from streamlit.delta_generator import DeltaGenerator

from gating_core.experiments.comparison import LIMITS
from gating_core.experiments.depth import ARRANGEMENTS, QUANTITIES
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Fold, Number
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.link_check import forget
from ui.common.link_controls import GridPoint
from ui.depth import measured
from ui.depth.replay import REPLAY_GRID
from ui.depth.request import (
    DEPTHS,
    MEMBERS,
    SHIPPED,
    SIDE_BY_SIDE,
    STACKED,
    TRAINED,
    UNTRAINED,
    DepthSelection,
)

QUANTITY_WORDS = {  # as short as a menu needs them
    "total ∫|K| dA": "total",
    "mean |K|": "mean",
    "|K| at the centre": "centre",
    "the paper's proxy": "proxy",
    "diameter": "diameter",
}

DEPTH: Controls = table(
    Choice("stacked", "What is stacked", words=STACKED, shape="selectbox",
        help=section("depth", "stacked")),
    Choice("quantity", "Quantity", words=QUANTITY_WORDS, shape="selectbox",
        help="; ".join(f"{q.symbol}: {q.title}" for q in QUANTITIES.values())),
    Choice("around", "Around attention", shape="selectbox",
        words={arrangement.words: name for name, arrangement in ARRANGEMENTS.items()},
        help=section("depth", "around")),
    Choice("strong", "Replayed", words={"weak": False, "strong": True}, width="stretch",
        help=section("depth", "strong")),
    Choice("gated", "Replayed", words={"ungated": False, "gated": True}, width="stretch"),
    Choice("tall", "Its layers", field="layers", shape="selectbox",
        words={str(depth): depth for depth in DEPTHS}, help=section("depth", "layers")),
    Number("twin", "Seed", field="member", within=MEMBERS, step=1, shape="box",
        help=section("depth", "member", count=UNTRAINED.seed_count)),
    Number("start", "First seed of the training", field="first_seed", within=LIMITS["seed"],
        step=1, shape="box", help=section("depth", "first_seed", count=SHIPPED.seed_count)),
    Number("after", default=0, within=(0, UNTRAINED.depth), shape="box",
        shown_instead="the last layer whose K is known"),
    GridPoint("spot", size=REPLAY_GRID, shown_instead="no point"),
    Fold("every", "All stacks side by side"),
    Fold("theory", "Why: the theory, its limits, and our reading of the paper"),
    of=DepthSelection(),
)  # fmt: skip


def read_selection(below: DeltaGenerator) -> DepthSelection:
    """Draw the controls and read them; those of training are drawn in ``below``."""
    columns = front_columns([4, 4, 3.4, 5, 3])
    stacked = DEPTH["stacked"].draw(columns[0])
    if stacked == SIDE_BY_SIDE:
        return DepthSelection()
    DEPTH["quantity"].draw(columns[1])
    hidden = {"around", "strong", "gated", "tall", "start"}
    if stacked == "aligned":
        shown = {"strong": columns[2]}
    elif stacked == "random":
        shown = {}
    else:
        shown = {"gated": columns[3], "tall" if stacked == TRAINED else "around": columns[2]}
    for name, column in shown.items():
        DEPTH[name].draw(column)
    DEPTH["twin"].draw(columns[4])
    if stacked == TRAINED:
        _training_controls(below)
        hidden.remove("start")
    defaults = {DEPTH[name].feeds: DEPTH[name].default for name in hidden - set(shown)}
    return read(DEPTH, DepthSelection, **defaults)


def choose_stacked(value: str) -> None:
    """Show one stack, layer by layer; for callbacks only."""
    DEPTH["stacked"].set(value)
    forget()


def _training_controls(where: DeltaGenerator) -> None:
    first, button, _ = where.columns([2, 2, 6], vertical_alignment="bottom")
    request = DepthSelection(first_seed=DEPTH["start"].draw(first)).trained
    job = measured.training()
    button.button(
        "Train again" if measured.trained(request) else "Train",
        icon=":material/model_training:", key="train_depths", width="stretch",
        disabled=job is not None and not job.over, on_click=measured.train, args=(request,),
        help=section("depth", "train"),
    )  # fmt: skip
