"""The controls of the page of depth: all in the link."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from gating_core.experiments.comparison import LIMITS
from gating_core.experiments.depth import ARRANGEMENTS, QUANTITIES
from ui.common.control_table import Controls, read, table
from ui.common.controls import Choice, Fold, Number
from ui.common.front import front_columns
from ui.common.link_check import forget
from ui.common.link_controls import GridPoint
from ui.components.view3d import clicked, stopped
from ui.depth import measured
from ui.depth.replay import REPLAY_GRID
from ui.depth.request import DEPTHS, MEMBERS, SHIPPED, STACKED, TRAINED, UNTRAINED, Request

VIEW_KEY = "depth_view"
WORDS = {  # of quantities, as short as a menu needs them
    "total curvature ∫|K| dA": "total",
    "mean |K|": "mean",
    "|K| at the centre": "centre",
    "the paper's proxy": "proxy",
    "diameter": "diameter",
}

DEPTH: Controls = table(
    Choice("stacked", "What is stacked", words=STACKED, shape="selectbox",
        help="*aligned gates*: the structured regime, in our reading of the paper: the same small"
        " quadratic gate in every layer. *random gates*: such gates with random coefficients of"
        " mean zero. *random stacks*: attention layers with random weights. *trained stacks*:"
        " layers that have learned a circle, each depth trained for itself."),
    Choice("quantity", "Quantity", words=WORDS, shape="selectbox",
        help="; ".join(f"{q.symbol}: {q.title}" for q in QUANTITIES.values())),
    Choice("around", "Around attention", shape="selectbox",
        words={arrangement.words: name for name, arrangement in ARRANGEMENTS.items()},
        help="What each random layer has beside attention and its gate."),
    Choice("strong", "Replayed", words={"weak": False, "strong": True}, width="stretch",
        help="Gates 1 − ε(y₁² + y₂²): ε is so small that theory holds through all layers, or so"
        " large that growth comes to its end."),
    Choice("gated", "Replayed", words={"ungated": False, "gated": True}, width="stretch"),
    Choice("tall", "Its layers", field="layers", shape="selectbox",
        words={str(depth): depth for depth in DEPTHS},
        help="Which of the trained stacks is replayed, from layer to layer."),
    Number("twin", "Seed", field="member", within=MEMBERS, step=1, shape="box",
        help=f"Which of the {UNTRAINED.seed_count} seeds, counted from 0, is replayed, and drawn"
        " as a thin line."),
    Number("start", "First seed of the training", field="first_seed", within=LIMITS["seed"],
        step=1, shape="box",
        help=f"{SHIPPED.seed_count} seeds are trained, this one and those after it."),
    Number("after", default=0, within=(0, UNTRAINED.depth), shape="box",
        shown_instead="the last layer whose K is known"),
    GridPoint("spot", size=REPLAY_GRID, shown_instead="no point"),
    Fold("every", "All stacks side by side"),
    Fold("theory", "Why: what theory says, where it ends, and what is only our reading"),
    of=Request(),
)  # fmt: skip


def asked_request(below: DeltaGenerator) -> Request:
    """What is stacked, which quantity, and which stack is replayed; ``below`` what is trained."""
    columns = front_columns([4, 4, 4, 4, 3])
    stacked = DEPTH["stacked"].draw(columns[0])
    DEPTH["quantity"].draw(columns[1])
    given = {name: getattr(Request(), name) for name in ("around", "strong", "gated", "layers")}
    if stacked == "aligned":
        given["strong"] = DEPTH["strong"].draw(columns[2])
    elif stacked != "random":
        given["gated"] = DEPTH["gated"].draw(columns[3])
        name = "tall" if stacked == TRAINED else "around"
        given[DEPTH[name].feeds] = DEPTH[name].draw(columns[2])
    DEPTH["twin"].draw(columns[4])
    given["first_seed"] = Request().first_seed
    if stacked == TRAINED:
        given["first_seed"] = _training_controls(below)
    return read(DEPTH, Request, **given)


def _training_controls(where: DeltaGenerator) -> int:
    """The first seed, and a button that trains."""
    first, button, _ = where.columns([2, 2, 6], vertical_alignment="bottom")
    seed = DEPTH["start"].draw(first)
    request = Request(first_seed=seed).trained
    job = measured.training()
    again = "Train again" if measured.trained(request) else "Train"
    button.button(
        again, icon=":material/model_training:", key="train_depths", width="stretch",
        disabled=job is not None and not job.over, on_click=measured.train, args=(request,),
        help="Six depths, without and with a gate, sixteen seeds each: some twenty seconds.",
    )  # fmt: skip
    return seed


def frame_shown(depth: int, otherwise: int) -> int:
    """The frame of the layer that the link asks for, of ``depth``; else of layer ``otherwise``."""
    return min(DEPTH["after"].linked or otherwise, depth) - 1


def picked() -> tuple[int, int] | None:
    """The marked grid point, from the link."""
    return DEPTH["spot"].linked


def on_pick() -> None:
    """A click in the view: keep the point in the link."""
    if point := clicked(VIEW_KEY):
        st.query_params["spot"] = point


def on_stop() -> None:
    """The slider was let go, or playing ended: keep the layer in the link."""
    frame = stopped(VIEW_KEY, UNTRAINED.depth)
    if frame is not None:
        st.query_params["after"] = str(frame + 1)
        forget()
