"""The film: surfaces and input planes while a run trains, and what the seeds show.

It follows the training from the first step. A worker samples the frames, once for everybody.
"""

from __future__ import annotations

from dataclasses import replace

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
from ui.common.dated import dated
from ui.common.formatting import percent
from ui.components.pair import Point, draw_pair
from ui.decision_boundary.frames import Film, film_of, variants_of
from ui.decision_boundary.model import DATA, TITLES, BoundaryView, text
from ui.decision_boundary.picture import Picture, gaussian_of, picture_of
from ui.decision_boundary.shared import (
    HALFWAY,
    JOB,
    STOPPED,
    VIEW_KEY,
    MeasurementRequest,
    base_rates,
    base_text,
    mean_text,
    stopped_frame,
)
from ui.limits import BOUNDARY_STEPS
from ui.work import jobs, pool, runs
from ui.work.cache import PASSING_CACHE, cached
from ui.work.jobs import Job, State
from ui.work.runs import Shown, serial

MOVED = "boundary_moved"  # the visitor has stopped at another frame
MARKED = "boundary_point"  # the grid point that the visitor has marked
STAGE = 400  # pixels of the pictures' place while there are none
NOT_YET = "total curvature is being measured …"
NOT_MEASURED = "total curvature: not measured"
LOPSIDED = 1.2  # times an even share: what the largest class has where the sentence says so
Told = tuple[str, str]  # what is bold, and the rest


def _film(key: int, _run: TrainedRun, member: int, unfinished: bool) -> Film:
    if _run.setting in COMPARISONS.values():  # bundled: first sight waits for no worker
        return film_of(_run, member, unfinished)
    return pool.POOL.call(film_of, _run, member, unfinished)


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


@cached()
def _findings(key: int, _run: TrainedRun) -> list[Told]:
    return findings(_run)


# --- Drawing --------------------------------------------------------------------------------------


def draw(
    setting: Setting, view: BoundaryView, measurement: MeasurementRequest, follows: bool
) -> Job:
    """Draw the run of ``setting`` while it trains; return its job.

    ``follows``: whether something else on the page shows the frame at which the visitor stops.
    """
    with jobs.dock(JOB, setting):
        job = runs.fetch(JOB, setting, measurement.measure, measurement.lacks)
        _draw_end(job)
    jobs.watch(
        job,
        lambda: work_text(job),
        lambda: _draw_film(job, view, measurement, setting, follows),
        share=lambda: share_done(job, measurement),
    )
    return job


def _draw_end(job: Job) -> None:
    """Draw why a run is not complete, and where it was stopped, beside the way to go on."""
    run, where = _run_of(job), ""
    if run is not None and not run.ended:
        where = f", at step {run.steps[-1]} of {run.setting.steps}"
    said = jobs.end_text(job, work_text(job), where)
    if job.state is State.FAILED:
        st.error(said)
    elif said:
        st.caption(f":material/stop_circle: {said}")


def _run_of(job: Job) -> TrainedRun | None:
    return next((shown.run for shown in job.so_far.values()), None)


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
    """Draw surfaces, input planes and curves, with a timeline to play and drag.

    As long as the ``requested`` run is not there, the picture says of what it is; before a first
    run there is none.
    """
    shown, going = runs.shown_of(JOB, job), not job.over
    if shown is None:
        if going:
            with st.container(
                height=STAGE,
                border=True,
                horizontal_alignment="center",
                vertical_alignment="center",
            ):
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
    member = measurement.member(run)
    picture, film = picture_for(shown, view, member, going), film_for(run, member, going)
    steps, last = picture.pair.places, len(picture.pair.places) - 1
    family = hash(replace(run.setting, steps=BOUNDARY_STEPS[0]))  # however long it trains
    live = job.elapsed > 0 and run.setting == requested  # trained under this visitor's eyes
    sides, unknown = variants_of(run), _unknown(shown, view, member)
    with dated(stale_text(run, requested, going)):
        draw_pair(
            picture.pair,
            key=VIEW_KEY,
            scene=f"{family} {member} {run.ended or not going}",
            frame=stopped_frame(run),
            point=st.session_state.get(MARKED),
            verdicts=[
                verdicts(shown, name, member, going, film.sides[side].spanned, k)
                for (side, name), k in zip(sides.items(), unknown, strict=True)
            ],
            findings=_findings(serial(run), run),
            quantity=picture.quantity,
            names=("x₁", "x₂"),
            note=_note(run, view, picture),
            strip=picture.maps,
            follow=f"{family} {member}" if live else "",
            grows=going and not run.ended,
            on_leave=lambda frame, point, _: _on_leave(run, steps[frame], frame == last, point),
        )
    if st.session_state.pop(MOVED, False) and follows:
        st.rerun()  # that is drawn outside this fragment
    notes = (theorem_text(run.setting), film.axes, frames_text(run, len(steps)))
    if any(notes):
        st.caption(" ".join(filter(None, notes)))


def _on_leave(run: TrainedRun, step: float, at_end: bool, point: Point | None) -> None:
    """Keep the marked point, and the step at which the visitor stopped; at the end they follow."""
    before = st.session_state.pop(STOPPED, None)
    if not at_end:
        st.session_state[STOPPED] = run.setting, step
    st.session_state[MARKED] = point
    st.session_state[MOVED] = st.session_state.get(STOPPED) != before


