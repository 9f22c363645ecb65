"""The landing page's parts: what is fetched for it, and how it is laid out."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from gating_core.experiments.comparison import FIRST_LOOK, Setting, TrainedRun
from gating_core.training import TrainedEnsemble, mean_interval
from ui.common import words
from ui.components.view3d import Legend, view3d
from ui.drawing import palette
from ui.drawing.colours import QUANTILE
from ui.landing import measured as cached
from ui.landing.controls import SLIDER_SELECTOR, VIEW_KEY, on_pick, on_stop
from ui.landing.figures import curvature_maps, learning_curves
from ui.landing.picture import Side, curvature_colours
from ui.landing.words import difference_text, reading
from ui.work import jobs, runs
from ui.work.job import State

JOB, GOOD = "landing", "landing_good"

SIDE_NAMES = ("Without gate", "With gate")
SIDE_COLOURS = dict(zip(SIDE_NAMES, palette.SIDE_COLOURS.values(), strict=True))


@dataclass(frozen=True)
class Shown:
    """What the visitor asked to see."""

    setting: Setting
    gated: bool
    strength: float  # in force: 0 where the gate is switched off
    colouring: str
    pick: tuple[int, int] | None


@dataclass(frozen=True, eq=False)
class Found:
    """What there is to show."""

    shown: Shown
    run: TrainedRun
    measured: cached.MeasuredPair
    frame: int

    @property
    def sides(self) -> list[tuple[str, TrainedEnsemble, Side, int]]:
        """Name, ensemble, measured side and frame of both sides."""
        return list(
            zip(
                SIDE_NAMES,
                (variant.ensemble for variant in self.run.variants.values()),
                (self.measured.left, self.measured.right),
                (0, self.frame),
                strict=True,
            )
        )


def fetch(shown: Shown) -> Found:
    """Everything for ``shown``, or, where that is not there, for the last experiment that was."""
    runs.leave(JOB, shown.setting)
    with st.container():  # always there: a picture whose place in the page shifts is made anew
        run = _trained(shown.setting) or st.session_state.get(GOOD) or _trained(FIRST_LOOK)
    assert run is not None  # the first look is shipped
    st.session_state[GOOD] = run
    measured = cached.measured_pair(run.setting, run)
    return Found(shown, run, measured, cached.frame_of(shown.strength))


def _trained(setting: Setting) -> TrainedRun | None:
    """The run of ``setting``, if it is complete; else how it goes, or what became of it."""
    found = runs.known(setting)
    if found is None:
        job = runs.fetch(JOB, setting)
        jobs.watch(job, lambda items: None, what="Training", share=runs.share_of)
        found = runs.shown_of(JOB, job) if job.state is State.DONE else None
    if found is None:
        st.caption(":material/hourglass_top: Shown: the last experiment that was trained.")
        return None
    if found.run.divergence is not None:
        text = found.run.divergence.text
        st.error(f"{text}. Shown instead: the last experiment that worked.")
        return None
    return found.run


def draw_pair(found: Found) -> None:
    """Both surfaces over both input planes, and the sentence that reads them."""
    shown, measured = found.shown, found.measured
    view = cached.view_of(found.run.setting, shown.colouring, measured)
    captions = [
        [f"{words.percent(share)} of new points right" for share in cut.test_accuracy]
        for cut in (measured.left, measured.right)
    ]
    view3d(
        view,
        key=VIEW_KEY,
        headings=SIDE_NAMES if shown.gated else (SIDE_NAMES[0], "Gate switched off"),
        captions=captions,
        frame=found.frame,
        frame_labels=[f"λ = {strength:.2f}" for strength in cached.STRENGTHS],
        legend=_legend(shown.colouring, view.colour_range, view.beyond),
        pick=shown.pick,
        follow=SLIDER_SELECTOR,
        playable=shown.gated,
        on_pick=on_pick,
        on_stop=on_stop,
    )
    st.markdown(reading(measured.left, measured.right, found.frame, shown.strength))


def _legend(colouring: str, limits: tuple[float, float], beyond: float) -> Legend:
    if colouring == "class":
        return Legend(
            palette.CLASS_SCALE,
            "class 0",
            "class 1",
            "black: decision boundary · grey: the classifier's plane · magenta: the triangle"
            " that the three values span · each surface undistorted, to its own scale",
        )
    note = f"{words.percent(beyond)} of the points lie beyond the scale" if beyond else ""
    return Legend(
        palette.SIGNED_SCALE,
        f"K = {limits[0]:.2g}",
        f"K = {limits[1]:.2g}",
        f"saddle-like to dome-like · {note}",
    )


def draw_numbers(found: Found) -> None:
    """One number per side with its doubt, and the point that was clicked."""
    for column, (name, _, cut, frame) in zip(st.columns(2), found.sides, strict=True):
        flat = bool(cut.surface.flat[frame])
        strength = None if cut is found.measured.left else found.shown.strength
        with column:
            total = cached.total_curvature(found.run.setting, strength, found.run)
            st.metric(
                f"Total curvature, {name.lower()}", words.total_text(total, flat),
                help="The integral of |K| over the surface: how much it curves in all, whatever"
                " its size. A sphere has 4π ≈ 12.6, the corner of a cube π/2 ≈ 1.57.",
            )  # fmt: skip
            st.caption(words.total_doubt(total, cut.surface, frame))
    if found.shown.pick:
        _draw_pick(found, *found.shown.pick)


def _draw_pick(found: Found, row: int, column: int) -> None:
    axis = found.measured.left.surface.axis
    parts = []
    for name, _, cut, frame in found.sides:
        surface, at = cut.surface, (frame, row, column)
        if not surface.resolved[at]:
            parts.append(f"{name.lower()}: K unresolved")
            continue
        text = words.plus_minus(float(surface.gaussian[at]), float(surface.gaussian_error[at]))
        parts.append(f"{name.lower()}: K = {text}")
    st.caption(f"Marked point x = ({axis[column]:.2f}, {axis[row]:.2f}) · " + " · ".join(parts))


def draw_details(found: Found) -> None:
    """Behind *Explore*: how the models were chosen, curvature maps, area shares, loss curves."""
    _draw_seeds(found)
    surfaces = {name: cut.surface for name, _, cut, _ in found.sides}
    frames = {name: frame for name, _, _, frame in found.sides}
    scale = curvature_colours(found.measured.right.surface)
    st.plotly_chart(
        curvature_maps(surfaces, frames, scale.high),
        alt="Gaussian curvature over the input plane, both sides on one zero-centred scale.",
        key="curvature_maps",
    )
    st.caption(
        "Gaussian curvature K over the input plane, both sides on one scale centred at zero;"
        f" dashed: K = 0. Colours end at the {words.percent(QUANTILE)} quantile of |K| at λ = 1;"
        f" {words.percent(scale.beyond)} of the points lie beyond."
    )
    shares = [(cut.surface.shares, frame) for _, _, cut, frame in found.sides]
    st.table(
        {
            "Share of the area": SIDE_NAMES,
            "K > 0 (dome)": [_percent1(share.positive[frame]) for share, frame in shares],
            "K < 0 (saddle)": [_percent1(share.negative[frame]) for share, frame in shares],
            "undecided": [_percent1(share.undecided[frame]) for share, frame in shares],
        }
    )
    st.caption("Undecided: |K| is within its error, as everywhere on a flat sheet, or unresolved.")
    st.plotly_chart(
        learning_curves({name: side for name, side, _, _ in found.sides}, SIDE_COLOURS),
        alt="Training loss against steps for every seed, the shown seed thick.",
        key="learning_curves",
    )


def _percent1(share: float) -> str:
    return f"{100 * max(share, 0.0):.1f} %"


def _draw_seeds(found: Found) -> None:
    count = found.run.setting.seed_count
    for column, (name, side, _, _) in zip(st.columns(2), found.sides, strict=True):
        over_seeds = mean_interval(side.test_accuracy[-1])
        spread = words.plus_minus(100 * over_seeds.mean, 100 * over_seeds.half_width)
        column.markdown(
            f"**{name}**: shown is the best of {count} seeds on the training points, seed"
            f" {side.seeds[side.best]}. On new points all {count} average {spread} %"
            f" (95 % interval over seeds). {side.parameter_count} parameters."
        )
    left, right = (side.test_accuracy[-1] for _, side, _, _ in found.sides)
    st.markdown(difference_text(mean_interval(right - left), count))
