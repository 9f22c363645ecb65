"""The tab Run the study: its commands, a button for the quick one, and the progress of any.

Any study that writes the store of this server counts, whoever started it. Whoever starts the server
names the file as an environment variable. A page starts one command alone, without a choice: the
quick study, in a process of low priority that outlives every tab. It needs no stop: it takes under
half a minute.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil
import streamlit as st

from gating_core.claims import SELECTIONS, V2, Refused, Store, default_path, is_written
from gating_core.claims.study import progress_text
from gating_core.claims.text import counted, spans
from ui.claims.shared import LIVE, store_path
from ui.foreign import error_words
from ui.work.scripts import SCRIPTS

EVERY_SECONDS = 1.0
TROUBLE = "claims_trouble"
CORES = 2  # that a study has on this machine
PROGRAM = "python -m gating_core.claims"


def draw() -> None:
    """Draw the tab."""
    status = look(store_path())
    if trouble := st.session_state.pop(TROUBLE, ""):
        st.error(trouble)
    button, about = st.columns([2, 8], vertical_alignment="center")
    button.button(
        "Run quick study",
        key="claims_run",
        icon=":material/play_arrow:",
        width="stretch",
        type="primary",
        disabled=status.runs,
        on_click=begin,
        help="One study at a time runs here, for all visitors.",
    )
    quick = SELECTIONS["quick"].size
    about.caption(
        f"{counted(quick.models, 'model')} and {counted(quick.stacks, 'stack')}, without those that"
        f" are there already. This takes about {quick.seconds / CORES:.0f} s on two cores, perhaps"
        " half or twice that. It goes on when this tab is closed. Its rows are *live* in Findings."
    )
    if status.runs:
        st.fragment(_look, run_every=EVERY_SECONDS)()
    elif status.trouble and not status.progress.get("complete"):
        st.error(f"{error_words(status.trouble)}.")
    elif status.progress:
        st.caption(f"The last one here: {end_text(status.progress)}")
    st.markdown(
        "Every study is one command. It can be ended at any moment, and the same command resumes"
        " it. Its progress and its rows are shown here."
    )
    st.code(commands(), language="bash")
    if (store := store_path()) != default_path():
        st.caption(f"Rows of this server: add `--store {shlex.quote(str(store))}` to a command.")


def commands() -> str:
    """Return what can be run in a shell, a line each."""
    sizes = {name: counted(of.size.models, "model") for name, of in SELECTIONS.items()}
    lines = {
        "run --quick": f"{sizes['quick']}: C1, C2, C5 and C7",
        "run --full": f"{sizes['full']}: C1, C2, C5 and C7, seeds of criteria v1",
        "run --v2": f"{sizes['v2']}: C3, C4 and C6, seeds {spans(V2.seeds)} of criteria v2",
        "run --only C4": "what one claim needs",
        "run --quick --scheduler tcp://127.0.0.1:8786": "on a Dask cluster",
        "run --help": "tasks, variants, parts, seeds and steps of your own",
        "status --quick": "how far a study is",
        "report report": "verdicts, rules and numbers, as text",
        "export tables": "all rows, as CSV",
    }
    width = max(map(len, lines))
    return "\n".join(f"{PROGRAM} {words:{width}}  # {about}" for words, about in lines.items())


def begin() -> None:
    """Start the quick study, or say why not; for callbacks only."""
    if trouble := start(store_path()):
        st.session_state[TROUBLE] = trouble
    else:
        st.session_state["rows"] = LIVE


def _look() -> None:
    """A fragment: it runs again and again, the page only when the study has ended."""
    with SCRIPTS.acquired():
        status = look(store_path())
        if not status.runs:
            st.rerun()
        told = status.progress
        share = told["done"] / told["total"] if told.get("total") else 0.0
        st.progress(share, f"A study runs: {progress_text(told)}" if told else "A study starts.")


def end_text(told: dict[str, Any]) -> str:
    """Say how a study has ended."""
    rows = f"{told['done']:,} of {told['total']:,} rows are there."
    if told["complete"]:
        return f"complete. {rows}"
    text = f"ended before it was complete; the same command resumes it. {rows}"
    if failures := told["failures"]:
        text += f" {len(failures)} of its units could not be done; the first:"
        text += f" {error_words(failures[0])}"
    return text


# --- Its process ----------------------------------------------------------------------------------

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "gating_core.claims", "run", "--quick", "--store")
# Pages go first: a number on POSIX, a class on Windows.
LOWER_PRIORITY = getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", 10)
# Ctrl-C is the server's; see `ui.work.pool` on why not a session of its own.
NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)

_lock = threading.Lock()
_started: list[tuple[subprocess.Popen, IO[bytes]]] = []  # the last one, and what it says


@dataclass(frozen=True)
class Status:
    """The state of a study that runs beside the server.

    Attributes:
        runs: whether one writes the store, or starts.
        progress: of the last one when it last wrote, as of `run_study`; empty if there was none.
        trouble: why one that a page has started has ended, or why the store cannot be read.
    """

    runs: bool
    progress: dict[str, Any] = field(default_factory=dict)
    trouble: str = ""


def start(store: Path) -> str:
    """Start the quick study; return why that cannot be, in a sentence."""
    with _lock:
        if look(store).runs:
            return "A study runs here already."
        try:
            said = tempfile.TemporaryFile()  # noqa: SIM115 (read at its end)
        except OSError:
            return (
                "The study cannot be started: this server may write no temporary file. Set TMPDIR"
                " to a folder with free space in which it may write, and start the server again."
            )
        try:
            child = subprocess.Popen(
                (*COMMAND, str(store)),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                cwd=ROOT,
                process_group=0,
                creationflags=NEW_GROUP,
            )
        except OSError as error:
            return f"The study cannot be started: {error.strerror}."
        _started[:] = [(child, said)]
        with suppress(psutil.Error, OSError):
            psutil.Process(child.pid).nice(LOWER_PRIORITY)
    return ""


def look(store: Path) -> Status:
    """Return the state of the study whose store is at ``store``."""
    runs, progress, trouble = is_written(store), {}, ""
    if not runs and any(child.poll() is None for child, _ in _started):
        return Status(runs=True)  # it starts, or ends
    if store.exists():
        try:
            with Store(store, readable=True) as opened:
                progress = opened.progress()
        except Refused as error:
            trouble = f"{error}."
    for child, said in _started:
        if child.poll():
            said.seek(0)
            lines = said.read().decode("utf-8", "replace").strip().splitlines()
            why = lines[-1].rstrip(".") if lines else "its process was ended"
            trouble = f"The study has ended: {why}."
    return Status(runs, progress, trouble)
