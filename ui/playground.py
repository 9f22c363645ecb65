"""The playground's parts: training as a job, the film, the seeds, a look inside, things to take."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import streamlit as st

from gating_core import film, film_view, palette
from gating_core.export import log_csv, weights_file
from gating_core.export_script import script, script_problem
from gating_core.film_figures import film_figure, inside_figure, seeds_figure
from gating_core.playground import go_on, start
from gating_core.runs import Frame, TrainedRun
from gating_core.setting import Setting
from gating_core.trainer import TrainingDiverged
from ui import jobs
from ui import playground_words as words
from ui.job import State
from ui.playground_controls import new_seeds, rewind, train_on
from ui.runtime import place
from ui.view3d import Legend, view3d
from ui.words import percent, plus_minus, short

JOB, LAST, VIEW_KEY = "playground", "playground_last", "playground_view"
MORE_STEPS = 400
SIDES = film_view.SIDES

_serials: WeakKeyDictionary[TrainedRun, int] = WeakKeyDictionary()
_counter = itertools.count()


@dataclass(frozen=True, eq=False)
class Along:
    """Total curvature along the run of one side's seed, (T,)."""

    side: str
    member: int
    totals: np.ndarray


@dataclass(eq=False)
class Shown:
    """A finished run, and what is known of its curvature so far."""

    run: TrainedRun
    along: dict[str, dict[int, np.ndarray]] = field(default_factory=dict)


def _work(setting: Setting, before: TrainedRun | None) -> Iterator[Any]:
    """Train, then measure every seed's curvature along the run; shares done, then results."""
    events = (
        start(setting) if before is None else go_on(before, setting.steps - int(before.steps[-1]))
    )
    run = None
    for event in events:
        if isinstance(event, TrainedRun):
            run = event
        yield event if not isinstance(event, Frame) else None
    if run is None:
        return
    for side, name in zip(SIDES, run.setting.variants, strict=False):
        for found in film.curvature_along(run, name, -1):
            yield found and Along(side, *found)


def serial(run: TrainedRun) -> int:
    """A number for ``run`` that no other ever gets: an ``id`` is used again once a run is gone."""
    return _serials.setdefault(run, next(_counter))


def fetch(setting: Setting) -> jobs.Job:
    """The job that runs ``setting``: the current one, or one that is started now."""
    job = jobs.current(JOB)
    anew = job is None or job.about != setting
    if job is not None and not anew and job.state in (State.CANCELLED, State.FAILED):
        anew = st.button("Train after all", icon=":material/restart_alt:", key="train_again")
    if job is None or anew:
        last = st.session_state.get(LAST)
        before = last.run if last and _continues(last.run, setting) else None
        job = jobs.start(
            JOB, lambda: _work(setting, before), about=setting, expected=(TrainingDiverged,)
        )
    return job


def _continues(run: TrainedRun, setting: Setting) -> bool:
    """Whether ``setting`` is the run's own with more steps."""
    longer = setting.steps > run.setting.steps
    same = replace(run.setting, steps=setting.steps) == setting
    return longer and same and run.complete and run.divergence is None


def shown_of(items: list[Any]) -> Shown | None:
    """The newest run among a job's items, with its curvatures; else the last one there was."""
    run = next((item for item in reversed(items) if isinstance(item, TrainedRun)), None)
    if run is None:
        return st.session_state.get(LAST)
    shown = Shown(run)
    for item in items:
        if isinstance(item, Along):
            shown.along.setdefault(item.side, {})[item.member] = item.totals
    st.session_state[LAST] = shown
    return shown


def share_of(items: list[Any]) -> float:
    """How much of the training is done."""
    return next((item for item in reversed(items) if isinstance(item, float)), 1.0)


def member_of(run: TrainedRun, who: str, picked: str) -> int:
    """The shown seed's place among the seeds; it is chosen by the right-hand variant."""
    seeds = run.task.seeds
    if who == "picked" and picked in map(str, seeds):
        return seeds.index(int(picked))
    which = who if who in film.SHOWN else film.SHOWN[0]
    return film.shown_member(run.variants[run.setting.variants[1]].ensemble, which)