def _unknown(shown: Shown, view: BoundaryView, member: int) -> list[np.ndarray | None]:
    """Return by side at which share of the points (T,) K is not known, where it is shown."""
    gaussian = gaussian_of(shown, member) if view.paint == "curvature" else {}
    fields = [gaussian.get(side) for side in variants_of(shown.run)]
    whole = len(gaussian) == len(fields)
    return [np.isnan(x).mean((1, 2)) if whole and x is not None else None for x in fields]


def _note(run: TrainedRun, view: BoundaryView, picture: Picture) -> str:
    points = f"Filled: training points{', open: test points' if view.tested else ''}"
    parts = [f"{points}{drawn_text(run)}", "black: decision boundary"]
    data = [side.classified for side in picture.pair.sides]
    if any(x is not None and np.isfinite(x.planes).any() for x in data):
        parts.append("grey: the classifier's plane")
    if view.paint == "curvature" and picture.pair.ends[0]:
        beyond = f"at the last step {formatting.beyond_text(picture.scale.beyond)}"
        parts += ["K < 0 to K > 0, asinh scale", beyond, "hatched: not known"]
    return " · ".join(parts)


# --- Findings -------------------------------------------------------------------------------------


def findings(run: TrainedRun) -> list[Told]:
    """Say for every drawn frame what the seeds show together."""
    told = [finding(run, frame) for frame in drawn_frames(run)]
    if run.divergence is None:
        return told
    return [(f"{divergence_text(run)} {bold}", rest) for bold, rest in told]


def divergence_text(run: TrainedRun) -> str:
    """Say where a run broke off."""
    assert run.divergence is not None
    return f"{run.divergence.text.rstrip('.')}. Shown: the steps before."


def finding(run: TrainedRun, frame: int) -> Told:
    """Say what the paired difference of test accuracies shows after the step of a ``frame``."""
    left, right = run.setting.compared
    before, after = (run.variants[n].ensemble.test_accuracy[frame] for n in (left, right))
    means = [
        f"{TITLES[name]} {mean_text(shares)}" for name, shares in ((left, before), (right, after))
    ]
    base, gap, step = base_rates(run), mean_interval(after - before), run.steps[frame]
    seeds = f"{len(before)} seeds, 95 % interval, paired by seed"
    if not has_learned(before, base) and not has_learned(after, base):
        yet = "" if run.complete and step == run.steps[-1] else " yet"
        return (
            f"Neither model has learned much{yet} at step {step}:",
            f"{' and '.join(means)} test accuracy, where {base_text(run)}. Difference"
            f" {formatting.points_text(gap)} points ({seeds}).",
        )
    if base.mean() >= LOPSIDED / run.task.class_count:
        means.append(base_text(run))
    change = formatting.accuracy_change(gap, TITLES[right], TITLES[left])
    return f"At step {step} {change}:", f"{', '.join(means)} ({seeds})."


def has_learned(accuracy: np.ndarray, base: np.ndarray) -> bool:
    """Return whether test ``accuracy`` (S,) may be halfway from the ``base`` rate (S,) to 100 %.

    Not where even the upper end of the mean's 95 % interval stays below halfway. The base rate is
    that of always predicting the largest class.
    """
    interval, rate = mean_interval(accuracy), float(base.mean())
    return interval.mean + interval.half_width >= rate + HALFWAY * (1 - rate)


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
    final = shown.final.get((name, member))
    frames, told = drawn_frames(run), []
    for index, frame in enumerate(frames):
        accuracy = percent(float(run.variants[name].ensemble.test_accuracy[frame, member]))
        total, rest = NOT_YET if going else NOT_MEASURED, []
        at_end = final is not None and index == len(frames) - 1
        if (summary := final if at_end else along) is not None:
            verdict, integral = summary.verdicts[-1 if at_end else index], summary.total
            integral = integral if at_end else integral.at(index)
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
                rest.append(formatting.doubt_text(integral, verdict))
        if spanned is not None and not np.isnan(spanned[index]):
            rest.append(f"outputs span {percent(float(spanned[index]))} of the convex hull")
        if unknown is not None and unknown[index]:
            rest.append(f"K is not known at {percent(float(unknown[index]))} of the points")
        told.append((f"Test accuracy {accuracy} · {total}", " · ".join(rest)))
    return told


def theorem_text(setting: Setting) -> str:
    """Say why the flatness theorem, on averages of fixed values, does not apply, if so."""
    mechanism = MECHANISMS[setting.source]
    if not mechanism.fixed_values:
        return text("moving")
    return "" if mechanism.weights_on_simplex else text("no_averages")


def frames_text(run: TrainedRun, drawn: int) -> str:
    """Say how many frames of a large model are drawn, if not all are."""
    count = len(run.frames)
    return "" if drawn == count else f"{drawn} of {count} saved steps are shown."


def drawn_text(run: TrainedRun) -> str:
    """Say how many of the points are drawn, if not all are."""
    train, test = run.task.train_points.shape[1], run.task.test_points.shape[1]
    if max(train, test) <= DRAWN_POINTS:
        return ""
    drawn = [min(count, DRAWN_POINTS) for count in (train, test)]
    return f" ({drawn[0]} of {train} and {drawn[1]} of {test} are drawn)"


def stale_text(run: TrainedRun, requested: Setting, going: bool = True) -> str:
    """Return what stands over the picture of a ``run`` that is not the ``requested`` one.

    That one is being trained, unless nothing is ``going`` on.
    """
    if replace(run.setting, steps=requested.steps) == requested:
        return ""
    return f"Still showing the run before. The new run is {'' if going else 'not '}training."
