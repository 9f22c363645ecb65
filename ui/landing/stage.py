"""The stage: one surface that lifts while the gate opens, and a plane to cut it."""

from __future__ import annotations

import streamlit as st

from gating_core.experiments.comparison import (
    FIRST_SETTING,
    STRENGTHS,
    Setting,
    StrengthSweep,
    TrainedRun,
)
from gating_core.geometry import CURVED, square_grid
from ui.common.bar import PAGES
from ui.common.links import link_value, parse_plane, put_in_link
from ui.components.stage import Plane, stage
from ui.landing.pair import Result, fair_texts
from ui.landing.picture import Stage, measure_stage
from ui.work.cache import cached

STAGE_KEY = "stage"
GRID_SIZE = 41  # points along each side: a frame of a drag takes half as long as with 61


@cached("Sampling the surface …")
def stage_of(setting: Setting, _run: TrainedRun, _sweep: StrengthSweep) -> Stage:
    """Sample the gated model at both ends of its gate, with its test points."""
    return measure_stage(_run, _sweep, square_grid(GRID_SIZE))


def draw_stage(result: Result) -> None:
    """Draw the stage, which asks whoever comes to the first example without a state in the link."""
    untouched = not {"plane", "strength"} & set(st.query_params)
    draw_surface(result, STAGE_KEY, ask=untouched and result.run.setting == FIRST_SETTING)


def draw_numbers(result: Result) -> None:
    """Draw what training reaches, and what a ring earns."""
    found = stage_of(result.run.setting, result.run, result.sweep)
    with st.container(key="stage_numbers"):
        st.markdown("  \n".join(filter(None, (numbers_text(result), ring_text(found)))))
        st.page_link(
            PAGES["Curved or bent?"].path,
            label="A ring needs a hill: in three dimensions K > 0 or a fold, in more only bending",
            icon=":material/arrow_forward:",
            query_params={"bent_tab": "Islands"},
        )


def draw_surface(result: Result, key: str, *, ask: bool = False, hold: bool = False) -> None:
    """Draw the surface with the plane of the link; see `ui.components.stage.stage`."""
    surface = result.pair.right.surface
    stage(
        stage_of(result.run.setting, result.run, result.sweep),
        key=key,
        flat=bool(surface.proof[0]),
        curved=surface.verdicts[-1].word == CURVED,
        strength=STRENGTHS[result.frame],
        plane=linked_plane(),
        on_leave=_on_leave,
        ask=ask,
        hold=hold,
    )


def linked_plane() -> Plane | None:
    """Return the visitor's plane, ``None`` for the fitted one."""
    return link_value("plane", parse_plane, None, "the fitted plane")


def _on_leave(strength: float, plane: Plane | None) -> None:
    put_in_link(strength=f"{strength:g}", plane=",".join(f"{x:g}" for x in plane or ()))


def ring_text(found: Stage) -> str:
    """Say what the shown model reaches before its cut closes; "" if it does not, or always is."""
    cuts = [found.cut(strength, found.plane(strength)) for strength in STRENGTHS]
    opened = [frame for frame, cut in enumerate(cuts) if not cut.loops]
    if not opened or opened[-1] == len(STRENGTHS) - 1:
        return ""
    strengths = STRENGTHS[0], STRENGTHS[opened[-1]], STRENGTHS[-1]
    flat, before, full = (
        round(100 * found.accuracy(strength, found.plane(strength)), 1) for strength in strengths
    )
    return (
        f"The model shown, seed {found.seed}: {flat:.1f}\u00a0% at λ = 0 and, with a cut that is"
        f" still open at λ = {strengths[1]:.2f}, {before:.1f}\u00a0%, so the ring earns only the"
        f" last {full - before:.1f} points."
    )


def numbers_text(result: Result) -> str:
    """Return one line: the test accuracies that training reaches without a gate and with one."""
    gain, means = fair_texts(result.run.setting, result.test_accuracies)
    return f"{means}. {gain}."
