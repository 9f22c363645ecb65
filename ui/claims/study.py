"""The tab Run the study: what to train, the button, its command; and the progress, on every tab."""

from __future__ import annotations

import shlex
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from gating_core.claims import CLAIMS, PARTS, SELECTIONS, Selection, Size, default_path
from gating_core.claims.text import NO_WORKERS, counted
from gating_core.experiments.comparison import LIMITS, VARIANTS
from gating_core.tasks import TASKS
from ui.claims import running, shared
from ui.claims.running import Status, StudyState, scheduler_trouble, silence_trouble, store_path
from ui.claims.shared import LIVE
from ui.common.links import LINK
from ui.foreign import as_words
from ui.limits import ADDRESS_CHARACTERS, BOUNDARY_STEPS, CLAIMS_SECONDS
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
OWN, ALL_CLAIMS = "own selection", "all claims"
STUDIES = {"quick": "quick", "full (v1)": "full", "criteria v2": "second", OWN: OWN}
COMMAND = ("python", "-m", "gating_core.claims", "run")
FULL = SELECTIONS["full"]
CORES = 2  # that a study has on this machine
FULL_STUDY = "those of the full study"


@dataclass(frozen=True)
class StudyRequest:
    """A study: ``options`` of the command line without the store, and the models it trains."""

    selection: Selection
    options: tuple[str, ...]
    scheduler: str = ""  # its address; empty: this machine

    @property
    def seconds(self) -> float:
        """How long that would take this machine, roughly, if no row were there."""
        return self.selection.size.seconds / CORES

    @property
    def trouble(self) -> str:
        """Why a page does not run it, in a sentence; empty: it may."""
        size = self.selection.size
        if not size.models + size.stacks:
            return (
                f"{self.selection.only} needs nothing of what is chosen: it needs other tasks,"
                " variants or parts of the grid."
            )
        if self.seconds > CLAIMS_SECONDS:
            return (
                f"This would take about {self.seconds / 3600:.1f} hours, and a page's study"
                f" {CLAIMS_SECONDS / 3600:g} at most: choose less, or run the command in a shell."
            )
        return ""


# --- What to run ----------------------------------------------------------------------------------


def draw(status: Status) -> DeltaGenerator:
    """Draw the tab; returns the place of the progress of a study."""
    if not status.lives and status.state != StudyState.NONE:
        st.caption(f"The last one here: {end_text(status)}")
    request = choose_study()
    button, about = st.columns([2, 8], vertical_alignment="center")
    button.button(
        "Run", key="claims_run", icon=":material/play_arrow:", width="stretch", type="primary",
        disabled=status.lives or bool(request.trouble), on_click=start,
        args=(request.options, request.scheduler),
        help="One study at a time runs here, for all visitors.",
    )  # fmt: skip
    if request.trouble:
        about.warning(request.trouble)
    else:
        about.caption(
            f"{size_text(request.selection.size, request.seconds)} It goes on when this tab is"
            " closed. This command does the same:"
        )
    beside = st.container()
    st.code(command(request, store_path()), language="bash")
    return beside


def choose_study() -> StudyRequest:
    """Draw the controls of the study, and return what it would run."""
    left, right = st.columns([5, 4], vertical_alignment="bottom")
    study = STUDIES[left.radio("Study", [*STUDIES], key="study", horizontal=True, **LINK,
        help="Quick: four tasks, four variants, 16 seeds. It takes under half a minute. Full: eight"
        " tasks, eight variants, 32 seeds; depth, n and tokens are varied. It takes some five"
        " minutes, and so does the study of criteria v2, on seeds of its own.")]  # fmt: skip
    scheduler = right.text_input("Address of a Dask scheduler", max_chars=ADDRESS_CHARACTERS,
        placeholder="this machine", key="scheduler", **LINK,
        help="If this is empty, two processes of this machine are used.")  # fmt: skip
    options: tuple[str, ...] = (f"--{study}",)
    selection = SELECTIONS.get(study, FULL)
    if study == OWN:
        options, selection = choose_own()
    options += ("--scheduler", scheduler) * bool(scheduler)
    return StudyRequest(selection, options, scheduler)


