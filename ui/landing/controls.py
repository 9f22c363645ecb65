"""The landing page's controls: all in the link, all with one meaning."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gating_core.experiments.comparison import FIRST_LOOK, LIMITS, Setting
from ui.common.control_table import Controls, table
from ui.common.controls import Choice, Flag, Fold, GridPoint, Number
from ui.common.link_check import forget
from ui.landing.measured import STRENGTH_STEPS, STRENGTHS
from ui.landing.picture import COLOURINGS

VIEW_KEY = "pair_view"
SLIDER_SELECTOR = ".st-key-strength input[type=range]"
# Few, for a first look.
OFFERED_TASKS = ("linear", "xor", "circle", "moons")
OFFERED_GATES = ("sigmoid", "headwise")
OFFERED_DEPTHS = {str(depth): depth for depth in (1, 2, 3, 4)}

LANDING: Controls = table(
    Flag("gated", "Gate", default=True,
        help="Multiplies every output by sigmoid(W h + b), a number between 0 and 1."),
    Number("strength", "Gate strength λ", default=1.0, within=(0.0, 1.0), step=1 / STRENGTH_STEPS,
        help="Dials the trained gate down: the gate in force is (1 − λ) + λ · sigmoid(…)."
        " At λ = 0 there is none. The weights stay as they were trained at λ = 1."),
    Choice("task", "Task", words=OFFERED_TASKS),
    Choice("depth", "Layers", words=OFFERED_DEPTHS),
    Choice("gate", "Gate kind", words=OFFERED_GATES, default=FIRST_LOOK.variants[1]),
    Number("seed", "First seed", within=LIMITS["seed"], step=FIRST_LOOK.seed_count, shape="box",
        help=f"{FIRST_LOOK.seed_count} models are trained, with this seed and the ones after it;"
        " each seed draws its own data and first weights."),
    Choice("colour", "Colour by", words=COLOURINGS, default=COLOURINGS[0]),
    Fold("explore", "Explore: other tasks, depths, gates and seeds"),
    GridPoint("pick"),
    of=FIRST_LOOK,
)  # fmt: skip
FIRST_EXAMPLE = ("gated", "strength", "task", "depth", "gate", "seed", "colour")


def gate_controls() -> tuple[bool, float]:
    """The switch and the strength; the strength in force."""
    switch, slider = st.columns([1, 4], vertical_alignment="center")
    gated = LANDING["gated"].draw(switch)
    strength = LANDING["strength"].draw(slider, disabled=not gated)
    return gated, min(STRENGTHS, key=lambda s: abs(s - strength)) if gated else 0.0


def explore_controls() -> tuple[Setting, str]:
    """Task, depth, gate, seed and colour."""
    first, second, third = st.columns([3, 2, 2])
    task = LANDING["task"].draw(first)
    depth = LANDING["depth"].draw(second)
    gate = LANDING["gate"].draw(third)
    fourth, fifth, sixth = st.columns([3, 2, 2], vertical_alignment="bottom")
    colouring = LANDING["colour"].draw(fourth)
    seed = LANDING["seed"].draw(fifth)
    sixth.button("Back to the first example", on_click=back_to_the_first_example, width="stretch")
    setting = replace(FIRST_LOOK, task=task, depth=depth, variants=("ungated", gate), seed=seed)
    return setting, colouring


def back_to_the_first_example() -> None:
    """All controls say what they say at first; the marked point goes."""
    for control in (LANDING[name] for name in FIRST_EXAMPLE):
        control.set(control.default)
    st.query_params.pop("pick", None)
    forget()


def picked() -> tuple[int, int] | None:
    """The marked grid point, from the link."""
    return LANDING["pick"].linked


def on_pick() -> None:
    """A click in the view: keep the point in the link."""
    point = (st.session_state.get(VIEW_KEY) or {}).get("pick")
    if point:
        st.query_params["pick"] = f"{int(point['row'])}.{int(point['column'])}"


def on_stop() -> None:
    """The end of a Play: the slider takes over the strength that is shown."""
    stop = (st.session_state.get(VIEW_KEY) or {}).get("stop")
    if stop:
        frame = min(max(int(stop["frame"]), 0), STRENGTH_STEPS)
        LANDING["strength"].set(STRENGTHS[frame])
