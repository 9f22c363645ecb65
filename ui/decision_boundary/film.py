"""The film: surfaces and input planes while a run trains, and what is measured of it.

It follows the training from the first step. Workers sample each frame once, for everybody.

Shapes: T frames (snapshots of a run), S seeds, R x C grid points.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import streamlit as st

import gating_core.experiments.comparison as comparison
from gating_core.attention import MECHANISMS
from gating_core.experiments.comparison import LIMITS, Setting, TrainedRun, drawn_frames
from gating_core.geometry import CURVED, UNKNOWN
from ui import limits
from ui.common import formatting
from ui.common.formatting import percent
from ui.common.links import link_value
from ui.common.page import dated
from ui.components.pair import Classified, Pair, Point, Side, draw_pair
from ui.decision_boundary.controls import (
    DATA,
    PICKED,
    TITLES,
    TYPICAL,
    WHO,
    BoundaryView,
    text,
)
from ui.decision_boundary.frames import EYE, SIDES, Film, film_of, sampled, sampled_run, variants_of
from ui.drawing import palette
from ui.drawing.colours import ColourScale, class_colours, scale_of
from ui.drawing.first_view import scale_share
from ui.work import jobs, pool, runs
from ui.work.cache import CACHE, PASSING_CACHE
from ui.work.jobs import Job, State
from ui.work.pool import Rank
from ui.work.runs import Shown, serial

JOB, VIEW_KEY = "boundary", "boundary_view"
MEASUREMENT = "boundary_measurement"
STOPPED = "boundary_stopped"  # a setting, and the step at which its visitor has stopped
MOVED = "boundary_moved"  # the visitor has stopped at another frame
MARKED = "boundary_point"  # the grid point that the visitor has marked
AT_ONCE = 4  # curvatures that a worker measures before it is the turn of another visitor
LEAST_SEED, LAST_SEED = LIMITS["seed"][0], LIMITS["seed"][1] + limits.BOUNDARY_SEEDS[1]
STAGE = 400  # pixels of the pictures' place while there are none
MOST_MAPS = 12  # below the picture
Told = tuple[str, str]  # what is bold, and the rest


# --- What is measured, in which order -------------------------------------------------------------


@dataclass
class MeasurementRequest:
    """The seed that is measured first: ``which`` of `WHO`, or the ``picked`` one.

    There is one for a session, and its job reads it as well. Curvature of the other seeds along the
    run is measured where that takes few seconds.
    """

    which: str = TYPICAL
    picked: int | None = None
    _growing: tuple[object, int] = (None, 0)

    def chosen(self, run: TrainedRun) -> str:
        """Return by which of `WHO` a seed is shown, or `PICKED` for a seed of the run that was."""
        lost = self.which == PICKED and self.picked not in run.task.seeds
        return TYPICAL if lost else self.which

    def member(self, run: TrainedRun) -> int:
        """Return the index of the seed shown, which is the same for both variants."""
        chosen = self.chosen(run)
        if chosen == PICKED:
            return run.task.seeds.index(self.picked)
        if (whose := WHO[chosen]) is None:
            return comparison.typical_member(run)
        name = run.setting.compared[SIDES.index(whose[0])]
        return comparison.shown_member(run.variants[name].ensemble, whose[1])

    def growing_member(self, run: TrainedRun) -> int:
        """Return the seed shown while a run trains: the first that was, so its film goes on."""
        about = run.setting, self.which, self.picked
        if self._growing[0] != about:
            self._growing = about, self.member(run)
        return self._growing[1]

    def others(self, run: TrainedRun) -> bool:
        """Return whether seeds that are not shown are measured, too."""
        return (len(run.task.seeds) - 1) * comparison.along_cost(run) <= limits.OTHERS_COST

    def lacks(self, shown: Shown) -> bool:
        """Return whether there is something left to measure."""
        return bool(shown.run.frames and self._pending(shown))

    def measure(self, shown: Shown) -> Iterator[Any]:
        """Measure the curvatures that are missing, those of the seed shown first.

        Only its curvature along the run ranks first, while nobody waits for a worker: the rest
        waits for others' trainings, and for their first pictures. A worker is sent the run once for
        several.
        """
        done: set[Any] = set()
        while pending := self._pending(shown, done):
            seed = self.member(shown.run)
            first = [x for x in pending if x[0] is not comparison.final_curvature and x[2] == seed]
            works = first or pending[:AT_ONCE]
            rank = Rank.FIRST if first and not pool.POOL.crowded else Rank.REST
            items = pool.POOL.stream(comparison.measure_each, shown.run, tuple(works), rank=rank)
            with closing(items):
                for item in items:
                    yield item
                    if isinstance(item, comparison.CurvatureSummary):
                        done.add((item.at_end, item.variant, item.member))
                    if self.member(shown.run) != seed:
                        break

    def _pending(
        self, shown: Shown, done: Collection[Any] = ()
    ) -> list[tuple[Callable[..., Any], str, int]]:
        """List what is to be measured; of seeds that are not shown, totals are enough."""
        run, seed = shown.run, self.member(shown.run)
        enough = {key for key, x in shown.along.items() if key[1] != seed or x.known is not None}
        pending = comparison.pending_measurements(
            run, run.setting.compared, seed, enough, shown.final
        )
        return [
            (function, name, member)
            for function, name, member in pending
            if (function is comparison.final_curvature, name, member) not in done
            and (member == seed or self.others(run))
        ]


def read_measurement(which: str) -> MeasurementRequest:
    """Return this session's request, brought up to date with the controls and the link."""

    def parse(word: str) -> int | None:
        seed = int(word) if word.isascii() and word.isdigit() and len(word) <= 5 else -1
        return seed if LEAST_SEED <= seed <= LAST_SEED else None

    request = st.session_state.setdefault(MEASUREMENT, MeasurementRequest())
    request.which = which
    request.picked = link_value("picked_seed", parse, None, "the typical one")
    return request