def choose_own() -> tuple[tuple[str, ...], Selection]:
    """Draw the controls of an own selection; return its options and itself."""
    columns = st.columns(3)
    tasks, variants, parts = (
        tuple(column.multiselect(label, choices, key=key, placeholder=FULL_STUDY, help=about,
                                 **LINK))
        for column, (label, choices, key, about) in zip(columns, (
            ("Tasks", [*TASKS], "tasks", "If none is chosen: the eight of the full study."),
            ("Variants", [*VARIANTS], "variants",
             "If none is chosen: the eight of the full study."),
            ("Parts of the grid", [*PARTS], "study_parts",
             "Base: one layer, n = 3, values from memory. Depth, values (n) and tokens are each"
             " varied alone, for four tasks, ungated and sigmoid. Residual: a residual connection,"
             " with one to three layers. Stacks: the structured regime of C7. If none is chosen:"
             " all but residual."),
        ), strict=True)
    )  # fmt: skip
    for_claim, many, long, complete = st.columns([2, 3, 3, 2], vertical_alignment="center")
    only = for_claim.selectbox("For", [ALL_CLAIMS, *CLAIMS], key="only", **LINK,
        help="Runs only what one claim needs, and what is trained in the same batch.")  # fmt: skip
    seeds = many.slider("Seeds", *LIMITS["seed_count"], 16, key="many", **LINK)
    steps = long.slider("Steps", *BOUNDARY_STEPS, FULL.steps, 50, key="study_steps", **LINK,
        help="Steps of training. Verdicts use the rows with the most common number of steps. Other"
        " rows are excluded.")  # fmt: skip
    product = complete.toggle("Complete product", key="product", **LINK,
        help="Every task and variant in every setting: depth × n × source. Parts of the grid then"
        " decide only whether stacks are included.")  # fmt: skip
    return own_study(
        tasks,
        variants,
        parts,
        "" if only == ALL_CLAIMS else only,
        seeds,
        round(steps / 50) * 50,
        product,
    )  # a link does not snap to the step


def own_study(
    tasks: tuple[str, ...] = (), variants: tuple[str, ...] = (), parts: tuple[str, ...] = (),
    only: str = "", seeds: int = 16, steps: int = FULL.steps, product: bool = False,
) -> tuple[tuple[str, ...], Selection]:  # fmt: skip
    """Return the options of the command line, and the selection that they stand for."""
    selection = Selection(
        tasks=tasks or FULL.tasks, variants=variants or FULL.variants, parts=parts or FULL.parts,
        seed_count=seeds, steps=steps, only=only or None, product=product,
    )  # fmt: skip
    given = {"only": only, "tasks": ",".join(tasks), "variants": ",".join(variants),
             "parts": ",".join(parts), "seeds": seeds if seeds != FULL.seed_count else "",
             "steps": steps if steps != FULL.steps else ""}  # fmt: skip
    options = ["--grid", "all"] if product else ["--full"]
    for name, value in given.items():
        options += [f"--{name}", str(value)] if value else []
    return tuple(options), selection


def command(request: StudyRequest, store: Path) -> str:
    """Return what does the same in a shell."""
    other = () if store == default_path() else ("--store", str(store))
    return shlex.join((*COMMAND, *request.options, *other))


def size_text(size: Size, seconds: float) -> str:
    """Say what would be done, and how long that takes."""
    parts = [counted(size.models, "model")] * bool(size.models)
    parts += [counted(size.stacks, "stack")] * bool(size.stacks)
    time = f"{max(round(seconds), 1)} s" if seconds < 120 else f"{seconds / 60:.0f} min"
    return (
        f"{' and '.join(parts)}, without those that are there already. This takes about {time} on"
        " two cores, perhaps half or twice that."
    )


