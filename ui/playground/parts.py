"""The playground's parts: the film, the numbers, the seeds, a look inside, things to take home."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import (
    ClassifierFrames,
    DrawnData,
    Setting,
    TrainedRun,
    drawn_frames,
    filled_shares,
    film_data,
    film_frames,
)
from gating_core.export import log_csv, script_problem, script_text, weights_file
from ui.common.words import beyond_text, short
from ui.components.view3d import Legend, view3d
from ui.drawing import palette
from ui.drawing.axes import film_axes
from ui.drawing.camera import camera_from
from ui.drawing.panels import View
from ui.limits import FILMS_KEPT, PLAYGROUND_STEPS
from ui.playground import film_words, words
from ui.playground.controls import (
    MOVED,
    PLAYGROUND,
    REWINDS,
    REWOUND,
    VIEW_KEY,
    new_seeds,
    on_stop,
    rewind,
    train_on,
)
from ui.playground.curves import Curve
from ui.playground.figures import seeds_figure, still_figure
from ui.playground.names import TITLES
from ui.playground.picture import film_view
from ui.playground.request import Look
from ui.playground.training import JOB, STOPPED, Wish, sides_of, stopped_frame, what
from ui.work import jobs
from ui.work.job import State
from ui.work.runs import Shown, newest_run, serial

REWOUND_AT = "playground_rewound_at"
MORE_STEPS = 400
SPARE, ROW = 450, 60  # pixels for all but the pictures, and for how a run goes or where it stopped
BEGIN_FROM = np.array([0.6, 0.64, 0.48])  # where a run is seen from before it is complete


@st.cache_resource(max_entries=FILMS_KEPT, show_spinner=False)
def _sides(_run: TrainedRun, key: int, member: int) -> dict[str, ClassifierFrames]:
    return {side: film_frames(_run, name, member) for side, name in sides_of(_run).items()}


@st.cache_resource(max_entries=FILMS_KEPT, show_spinner=False)
def _filled(_run: TrainedRun, key: int, member: int) -> dict[str, np.ndarray | None]:
    return {side: filled_shares(frames) for side, frames in _sides(_run, key, member).items()}


def draw_film(shown: Shown | None, look: Look, wished: Wish, wanted: Setting) -> None:
    """Surfaces, input planes and curves, with a timeline to play and drag; total curvatures.

    Of another run than the one that is ``wanted``, as long as that is not there, it says so.
    """
    job = jobs.current(JOB)
    if shown is None:
        if job is not None and not job.over:
            st.info("The first run is on its way.", icon=":material/hourglass_top:")
        return
    run = shown.run
    if run.divergence is not None:
        st.warning(f"{run.divergence.text.rstrip('.')}. Shown: what there was before.")
    if not len(run.frames):
        return
    going = job is not None and not job.over
    member, names = wished.member(run), sides_of(run)
    view, measured = _view(shown, look, member, going)
    steps = run.steps[drawn_frames(run)]
    shortest = replace(run.setting, steps=PLAYGROUND_STEPS[0])
    sides = _sides(run, serial(run), member)
    filled = _filled(run, serial(run), member)
    hatched = _gaussian(shown, member) if look.paint == "curvature" else {}
    rewinds = st.session_state.get(REWINDS, 0)
    view3d(
        view,
        key=VIEW_KEY,
        headings=[TITLES[name] for name in names.values()] + ["Along the run"],
        captions=[
            film_words.captions(run, n, member, hatched.get(s), filled[s]) for s, n in names.items()
        ]
        + [[words.CURVES]],
        readouts=((), (), ()),
        readings=film_words.readings(run, member, wished.chosen(run)),
        frame=0 if _rewound(run, member) else len(steps) - 1,
        frame_labels=film_words.frame_labels(run),
        places=steps.tolist(),
        legend=_legend(look, film_data(run, member), view, measured, film_words.drawn_text(run)),
        scrub=True,
        stale=film_words.stale_text(run, wanted),
        scene=f"{hash(shortest)} {member} {run.ended or not going}",
        spare=SPARE + (ROW if going or not run.ended else 0),
        serial=f"{serial(run)} {member} {rewinds}",
        family=f"{hash(run.setting)} {rewinds}",
        on_stop=lambda: on_stop(run.setting),
    )
    if st.session_state.pop(MOVED, False) and PLAYGROUND["looking"].value:
        st.rerun()  # what is inside is drawn outside this fragment
    st.caption(" ".join(filter(None, (
        film_words.axes_text(sides, film_axes(sides)), film_words.frames_text(run, len(steps)),
    ))))  # fmt: skip
    for column, name in zip(st.columns(2), names.values(), strict=False):
        found = shown.final.get((name, member))
        column.metric(
            f"Total curvature at the end, {TITLES[name]}", words.final_text(found, going),
            help="∫|K| dA of the last surface of the shown seed, refined where it turns, with"
            " rigorous bounds on rounding.",
        )  # fmt: skip
        column.caption(words.final_doubt(found))


def draw_end(job: jobs.Job) -> None:
    """Why a run is not complete, and where it was stopped: one line beside the way to go on."""
    items = job.items
    run = newest_run(items)
    where = film_words.stopped_text(run) if run is not None and not run.ended else ""
    text = jobs.end_text(job, what(items), items, where)
    if job.state is State.FAILED:
        st.error(text)
    elif text:
        st.caption(f":material/stop_circle: {text}")


def _view(shown: Shown, look: Look, member: int, going: bool) -> tuple[View, bool]:
    """The film of one seed, and whether the curvature of both sides is in it."""
    run = shown.run
    sides, gaussian = _sides(run, serial(run), member), _gaussian(shown, member)
    view = film_view(
        sides, film_data(run, member), run.steps[drawn_frames(run)], film_axes(sides),
        _curves(shown, member), look.paint, look.discrete, look.tested, gaussian,
    )  # fmt: skip
    if going and not run.ended:  # the best one would turn with every step
        view = replace(view, camera=camera_from(BEGIN_FROM))
    return view, len(gaussian) == len(sides)


def _gaussian(shown: Shown, member: int) -> dict[str, np.ndarray]:
    """What is known of K by side."""
    found = {side: shown.along.get((name, member)) for side, name in sides_of(shown.run).items()}
    return {s: x.known for s, x in found.items() if x is not None and x.known is not None}


def _curves(shown: Shown, member: int) -> list[Curve]:
    run, names = shown.run, sides_of(shown.run)
    frames = drawn_frames(run)
    ensembles = {side: run.variants[name].ensemble for side, name in names.items()}
    places = dict.fromkeys(names, member)
    curvature, errors, lower = {}, {}, {}
    seeds = range(len(run.task.seeds))
    for side, name in names.items():
        known = {i: shown.along[name, i] for i in seeds if (name, i) in shown.along}
        # Others than the shown seed only once all are there: each would send the film again.
        whole = len(known) == len(seeds)
        curvature[side] = np.full((len(frames), len(seeds)), np.nan)
        for i, found in known.items():
            if whole or i == member:
                curvature[side][:, i] = found.total.value.numpy()
        if member in known:
            total = known[member].total
            errors[side], lower[side] = total.error.numpy().copy(), ~total.complete.numpy()
            end = shown.final.get((name, member))
            if end is not None:  # one source: what is refined is the last point of the curve
                curvature[side][-1, member] = float(end.total.value)
                errors[side][-1] = float(end.total.error)
                lower[side][-1] = not bool(end.total.complete)
    return [
        Curve("total curvature", curvature, places, errors, lower),
        Curve("test accuracy", {s: e.test_accuracy[frames] for s, e in ensembles.items()}, places),
        Curve("training loss", {s: e.train_loss[frames] for s, e in ensembles.items()}, places),
    ]


def _legend(look: Look, data: DrawnData, view: View, measured: bool, drawn: str) -> Legend:
    if look.paint == "curvature":
        if not measured:
            return Legend(palette.SIGNED_SCALE, "", "", "K is not measured yet")
        low, high = view.colour_range
        note = (
            f"asinh scale, saddle-like to dome-like · at the last step {beyond_text(view.beyond)} ·"
            " hatched: not known"
        )
        return Legend(palette.SIGNED_SCALE, f"K = {short(low)}", f"K = {short(high)}", note)
    note = f"filled: training points{', open: test points' if look.tested else ''}{drawn}"
    scale = palette.class_scale(data.colours)
    if data.class_count > 2:
        names = zip(data.names, data.colours, strict=True)
        keys = [(name, palette.CLASS_COLOURS[place]) for name, place in names]
        return Legend(scale, "", "", note, keys)
    return Legend(scale, data.names[0], data.names[-1], note)


def _rewound(run: TrainedRun, member: int) -> bool:
    """Whether the visitor went back to the start, and has looked at nothing else since."""
    moment = (run.setting, member)
    if st.session_state.pop(REWOUND, False):
        st.session_state[REWOUND_AT] = moment
        st.session_state[STOPPED] = run.setting, 0
    return st.session_state.get(REWOUND_AT) == moment


def draw_buttons() -> None:
    """What can be done with a run."""
    with st.container(horizontal=True):
        st.button(f"Train on ({MORE_STEPS} steps)", icon=":material/fast_forward:",
                  on_click=train_on, args=(MORE_STEPS,), key="train_on")  # fmt: skip
        st.button("Back to step 0", icon=":material/replay:", on_click=rewind, key="rewind",
                  help="The first weights. The run stays: Play shows it again.")  # fmt: skip
        st.button("New seeds", icon=":material/casino:", on_click=new_seeds, key="new_seeds")


def draw_numbers(shown: Shown, wished: Wish, current: bool) -> None:
    """The table and the strip of seeds; of the run before, if not ``current``."""
    run = shown.run
    if not current:
        st.caption(
            ":material/hourglass_top: From here on: the run before, until the new one is complete."
        )
    st.table(words.table(run))
    st.caption(words.table_note(run))
    accuracies = {
        TITLES[name]: variant.ensemble.test_accuracy[-1] for name, variant in run.variants.items()
    }
    st.plotly_chart(
        seeds_figure(accuracies, run.task.seeds, wished.member(run)), key="seed_strip",
        on_select=_on_seed, selection_mode="points",
        alt="Final test accuracy of every seed; click one to show it.",
    )  # fmt: skip


def _on_seed() -> None:
    points = st.session_state["seed_strip"]["selection"]["points"]
    if points:
        st.query_params["picked_seed"] = str(int(points[0]["customdata"]))
        st.session_state["who"] = "picked"


def draw_take(shown: Shown, look: Look, wished: Wish) -> None:
    """Weights, script, log and figure to download."""
    run = shown.run
    member = wished.member(run)
    name = run.setting.compared[-1]
    ensemble = run.variants[name].ensemble
    problem = script_problem(ensemble.config)
    logs = {name: variant.ensemble for name, variant in run.variants.items()}
    quiet: dict[str, Any] = {"on_click": "ignore"}
    with st.container(horizontal=True):
        st.download_button(
            "Weights (safetensors)",
            lambda: weights_file(ensemble, run.task, words.about(run, name)), "model.safetensors",
            icon=":material/download:", key="take_weights", **quiet,
        )  # fmt: skip
        st.download_button(
            "Script (PyTorch)", "" if problem else script_text(ensemble, ensemble.seeds[member]),
            "rerun.py", icon=":material/code:", key="take_script", disabled=bool(problem),
            help=problem or "Rebuilds the shown seed from the weights file, without this project.",
            **quiet,
        )  # fmt: skip
        st.download_button(
            "Log (CSV)", lambda: log_csv(logs), "log.csv", icon=":material/table:",
            key="take_log", **quiet,
        )  # fmt: skip
        st.download_button(
            "Figure (HTML)", lambda: _figure(shown, look, member), "figure.html",
            icon=":material/image:", key="take_figure", **quiet,
        )  # fmt: skip


def _figure(shown: Shown, look: Look, member: int) -> str:
    """The frame that the film stands at, as a page of its own."""
    run, place = shown.run, stopped_frame(shown.run)
    names = sides_of(run).values()
    finals = (film_words.captions(run, name, member)[place].replace("**", "") for name in names)
    titles = [f"{TITLES[n]}<br>{line}" for n, line in zip(names, finals, strict=True)]
    view, _ = _view(shown, look, member, False)
    figure = still_figure(view, place, titles, film_words.still_text(run, place))
    return figure.to_html(include_plotlyjs=True)
