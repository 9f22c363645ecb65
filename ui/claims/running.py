"""The study of this server: one for all visitors, in a process that outlives every tab.

Whoever starts the server names, as environment variables, the file of its study and the schedulers
that it may use. A Dask scheduler can make whoever connects to it do anything: so a page connects
only to those of this machine, and to those that are named there.

It is the command line, in a process group of its own. A record of it and its output are files
beside the store, so that a server that is started anew finds it. To pause is to end the process:
the store keeps every row, and the same command goes on from there.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

import psutil

from gating_core.claims import default_path

ROOT = Path(__file__).resolve().parents[2]
MODULE = "gating_core.claims"
STORE, SCHEDULERS = "GATING_CLAIMS_STORE", "GATING_CLAIMS_SCHEDULERS"
ADDRESS = re.compile(r"(?:(?:tcp|tls)://)?([A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]):([0-9]{1,5})")
OWN_HOSTS = ("localhost", "127.0.0.1", "[::1]")
ANSWER_SECONDS = 2.0  # for anybody at an address to take a connection
STOP_SECONDS = 15.0  # for a study to end its workers, before its processes are killed
SAME_SECONDS = 1.0  # between two readings of when a process began
LAST_BYTES = 4096  # of its output: the last line is shorter
# Pages go first: a number on POSIX, a class on Windows.
LOWER_PRIORITY = getattr(psutil, "BELOW_NORMAL_PRIORITY_CLASS", 10)
# Ctrl-C is the server's; see `ui.work.pool` on why not a session of its own, on POSIX.
NEW_GROUP = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)

_lock = threading.Lock()
_children: list[subprocess.Popen] = []


class StudyState(StrEnum):
    """What a study does."""

    NONE = "none"
    RUNNING = "running"
    STOPPING = "stopping"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    COMPLETE = "complete"
    ENDED = "ended"  # by itself, before it was complete


@dataclass(frozen=True)
class Record:
    """What is remembered of a study."""

    pid: int
    began: float  # of its process, seconds since 1970
    options: tuple[str, ...]
    owner: str  # the session that started it
    stop: str = ""  # what it was ended for: "paused", "cancelled"
    stopped: float = 0.0  # when, since this machine was started


@dataclass(frozen=True)
class Status:
    """How the study is. ``trouble`` is a sentence, where it ended by itself."""

    state: StudyState
    done: int = 0
    total: int = 0
    seconds_left: float = 0.0
    workers: int | None = None  # that are connected; none: not known yet
    trouble: str = ""
    options: tuple[str, ...] = ()
    owner: str = ""
    began: float = 0.0  # which study it is: no two of a server began at once

    @property
    def lives(self) -> bool:
        """Whether there is a process."""
        return self.state in (StudyState.RUNNING, StudyState.STOPPING)


def start(options: tuple[str, ...], owner: str, store: Path) -> str:
    """Start the study with ``options``; why that cannot be, in a sentence."""
    with _lock:
        if look(store).lives:
            return "A study runs here already, and is shown."
        try:
            if store == default_path():
                store.parent.mkdir(parents=True, exist_ok=True)
            with _beside(store, "out").open("wb") as out, _beside(store, "err").open("wb") as err:
                child = subprocess.Popen(
                    (sys.executable, "-m", MODULE, "run", *options, "--json",
                     "--store", str(store)),
                    stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=ROOT,
                    process_group=0, creationflags=NEW_GROUP,
                )  # fmt: skip
            _children.append(child)
            process = psutil.Process(child.pid)
            with suppress(psutil.Error, OSError):
                process.nice(LOWER_PRIORITY)
            _write(store, Record(child.pid, process.create_time(), options, owner))
        except OSError as error:
            return f"The study cannot be started beside {store}: {error.strerror}."
    return ""


def stop(store: Path, why: StudyState) -> None:
    """End the study's process, if it is one of ours; ``why`` is ``PAUSED`` or ``CANCELLED``."""
    with _lock:
        record = _read(store)
        process = None if record is None else _process(record)
        if record is None or process is None:
            return
        _write(store, replace(record, stop=str(why), stopped=time.monotonic()))
        with suppress(psutil.Error):
            process.terminate()


