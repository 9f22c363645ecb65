"""The pictures of a run as the page shows them: the view with its timeline, and what stands below.

A worker makes the training frames, once for everybody.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from dataclasses import replace

import streamlit as st

from gating_core.experiments.comparison import (
    COMPARISONS,
    FRAME_GRID,
    DrawnData,
    Setting,
    TrainedRun,
    drawn_frames,
    training_data,
)
from ui.common.words import beyond_text, short
from ui.components.view3d import Legend, view3d
from ui.decision_boundary import controls, frame_words
from ui.decision_boundary.controls import DECISION_BOUNDARY, VIEW_KEY
from ui.decision_boundary.frames import (
    TrainingFrames,
    curves_of,
    drawn_key,
    frames_of,
    gaussian_of,
    variants_of,
)
from ui.decision_boundary.names import TITLES, page_text
from ui.decision_boundary.request import BoundaryView
from ui.decision_boundary.training import JOB, STOPPED, MeasurementRequest
from ui.decision_boundary.words import ends_text
from ui.drawing import palette
from ui.limits import BOUNDARY_STEPS
from ui.work import jobs, pool
from ui.work.cache import PASSING_CACHE, cached
from ui.work.runs import REDRAWN_SECONDS, Shown, serial

REWOUND_AT = "boundary_rewound_at"
MEANWHILE = "boundary_meanwhile"  # the frames that were shown last, of what, and since when
SPARE = 410  # pixels for all but the pictures
STAGE = 400  # pixels of the pictures' place while there are none


def _make(
    key: object, _run: TrainedRun, member: int, _shown: Shown, view: BoundaryView, unfinished: bool
) -> TrainingFrames:
    about = _run, member, curves_of(_shown, member), gaussian_of(_shown, member), view, unfinished
    if _run.setting in COMPARISONS.values():  # shipped: first sight waits for no worker
        return frames_of(*about)
    return pool.POOL.call(frames_of, *about)


_made, _made_meanwhile = cached()(_make), cached(on=PASSING_CACHE)(_make)


def frames_for(
    shown: Shown,
    view: BoundaryView,
    member: int,
    unfinished: bool = False,
    made: Callable[..., TrainingFrames] = _made,
) -> TrainingFrames:
    """Return the training frames of one seed, with what is measured by now."""
    key = serial(shown.run), drawn_key(shown, member)
    return made(key, shown.run, member, shown, view, unfinished)


def _frames_meanwhile(
    shown: Shown, view: BoundaryView, member: int, unfinished: bool
) -> TrainingFrames:
    """Return the same while work goes on: those of just before, while others need the workers."""
    about = serial(shown.run), view, member, unfinished
    before, last, made = st.session_state.get(MEANWHILE, (None, lambda: None, 0.0))
    soon = pool.POOL.crowded or time.monotonic() - made < REDRAWN_SECONDS
    frames = last() if soon and before == about else None
    if frames is None:
        frames = frames_for(shown, view, member, unfinished, _made_meanwhile)
        # Megabytes: they stay as long as the cache, which is everybody's, holds them.
        st.session_state[MEANWHILE] = about, weakref.ref(frames), time.monotonic()
    return frames


@cached()
def _readings(key: int, _run: TrainedRun) -> list[str]:
    return frame_words.readings(_run)


def draw_frames(
    shown: Shown | None,
    view: BoundaryView,
    measurement: MeasurementRequest,
    requested: Setting,
) -> None:
    """Draw surfaces, input planes and curves, with a timeline to play and drag.

    As long as the ``requested`` run is not there, the picture says of what it is; before a first
    run there is none.
    """
    job = jobs.current(JOB)
    going = job is not None and not job.over
    if shown is None:
        if going:
            with st.container(height=STAGE, border=True, horizontal_alignment="center",
                              vertical_alignment="center"):  # fmt: skip
                st.markdown(frame_words.coming_text(requested), width="content")
        return
    run = shown.run
    if not len(run.frames):
        if run.divergence is not None:
            st.warning(frame_words.divergence_text(run.divergence))
        return
    member, variants = measurement.member(run), variants_of(run)
    frames = (_frames_meanwhile if going else frames_for)(
        shown, view, member, going and not run.ended
    )
    steps = run.steps[drawn_frames(run)]
    coloured = view.paint == "curvature" and frames.measured
    hatched = gaussian_of(shown, member) if coloured else {}
    shortest = replace(run.setting, steps=BOUNDARY_STEPS[0])
    rewinds = st.session_state.get(controls.REWINDS, 0)
    view3d(
        frames.picture,
        key=VIEW_KEY,
        headings=[frame_words.heading(run, name, member) for name in variants.values()]
        + ["Along the run"],
        captions=[
            frame_words.captions(shown, n, member, going, hatched.get(s), frames.filled[s])
            for s, n in variants.items()
        ]
        + [[page_text("curves", **{side: TITLES[name] for side, name in variants.items()})]],
        readouts=((), (), ()),
        readings=_readings(serial(run), run),
        frame=0 if _rewound(run, member) else len(steps) - 1,
        frame_labels=frame_words.frame_labels(run),
        places=steps.tolist(),
        legend=_legend(view, training_data(run, member), frames, frame_words.drawn_text(run)),
        scrub=True,
        stale=frame_words.stale_text(run, requested, going),
        choices=controls.CHOICES,
        scene=f"{hash(shortest)} {member} {run.ended or not going}",
        spare=SPARE,
        serial=f"{serial(run)} {member} {rewinds}",
        family=f"{hash(run.setting)} {rewinds}",
        on_stop=lambda: controls.on_stop(run.setting),
    )
    if st.session_state.pop(controls.MOVED, False) and DECISION_BOUNDARY["looking"].value:
        st.rerun()  # what is inside is drawn outside this fragment
    ends = ends_text({name: shown.final.get((name, member)) for name in variants.values()})
    texts = (ends, frames.axes, frame_words.frames_text(run, len(steps)))
    st.caption(" ".join(filter(None, texts)), help=page_text("total_help", grid=FRAME_GRID))


def _legend(view: BoundaryView, data: DrawnData, frames: TrainingFrames, drawn: str) -> Legend:
    picture = frames.picture
    if view.paint == "curvature":
        if not frames.measured:
            return Legend(palette.SIGNED_SCALE, "", "", "K is not measured yet")
        low, high = (f"K = {short(end)}" for end in picture.colour_range)
        beyond = f"at the last step {beyond_text(picture.beyond)}"
        note = f"saddle-like to dome-like, asinh scale · {beyond} · hatched: not known"
        return Legend(palette.SIGNED_SCALE, low, high, note)
    note = f"filled: training points{', open: test points' if view.tested else ''}{drawn}"
    scale = palette.class_scale(data.colours)
    if data.class_count > 2:
        names = zip(data.names, data.colours, strict=True)
        keys = [(name, palette.CLASS_COLOURS[colour]) for name, colour in names]
        return Legend(scale, "", "", note, keys)
    return Legend(scale, data.names[0], data.names[-1], note)


def _rewound(run: TrainedRun, member: int) -> bool:
    """Whether the visitor went back to the start, and has looked at nothing else since."""
    moment = (run.setting, member)
    if st.session_state.pop(controls.REWOUND, False):
        st.session_state[REWOUND_AT] = moment
        st.session_state[STOPPED] = run.setting, 0
    return st.session_state.get(REWOUND_AT) == moment
