"""The verdicts of rows, cached for all visitors, and renewed when rows may have come."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import cachetools
import plotly.graph_objects as go
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from gating_core.claims import (
    GATED,
    WITHOUT_GATE,
    ModelRow,
    ProofCounts,
    Refused,
    proof_counts,
)
from ui.claims.picture import figure_of
from ui.claims.request import HERE
from ui.claims.running import Status, store_path
from ui.claims.sources import (
    ClaimPicture,
    JudgedStudy,
    Judgement,
    Source,
    judge_rows,
    load_judged,
    load_proofs,
    rows_of,
)
from ui.common.parts import figures
from ui.limits import STORE_STAMPS_SECONDS
from ui.work import pool
from ui.work.cache import cached

_lock = threading.Lock()
_so_far: cachetools.LRUCache[str, tuple[Source, JudgedStudy]] = cachetools.LRUCache(1)
_judging: set[str] = set()  # stores whose rows are being judged
_seen: dict[Path, tuple[float, bool, tuple[int, ...]]] = {}  # when, whether a study ran, stamp


@cached("Judging every row …")
def judged(source: Source) -> JudgedStudy:
    """Return the verdicts; `Refused` where the store cannot be read."""
    return pool.POOL.call(judge_rows, source) if source.path else load_judged()


def judged_so_far(source: Source) -> tuple[Source, JudgedStudy] | None:
    """Return the newest verdicts of the store of ``source`` that are done, and start newer ones.

    So a visitor of a running study does not wait at every step.
    """
    with _lock:
        newest = _so_far.get(source.path)
        if (newest is None or newest[0] != source) and source.path not in _judging:
            _judging.add(source.path)
            threading.Thread(target=_judge, args=(source,), name="judge", daemon=True).start()
    return newest


def _judge(source: Source) -> None:
    try:
        judged = source, pool.POOL.call(judge_rows, source)
        with _lock:
            _so_far[source.path] = judged
    except (Refused, pool.WorkerLost):
        pass  # the page says so once the study has ended
    finally:
        with _lock:
            _judging.discard(source.path)


@cached("Reading every row …")
def models(source: Source) -> dict[str, ModelRow]:
    """Return all trained models, by their keys; `Refused` where the store cannot be read."""
    return {row.key: row for row in pool.POOL.call(rows_of, source)[0]}


@cached()
def proof_counts_of(claim: str) -> ProofCounts | None:
    """Return what is proved of shipped models beside C1 or C2; ``None`` for other claims."""
    variants = {"C1": WITHOUT_GATE, "C2": GATED}.get(claim)
    return None if variants is None else proof_counts(load_proofs(), variants)


def source_of(rows: str, status: Status) -> Source:
    """Return the source of the rows; that of a running study changes every few seconds."""
    if rows != HERE:
        return Source()
    path = store_path()
    return Source(str(path), _stamp(path, status.lives))


def _stamp(store: Path, lives: bool) -> tuple[int, ...]:
    """A stamp that changes when rows may have come; while a study runs, only now and then."""
    with _lock:
        when, ran, stamp = _seen.get(store, (0.0, False, ()))
        now = time.monotonic()
        if not (lives and ran and now - when < STORE_STAMPS_SECONDS):
            stamp = _read_stamp(store)
            _seen[store] = now, lives, stamp
        return stamp


def _read_stamp(store: Path) -> tuple[int, ...]:
    numbers: list[int] = []
    for path in (store, store.with_name(f"{store.name}-wal")):
        try:
            stat = path.stat()
            numbers += [stat.st_mtime_ns, stat.st_size]
        except OSError:
            numbers += [0, 0]
    return tuple(numbers)


def chart(
    source: Source, one: Judgement, number: int, picture: ClaimPicture, dark: bool
) -> go.Figure:
    """Return a picture as Plotly draws it, in the colours of the theme."""
    key = ("claims", source, one.claim, one.edition, number, picture.wide, dark)
    return figures(key, lambda: [figure_of(picture.text, dark, picture.wide)])[0]


def visitor() -> str:
    """Return the session of the visitor."""
    context = get_script_run_ctx()
    return context.session_id if context is not None else ""


def may_stop(status: Status) -> bool:
    """Say whether this visitor started the study, or whoever did is gone."""
    if status.owner == visitor():
        return True
    return not (exists() and get_instance().is_active_session(status.owner))
