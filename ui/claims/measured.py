"""What follows from the rows, kept for all visitors, and when is it found out again?"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import cachetools
import plotly.graph_objects as go
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from gating_core.claims import ModelRow, Refused
from ui.claims.judged import Judged, Picture, Source, file_bytes, judge, models_of
from ui.claims.picture import figure_of
from ui.claims.request import HERE
from ui.claims.running import Status
from ui.claims.shipped_verdicts import load_judged
from ui.claims.store_place import store_place
from ui.common.figures import figures
from ui.limits import STORE_STAMPS_SECONDS
from ui.work import pool
from ui.work.cache import cached

_lock = threading.Lock()
_so_far: cachetools.LRUCache[str, tuple[Source, Judged]] = cachetools.LRUCache(1)
_judging: set[str] = set()  # places whose rows are being judged
_seen: dict[Path, tuple[float, bool, tuple[int, ...]]] = {}  # when, of a running study, which


@cached("Judging every row …")
def judged(source: Source) -> Judged:
    """The verdicts; `Refused` where the store cannot be read."""
    return pool.POOL.call(judge, source) if source.path else load_judged()


def judged_so_far(source: Source) -> tuple[Source, Judged] | None:
    """The newest verdicts of the place of ``source`` that are there; newer ones are on their way.

    So that whoever looks at a running study does not wait at every step.
    """
    with _lock:
        found = _so_far.get(source.path)
        if (found is None or found[0] != source) and source.path not in _judging:
            _judging.add(source.path)
            threading.Thread(target=_judge, args=(source,), name="judge", daemon=True).start()
    return found


def _judge(source: Source) -> None:
    try:
        found = source, pool.POOL.call(judge, source)
        with _lock:
            _so_far[source.path] = found
    except (Refused, pool.WorkerLost):
        pass  # which is said once the study has ended
    finally:
        with _lock:
            _judging.discard(source.path)


@cached("Reading every row …")
def models(source: Source) -> dict[str, ModelRow]:
    """All trained models, by their keys; `Refused` where the store cannot be read."""
    return pool.POOL.call(models_of, source)


def source_of(rows: str, status: Status) -> Source:
    """Where the rows come from; those of a running study are looked at again now and then."""
    if rows != HERE:
        return Source()
    place = store_place()
    return Source(str(place), _stamp(place, status.lives))


def _stamp(place: Path, lives: bool) -> tuple[int, ...]:
    """Another one when rows may have come; while a study runs, at most every few seconds."""
    with _lock:
        when, ran, stamp = _seen.get(place, (0.0, False, ()))
        now = time.monotonic()
        if not (lives and ran and now - when < STORE_STAMPS_SECONDS):
            stamp = _read_stamp(place)
            _seen[place] = now, lives, stamp
        return stamp


def _read_stamp(place: Path) -> tuple[int, ...]:
    found: list[int] = []
    for path in (place, place.with_name(f"{place.name}-wal")):
        try:
            about = path.stat()
            found += [about.st_mtime_ns, about.st_size]
        except OSError:
            found += [0, 0]
    return tuple(found)


def has_rows() -> bool:
    """Whether this server has a store."""
    return store_place().exists()


def chart(source: Source, claim: str, place: int, picture: Picture, dark: bool) -> go.Figure:
    """A picture as Plotly draws it."""
    key = ("claims", source, claim, place, picture.wide, dark)
    return figures(key, lambda: [figure_of(picture.text, dark, picture.wide)])[0]


def file(source: Source, name: str) -> bytes:
    """A file to take home."""
    return pool.POOL.call(file_bytes, source, name)


def visitor() -> str:
    """The session of whoever looks."""
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""


def may_stop(status: Status) -> bool:
    """Whether this visitor started the study, or nobody is here who did."""
    if status.owner == visitor():
        return True
    return not (exists() and get_instance().is_active_session(status.owner))