def stopped_frame(run: TrainedRun) -> int:
    """Return the drawn frame that the visitor has stopped at, or else the last one."""
    steps = run.steps[drawn_frames(run)]
    about, step = st.session_state.get(STOPPED, (None, 0))
    return int(np.abs(steps - step).argmin()) if about == run.setting else len(steps) - 1


# --- The film -------------------------------------------------------------------------------------


def draw(
    setting: Setting, view: BoundaryView, measurement: MeasurementRequest, follows: bool
) -> Job:
    """Draw the run of ``setting`` while it trains; return its job.

    ``follows``: whether something else on the page shows the frame at which the visitor stops.
    """

    def what() -> str:
        return "Measuring curvature" if runs.trained(job) else "Training"

    def share() -> float:
        shown = next(iter(job.so_far.values()), None)
        if shown is None or not shown.run.ended:
            return job.share
        seeds = len(shown.run.task.seeds) if measurement.others(shown.run) else 1
        return len(shown.along) / (len(shown.run.setting.compared) * seeds)

    with jobs.dock(JOB, setting):
        job = runs.fetch(JOB, setting, measurement.measure, measurement.lacks)
        run = next((shown.run for shown in job.so_far.values()), None)
        cut = run is not None and not run.ended
        where = f", at step {run.steps[-1]} of {run.setting.steps}" if run and cut else ""
        said = jobs.end_text(job, what(), where)
        if job.state is State.FAILED:
            st.error(said)
        elif said:
            st.caption(f":material/stop_circle: {said}")
    told = lru_cache(len(setting.compared))(verdicts)  # most polls find nothing new
    jobs.watch(
        job, what, lambda: _draw_film(job, view, measurement, setting, follows, told), share=share
    )
    return job