@st.cache_resource(max_entries=24, show_spinner=False)
def _sides(_run: TrainedRun, key: int, member: int) -> tuple[dict, dict]:
    with place():
        found = {
            side: film.film_side(_run, name, member)
            for side, name in zip(SIDES, _run.setting.variants, strict=False)
        }
    return {s: x[0] for s, x in found.items()}, {s: x[1] for s, x in found.items()}


@st.cache_resource(max_entries=64, show_spinner="Adding up curvature …")
def _final(_run: TrainedRun, key: int, name: str, member: int) -> str:
    with place():
        total = film.final_curvature(_run, name, member)
    value, error = float(total.value), float(total.error)
    if value <= error:
        return "0"
    if error > value / 2:
        return "not settled"
    return ("" if bool(total.complete) else "at least ") + plus_minus(value, error)


def draw_film(shown: Shown | None, look: dict[str, Any], who: str) -> None:
    """Surfaces, input planes and curves, with a timeline to play and drag."""
    if shown is None:
        job = jobs.current(JOB)
        if job is not None and not job.over:
            st.info("The first run is on its way.", icon=":material/hourglass_top:")
        return
    run = shown.run
    if run.divergence is not None:
        st.warning(f"{run.divergence.text} Shown: what there was before.")
    if not len(run.frames):
        return
    member = member_of(run, who, st.query_params.get("picked_seed", ""))
    sides, totals = _sides(run, serial(run), member)
    axes = film_view.film_axes(sides)
    data = film.film_data(run, member)
    paint = look["paint"] or film_view.PAINTS[0]
    view = film_view.film_view(
        sides, data, axes, _curves(shown, totals, member), paint, bool(look["discrete"])
    )
    names = dict(zip(SIDES, run.setting.variants, strict=False))
    view3d(
        view,
        key=VIEW_KEY,
        camera_key=f"{VIEW_KEY} {run.setting.model_dim} {run.setting.task}",
        headings=[words.TITLES[name] for name in names.values()] + ["Along the run"],
        captions=[words.captions(run, name, member) for name in names.values()]
        + [["thick: the shown seed; band: 10 to 90 % of the seeds; grey left, magenta right"]],
        readouts=((), (), ()),
        frame=len(data.steps) - 1,
        frame_labels=[f"step {step}" for step in data.steps],
        legend=_legend(paint, run.task.class_count, view),
        scrub=True,
        serial=f"{serial(run)} {member}",
    )
    st.caption(words.axes_text(axes))


def _curves(shown: Shown, totals: dict[str, np.ndarray], member: int) -> list[film_view.Curve]:
    run = shown.run
    frames = film.drawn_frames(run)
    names = dict(zip(SIDES, run.setting.variants, strict=False))
    ensembles = {side: run.variants[name].ensemble for side, name in names.items()}
    places = dict.fromkeys(names, member)
    curvature = {}
    for side, total in totals.items():
        whole = np.full((len(frames), len(run.task.seeds)), np.nan)
        whole[:, member] = total
        for other, along in shown.along.get(side, {}).items():
            whole[:, other] = along
        curvature[side] = whole
    return [
        film_view.Curve("total curvature", curvature, places),
        film_view.Curve(
            "test accuracy", {s: e.test_accuracy[frames] for s, e in ensembles.items()}, places
        ),
        film_view.Curve(
            "training loss", {s: e.train_loss[frames] for s, e in ensembles.items()}, places
        ),
    ]


def _legend(paint: str, class_count: int, view: film_view.View) -> Legend:
    if paint == "curvature":
        low, high = view.colour_range
        note = f"saddle-like to dome-like · {percent(view.beyond)} of the points lie beyond"
        return Legend(palette.SIGNED_SCALE, f"K = {short(low)}", f"K = {short(high)}", note)
    note = "filled: training points · open: test points · black: decision boundary"
    if class_count > 2:
        return Legend(palette.class_steps(class_count), "class 0", f"class {class_count - 1}", note)
    return Legend(palette.CLASS_SCALE, "class 0", "class 1", note + " · grey: classifier's plane")


