"""The landing page's parts: what is fetched for it, and how it is laid out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import streamlit as st

from gating_core.experiments.comparison import (
    FIRST_SETTING,
    STRENGTHS,
    Setting,
    StrengthSweep,
    TrainedRun,
    sweep_strengths,
)
from gating_core.training import MeanInterval, TrainedEnsemble, mean_interval
from ui.common import words as common
from ui.common.figures import figures
from ui.components.strip import strip
from ui.components.view3d import Legend, view3d
from ui.drawing import palette
from ui.drawing.panels import View
from ui.landing import measured as cached
from ui.landing import words
from ui.landing.controls import (
    VIEW_KEY,
    arrives,
    frame_shown,
    go_to_depth,
    on_pick,
    on_stop,
    picked,
)
from ui.landing.figures import curvature_maps, learning_curves
from ui.landing.picture import COLOURINGS, Side, curvature_colours
from ui.limits import LANDING_LAYERS
from ui.work import jobs, runs
from ui.work.shared import shared_stream

OTHER_PIXELS = 440  # high: all but the pictures
JOB, GOOD = "landing", "landing_good"
SIDE_NAMES = ("Without gate", "With gate")
SIDE_COLOURS = dict(zip(SIDE_NAMES, palette.SIDE_COLOURS.values(), strict=True))


@dataclass(frozen=True)
class LandingRequest:
    """What the visitor asked to see."""

    setting: Setting
    left: str  # a value of `LEFT_SIDES`
    colouring: str


@dataclass(frozen=True, eq=False)
class Found:
    """What there is to show."""

    shown: LandingRequest
    run: TrainedRun
    sweep: StrengthSweep
    measured: cached.MeasuredPair
    frame: int

    @property
    def sides(self) -> list[tuple[str, Side, int]]:
        """Name, measured side and frame of both sides."""
        sides = self.measured.left, self.measured.right
        return list(zip(SIDE_NAMES, sides, (0, self.frame), strict=True))

    @property
    def ensembles(self) -> dict[str, TrainedEnsemble]:
        """What was trained, without a gate and with one."""
        found = (variant.ensemble for variant in self.run.variants.values())
        return dict(zip(SIDE_NAMES, found, strict=True))

    @property
    def trained(self) -> tuple[MeanInterval, MeanInterval, MeanInterval]:
        """Mean accuracy on new points without a gate, with one, and of the paired difference."""
        left, right = (ensemble.test_accuracy[-1] for ensemble in self.ensembles.values())
        return mean_interval(left), mean_interval(right), mean_interval(right - left)


def fetch(shown: LandingRequest) -> Found:
    """Everything for ``shown``, or, where that is not there, for the last experiment that was.

    How the work goes is said where this is called.
    """
    runs.leave(JOB, shown.setting)
    good = _measured(shown.setting) or st.session_state.get(GOOD) or runs.cached_run(FIRST_SETTING)
    assert good is not None  # the first look is shipped
    st.session_state[GOOD] = good
    assert good.sweep is not None
    measured = cached.measured_pair(good.run.setting, shown.left, good.run, good.sweep)
    return Found(shown, good.run, good.sweep, measured, frame_shown())


def _measured(setting: Setting) -> runs.Shown | None:
    """The run of ``setting`` with its sweep, if they are there; else how it goes.

    A sweep may still lack totals.
    """
    found = runs.cached_run(setting)
    if _is_open(setting):
        job = runs.fetch(JOB, setting, _measure, _lacks_totals)
        jobs.watch(job, lambda items: None, what=_what, share=_share)
        found = runs.shown_of(JOB, job)
    if found is None or found.run.setting != setting or not found.run.ended:
        return None
    if found.run.divergence is not None:
        text = found.run.divergence.text
        st.error(f"{text}. Shown instead: the last experiment that worked.")
        return None
    return found if found.sweep is not None else None


def _is_open(setting: Setting) -> bool:
    found = runs.cached_run(setting)
    return found is None or _lacks_totals(found)


def _lacks_totals(shown: runs.Shown) -> bool:
    return shown.sweep is None or not shown.sweep.measured.all()


def _measure(shown: runs.Shown) -> Iterator[Any]:
    return shared_stream(sweep_strengths, shown.run)


def _what(items: list[Any]) -> str:
    swept = any(isinstance(item, StrengthSweep) for item in items)
    return "Measuring curvature" if swept else "Training"


def _share(items: list[Any]) -> float:
    sweep = next((item for item in reversed(items) if isinstance(item, StrengthSweep)), None)
    return jobs.share_of(items) if sweep is None else float(sweep.measured.mean())


def draw_pair(found: Found) -> None:
    """Both surfaces beside their input planes, what plays them, and what reads them."""
    shown, measured = found.shown, found.measured
    setting = found.run.setting
    lines = words.fair_lines(shown.left, *found.trained, setting.seed_count)
    sweeps = (None, found.sweep)
    captions = [
        words.captions(side, sweep, line) if measured.seen else words.map_captions(side, line)
        for (_, side, _), sweep, line in zip(found.sides, sweeps, lines, strict=True)
    ]
    if not measured.seen:
        _draw_unseen(setting)
    view = cached.view_of(setting, shown.left, shown.colouring, measured)
    view3d(
        view,
        key=VIEW_KEY,
        headings=(words.LEFT[shown.left], "With its gate"),
        captions=captions,
        readings=cached.readings_of(setting, shown.left, measured),
        frame=found.frame,
        frame_labels=[f"λ = {strength:.2f}" for strength in STRENGTHS],
        ends=("no gate", "full gate"),
        legend=_legend(shown.colouring if measured.seen else COLOURINGS[0], view),
        pick=picked(),
        scrub=True,
        arrive=arrives(),
        spare=OTHER_PIXELS,
        scene=f"{setting} {shown.left}",
        stale=words.stale_text(setting, shown.setting),
        on_pick=on_pick,
        on_stop=on_stop,
    )


def _draw_unseen(setting: Setting) -> None:
    """One sentence, and the way to the nearest depth that shows a surface."""
    text, way = st.columns([4, 1], vertical_alignment="center")
    text.info(words.unseen_text(setting.depth))
    near = cached.nearest_with_surface(setting)
    if near is None and setting.depth == LANDING_LAYERS[0]:
        return
    depth = near or LANDING_LAYERS[0]
    verb = "See" if near else "Try"
    way.button(
        f"{verb} {common.layers_text(depth)}", on_click=go_to_depth, args=(depth,), width="stretch"
    )


def _legend(colouring: str, view: View) -> Legend:
    if colouring == "class":
        return Legend(palette.CLASS_SCALE, "class 0", "class 1")
    low, high = view.colour_range
    note = (
        f"saddle-like to dome-like · asinh scale, {common.percent(view.beyond)} of the points at"
        f" λ = 1 lie beyond it · {common.crease_text()} · hatched: not known"
    )
    first, last = (f"K = {common.short(float(f'{end:.2g}'))}" for end in (low, high))
    return Legend(palette.SIGNED_SCALE, first, last, note)


def draw_control(found: Found) -> None:
    """Draw how the seed was chosen, what every seed reached, and the marked point."""
    setting = found.run.setting
    text, dots = st.columns([3, 2], vertical_alignment="center")
    text.caption(words.choice_text(found.measured.right.seed, setting.seed_count))
    with dots:
        strip(
            key="seed_strip",
            label="Accuracy on new points, a dot for every seed, without and with a gate.",
            title="% of new points right, a dot a seed",
            accuracies={name: x.test_accuracy[-1] for name, x in found.ensembles.items()},
            colours=list(SIDE_COLOURS.values()),
            seeds=setting.seeds,
        )
    if found.measured.seen and (point := picked()):
        _draw_pick(found, *point)


def _draw_pick(found: Found, row: int, column: int) -> None:
    axis = found.measured.left.surface.axis
    parts = [
        f"{name.lower()}: K = {common.curvature_text(side.surface, (frame, row, column))}"
        for name, side, frame in found.sides
    ]
    st.caption(f"Marked point x = ({axis[column]:.2f}, {axis[row]:.2f}) · " + " · ".join(parts))


def draw_details(found: Found) -> None:
    """Behind *Explore*: what the gate is worth, curvature maps, area shares, loss curves."""
    _draw_seeds(found)
    if found.measured.seen:
        _draw_curvature(found)
    (curves,) = figures(
        ("learning", found.run.setting), lambda: [learning_curves(found.ensembles, SIDE_COLOURS)]
    )
    st.plotly_chart(
        curves,
        alt="Training loss against steps for every seed, the shown seed thick.",
        key="learning_curves",
    )


def _draw_curvature(found: Found) -> None:
    surfaces = {name: side.surface for name, side, _ in found.sides}
    frames = {name: frame for name, _, frame in found.sides}
    scale = curvature_colours(found.measured.right.surface)
    what = found.run.setting, found.shown.left, found.frame
    (maps,) = figures(("maps", *what), lambda: [curvature_maps(surfaces, frames, scale)])
    st.plotly_chart(
        maps,
        alt="Gaussian curvature over the input plane, both sides on one zero-centred scale.",
        key="curvature_maps",
    )
    st.caption(
        "Gaussian curvature K over the input plane, both sides on one scale centred at zero;"
        " dashed: K = 0. The scale is linear near zero and logarithmic beyond (asinh)."
    )
    shares = [(side.surface.shares, frame) for _, side, frame in found.sides]
    st.table(
        {
            "Share of the area": SIDE_NAMES,
            "K > 0 (dome)": [_percent1(share.positive[frame]) for share, frame in shares],
            "K < 0 (saddle)": [_percent1(share.negative[frame]) for share, frame in shares],
            "flat": [_percent1(share.flat[frame]) for share, frame in shares],
            "undecided": [_percent1(share.undecided[frame]) for share, frame in shares],
        }
    )
    st.caption("Undecided: |K| is within an error that is not small, or unresolved.")


def _percent1(share: float) -> str:
    return f"{100 * max(share, 0.0):.1f} %"


def _draw_seeds(found: Found) -> None:
    count = found.run.setting.seed_count
    ensembles = found.ensembles
    counts = ", ".join(f"{name.lower()} {e.parameter_count}" for name, e in ensembles.items())
    *_, difference = found.trained
    text = common.difference_text(difference, count, "the gate", "no gate")
    st.markdown(f"{text} Parameters: {counts}.")
