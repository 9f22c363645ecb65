"""The landing page's controls, all of them in its link."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gating_core.experiments.comparison import (
    FIRST_SETTING,
    LIMITS,
    STRENGTHS,
    Setting,
    first_setting,
    load_reference,
)
from ui.common.control_table import Controls, table
from ui.common.controls import Choice, Fold, Number
from ui.common.front import front_columns
from ui.common.lessons import section
from ui.common.link_check import forget
from ui.common.link_controls import GridPoint
from ui.landing.picture import COLOURINGS
from ui.landing.words import tokens_text
from ui.limits import LANDING_LAYERS
from ui.proved.section import PROOF

FRONT_WIDTHS = (4, 4, 3, 6)
FULL = STRENGTHS[-1]
# Few, for a first look.
OFFERED_TASKS = ("circle", "xor", "moons", "linear")
OFFERED_GATES = ("sigmoid", "headwise")
LEFT_MODELS = {"gate ablated": "same", "trained without": "own"}

LANDING: Controls = table(
    Choice("task", "Task", words=OFFERED_TASKS),
    Choice("beside", "Compare with", words=LEFT_MODELS, default="same",
        help=section("landing", "beside")),
    Choice("colour", "Colour by", words=COLOURINGS, default=COLOURINGS[0]),
    Choice("depth", "Layers", words={str(depth): depth for depth in LANDING_LAYERS}),
    Choice("gate", "Gate kind", words=OFFERED_GATES, default=FIRST_SETTING.variants[1]),
    Number("seed", "First seed", within=LIMITS["seed"], step=FIRST_SETTING.seed_count, shape="box",
        help=section("landing", "seed", count=FIRST_SETTING.seed_count)),
    Fold("explore", "Explore: other depths, gates and seeds"),
    Number("strength", within=(0.0, FULL), default=FULL, step=1 / (len(STRENGTHS) - 1)),
    GridPoint("pick"),
    of=FIRST_SETTING,
) | PROOF  # fmt: skip
FIRST_EXAMPLE = ("task", "beside", "colour", "depth", "gate", "seed")


def front_controls() -> tuple[str, str, str]:
    """Draw and read task, left model and colouring; beside them a link to where values move."""
    *columns, last = front_columns(FRONT_WIDTHS, "bottom", alone=2)
    task, left, colouring = (
        LANDING[name].draw(column)
        for name, column in zip(("task", "beside", "colour"), columns, strict=True)
    )
    last.page_link(
        "pages/2_Decision_boundary.py", label=tokens_text(load_reference("tokens", task)),
        icon=":material/arrow_forward:", query_params={"from": "tokens", "data": task},
        help=section("landing", "break_it"),
    )  # fmt: skip
    return task, left, colouring


def explore_controls(task: str) -> Setting:
    """Draw and read depth, gate and seed."""
    first, second, third, fourth = st.columns(4, vertical_alignment="bottom")
    depth = LANDING["depth"].draw(first)
    gate = LANDING["gate"].draw(second)
    seed = LANDING["seed"].draw(third)
    fourth.button("Back to the first example", on_click=back_to_the_first_example, width="stretch")
    one_layer = replace(FIRST_SETTING, task=task, variants=("ungated", gate), seed=seed)
    return landing_setting(one_layer, depth)


def landing_setting(like: Setting, depth: int) -> Setting:
    """Return ``like`` with another ``depth``, trained as this page trains at that depth."""
    return replace(first_setting(depth), task=like.task, variants=like.variants, seed=like.seed)


def go_to_depth(depth: int) -> None:
    """Choose a number of layers; a callback."""
    LANDING["depth"].set(depth)
    forget()


def back_to_the_first_example() -> None:
    """Set all controls to their defaults, without strength and marked point; a callback."""
    for control in (LANDING[name] for name in FIRST_EXAMPLE):
        control.set(control.default)
    for name in ("strength", "pick"):
        st.query_params.pop(name, None)
    forget()
