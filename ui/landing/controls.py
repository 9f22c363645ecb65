"""The landing page's controls: all in the link, all with one meaning."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from gating_core.experiments.comparison import (
    DEPTH_RANGE,
    FIRST_LOOK,
    GATES,
    SEED_RANGE,
    TASK_NAMES,
    Setting,
)
from ui.common.link_check import forget
from ui.common.links import YES_NO, Allowed, Choice, GridPoint, Number, parse_pick
from ui.landing.measured import STRENGTH_STEPS, STRENGTHS
from ui.landing.picture import COLOURINGS

VIEW_KEY = "pair_view"
SLIDER_SELECTOR = ".st-key-strength input[type=range]"


def gate_controls() -> tuple[bool, float]:
    """The switch and the strength; the strength in force."""
    switch, slider = st.columns([1, 4], vertical_alignment="center")
    gated = switch.toggle(
        "Gate", True, key="gated", bind="query-params", on_change=forget,
        help="Multiplies every output by sigmoid(W h + b), a number between 0 and 1.",
    )  # fmt: skip
    strength = slider.slider(
        "Gate strength λ", 0.0, 1.0, 1.0, 1 / STRENGTH_STEPS, key="strength",
        bind="query-params", on_change=forget, disabled=not gated,
        help="Dials the trained gate down: the gate in force is (1 − λ) + λ · sigmoid(…)."
        " At λ = 0 there is none. The weights stay as they were trained at λ = 1.",
    )  # fmt: skip
    return gated, min(STRENGTHS, key=lambda s: abs(s - strength)) if gated else 0.0


def explore_controls() -> tuple[Setting, str]:
    """Task, depth, gate, seed and colour."""
    first, second, third = st.columns([3, 2, 2])
    task = first.segmented_control(
        "Task", TASK_NAMES, default=FIRST_LOOK.task, required=True,
        key="task", bind="query-params", on_change=forget,
    )  # fmt: skip
    depth = second.segmented_control(
        "Layers", range(DEPTH_RANGE[0], DEPTH_RANGE[1] + 1), default=FIRST_LOOK.depth,
        required=True, key="depth", bind="query-params", on_change=forget,
    )  # fmt: skip
    gate = third.segmented_control(
        "Gate kind", GATES, default=FIRST_LOOK.variants[1], required=True,
        key="gate", bind="query-params", on_change=forget,
    )  # fmt: skip
    fourth, fifth, sixth = st.columns([3, 2, 2], vertical_alignment="bottom")
    colouring = fourth.segmented_control(
        "Colour by", COLOURINGS, default=COLOURINGS[0], required=True,
        key="colour", bind="query-params", on_change=forget,
    )  # fmt: skip
    seed = fifth.number_input(
        "First seed", *SEED_RANGE, FIRST_LOOK.seed, FIRST_LOOK.seed_count, key="seed",
        bind="query-params", on_change=forget,
        help=f"{FIRST_LOOK.seed_count} models are trained, with this seed and the ones after it;"
        " each seed draws its own data and first weights.",
    )  # fmt: skip
    sixth.button("Back to the first example", on_click=_reset, width="stretch")
    # An empty value in a link reaches us as None, although the controls require one.
    setting = replace(
        FIRST_LOOK,
        task=task or FIRST_LOOK.task,
        depth=int(depth or FIRST_LOOK.depth),
        variants=("ungated", gate or FIRST_LOOK.variants[1]),
        seed=FIRST_LOOK.seed if seed is None else int(seed),
    )
    return setting, colouring or COLOURINGS[0]


def _reset() -> None:
    forget()
    first = {"task": FIRST_LOOK.task, "depth": FIRST_LOOK.depth, "seed": FIRST_LOOK.seed}
    st.session_state.update(first, gate=FIRST_LOOK.variants[1])
    st.session_state.update(gated=True, strength=1.0, colour=COLOURINGS[0])
    st.query_params.pop("pick", None)


def picked() -> tuple[int, int] | None:
    """The marked grid point, from the link."""
    return parse_pick(st.query_params.get("pick", ""))


def on_pick() -> None:
    """A click in the view: keep the point in the link."""
    point = (st.session_state.get(VIEW_KEY) or {}).get("pick")
    if point:
        st.query_params["pick"] = f"{int(point['row'])}.{int(point['column'])}"


def on_stop() -> None:
    """The end of a Play: the slider takes over the strength that is shown."""
    stop = (st.session_state.get(VIEW_KEY) or {}).get("stop")
    if stop:
        st.session_state.strength = STRENGTHS[min(max(int(stop["frame"]), 0), STRENGTH_STEPS)]


LANDING: dict[str, Allowed] = {
    "gated": YES_NO,
    "strength": Number(0, 1, "1", whole=False),
    "task": Choice(TASK_NAMES, FIRST_LOOK.task),
    "depth": Number(*DEPTH_RANGE, str(FIRST_LOOK.depth)),
    "gate": Choice(GATES, FIRST_LOOK.variants[1]),
    "seed": Number(*SEED_RANGE, str(FIRST_LOOK.seed)),
    "colour": Choice(COLOURINGS, COLOURINGS[0]),
    "explore": Choice(("true", "false"), "false"),
    "pick": GridPoint(),
}
