"""The playground's parts: the film, the numbers, the seeds, a look inside, things to take home."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from gating_core.experiments.comparison import (
    ClassifierFrames,
    DrawnData,
    TrainedRun,
    drawn_frames,
    film_data,
    film_frames,
    inside,
)
from gating_core.export import log_csv, script_problem, script_text, weights_file
from ui.common.words import beyond_text, short
from ui.components.view3d import Legend, view3d
from ui.drawing import palette
from ui.drawing.axes import film_axes
from ui.drawing.camera import camera_from
from ui.drawing.panels import View
from ui.playground import words
from ui.playground.controls import REWINDS, REWOUND, new_seeds, rewind, train_on
from ui.playground.curves import Curve
from ui.playground.figures import film_figure, inside_figure, seeds_figure
from ui.playground.picture import SIDES, film_view
from ui.playground.request import Look
from ui.playground.training import JOB, Wish
from ui.work import jobs
from ui.work.runs import Shown, serial

VIEW_KEY, REWOUND_AT = "playground_view", "playground_rewound_at"
MORE_STEPS = 400
BEGIN_FROM = np.array([0.6, 0.64, 0.48])  # where a run is seen from before it is complete
SMALL = "inside_small"


@st.cache_resource(max_entries=24, show_spinner=False)
def _sides(_run: TrainedRun, key: int, member: int) -> dict[str, ClassifierFrames]:
    return {side: film_frames(_run, name, member) for side, name in _names(_run).items()}


def _names(run: TrainedRun) -> dict[str, str]:
    """The compared variants by side."""
    return dict(zip(SIDES, run.setting.compared, strict=False))


def draw_film(shown: Shown | None, look: Look, wished: Wish) -> None:
    """Surfaces, input planes and curves, with a timeline to play and drag; total curvatures."""
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
    member, names = wished.member(run), _names(run)
    sides = _sides(run, serial(run), member)
    axes = film_axes(sides)
    data, steps = film_data(run, member), run.steps[drawn_frames(run)]
    along = {s: shown.along[n, member] for s, n in names.items() if (n, member) in shown.along}
    gaussian = {side: x.known for side, x in along.items() if x.known is not None}
    view = film_view(
        sides, data, steps, axes, _curves(shown, member), look.paint, look.discrete, gaussian
    )
    if not (run.complete or run.divergence):  # the best one would turn with every step
        view = replace(view, camera=camera_from(BEGIN_FROM))
    drawn_text = words.drawn_text(run)
    hatched = gaussian if look.paint == "curvature" else {}
    view3d(
        view,
        key=VIEW_KEY,
        camera_key=f"{VIEW_KEY} {run.setting.model_dim} {run.setting.task}",
        headings=[words.TITLES[name] for name in names.values()] + ["Along the run"],
        captions=[words.captions(run, n, member, hatched.get(s)) for s, n in names.items()]
        + [[words.CURVES]],
        readouts=((), (), ()),
        frame=0 if _rewound(run, member) else len(steps) - 1,
        frame_labels=[f"step {step}" for step in steps],
        legend=_legend(look.paint, data, view, len(gaussian) == len(names), drawn_text),
        scrub=True,
        serial=f"{serial(run)} {member} {st.session_state.get(REWINDS, 0)}",
        family=f"{hash(run.setting)} {st.session_state.get(REWINDS, 0)}",
    )
    st.caption(" ".join(filter(None, (
        words.axes_text(sides, axes), words.frames_text(run, len(steps)),
    ))))  # fmt: skip
    going = job is not None and not job.over
    for column, name in zip(st.columns(2), names.values(), strict=False):
        found = shown.final.get((name, member))
        column.metric(
            f"Total curvature at the end, {words.TITLES[name]}", words.final_text(found, going),
            help="∫|K| dA of the last surface of the shown seed, refined where it turns, with"
            " rigorous bounds on rounding.",
        )  # fmt: skip
        column.caption(words.final_doubt(found))


def _curves(shown: Shown, member: int) -> list[Curve]:
    run, names = shown.run, _names(shown.run)
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


def _legend(paint: str, data: DrawnData, view: View, measured: bool, drawn: str) -> Legend:
    if paint == "curvature":
        if not measured:
            return Legend(palette.SIGNED_SCALE, "", "", "K is not measured yet")
        low, high = view.colour_range
        note = (
            f"saddle-like to dome-like · at the last step {beyond_text(view.beyond)} · hatched: not"
            " known"
        )
        return Legend(palette.SIGNED_SCALE, f"K = {short(low)}", f"K = {short(high)}", note)
    note = f"filled: training points, open: test points{drawn} · black: decision boundary"
    if data.class_count == 2:
        note += " · grey: classifier's plane"
    else:
        note = f"{', '.join(data.names)} · {note}"
    return Legend(palette.class_scale(data.colours), data.names[0], data.names[-1], note)


def _rewound(run: TrainedRun, member: int) -> bool:
    """Whether the visitor went back to the start, and has looked at nothing else since."""
    moment = (run.setting, member)
    if st.session_state.pop(REWOUND, False):
        st.session_state[REWOUND_AT] = moment
    return st.session_state.get(REWOUND_AT) == moment


def draw_buttons() -> None:
    """What can be done with a run."""
    with st.container(horizontal=True):
        st.button(f"Train on ({MORE_STEPS} steps)", icon=":material/fast_forward:",
                  on_click=train_on, args=(MORE_STEPS,), key="train_on")  # fmt: skip
        st.button("Rewind (same start)", icon=":material/replay:", on_click=rewind, key="rewind",
                  help="Back to step 0, the initial weights.")  # fmt: skip
        st.button("New seeds", icon=":material/casino:", on_click=new_seeds, key="new_seeds")


def draw_numbers(shown: Shown, wished: Wish, current: bool) -> None:
    """The verdict, the table and the strip of seeds; of the run before, if not ``current``."""
    run = shown.run
    if not current:
        st.caption(
            ":material/hourglass_top: From here on: the run before, until the new one is complete."
        )
    st.markdown(words.verdict(run))
    st.table(words.table(run))
    st.caption(words.table_note(run))
    accuracies = {
        words.TITLES[name]: variant.ensemble.test_accuracy[-1]
        for name, variant in run.variants.items()
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


def draw_inside(shown: Shown, wished: Wish) -> None:
    """Small multiples of weights and gates of the right-hand model; one of them enlarged."""
    run = shown.run
    name = run.setting.compared[-1]
    fields = inside(run, name, wished.member(run))
    st.caption(
        f"Every attention weight and gate of *{words.TITLES[name]}* over the input square, after"
        " the last step. Click one to enlarge it, or choose it here."
    )
    large = st.pills("Enlarge", tuple(fields), key="enlarged")
    chosen = {large: fields[large]} if large in fields else fields
    st.plotly_chart(
        inside_figure(chosen), key="inside_large" if large in fields else SMALL,
        on_select=_on_field, selection_mode="points",
        alt="Attention weights and gates over the input square.",
    )  # fmt: skip
    if large in fields:
        st.button("Show all", icon=":material/grid_view:", on_click=_show_all, key="inside_all")


def _on_field() -> None:
    chart = st.session_state.get(SMALL)
    points = chart["selection"]["points"] if chart else ()
    if points:
        st.session_state["enlarged"] = points[0]["customdata"]


def _show_all() -> None:
    st.session_state["enlarged"] = None


def draw_take(shown: Shown, wished: Wish) -> None:
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
            "Figure (HTML)", lambda: _figure(run, member), "figure.html",
            icon=":material/image:", key="take_figure", **quiet,
        )  # fmt: skip


def _figure(run: TrainedRun, member: int) -> str:
    sides = _sides(run, serial(run), member)
    titles = {side: words.TITLES[name] for side, name in _names(run).items()}
    colours = film_data(run, member).colours
    figure = film_figure(sides, film_axes(sides), titles, colours)
    return figure.to_html(include_plotlyjs=True)
