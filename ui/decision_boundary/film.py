"""The film: surfaces and input planes while a run trains, its curves, and what the seeds show.

It follows the training from the first step. A worker makes the frames, once for everybody.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import (
    COMPARISONS,
    DRAWN_POINTS,
    CurvatureSummary,
    DrawnData,
    Setting,
    TrainedRun,
    drawn_frames,
    training_data,
)
from gating_core.geometry import CURVED, UNKNOWN, Integral, Verdict
from gating_core.training import mean_interval
from ui.common import formatting
from ui.common.dated import dated
from ui.common.formatting import percent, short
from ui.components.view3d import Legend, stopped, view3d
from ui.decision_boundary.model import DATA, TITLES, BoundaryView, text
from ui.decision_boundary.picture import (
    TrainingFrames,
    curves_of,
    drawn_key,
    frames_of,
    gaussian_of,
    variants_of,
)
from ui.decision_boundary.shared import (
    HALFWAY,
    JOB,
    REVEALED,
    STOPPED,
    VIEW_KEY,
    MeasurementRequest,
    base_rates,
    base_text,
    mean_text,
)
from ui.drawing import palette
from ui.limits import BOUNDARY_STEPS
from ui.work import jobs, pool, runs
from ui.work.cache import PASSING_CACHE, cached
from ui.work.jobs import Job, State
from ui.work.runs import Shown, serial

REWINDS, REWOUND = "boundary_rewinds", "boundary_rewound"
MOVED = "boundary_moved"  # the visitor has stopped at another frame
SPARE = 410  # pixels for all but the pictures
STAGE = 400  # pixels of the pictures' place while there are none
NOT_YET = "total curvature is being measured …"
NOT_MEASURED = "total curvature: not measured"
LOPSIDED = 1.2  # times an even share: what the largest class has where the sentence says so


def _make(
    key: object, _run: TrainedRun, member: int, _shown: Shown, view: BoundaryView, unfinished: bool
) -> TrainingFrames:
    about = _run, member, curves_of(_shown, member), gaussian_of(_shown, member), view, unfinished
    if _run.setting in COMPARISONS.values():  # bundled: first sight waits for no worker
        return frames_of(*about)
    return pool.POOL.call(frames_of, *about)


_made, _made_meanwhile = cached()(_make), cached(on=PASSING_CACHE)(_make)


def frames_for(
    shown: Shown, view: BoundaryView, member: int, going: bool = False
) -> TrainingFrames:
    """Return the training frames of one seed, with what is measured by now.

    While work is ``going`` on, they pass.
    """
    key = serial(shown.run), drawn_key(shown, member)
    made = _made_meanwhile if going else _made
    return made(key, shown.run, member, shown, view, going and not shown.run.ended)


@cached()
def _findings(key: int, _run: TrainedRun) -> list[str]:
    return findings(_run)


# --- Drawing --------------------------------------------------------------------------------------


def draw(
    setting: Setting, view: BoundaryView, measurement: MeasurementRequest, inside: bool
) -> Job:
    """Draw the run of ``setting`` while it trains; return its job.

    ``inside``: whether the page draws the weights of the frame at which the visitor stops.
    """
    with jobs.dock(JOB, setting):
        job = runs.fetch(JOB, setting, measurement.measure, measurement.lacks)
        _draw_end(job)
    jobs.watch(
        job,
        lambda: work_text(job),
        lambda: _draw_film(job, view, measurement, setting, inside),
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
    job: Job, view: BoundaryView, measurement: MeasurementRequest, requested: Setting, inside: bool
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
    member, variants = measurement.member(run), variants_of(run)
    frames = frames_for(shown, view, member, going)
    steps = run.steps[drawn_frames(run)]
    k = gaussian_of(shown, member) if view.paint == "curvature" and frames.measured else {}
    family = hash(replace(run.setting, steps=BOUNDARY_STEPS[0]))  # however long it trains
    rewinds = st.session_state.get(REWINDS, 0)
    rewound = st.session_state.get(REWOUND) == (run.setting, member)
    live = job.elapsed > 0  # trained under this visitor's eyes
    with dated(stale_text(run, requested, going)):
        view3d(
            frames.picture,
            key=VIEW_KEY,
            headings=[*(heading(run, name, member) for name in variants.values()), "Along the run"],
            captions=[
                *(
                    captions(shown, name, member, going, k.get(side), frames.spanned[side])
                    for side, name in variants.items()
                ),
                [text("curves", **{side: TITLES[name] for side, name in variants.items()})],
            ],
            readouts=((), (), ()),
            readings=_findings(serial(run), run),
            frame=0 if rewound else len(steps) - 1,
            frame_labels=frame_labels(run),
            places=steps.tolist(),
            legend=_legend(view, training_data(run, member), frames, drawn_text(run)),
            scrub=True,
            scene=f"{family} {member} {run.ended or not going}",
            spare=SPARE,
            serial=f"{serial(run)} {member} {rewinds}",
            family=f"{family} {rewinds}",
            follow=live and not rewound and run.setting == requested,
            grows=going and not run.ended,
            reveal=st.session_state.get(REVEALED, 0),
            on_stop=lambda: _on_stop(run.setting, len(steps)),
        )
    if st.session_state.pop(MOVED, False) and inside:
        st.rerun()  # the weights are drawn outside this fragment
    ends = {name: shown.final.get((name, member)) for name in variants.values()}
    notes = (theorem_text(run.setting), ends_text(ends), frames.axes, frames_text(run, len(steps)))
    st.caption(" ".join(filter(None, notes)))


def _on_stop(setting: Setting, frames: int) -> None:
    """Note that the visitor stopped at another frame of the run of this ``setting``."""
    frame = stopped(VIEW_KEY, frames)
    if frame is not None:
        st.session_state[STOPPED] = setting, frame
        st.session_state[MOVED] = True


def rewind(run: TrainedRun, member: int) -> None:
    """Go back to step 0, until something else is shown; for callbacks only."""
    st.session_state[REWOUND] = run.setting, member
    st.session_state[STOPPED] = run.setting, 0
    st.session_state[REWINDS] = st.session_state.get(REWINDS, 0) + 1


def _legend(view: BoundaryView, data: DrawnData, frames: TrainingFrames, drawn: str) -> Legend:
    picture = frames.picture
    if view.paint == "curvature":
        if not frames.measured:
            return Legend(palette.SIGNED_SCALE, "", "", "K is not measured yet")
        low, high = (f"K = {short(end)}" for end in picture.colour_range)
        beyond = f"at the last step {formatting.beyond_text(picture.beyond)}"
        note = f"K < 0 to K > 0, asinh scale · {beyond} · hatched: not known"
        return Legend(palette.SIGNED_SCALE, low, high, note)
    note = f"filled: training points{', open: test points' if view.tested else ''}{drawn}"
    scale = palette.class_scale(data.colours)
    if data.class_count > 2:
        names = zip(data.names, data.colours, strict=True)
        keys = [(name, palette.CLASS_COLOURS[colour]) for name, colour in names]
        return Legend(scale, "", "", note, keys)
    return Legend(scale, data.names[0], data.names[-1], note)


# --- Findings -------------------------------------------------------------------------------------


def findings(run: TrainedRun) -> list[str]:
    """Say for every drawn frame what the seeds show together."""
    broken = "" if run.divergence is None else f"**{divergence_text(run)}** "
    return [broken + finding(run, frame) for frame in drawn_frames(run)]


def divergence_text(run: TrainedRun) -> str:
    """Say where a run broke off."""
    assert run.divergence is not None
    return f"{run.divergence.text.rstrip('.')}. Shown: the steps before."


def finding(run: TrainedRun, frame: int) -> str:
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
            f"**Neither model has learned much{yet} at step {step}**: {' and '.join(means)} test"
            f" accuracy, where {base_text(run)}. Difference {formatting.points_text(gap)} points"
            f" ({seeds})."
        )
    if base.mean() >= LOPSIDED / run.task.class_count:
        means.append(base_text(run))
    change = formatting.accuracy_change(gap, TITLES[right], TITLES[left])
    return f"**At step {step} {change}**: {', '.join(means)} ({seeds})."


def has_learned(accuracy: np.ndarray, base: np.ndarray) -> bool:
    """Return whether test ``accuracy`` (S,) may be halfway from the ``base`` rate (S,) to 100 %.

    Not where even the upper end of the mean's 95 % interval stays below halfway. The base rate is
    that of always predicting the largest class.
    """
    interval, rate = mean_interval(accuracy), float(base.mean())
    return interval.mean + interval.half_width >= rate + HALFWAY * (1 - rate)


# --- Texts at the pictures ------------------------------------------------------------------------


def heading(run: TrainedRun, name: str, member: int) -> str:
    """Name the variant and the seed of a side."""
    return f"{TITLES[name]} · seed {run.task.seeds[member]}"


def captions(
    shown: Shown,
    name: str,
    member: int,
    going: bool,
    gaussian: np.ndarray | None = None,
    spanned: np.ndarray | None = None,
) -> list[str]:
    """Return the line over a surface for every frame: accuracy, total curvature, and more.

    While work is ``going`` on, what is not measured is about to be. ``gaussian`` (T, R, C) adds at
    how many points K is not known, ``spanned`` (T,) the share of the convex hull of its values that
    a flat surface spans; NaN where that is a line.
    """
    run, frames = shown.run, drawn_frames(shown.run)
    accuracies = run.variants[name].ensemble.test_accuracy[frames, member]
    along, final = shown.along.get((name, member)), shown.final.get((name, member))
    totals = [NOT_YET if going else NOT_MEASURED] * len(frames)
    if along is not None:
        totals = [total_text(along.total.at(i), x) for i, x in enumerate(along.verdicts)]
    if final is not None:
        totals[-1] = total_text(final.total, final.verdicts[-1], refined=True)
    lines = []
    for index, (accuracy, total) in enumerate(zip(accuracies, totals, strict=True)):
        line = f"Test accuracy **{percent(float(accuracy))}** · {total}"
        if spanned is not None and not np.isnan(spanned[index]):
            line += f" · outputs span {percent(float(spanned[index]))} of the convex hull"
        if gaussian is not None and (unknown := float(np.isnan(gaussian[index]).mean())):
            line += f" · K is not known at {percent(unknown)} of the points"
        lines.append(line)
    return lines


def total_text(total: Integral, verdict: Verdict, refined: bool = False) -> str:
    """Say the total curvature of a surface with its error.

    A ``refined`` total is final: where it is doubtful still, the line says so.
    """
    if verdict.without_curvature:
        return f"total curvature **0**: {formatting.flat_text(verdict)}"
    said = (formatting.final_total_text if refined else formatting.total_text)(total, flat=False)
    if said == UNKNOWN:
        return f"total curvature: {said}, the surface folds too sharply"
    return f"total curvature **{said}**"


def ends_text(ends: dict[str, CurvatureSummary | None]) -> str:
    """Say how sure the totals after the last step are, by variant; only of those measured."""
    lines = []
    for name, summary in ends.items():
        if summary is not None:
            verdict = summary.verdicts[-1]
            doubt = formatting.doubt_text(summary.total, verdict)
            curved = f"{formatting.verdict_text(verdict)}; " if verdict.word == CURVED else ""
            lines.append(f"At the last step, {TITLES[name]}: {curved}{doubt}.")
    return " ".join(lines)


def theorem_text(setting: Setting) -> str:
    """Say why the flatness theorem, on averages of fixed values, does not apply, if so."""
    mechanism = MECHANISMS[setting.source]
    if not mechanism.fixed_values:
        return text("moving")
    return "" if mechanism.weights_on_simplex else text("no_averages")


def frame_labels(run: TrainedRun) -> list[str]:
    """Return step and epoch of every drawn frame."""
    points = run.task.train_points.shape[1]
    epochs = min(run.setting.batch_size, points) / points  # in a step
    return [
        f"step {step} · epoch {short(float(step * epochs))}"
        for step in run.steps[drawn_frames(run)]
    ]


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