def look(store: Path) -> Status:
    """How the study is that was started last beside ``store``."""
    record = _read(store)
    if record is None:
        return Status(StudyState.NONE)
    process, last = _process(record), _last_progress(store)
    state, trouble = StudyState.RUNNING, ""
    if process is not None and record.stop:
        state = StudyState.STOPPING
        if time.monotonic() - record.stopped > STOP_SECONDS:
            with suppress(psutil.Error):
                process.kill()  # its workers watch it, and end
    elif process is None and last.get("complete"):
        state = StudyState.COMPLETE
    elif process is None and record.stop:
        state = StudyState(record.stop)
    elif process is None:
        state, trouble = StudyState.ENDED, _trouble(store, last.get("failures", ()))
    return Status(
        state, last.get("done", 0), last.get("total", 0), last.get("seconds_left", 0.0),
        last.get("workers"), trouble, record.options, record.owner, record.began,
    )  # fmt: skip


def _beside(store: Path, what: str) -> Path:
    return store.with_name(f"{store.name}.study.{what}")


def _write(store: Path, record: Record) -> None:
    path = _beside(store, "json")
    unfinished = path.with_suffix(f".{os.getpid()}")
    unfinished.write_text(json.dumps(asdict(record)), encoding="utf-8")
    unfinished.replace(path)


def _read(store: Path) -> Record | None:
    try:
        saved = json.loads(_beside(store, "json").read_text(encoding="utf-8"))
        record = Record(**saved | {"options": tuple(saved["options"])})
        StudyState(record.stop or StudyState.NONE)
        return record if isinstance(record.pid, int) and record.pid > 1 else None
    except (OSError, ValueError, TypeError, KeyError):
        return None  # there is none, or it is not ours


def _process(record: Record) -> psutil.Process | None:
    """The process if it is there, and is the one: numbers of processes are used again."""
    for child in [*_children]:
        if child.poll() is not None:  # this also notes that the process has ended
            with suppress(ValueError):
                _children.remove(child)
    try:
        process = psutil.Process(record.pid)
        words = process.cmdline()  # none yet, for a moment after its start
        ours = (
            abs(process.create_time() - record.began) < SAME_SECONDS
            and process.status() != psutil.STATUS_ZOMBIE
            and (not words or MODULE in words)
        )
    except psutil.Error:
        return None
    return process if ours else None


def _last_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - LAST_BYTES, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    whole = text.rpartition("\n")[0]  # the last line may be on its way
    return whole.rstrip().rpartition("\n")[2]


def _last_progress(store: Path) -> dict:
    with suppress(ValueError):
        last = json.loads(_last_line(_beside(store, "out")))
        if isinstance(last, dict):
            return last
    return {}


def _trouble(store: Path, failures: tuple[str, ...]) -> str:
    if failures:
        return f"{len(failures)} of its units could not be done; the first: {failures[0]}"
    return _last_line(_beside(store, "err")) or "its process was ended from outside"


# --- Its settings ---------------------------------------------------------------------------------


def store_path() -> Path:
    """Return the file, which may not exist."""
    text = os.environ.get(STORE)
    return Path(text).expanduser().absolute() if text else default_path()


def scheduler_trouble(address: str) -> str:
    """Say why the study may not run on the scheduler at ``address``; empty: it may."""
    match = ADDRESS.fullmatch(address)
    if match is None or int(match[2]) > 65_535:
        return "A scheduler's address is a host and a port, as in tcp://127.0.0.1:8786."
    named = [each.strip() for each in os.environ.get(SCHEDULERS, "").split(",")]
    if match[1] in OWN_HOSTS or address in named:
        return ""
    return (
        "Whoever connects to a scheduler runs its code. So this page uses only those of this"
        f" machine, and those that the variable {SCHEDULERS} names when the server starts."
    )


def silence_trouble(address: str) -> str:
    """Say that nothing answers at ``address``; empty: something does.

    Tried before the study starts, which takes seconds to notice the same.
    """
    match = ADDRESS.fullmatch(address)
    assert match is not None  # else there is a `scheduler_trouble`
    try:
        with socket.create_connection((match[1].strip("[]"), int(match[2])), ANSWER_SECONDS):
            return ""
    except OSError:
        return (
            f"Nobody answers at {address}: start a Dask scheduler there, or leave the field empty."
        )