def draw_buttons() -> None:
    """What can be done with a run."""
    with st.container(horizontal=True):
        st.button(f"Train on ({MORE_STEPS} steps)", icon=":material/fast_forward:",
                  on_click=train_on, args=(MORE_STEPS,), key="train_on")  # fmt: skip
        st.button("Rewind (same start)", icon=":material/replay:", on_click=rewind, key="rewind")
        st.button("New seeds", icon=":material/casino:", on_click=new_seeds, key="new_seeds")


def draw_numbers(shown: Shown, who: str) -> None:
    """The verdict, the table, the final curvature, and the strip of seeds."""
    run = shown.run
    if not len(run.frames):
        return
    st.markdown(words.verdict(run))
    st.table(words.table(run))
    member = member_of(run, who, st.query_params.get("picked_seed", ""))
    for column, name in zip(st.columns(2), run.setting.variants, strict=False):
        column.metric(
            f"Total curvature, {words.TITLES[name]}", _final(run, serial(run), name, member),
            help="∫|K| dA of the final surface of the shown seed, refined, with rigorous bounds.",
        )  # fmt: skip
    accuracies = {
        words.TITLES[name]: run.variants[name].ensemble.test_accuracy[-1]
        for name in run.setting.variants
    }
    event = st.plotly_chart(
        seeds_figure(accuracies, run.task.seeds, member), key="seed_strip", on_select=_on_seed,
        selection_mode="points", alt="Final test accuracy of every seed; click one to show it.",
    )  # fmt: skip
    del event


def _on_seed() -> None:
    points = st.session_state["seed_strip"]["selection"]["points"]
    if points:
        st.query_params["picked_seed"] = str(int(points[0]["customdata"]))
        st.session_state["who"] = "picked"


def draw_inside(shown: Shown, who: str) -> None:
    """Small multiples of weights and gates; one of them enlarged."""
    run = shown.run
    member = member_of(run, who, st.query_params.get("picked_seed", ""))
    name = run.setting.variants[1]
    fields = film.inside(run, name, member)
    st.caption(
        f"Every attention weight and gate of *{words.TITLES[name]}* over the input square, after"
        " the last step. Choose one to enlarge it."
    )
    large = st.pills("Enlarge", tuple(fields), key="enlarged")
    st.plotly_chart(
        inside_figure({large: fields[large]} if large in fields else fields),
        key="inside", alt="Attention weights and gates over the input square.",
    )  # fmt: skip


def draw_take(shown: Shown, who: str) -> None:
    """Weights, script, log and figure to download."""
    run = shown.run
    member = member_of(run, who, st.query_params.get("picked_seed", ""))
    name = run.setting.variants[1]
    ensemble = run.variants[name].ensemble
    problem = script_problem(ensemble.config)
    with st.container(horizontal=True):
        st.download_button(
            "Weights (safetensors)",
            lambda: weights_file(ensemble, run.task, {"variant": name}),
            "model.safetensors",
            icon=":material/download:",
            on_click="ignore",
            key="take_weights",
        )
        st.download_button(
            "Script (PyTorch)",
            "" if problem else script(ensemble, ensemble.seeds[member]),
            "rerun.py",
            icon=":material/code:",
            on_click="ignore",
            disabled=bool(problem),
            help=problem or "Rebuilds the shown seed from the weights file, without this project.",
            key="take_script",
        )
        logs = {n: run.variants[n].ensemble for n in run.setting.variants}
        st.download_button(
            "Log (CSV)",
            lambda: log_csv(logs),
            "log.csv",
            icon=":material/table:",
            on_click="ignore",
            key="take_log",
        )
        st.download_button(
            "Figure (HTML)", lambda: _figure(run, member), "figure.html",
            icon=":material/image:", on_click="ignore", key="take_figure",
        )  # fmt: skip


def _figure(run: TrainedRun, member: int) -> str:
    sides, _ = _sides(run, serial(run), member)
    titles = dict(zip(SIDES, (words.TITLES[n] for n in run.setting.variants), strict=False))
    return film_figure(sides, film_view.film_axes(sides), titles).to_html(include_plotlyjs=True)