def start(options: tuple[str, ...], scheduler: str = "") -> None:
    """Start a study, or say why not; for callbacks only."""
    trouble = ""
    if scheduler:
        trouble = scheduler_trouble(scheduler) or silence_trouble(scheduler)
    trouble = trouble or running.start(options, visitor(), store_path())
    if trouble:
        st.session_state[TROUBLE] = trouble
    else:
        st.session_state["rows"] = LIVE


# --- The progress ---------------------------------------------------------------------------------


def draw_progress(status: Status, rows: str, beside: DeltaGenerator | None) -> None:
    """Draw the progress of the server's study, for everybody, and its end, until that is closed.

    It is drawn in ``beside``, where the button that starts a study is seen, or else in the dock. An
    end that needs no answer is shown only to those who have seen the study run; the tab that starts
    a study shows it to all.
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
    if rows != LIVE or not status.lives:
        return None
    newest = shared.judged_so_far(shared.live_source(status))
    return newest and newest[0]


def _look(before: Status, rows: str, shown: object, docked: bool) -> None:
    """A fragment: it runs again and again, the page only when there is more to see."""
    with SCRIPTS.acquired():
        status = running.look(store_path())
        if status.state != before.state or _judged_so_far(rows, status) != shown:
            st.rerun()
        line = st.container(horizontal=True, vertical_alignment="center",
                            key=DOCK if docked else None)  # fmt: skip
        with st.container(), line:
            _draw_running(status)


def _draw_running(status: Status) -> None:
    share = status.done / status.total if status.total else 0.0
    st.progress(share, text=f"Study `{shlex.join(status.options)}`: {progress_text(status)}")
    stopping, mine = status.state == StudyState.STOPPING, may_stop(status)
    about = None if mine else "Only the visitor who started it may stop it, and only on this visit."
    for label, why in (("Pause", StudyState.PAUSED), ("Cancel", StudyState.CANCELLED)):
        st.button(
            "Stopping …" if stopping and label == "Pause" else label, key=f"claims_{label}",
            disabled=stopping or not mine, help=about, on_click=running.stop,
            args=(store_path(), why),
        )  # fmt: skip


def progress_text(status: Status) -> str:
    """Say how far a study is, or that nobody works on it."""
    if not status.total:
        return "its processes start"
    minutes, seconds = divmod(round(status.seconds_left), 60)
    time = f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
    rest = NO_WORKERS if status.workers == 0 else f"about {time} left"
    return f"{status.done:,} of {status.total:,} rows, {rest}"


def _draw_end(status: Status) -> None:
    line = st.container(horizontal=True, vertical_alignment="center")
    if status.state == StudyState.ENDED:
        line.error(end_text(status))
    else:
        line.caption(f":material/info: {end_text(status)}")
    if status.state in RESUMABLE:
        line.button("Resume", key="claims_resume", icon=":material/play_arrow:",
                    on_click=start, args=(status.options,))  # fmt: skip
    line.button("Close", key="claims_close", icon=":material/close:", type="tertiary",
                on_click=_close, args=(status.began,))  # fmt: skip


def end_text(status: Status) -> str:
    """Say how a study has ended."""
    rows = f"{status.done:,} of {status.total:,} rows are there."
    rows += f" (`{shlex.join(status.options)}`)"
    if status.state == StudyState.ENDED:
        return f"The study has ended: {as_words(status.trouble.rstrip('.'))}. {rows}"
    return f"{ENDS[status.state]} {rows}"


def _close(began: float) -> None:
    """Hide the message of an end; for callbacks only."""
    st.session_state[CLOSED] = began


def visitor() -> str:
    """Return the session of the visitor."""
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""


def may_stop(status: Status) -> bool:
    """Say whether this visitor started the study, or whoever did is gone."""
    if status.owner == visitor():
        return True
    return not (exists() and get_instance().is_active_session(status.owner))