def _draw_film(
    job: Job,
    view: BoundaryView,
    measurement: MeasurementRequest,
    requested: Setting,
    follows: bool,
    verdicts: Callable[..., list[tuple[str, str, str]]],
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
    grows = going and not run.ended
    member = measurement.growing_member(run) if grows else measurement.member(run)
    film, k = film_for(run, member, grows), gaussian_of(shown, member)
    measured = len(k) == len(film.sides)
    if going and view.paint == "class" and not measured:
        k = {}  # that is only read off at points: a picture for each side would be sent anew
    picture = (CACHE if measured and not grows else PASSING_CACHE).get(
        (picture_of, serial(run), member, grows, tuple(k), view),
        lambda: picture_of(film, run, member, k, view),
    )
    steps, last = run.steps[drawn_frames(run)], len(picture.pair.places) - 1
    strip = np.unique(np.linspace(0, last, min(last + 1, MOST_MAPS)).round())
    # However long it trains.
    family = hash(replace(run.setting, steps=limits.BOUNDARY_STEPS[0]))
    live = job.elapsed > 0 and run.setting == requested  # trained under this visitor's eyes

    def on_leave(frame: int, point: Point | None, _: object) -> None:
        """Keep the marked point, and the step where the visitor stopped; at the end they follow."""
        before = st.session_state.pop(STOPPED, None)
        if frame != last:
            st.session_state[STOPPED] = run.setting, float(steps[frame])
        st.session_state[MARKED] = point
        st.session_state[MOVED] = st.session_state.get(STOPPED) != before

    stale = ""
    if replace(run.setting, steps=requested.steps) != requested:
        stale = f"Still showing the run before. The new run is {'' if going else 'not '}training."
    told = [verdicts(shown, name, member, going, film, picture) for name in run.setting.compared]
    with dated(stale):
        draw_pair(
            picture.pair,
            key=VIEW_KEY,
            scene=f"{family} {member} {not grows}",
            frame=stopped_frame(run),
            point=st.session_state.get(MARKED),
            verdicts=[[words[:2] for words in side] for side in told],
            exact=[[digits for *_, digits in side] for side in told],
            quantity=picture.quantity,
            names=("x₁", "x₂"),
            note=note_text(run, view, picture),
            strip=strip.astype(int).tolist(),
            follow=f"{family} {member}" if live else "",
            grows=grows,
            on_leave=on_leave,
        )
    if st.session_state.pop(MOVED, False) and follows:
        st.rerun()  # that is drawn outside this fragment
    mechanism = MECHANISMS[run.setting.source]  # the flatness theorem is on averages of fixed ones
    averages = mechanism.weights_on_simplex or not mechanism.fixed_values
    notes = {
        text("moving"): not mechanism.fixed_values,
        text("no_averages"): not averages,
        text("axes", shares=film.axes): film.axes,
        f"{len(steps)} of {len(run.frames)} saved steps are shown.": len(steps) < len(run.frames),
    }
    if said := " ".join(note for note, there in notes.items() if there):
        st.caption(said)


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


def film_for(run: TrainedRun, member: int, grows: bool = False) -> Film:
    """Return the frames of one seed; a run that ``grows`` has others a moment later."""

    def make() -> Film:
        if run.setting in comparison.COMPARISONS.values():  # first sight waits for no worker
            return film_of(run, member, grows)
        latest = sampled_run, replace(run.setting, steps=limits.BOUNDARY_STEPS[0]), member
        before = PASSING_CACHE.find([latest]).get(latest)
        found = sampled_run(run, member, before, lambda calls: pool.POOL.map(sampled, calls))
        PASSING_CACHE.put(latest, found)
        return film_of(run, member, grows, found)

    return (PASSING_CACHE if grows else CACHE).get((film_of, serial(run), member, grows), make)


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
            keys = [*zip(data.names, [palette.CLASS_COLOURS[c] for c in data.colours], strict=True)]
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
        shares, signed = own.fine_shares, own.fine_signed
        if view.discrete and signed is not None:
            shares = 255 * (signed > 0).astype(np.uint8)
        drawn = Classified(
            data.points[shown], data.labels[shown], data.tested[shown],
            own.planes, [palette.POINT_COLOURS[index] for index in data.colours], own.cuts,
            shares if by_class else None, signed,
        )  # fmt: skip
        empty = np.full(own.values.shape[:3], np.nan)
        sides.append(Side(
            f"{TITLES[name]} · seed {run.task.seeds[member]}", TITLES[name], own.values,
            np.full(empty.shape, 0.5) if field is None else scale_share(field, scale),
            frames.margin, empty if field is None else field, np.zeros_like(empty[:1]),
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
    film: Film | None = None,
    picture: Picture | None = None,
) -> list[tuple[str, str, str]]:
    """Return what stands over a surface in every frame: the cut and accuracy, the rest, all digits.

    While work is ``going`` on, what is not measured is about to be.
    """
    run, along = shown.run, shown.along.get((name, member))
    final, accuracies = shown.final.get((name, member)), run.variants[name].ensemble.test_accuracy
    index = run.setting.compared.index(name)
    side = None if film is None else film.sides[SIDES[index]]
    unknown = None if picture is None else picture.unknown[index]
    frames, told = drawn_frames(run), []
    for index, frame in enumerate(frames):
        bold, kind, digits = (
            f"test accuracy {percent(float(accuracies[frame, member]))}",
            "Boundary",  # of a surface that is not established to be flat or curved
            "",
        )
        rest = [f"total curvature {'is being' if going else 'not'} measured{' …' * going}"]
        at_end = final is not None and index == len(frames) - 1
        if (summary := final if at_end else along) is not None:
            verdict = summary.verdicts[-1 if at_end else index]
            integral = summary.total if at_end else summary.total.at(index)
            said = formatting.headline_text(integral, verdict.without_curvature)
            rest, digits = [f"total curvature {said}"], formatting.exact_text(integral)
            if verdict.word == CURVED or verdict.proof is not None:
                kind = f"{verdict.word.capitalize()} surface"
            if verdict.without_curvature and not at_end:
                rest.append(formatting.flat_text(verdict))
            elif said == UNKNOWN:
                rest.append("the surface folds too sharply")
            if at_end:
                curved = verdict.word == CURVED
                sure = curved and integral.quotable() and integral.resolved
                rest += [
                    *[formatting.verdict_text(verdict).removeprefix("curved, ")] * curved,
                    *([] if sure else [formatting.doubt_text(integral, verdict)]),
                ]
        if side is not None and side.flat_cuts is not None:
            bold = f"{kind}: {side.flat_cuts[index]} · {bold}"
        if unknown is not None and unknown[index]:
            rest.append(f"K is not known at {percent(float(unknown[index]))} of the points")
        told.append((bold[:1].upper() + bold[1:], " · ".join(rest), digits))
    return told


def divergence_text(run: TrainedRun) -> str:
    """Say where a run broke off."""
    assert run.divergence is not None
    return f"{run.divergence.text.rstrip('.')}. Shown: the steps before."


def note_text(run: TrainedRun, view: BoundaryView, picture: Picture) -> str:
    """Say what is drawn."""
    parts = [f"Filled: training points{', open: test points' if view.tested else ''}"]
    sides = picture.pair.sides
    if any(x.classified is not None and np.isfinite(x.classified.planes).any() for x in sides):
        parts.append("grey: the classifier's plane")
    if any(x.corners is not None for x in sides):
        parts.append("tinted: plane of the flat surface")
    if view.paint == "curvature" and picture.pair.ends[0]:
        beyond = f"at the last step {formatting.beyond_text(picture.scale.beyond)}"
        parts += ["K < 0 to K > 0, asinh scale", beyond, "hatched: not known"]
    return " · ".join(parts)
