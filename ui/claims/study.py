"""The tab Run the study: its commands, a button for the quick one, and the progress of any."""

from __future__ import annotations

import shlex
from typing import Any

import streamlit as st

from gating_core.claims import SELECTIONS, V2, default_path
from gating_core.claims.study import progress_text
from gating_core.claims.text import counted, spans
from ui.claims import running
from ui.claims.running import store_path
from ui.claims.shared import LIVE
from ui.foreign import error_words
from ui.work.scripts import SCRIPTS

EVERY_SECONDS = 1.0
TROUBLE = "claims_trouble"
CORES = 2  # that a study has on this machine
COMMAND = "python -m gating_core.claims"


def draw() -> None:
    """Draw the tab."""
    status = running.look(store_path())
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
        on_click=start,
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
        "report report": "verdicts, as HTML",
        "export tables": "all rows, as CSV",
    }
    width = max(map(len, lines))
    return "\n".join(f"{COMMAND} {words:{width}}  # {about}" for words, about in lines.items())


def start() -> None:
    """Start the quick study, or say why not; for callbacks only."""
    if trouble := running.start(store_path()):
        st.session_state[TROUBLE] = trouble
    else:
        st.session_state["rows"] = LIVE


def _look() -> None:
    """A fragment: it runs again and again, the page only when the study has ended."""
    with SCRIPTS.acquired():
        status = running.look(store_path())
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
