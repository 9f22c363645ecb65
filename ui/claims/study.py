"""The controls of the study: run it, see how far it is, pause, cancel and resume it."""

from __future__ import annotations

import shlex
from contextlib import nullcontext

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from ui.claims import measured, running, words
from ui.claims.controls import CLAIMED, show_own_rows, study_controls
from ui.claims.request import HERE, command
from ui.claims.running import (
    Status,
    StudyState,
    scheduler_trouble,
    silence_trouble,
    store_path,
)
from ui.foreign import as_words
from ui.work.semaphore import SCRIPTS

EVERY_SECONDS = 1.0
TROUBLE = "claims_trouble"
SEEN, CLOSED = "claims_study_seen", "claims_study_closed"  # when the study began that was
ENDS = {
    StudyState.PAUSED: "The study is paused: every row that was done is kept.",
    StudyState.CANCELLED: "The study was cancelled: every row that was done is kept.",
    StudyState.COMPLETE: "The study is complete.",
}
DOCK = "dock-0-study"  # at the foot of the window, where it moves nothing on the page
RESUMABLE = (StudyState.PAUSED, StudyState.ENDED)


def study_status() -> Status:
    """Return how this server's study is."""
    return running.look(store_path())


def draw_progress(status: Status, rows: str, beside: DeltaGenerator | None) -> None:
    """Draw how far the server's study is, for everybody, and its end, until that is closed.

    It is drawn in ``beside``, where the button that starts a study is seen, or else in the dock.

    An end that needs no answer is shown only to those who have seen the study run; the fold that
    starts a study shows it to all.
    """
    if trouble := st.session_state.pop(TROUBLE, ""):
        st.error(trouble)
    if status.lives:
        st.session_state[SEEN] = status.began
    seen = status.lives or status.state in RESUMABLE or _is(SEEN, status)
    if status.state == StudyState.NONE or not seen or _is(CLOSED, status):
        return
    if status.lives:
        look = st.fragment(_look, run_every=EVERY_SECONDS)
        with beside or nullcontext():
            look(status, rows, _judged_so_far(rows, status), beside is None)
    else:
        _draw_end(status)


def _is(name: str, status: Status) -> bool:
    return st.session_state.get(name) == status.began


def _judged_so_far(rows: str, status: Status) -> object:
    """Which rows of a running study have been judged, if the page shows them."""
    if rows != HERE or not status.lives:
        return None
    newest = measured.judged_so_far(measured.source_of(rows, status))
    return newest and newest[0]


def _look(before: Status, rows: str, shown: object, docked: bool) -> None:
    """A fragment: it runs again and again, the page only when there is more to see."""
    with SCRIPTS.acquired():
        status = running.look(store_path())
        if status.state != before.state:
            st.rerun()
        if _judged_so_far(rows, status) != shown:
            st.rerun()
        with st.container(), _line(DOCK if docked else None):
            _draw_running(status)


def _line(key: str | None = None) -> DeltaGenerator:
    return st.container(horizontal=True, vertical_alignment="center", key=key)


def _draw_running(status: Status) -> None:
    share = status.done / status.total if status.total else 0.0
    text = words.progress_text(status.done, status.total, status.seconds_left, status.workers)
    if not status.total:
        text = "its processes start"
    st.progress(share, text=f"Study {_options(status)}: {text}")
    stopping, mine = status.state == StudyState.STOPPING, measured.may_stop(status)
    about = None if mine else "Only the visitor who started it may stop it, and only on this visit."
    for label, why in (("Pause", StudyState.PAUSED), ("Cancel", StudyState.CANCELLED)):
        st.button(
            "Stopping …" if stopping and label == "Pause" else label, key=f"claims_{label}",
            disabled=stopping or not mine, help=about, on_click=running.stop,
            args=(store_path(), why),
        )  # fmt: skip


def _draw_end(status: Status) -> None:
    line = _line()
    if status.state == StudyState.ENDED:
        line.error(_end(status))
    else:
        line.caption(f":material/info: {_end(status)}")
    if status.state in RESUMABLE:
        line.button("Resume", key="claims_resume", icon=":material/play_arrow:",
                    on_click=_start, args=(status.options,))  # fmt: skip
    line.button("Close", key="claims_close", icon=":material/close:", type="tertiary",
                on_click=_close, args=(status.began,))  # fmt: skip


def _end(status: Status) -> str:
    rows = f"{status.done:,} of {status.total:,} rows are there. ({_options(status)})"
    if status.state == StudyState.ENDED:
        return f"The study has ended: {as_words(status.trouble.rstrip('.'))}. {rows}"
    return f"{ENDS[status.state]} {rows}"


def _close(began: float) -> None:
    """Hide the message of an end; for callbacks only."""
    st.session_state[CLOSED] = began


def _options(status: Status) -> str:
    return f"`{shlex.join(status.options)}`"


def _start(options: tuple[str, ...], scheduler: str = "") -> None:
    """Start a study, or say why not; for callbacks only."""
    trouble = ""
    if scheduler:
        trouble = scheduler_trouble(scheduler) or silence_trouble(scheduler)
    trouble = trouble or running.start(options, measured.visitor(), store_path())
    if trouble:
        st.session_state[TROUBLE] = trouble
    else:
        show_own_rows()


def draw_study(status: Status) -> DeltaGenerator | None:
    """Draw what to run, the button that runs it, and the command that does the same.

    Returns where the progress of a study belongs; ``None`` where all that is folded.
    """
    fold = CLAIMED["run_study"].draw(st)
    if not fold.open:
        return None
    if not status.lives and status.state != StudyState.NONE:
        fold.caption(f"The last one here: {_end(status)}")
    request = study_controls(fold)
    button, about = fold.columns([2, 8], vertical_alignment="center")
    button.button(
        "Run", key="claims_run", icon=":material/play_arrow:", width="stretch", type="primary",
        disabled=status.lives or bool(request.trouble), on_click=_start,
        args=(request.options, request.scheduler),
        help="One study at a time runs here, for all visitors.",
    )  # fmt: skip
    if request.trouble:
        about.warning(request.trouble)
    else:
        about.caption(
            f"{words.size_text(request.selection.size, request.seconds)} It goes on when this tab"
            " is closed. This command does the same:"
        )
    beside = fold.container()
    fold.code(command(request, store_path()), language="bash")
    return beside
