"""The landing page's controls: all in the link, all with one meaning."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gating_core.experiments.comparison import (
    FIRST_SETTING,
    LIMITS,
    STRENGTHS,
    Setting,
    first_setting,
)
from ui.common.control_table import Controls, table
from ui.common.controls import Choice, Fold, Number
from ui.common.front import front_columns
from ui.common.link_check import forget
from ui.common.link_controls import GridPoint
from ui.components.view3d import clicked, stopped
from ui.landing.picture import COLOURINGS
from ui.limits import LANDING_LAYERS

FRONT_WIDTHS = (4, 4, 3, 4)
VIEW_KEY = "pair_view"
FULL = STRENGTHS[-1]
# Few, for a first look.
OFFERED_TASKS = ("circle", "xor", "moons", "linear")
OFFERED_GATES = ("sigmoid", "headwise")
OFFERED_DEPTHS = {str(depth): depth for depth in LANDING_LAYERS}
LEFT_SIDES = {"gate taken out": "same", "trained without": "own"}

LANDING: Controls = table(
    Choice("task", "Task", words=OFFERED_TASKS),
    Choice("beside", "Beside it", words=LEFT_SIDES, default="same",
        help="What stands beside the gated model: the same weights with the gate taken out (λ = 0),"
        " or the best of the models that were trained without one."),
    Choice("colour", "Colour by", words=COLOURINGS, default=COLOURINGS[0]),
    Choice("depth", "Layers", words=OFFERED_DEPTHS),
    Choice("gate", "Gate kind", words=OFFERED_GATES, default=FIRST_SETTING.variants[1]),
    Number("seed", "First seed", within=LIMITS["seed"], step=FIRST_SETTING.seed_count, shape="box",
        help=f"{FIRST_SETTING.seed_count} models are trained, with this seed and the ones after it;"
        " each seed draws its own data and first weights."),
    Fold("explore", "Explore: other depths, gates and seeds"),
    Number("strength", within=(0.0, FULL), default=FULL, step=1 / (len(STRENGTHS) - 1)),
    GridPoint("pick"),
    of=FIRST_SETTING,
)  # fmt: skip
FIRST_EXAMPLE = ("task", "beside", "colour", "depth", "gate", "seed")


def front_controls() -> tuple[str, str, str]:
    """Draw task, what stands on the left, and colour; beside them where the theorem ends."""
    *columns, last = front_columns(FRONT_WIDTHS, "bottom", alone=2)
    task, left, colour = (
        LANDING[name].draw(column)
        for name, column in zip(("task", "beside", "colour"), columns, strict=True)
    )
    last.page_link(
        "pages/2_Decision_boundary.py", label="Break it: let the values move",
        icon=":material/heart_broken:", query_params={"from": "tokens"},
        help="All this holds for fixed values, as memory slots have. Where each token brings its"
        " own, outputs without a gate curve as well.",
    )  # fmt: skip
    return task, left, colour


def explore_controls(task: str) -> Setting:
    """Depth, gate and seed."""
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    depth = LANDING["depth"].draw(first)
    gate = LANDING["gate"].draw(second)
    seed = LANDING["seed"].draw(third)
    fourth.button("Back to the first example", on_click=back_to_the_first_example, width="stretch")
    one = replace(FIRST_SETTING, task=task, variants=("ungated", gate), seed=seed)
    return landing_setting(one, depth)


def landing_setting(like: Setting, depth: int) -> Setting:
    """Task, variants and seed of ``like`` at a ``depth``, trained as this page trains there."""
    return replace(first_setting(depth), task=like.task, variants=like.variants, seed=like.seed)


def go_to_depth(depth: int) -> None:
    """Choose so many layers."""
    LANDING["depth"].set(depth)
    forget()


def back_to_the_first_example() -> None:
    """All controls say what they say at first; strength and marked point go."""
    for control in (LANDING[name] for name in FIRST_EXAMPLE):
        control.set(control.default)
    for name in ("strength", "pick"):
        st.query_params.pop(name, None)
    forget()


def frame_shown() -> int:
    """The place in `STRENGTHS` that is nearest to what the link says; the last, if nothing."""
    strength = LANDING["strength"].linked
    wanted = FULL if strength is None else strength
    return min(range(len(STRENGTHS)), key=lambda place: abs(STRENGTHS[place] - wanted))


def arrives() -> bool:
    """Whether nobody has chosen a strength yet."""
    return "strength" not in st.query_params


def picked() -> tuple[int, int] | None:
    """The marked grid point, from the link."""
    return LANDING["pick"].linked


def on_pick() -> None:
    """A click in the view: keep the point in the link."""
    if point := clicked(VIEW_KEY):
        st.query_params["pick"] = point


def on_stop() -> None:
    """The slider was let go, or playing ended: keep the strength in the link."""
    place = stopped(VIEW_KEY, len(STRENGTHS))
    if place is not None:
        st.query_params["strength"] = f"{STRENGTHS[place]:g}"
        forget()
