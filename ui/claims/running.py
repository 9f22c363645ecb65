"""The study of this server, as its store tells: whether one runs, and how far it is.

Any study that writes the store of this server counts, whoever started it. Whoever starts the server
names the file as an environment variable. A page starts one command alone, without a choice: the
quick study, in a process of low priority that outlives every tab. It needs no stop: it takes under
half a minute.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import psutil

from gating_core.claims import Refused, Store, default_path, is_written

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "gating_core.claims", "run", "--quick", "--store")
STORE = "GATING_CLAIMS_STORE"
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


def store_path() -> Path:
    """Return the file, which may not exist."""
    text = os.environ.get(STORE)
    return Path(text).expanduser().absolute() if text else default_path()


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
