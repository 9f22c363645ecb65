"""Parts of Decision boundary: frames, numbers, seeds, a look inside, things to take home."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from gating_core.experiments.comparison import (
    COMPARISONS,
    DrawnData,
    Setting,
    TrainedRun,
    drawn_frames,
    training_data,
)
from gating_core.export import log_csv, script_problem, script_text, weights_file
from ui.common.words import beyond_text, short
from ui.components.strip import strip
from ui.components.view3d import Legend, view3d
from ui.decision_boundary import film_words, words
from ui.decision_boundary.controls import (
    DECISION_BOUNDARY,
    LOOK,
    MOVED,
    REWINDS,
    REWOUND,
    RUN,
    VIEW_KEY,
    new_seeds,
    on_stop,
    rewind,
    train_on,
)
from ui.decision_boundary.figures import still_figure
from ui.decision_boundary.film import Film, curves_of, film_of, gaussian_of, sides_of, what_is_drawn
from ui.decision_boundary.names import TITLES
from ui.decision_boundary.request import Look
from ui.decision_boundary.status import draw_empty_stage
from ui.decision_boundary.training import JOB, STOPPED, Wish, draw_others, stopped_frame
from ui.drawing import palette
from ui.limits import BOUNDARY_STEPS
from ui.work import jobs, pool
from ui.work.cache import PASSING_CACHE, cached
from ui.work.runs import REDRAWN_SECONDS, Shown, serial

REWOUND_AT = "boundary_rewound_at"
MEANWHILE = "boundary_meanwhile"  # the film that was shown last, of what, and since when
MORE_STEPS = 400
CHOICES = (*RUN, *LOOK, "picked_seed")  # of the link: what the picture depends on
SPARE = 410  # pixels for all but the pictures


def _make(
    key: object, _run: TrainedRun, member: int, _shown: Shown, look: Look, unfinished: bool
) -> Film:
    about = _run, member, curves_of(_shown, member), gaussian_of(_shown, member), look, unfinished
    if _run.setting in COMPARISONS.values():  # shipped: first sight waits for no worker
        return film_of(*about)
    return pool.POOL.call(film_of, *about)


_made, _made_meanwhile = cached()(_make), cached(on=PASSING_CACHE)(_make)


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


@cached()
def _readings(key: int, _run: TrainedRun) -> list[str]:
    return film_words.readings(_run)


def draw_film(shown: Shown | None, look: Look, wished: Wish, wanted: Setting) -> None:
    """Surfaces, input planes and curves, with a timeline to play and drag; total curvatures.

    Of another run than the one that is ``wanted``, as long as that is not there, it says so; until
    a first run is there, there is nothing.
    """
    job = jobs.current(JOB)
    going = job is not None and not job.over
    if shown is None:
        if going:
            draw_empty_stage(wanted)
        return
    run = shown.run
    if not len(run.frames):
        if run.divergence is not None:
            st.warning(film_words.divergence_text(run.divergence))
        return
    member, names = wished.member(run), sides_of(run)
    film = (_film_meanwhile if going else _film)(shown, look, member, going and not run.ended)
    steps, filled = run.steps[drawn_frames(run)], film.filled
    coloured = look.paint == "curvature" and film.measured
    hatched = gaussian_of(shown, member) if coloured else {}
    shortest = replace(run.setting, steps=BOUNDARY_STEPS[0])
    rewinds = st.session_state.get(REWINDS, 0)
    view3d(
        film.view,
        key=VIEW_KEY,
        headings=[film_words.heading(run, name, member) for name in names.values()]
        + ["Along the run"],
        captions=[
            film_words.captions(shown, n, member, going, hatched.get(s), filled[s])
            for s, n in names.items()
        ]
        + [[words.CURVES]],
        readouts=((), (), ()),
        readings=_readings(serial(run), run),
        frame=0 if _rewound(run, member) else len(steps) - 1,
        frame_labels=film_words.frame_labels(run),
        places=steps.tolist(),
        legend=_legend(look, training_data(run, member), film, film_words.drawn_text(run)),
        scrub=True,
        stale=film_words.stale_text(run, wanted),
        choices=CHOICES,
        scene=f"{hash(shortest)} {member} {run.ended or not going}",
        spare=SPARE,
        serial=f"{serial(run)} {member} {rewinds}",
        family=f"{hash(run.setting)} {rewinds}",
        on_stop=lambda: on_stop(run.setting),
    )
    if st.session_state.pop(MOVED, False) and DECISION_BOUNDARY["looking"].value:
        st.rerun()  # what is inside is drawn outside this fragment
    ends = {name: shown.final.get((name, member)) for name in names.values()}
    st.caption(
        " ".join(
            filter(
                None,
                (words.ends_text(ends), film.axes, film_words.frames_text(run, len(steps))),
            )
        ),
        help=words.TOTAL_HELP,
    )


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


def draw_buttons(job: jobs.Job, wished: Wish) -> None:
    """What can be done with a run."""
    with st.container(horizontal=True):
        st.button(f"Train on ({MORE_STEPS} steps)", icon=":material/fast_forward:",
                  on_click=train_on, args=(MORE_STEPS,), key="train_on")  # fmt: skip
        st.button("Back to step 0", icon=":material/replay:", on_click=rewind, key="rewind",
                  help="The first weights. The run stays: Play shows it again.")  # fmt: skip
        st.button("New seeds", icon=":material/casino:", on_click=new_seeds, key="new_seeds")
        draw_others(job, wished)


def draw_numbers(shown: Shown, wished: Wish, current: bool) -> None:
    """The table and the strip of seeds; of the run before, if not ``current``."""
    run = shown.run
    if not current:
        st.caption(
            ":material/hourglass_top: From here on: the run before, until the new one is complete."
        )
    st.table(words.table(run))
    st.caption(words.table_note(run), help=words.LEARNED_HELP)
    member = wished.member(run)
    others = len(run.variants) - len(palette.SIDE_COLOURS)
    strip(
        key="seed_strip",
        label="Final test accuracy of every seed; press one to show it.",
        title="test accuracy, % (click a seed to show it)",
        accuracies={TITLES[name]: x.ensemble.test_accuracy[-1] for name, x in run.variants.items()},
        colours=[*palette.SIDE_COLOURS.values(), *[palette.BESIDE] * others],
        seeds=run.task.seeds,
        shown=member,
        on_pick=_on_seed,
    )
    st.caption(film_words.shown_text(run, member, wished.chosen(run)))


def _on_seed(seed: int) -> None:
    st.query_params["picked_seed"] = str(seed)
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
    finals = (film_words.captions(shown, n, member, False)[place].replace("**", "") for n in names)
    headings = (film_words.heading(run, name, member) for name in names)
    titles = [f"{head}<br>{line}" for head, line in zip(headings, finals, strict=True)]
    view = _film(shown, look, member).view
    figure = still_figure(view, place, titles, film_words.still_text(run, place))
    return figure.to_html(include_plotlyjs=True)
