"""The film: surfaces and input planes while a run trains.

It follows the training from the first step. Workers sample each frame once, for everybody.

Shapes: T frames (snapshots of a run), S seeds, R x C grid points.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import (
    COMPARISONS,
    DRAWN_POINTS,
    Setting,
    TrainedRun,
    drawn_frames,
)
from gating_core.geometry import CURVED, UNKNOWN
from gating_core.training import mean_interval
from ui.common import formatting
from ui.common.formatting import percent
from ui.common.page import dated
from ui.components.pair import Classified, Pair, Point, Side, draw_pair
from ui.decision_boundary.frames import EYE, Film, film_of, sampled, sampled_run, variants_of
from ui.decision_boundary.measuring import STOPPED, MeasurementRequest, stopped_frame
from ui.decision_boundary.model import DATA, TITLES, BoundaryView, text
from ui.drawing import palette
from ui.drawing.colours import ColourScale, class_colours, scale_of
from ui.drawing.first_view import scale_share
from ui.limits import BOUNDARY_STEPS
from ui.work import jobs, pool, runs
from ui.work.cache import PASSING_CACHE, cached
from ui.work.jobs import Job, State
from ui.work.runs import Shown, serial

JOB, VIEW_KEY = "boundary", "boundary_view"
MOVED = "boundary_moved"  # the visitor has stopped at another frame
MARKED = "boundary_point"  # the grid point that the visitor has marked
STAGE = 400  # pixels of the pictures' place while there are none
MOST_MAPS = 24  # below the picture
NOT_YET = "total curvature is being measured …"
NOT_MEASURED = "total curvature: not measured"
Told = tuple[str, str]  # what is bold, and the rest


def draw(
    setting: Setting, view: BoundaryView, measurement: MeasurementRequest, follows: bool
) -> Job:
    """Draw the run of ``setting`` while it trains; return its job.

    ``follows``: whether something else on the page shows the frame at which the visitor stops.
    """
    with jobs.dock(JOB, setting):
        job = runs.fetch(JOB, setting, measurement.measure, measurement.lacks)
        run = next((shown.run for shown in job.so_far.values()), None)
        cut = run is not None and not run.ended
        where = f", at step {run.steps[-1]} of {run.setting.steps}" if run and cut else ""
        said = jobs.end_text(job, work_text(job), where)
        if job.state is State.FAILED:
            st.error(said)
        elif said:
            st.caption(f":material/stop_circle: {said}")
    jobs.watch(
        job,
        lambda: work_text(job),
        lambda: _draw_film(job, view, measurement, setting, follows),
        share=lambda: share_done(job, measurement),
    )
    return job


def work_text(job: Job) -> str:
    """Say what a job does."""
    return "Measuring curvature" if runs.trained(job) else "Training"


def share_done(job: Job, measurement: MeasurementRequest) -> float:
    """Return how much of it is done."""
    shown = next(iter(job.so_far.values()), None)
    if shown is None or not shown.run.ended:
        return job.share
    seeds = len(shown.run.task.seeds) if measurement.others(shown.run) else 1
    return len(shown.along) / (len(shown.run.setting.compared) * seeds)


def _draw_film(
    job: Job, view: BoundaryView, measurement: MeasurementRequest, requested: Setting, follows: bool
) -> None:
    """Draw surfaces and input planes, with a timeline to play and drag.

    As long as the ``requested`` run is not there, the picture says of what it is; before a first
    run there is none.
    """
    shown, going = runs.shown_of(JOB, job), not job.over
    if shown is None:
        if going:
            with st.container(height=STAGE, border=True, horizontal_alignment="center",
                              vertical_alignment="center"):  # fmt: skip
                models = " and ".join(TITLES[name] for name in requested.compared)
                st.markdown(
                    f"Training on {DATA[requested.task].name}: {models}. The picture"
                    " appears with the first steps.",
                    width="content",
                )
        return
    run = shown.run
    if not len(run.frames):
        if run.divergence is not None:
            st.warning(divergence_text(run))
        return
    member = measurement.growing_member(run) if going and not run.ended else measurement.member(run)
    film, picture = film_for(run, member, going), picture_for(shown, view, member, going)
    steps, last = run.steps[drawn_frames(run)], len(picture.pair.places) - 1
    strip = np.unique(np.linspace(0, last, min(last + 1, MOST_MAPS)).round())
    family = hash(replace(run.setting, steps=BOUNDARY_STEPS[0]))  # however long it trains
    live = job.elapsed > 0 and run.setting == requested  # trained under this visitor's eyes

    def on_leave(frame: int, point: Point | None, _: object) -> None:
        """Keep the marked point, and the step where the visitor stopped; at the end they follow."""
        before = st.session_state.pop(STOPPED, None)
        if frame != last:
            st.session_state[STOPPED] = run.setting, float(steps[frame])
        st.session_state[MARKED] = point
        st.session_state[MOVED] = st.session_state.get(STOPPED) != before

    with dated(stale_text(run, requested, going)):
        draw_pair(
            picture.pair,
            key=VIEW_KEY,
            scene=f"{family} {member} {run.ended or not going}",
            frame=stopped_frame(run),
            point=st.session_state.get(MARKED),
            verdicts=[
                verdicts(shown, name, member, going, film.sides[side].spanned, picture.unknown[i])
                for i, (side, name) in enumerate(variants_of(run).items())
            ],
            quantity=picture.quantity,
            names=("x₁", "x₂"),
            note=note_text(run, view, picture),
            strip=strip.astype(int).tolist(),
            follow=f"{family} {member}" if live else "",
            grows=going and not run.ended,
            on_leave=on_leave,
        )
    if st.session_state.pop(MOVED, False) and follows:
        st.rerun()  # that is drawn outside this fragment
    if notes := [*filter(None, details(run, film))]:
        st.caption(" ".join(notes))


# --- The picture ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Picture:
    """A ``pair`` with its colour ``scale`` and what it shows.

    ``unknown``: the share of points (T,) by side at which K, where it is drawn, is not known.
    """

    pair: Pair
    scale: ColourScale
    quantity: str
    unknown: list[np.ndarray | None]


def _film(key: int, _run: TrainedRun, member: int, unfinished: bool) -> Film:
    if _run.setting in COMPARISONS.values():  # bundled: first sight waits for no worker
        return film_of(_run, member, unfinished)
    latest = film_of, replace(_run.setting, steps=BOUNDARY_STEPS[0]), member
    before = PASSING_CACHE.find([latest]).get(latest)
    found = sampled_run(_run, member, before, lambda calls: pool.POOL.map(sampled, calls))
    PASSING_CACHE.put(latest, found)
    return film_of(_run, member, unfinished, found)


def _picture(key: object, _film: Film, _shown: Shown, member: int, view: BoundaryView) -> Picture:
    return picture_of(_film, _shown.run, member, gaussian_of(_shown, member), view)


# While a run grows they pass.
FILMS = {False: cached()(_film), True: cached(on=PASSING_CACHE)(_film)}
PICTURES = {False: cached()(_picture), True: cached(on=PASSING_CACHE)(_picture)}


def film_for(run: TrainedRun, member: int, going: bool = False) -> Film:
    """Return the frames of one seed; ``going``: whether work on the run goes on."""
    return FILMS[going](serial(run), run, member, going and not run.ended)


def picture_for(shown: Shown, view: BoundaryView, member: int, going: bool = False) -> Picture:
    """Return the picture of one seed, with the curvature that is measured by now."""
    run, measured = shown.run, tuple(gaussian_of(shown, member))
    film, key = film_for(run, member, going), (serial(run), measured, going and not run.ended)
    return PICTURES[going](key, film, shown, member, view)


def gaussian_of(shown: Shown, member: int) -> dict[str, np.ndarray]:
    """Return K (T, R, C) by side, of those variants of which it is measured."""
    pairs = {s: shown.along.get((name, member)) for s, name in variants_of(shown.run).items()}
    return {s: x.known for s, x in pairs.items() if x is not None and x.known is not None}


def picture_of(
    film: Film,
    run: TrainedRun,
    member: int,
    gaussian: Mapping[str, np.ndarray],
    view: BoundaryView,
) -> Picture:
    """Draw the frames of a ``film``, ``gaussian`` being K (T, R, C) by side.

    By "class" colours show the classifier: its probability, or where the view is ``discrete`` the
    likeliest class. By "curvature" they show K on one scale, hatched where it is NaN. A side that
    is not measured yet is neutral.
    """
    data, by_class = film.data, view.paint == "class"
    whole = data.class_count > 2 or view.discrete
    keys, symbol, ends = [], "K", ("", "")
    if by_class:
        scale = ColourScale(palette.class_scale(data.colours), 0.0, data.class_count - 1.0)
        symbol, quantity, ends = f"p({data.names[1]})", f"Probability of {data.names[1]}", (
            data.names[0], data.names[1])  # fmt: skip
        if whole:
            symbol, quantity, ends = "class", "Predicted class", ("", "")
            colours = [palette.CLASS_COLOURS[c] for c in data.colours]
            keys = [*zip(data.names, colours, strict=True)]
    else:
        scale = scale_of("curvature", [field[-1] for field in gaussian.values()])
        quantity = "K over the input square"
        if len(gaussian) < len(film.sides):
            quantity = "K is not measured yet"
        elif not scale.collapsed:
            low, high = (f"K = {formatting.short(end)}" for end in scale.ends)
            ends = low, high
    sides = []
    for (side, own), name in zip(film.sides.items(), variants_of(run).values(), strict=True):
        k, frames = gaussian.get(side), own.frames
        field = class_colours(frames.logits, view.discrete).astype(float) if by_class else k
        shown = ~data.tested | view.tested
        fine = frames.fine_logits
        drawn = Classified(
            own.places[:, shown], data.points[shown], data.labels[shown], data.tested[shown],
            own.planes, [palette.POINT_COLOURS[index] for index in data.colours], own.cuts,
            None if fine is None or not by_class else scale_share(
                class_colours(fine, view.discrete), scale),
            None if fine is None else fine[..., 1] - fine[..., 0],
        )  # fmt: skip
        empty = np.full(own.values.shape[:3], np.nan)
        sides.append(Side(
            f"{TITLES[name]} · seed {run.task.seeds[member]}", TITLES[name], own.values,
            np.full(empty.shape, 0.5) if field is None else scale_share(field, scale),
            frames.margin, empty if field is None else field, np.zeros_like(empty),
            [own.corners is not None] * len(empty), own.corners, own.lines,
            read={"K": k} if by_class and k is not None else {}, classified=drawn,
        ))  # fmt: skip
    is_told = not by_class and len(gaussian) == len(sides)
    unknown = [np.isnan(x.gaussian).mean((1, 2)) if is_told else None for x in sides]
    steps = run.steps[drawn_frames(run)].tolist()
    points = run.task.train_points.shape[1]
    epochs = min(run.setting.batch_size, points) / points  # in a step
    labels = [f"Step {step}, epoch {formatting.short(float(step * epochs))}" for step in steps]
    pair = Pair(tuple(sides), labels, steps, EYE, scale.colours, ends, symbol=symbol,
                keys=keys, whole=whole)  # fmt: skip
    return Picture(pair, scale, quantity, unknown)


# --- Texts at the pictures ------------------------------------------------------------------------


def verdicts(
    shown: Shown,
    name: str,
    member: int,
    going: bool,
    spanned: np.ndarray | None = None,
    unknown: np.ndarray | None = None,
) -> list[Told]:
    """Return what stands over a surface in every frame: accuracy and total curvature, and the rest.

    While work is ``going`` on, what is not measured is about to be. ``spanned`` (T,) is the share
    of the convex hull of its values that a flat surface spans, NaN where that is a line; at an
    ``unknown`` (T,) share of the points K is not known.
    """
    run, along = shown.run, shown.along.get((name, member))
    final, accuracies = shown.final.get((name, member)), run.variants[name].ensemble.test_accuracy
    frames, told = drawn_frames(run), []
    for index, frame in enumerate(frames):
        total, rest = NOT_YET if going else NOT_MEASURED, []
        at_end = final is not None and index == len(frames) - 1
        if (summary := final if at_end else along) is not None:
            verdict = summary.verdicts[-1 if at_end else index]
            integral = summary.total if at_end else summary.total.at(index)
            said = (formatting.final_total_text if at_end else formatting.total_text)(
                integral, verdict.without_curvature
            )
            total = f"total curvature {said}"
            if verdict.without_curvature and not at_end:
                rest.append(formatting.flat_text(verdict))
            elif said == UNKNOWN:
                rest.append("the surface folds too sharply")
            if at_end:
                curved = verdict.word == CURVED
                rest += [formatting.verdict_text(verdict)] if curved else []
                sure = curved and integral.quotable() and integral.resolved
                rest += [] if sure else [formatting.doubt_text(integral, verdict)]
        if spanned is not None and not np.isnan(spanned[index]):
            rest.append(f"outputs span {percent(float(spanned[index]))} of the convex hull")
        if unknown is not None and unknown[index]:
            rest.append(f"K is not known at {percent(float(unknown[index]))} of the points")
        accuracy = percent(float(accuracies[frame, member]))
        told.append((f"Test accuracy {accuracy} · {total}", " · ".join(rest)))
    return told


def mean_text(shares: np.ndarray) -> str:
    """Format the mean accuracy of all seeds in percent, with its 95 % interval.

    An interval that would reach beyond what an accuracy can be ends there.
    """
    interval = mean_interval(shares)
    if not interval.half_width <= interval.mean <= 1 - interval.half_width:
        return formatting.accuracy_text(interval)
    width = np.ceil(1000 * interval.half_width - 1e-9) / 10  # rounded up
    return f"{100 * interval.mean:.1f} ± {width:.1f}\u00a0%"


def divergence_text(run: TrainedRun) -> str:
    """Say where a run broke off."""
    assert run.divergence is not None
    return f"{run.divergence.text.rstrip('.')}. Shown: the steps before."


def note_text(run: TrainedRun, view: BoundaryView, picture: Picture) -> str:
    """Say what is drawn."""
    counts = run.task.train_points.shape[1], run.task.test_points.shape[1]
    points = f"Filled: training points{', open: test points' if view.tested else ''}"
    if max(counts) > DRAWN_POINTS:
        train, test = (f"{min(count, DRAWN_POINTS)} of {count}" for count in counts)
        points += f" ({train} and {test} are drawn)"
    parts = [points, "black: decision boundary"]
    data = [side.classified for side in picture.pair.sides]
    if any(x is not None and np.isfinite(x.planes).any() for x in data):
        parts.append("grey: the classifier's plane")
    if view.paint == "curvature" and picture.pair.ends[0]:
        beyond = f"at the last step {formatting.beyond_text(picture.scale.beyond)}"
        parts += ["K < 0 to K > 0, asinh scale", beyond, "hatched: not known"]
    return " · ".join(parts)


def details(run: TrainedRun, film: Film) -> tuple[str, str, str]:
    """Say why the flatness theorem, on averages of fixed values, does not apply; what is drawn."""
    mechanism = MECHANISMS[run.setting.source]
    theorem = "" if mechanism.fixed_values else text("moving")
    if mechanism.fixed_values and not mechanism.weights_on_simplex:
        theorem = text("no_averages")
    saved, drawn = len(run.frames), len(drawn_frames(run))
    return (
        theorem,
        text("axes", shares=film.axes) if film.axes else "",
        "" if saved == drawn else f"{drawn} of {saved} saved steps are shown.",
    )


def stale_text(run: TrainedRun, requested: Setting, going: bool = True) -> str:
    """Return what stands over the picture of a ``run`` that is not the ``requested`` one.

    That one is being trained, unless nothing is ``going`` on.
    """
    if replace(run.setting, steps=requested.steps) == requested:
        return ""
    return f"Still showing the run before. The new run is {'' if going else 'not '}training."
