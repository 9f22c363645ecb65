"""The playground's parts: the film, the numbers, the seeds, a look inside, things to take home."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from gating_core.experiments.comparison import (
    FIRST_LOOK,
    PRESETS,
    DrawnData,
    Setting,
    TrainedRun,
    drawn_frames,
    film_data,
)
from gating_core.export import log_csv, script_problem, script_text, weights_file
from ui.common.figures import figures
from ui.common.words import beyond_text, short
from ui.components.view3d import Legend, view3d
from ui.drawing import palette
from ui.limits import PLAYGROUND_STEPS
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
from ui.playground.figures import seeds_figure, still_figure
from ui.playground.film import Film, curves_of, film_of, gaussian_of, sides_of, what_is_drawn
from ui.playground.names import TITLES
from ui.playground.request import Look
from ui.playground.training import JOB, STOPPED, Wish, stopped_frame, what
from ui.work import jobs, pool
from ui.work.job import State
from ui.work.runs import REDRAWN_SECONDS, Shown, known, newest_run, serial
from ui.work.shelf import PASSING, shelved

REWOUND_AT = "playground_rewound_at"
MEANWHILE = "playground_meanwhile"  # the film that was shown last, of what, and since when
MORE_STEPS = 400
SPARE, ROW = 450, 60  # pixels for all but the pictures, and for how a run goes or where it stopped


def _make(
    key: object, _run: TrainedRun, member: int, _shown: Shown, look: Look, unfinished: bool
) -> Film:
    curves, gaussian = curves_of(_shown, member), gaussian_of(_shown, member)
    return pool.POOL.call(film_of, _run, member, curves, gaussian, look, unfinished)


_made, _made_meanwhile = shelved()(_make), shelved(on=PASSING)(_make)


def _film(
    shown: Shown,
    look: Look,
    member: int,
    unfinished: bool = False,
    made: Callable[..., Film] = _made,
) -> Film:
    """The film of one seed, with what is measured by now; a worker makes it, once for everybody."""
    key = serial(shown.run), what_is_drawn(shown, member)
    return made(key, shown.run, member, shown, look, unfinished)


def _film_meanwhile(shown: Shown, look: Look, member: int, unfinished: bool) -> Film:
    """The same while more is measured: the one of just before, while others need the workers."""
    about = serial(shown.run), look, member, unfinished
    before, kept, made = st.session_state.get(MEANWHILE, (None, lambda: None, 0.0))
    soon = pool.POOL.crowded or time.monotonic() - made < REDRAWN_SECONDS
    film = kept() if soon and before == about else None
    if film is None:
        film = _film(shown, look, member, unfinished, _made_meanwhile)
        # Megabytes: they stay as long as they are kept for all.
        st.session_state[MEANWHILE] = about, weakref.ref(film), time.monotonic()
    return film


@shelved()
def _readings(key: int, member: int, chosen: str, _run: TrainedRun) -> list[str]:
    return film_words.readings(_run, member, chosen)


def draw_film(shown: Shown | None, look: Look, wished: Wish, wanted: Setting) -> None:
    """Surfaces, input planes and curves, with a timeline to play and drag; total curvatures.

    Of another run than the one that is ``wanted``, as long as that is not there, it says so; the
    landing page's stands there until a first run does.
    """
    job = jobs.current(JOB)
    going = job is not None and not job.over
    example = shown is None
    if shown is None:
        if not going:
            return
        shown = known(PRESETS.get(wanted.task, FIRST_LOOK))
        assert shown is not None  # it comes with the app
    run = shown.run
    if run.divergence is not None:
        st.warning(f"{run.divergence.text.rstrip('.')}. Shown: what there was before.")
    if not len(run.frames):
        return
    member, names = wished.member(run), sides_of(run)
    film = (_film_meanwhile if going else _film)(shown, look, member, going and not run.ended)
    steps, filled = run.steps[drawn_frames(run)], film.filled
    coloured = look.paint == "curvature" and film.measured
    hatched = gaussian_of(shown, member) if coloured else {}
    shortest = replace(run.setting, steps=PLAYGROUND_STEPS[0])
    rewinds = st.session_state.get(REWINDS, 0)
    view3d(
        film.view,
        key=VIEW_KEY,
        headings=[TITLES[name] for name in names.values()] + ["Along the run"],
        captions=[
            film_words.captions(run, n, member, hatched.get(s), filled[s]) for s, n in names.items()
        ]
        + [[words.CURVES]],
        readouts=((), (), ()),
        readings=_readings(serial(run), member, wished.chosen(run), run),
        frame=0 if _rewound(run, member) else len(steps) - 1,
        frame_labels=film_words.frame_labels(run),
        places=steps.tolist(),
        legend=_legend(look, film_data(run, member), film, film_words.drawn_text(run)),
        scrub=True,
        stale=film_words.example_text(run) if example else film_words.stale_text(run, wanted),
        scene=f"{hash(shortest)} {member} {run.ended or not going}",
        spare=SPARE + (ROW if going or not run.ended else 0),
        serial=f"{serial(run)} {member} {rewinds}",
        family=f"{hash(run.setting)} {rewinds}",
        on_stop=lambda: on_stop(run.setting),
    )
    if st.session_state.pop(MOVED, False) and PLAYGROUND["looking"].value:
        st.rerun()  # what is inside is drawn outside this fragment
    if example:  # whose numbers nobody has asked for
        return
    st.caption(" ".join(filter(None, (
        film.axes, film_words.frames_text(run, len(steps)),
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


def _legend(look: Look, data: DrawnData, film: Film, drawn: str) -> Legend:
    view = film.view
    if look.paint == "curvature":
        if not film.measured:
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
    member = wished.member(run)
    (strip,) = figures(
        ("seeds", serial(run), member), lambda: [seeds_figure(accuracies, run.task.seeds, member)]
    )
    st.plotly_chart(
        strip, key="seed_strip",
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
    view = _film(shown, look, member).view
    figure = still_figure(view, place, titles, film_words.still_text(run, place))
    return figure.to_html(include_plotlyjs=True)
