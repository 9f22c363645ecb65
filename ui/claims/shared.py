"""What the tabs of Claims share: the rows, their verdicts, and the bundled files of both.

Bundled are the rows of both preregistered studies and their verdicts with charts, so that these
stand on the first screen at once. ``python -m ui.claims`` makes all of them; a test judges the rows
and compares. Charts are kept as JSON: a server passes on what it received.
"""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import cachetools
import plotly.graph_objects as go
import pyarrow as pa
from pyarrow import csv, parquet

from gating_core.assets import ASSETS
from gating_core.claims import (
    FIRST,
    GATED,
    SECOND,
    WITHOUT_GATE,
    Edition,
    ModelRow,
    ProofCounts,
    ProvedModel,
    Refused,
    SignedModel,
    StackRow,
    Store,
    TextTable,
    accuracies,
    export,
    models_of,
    proof_counts,
    verdicts,
    write_report,
)
from gating_core.claims.gain import Differences
from gating_core.claims.models import RefinedTotal, sorted_out
from ui.claims.charts import ClaimChart, claim_charts
from ui.claims.report_charts import illustrations
from ui.claims.running import Status, store_path
from ui.limits import STORE_STAMPS_SECONDS
from ui.work import pool
from ui.work.cache import cached

FOLDER = ASSETS / "claims"
MODELS, STACKS, JUDGED = "models.parquet", "stacks.parquet", "verdicts.json.gz"
PROOFS, REFINED, SIGNS = "proofs.csv", "refined.csv", "signs.csv"  # of bundled models
ABOUT = {"written by": "the page of claims"}
FILES = {  # for download: file names and types
    "claims.html": "text/html",
    "claims.md": "text/markdown",
    "models.csv": "text/csv",
    PROOFS: "text/csv",
    REFINED: "text/csv",
    SIGNS: "text/csv",
    "models.parquet": "application/vnd.apache.parquet",
    "stacks.csv": "text/csv",
    "stacks.parquet": "application/vnd.apache.parquet",
}
BUNDLED, LIVE = "bundled", "live"
CRITERIA = {"v2": SECOND, "v1": FIRST}  # preregistered

_lock = threading.Lock()
_so_far: cachetools.LRUCache[str, tuple[Source, JudgedStudy]] = cachetools.LRUCache(1)
_judging: set[str] = set()  # stores whose rows are being judged
_seen: dict[Path, tuple[float, bool, tuple[int, ...]]] = {}  # when, whether a study ran, stamp


@dataclass(frozen=True)
class Source:
    """Which rows: those of the store at ``path``, when it was as ``stamp`` says; or bundled."""

    path: str = ""
    stamp: tuple[int, ...] = ()


@dataclass(frozen=True)
class SavedChart:
    """A chart as JSON; a ``wide`` one shows all variants, not only those that decide."""

    title: str
    text: str
    alt: str
    explanation: str
    wide: bool = False

    @classmethod
    def of(cls, chart: ClaimChart, wide: bool) -> SavedChart:
        """Return ``chart`` without Plotly's template, which the page replaces."""
        figure = go.Figure(chart.figure).update_layout(template="none")
        parts = json.loads(figure.to_json())
        parts["layout"].pop("template", None)
        return cls(chart.title, json.dumps(parts), chart.alt, chart.explanation, wide)

    @property
    def figure(self) -> go.Figure:
        """The chart as Plotly draws it."""
        return go.Figure(json.loads(self.text))


@dataclass(frozen=True)
class Judgement:
    """A claim's verdict as the page shows it."""

    claim: str
    title: str
    kind: str  # theorem, by construction, experiment
    edition: str
    seeds: tuple[int, ...]  # that the edition has models of
    word: str
    evidence: str  # in a few words
    sentences: str
    changes: str
    rule: dict[str, str]
    gaps: tuple[str, ...]
    table: TextTable
    charts: tuple[SavedChart, ...]

    @property
    def has_wide(self) -> bool:
        """Whether more can be shown than what decides."""
        return any(chart.wide for chart in self.charts)

    def shown(self, wide: bool) -> list[SavedChart]:
        """The charts of what decides, or of all variants, if there are any."""
        return [chart for chart in self.charts if chart.wide == (wide and self.has_wide)]


@dataclass(frozen=True)
class JudgedStudy:
    """All seven claims by criteria v1, some also by v2, and what the rows are."""

    claims: dict[str, Judgement]
    second: dict[str, Judgement]
    model_count: int
    stack_count: int
    code: str  # the rows' version of the study
    seeds: tuple[int, ...]
    set_aside: int  # models of other versions or steps, or trained twice
    accuracies: TextTable  # of the seeds of v1

    def of(self, claim: str, edition: str) -> Judgement:
        """The claim in an edition; in the first where that has no other rule, or no models."""
        again = self.second.get(claim)
        if again is not None and again.edition == edition and again.seeds:
            return again
        return self.claims[claim]


# --- Computed by a worker process -----------------------------------------------------------------


def rows_of(source: Source) -> tuple[list[ModelRow], list[StackRow]]:
    """Return all rows; `Refused` where a store cannot be read."""
    if not source.path:
        return load_rows()
    with Store(Path(source.path), readable=True) as store:
        return store.models(), store.stacks()


def refined_of(source: Source) -> list[RefinedTotal]:
    """Return totals in closed form of its rows: only bundled ones have any."""
    return [] if source.path else [RefinedTotal(**row) for row in load_csv(REFINED)]


def judge_rows(source: Source) -> JudgedStudy:
    """Return the verdicts of the rows of ``source``, with their charts."""
    (rows, stacks), refined = rows_of(source), refined_of(source)

    def judgements(edition: Edition) -> dict[str, Judgement]:
        seeds = models_of(rows, edition).seeds
        return {
            name: Judgement(
                name, one.claim.title, one.claim.kind, edition.name, seeds, one.word, one.summary,
                one.sentences, one.changes, one.rule, one.gaps, one.table,
                tuple(SavedChart.of(chart, wide) for wide in (False, True)
                      for chart in claim_charts(one, wide)
                      if not wide or isinstance(one.evidence, Differences)),
            )
            for name, one in verdicts(rows, stacks, edition=edition, refined=refined).items()
        }  # fmt: skip

    models = sorted_out(rows)
    return JudgedStudy(
        judgements(FIRST), judgements(SECOND), len(rows), len(stacks), models.code, models.seeds,
        models.set_aside, accuracies(models_of(rows, FIRST)),
    )  # fmt: skip


def file_bytes(source: Source, name: str) -> bytes:
    """Return one of `FILES`."""
    if name in (PROOFS, REFINED, SIGNS):
        return (FOLDER / name).read_bytes()
    rows, stacks = rows_of(source)
    with TemporaryDirectory() as path:
        folder = Path(path)
        if name.startswith("claims."):
            refined = refined_of(source)
            write_report(folder, rows, stacks, ABOUT, illustrations(), refined=refined)
        else:
            with Store(folder / "rows.sqlite") as store:
                store.write([*rows, *stacks])
                export(store, folder)
        return (folder / name).read_bytes()


# --- Bundled files --------------------------------------------------------------------------------


def load_rows(folder: Path = FOLDER) -> tuple[list[ModelRow], list[StackRow]]:
    """Return all bundled rows."""
    models, stacks = (parquet.read_table(folder / name).to_pylist() for name in (MODELS, STACKS))
    return [ModelRow(**row) for row in models], [StackRow(**row) for row in stacks]


def save_rows(
    models: Sequence[ModelRow], stacks: Sequence[StackRow], folder: Path = FOLDER
) -> None:
    """Write them, with all their digits."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in ((MODELS, models), (STACKS, stacks)):
        table = pa.Table.from_pylist([asdict(row) for row in rows])
        parquet.write_table(table, folder / name, compression="zstd")


def load_csv(name: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """Return the rows of `PROOFS`, `REFINED` or `SIGNS`."""
    return csv.read_csv(folder / name).to_pylist()


def save_csv(
    name: str, rows: Sequence[ProvedModel | RefinedTotal | SignedModel], folder: Path = FOLDER
) -> None:
    """Write `PROOFS`, `REFINED` or `SIGNS`, with all digits."""
    csv.write_csv(pa.Table.from_pylist([asdict(row) for row in rows]), folder / name)


def load_judged(folder: Path = FOLDER) -> JudgedStudy:
    """Return the verdicts of the bundled rows."""
    saved = _with_tuples(json.loads(gzip.decompress((folder / JUDGED).read_bytes())))

    def judgement(one: Mapping[str, Any]) -> Judgement:
        charts = tuple(SavedChart(**chart) for chart in one["charts"])
        return Judgement(**{**one, "table": TextTable(**one["table"]), "charts": charts})

    for edition in ("claims", "second"):
        saved[edition] = {name: judgement(one) for name, one in saved[edition].items()}
    return JudgedStudy(**saved | {"accuracies": TextTable(**saved["accuracies"])})


def save_judged(judged: JudgedStudy, folder: Path = FOLDER) -> None:
    """Write them; the same bytes every time."""
    text = json.dumps(asdict(judged))
    (folder / JUDGED).write_bytes(gzip.compress(text.encode(), mtime=0))


def _with_tuples(saved: Any) -> Any:
    """What JSON has lists for, as tuples."""
    if isinstance(saved, dict):
        return {name: _with_tuples(value) for name, value in saved.items()}
    return tuple(map(_with_tuples, saved)) if isinstance(saved, list) else saved


# --- Cached for all visitors ----------------------------------------------------------------------


@cached("Judging every row …")
def judged(source: Source) -> JudgedStudy:
    """Return the verdicts; `Refused` where the store cannot be read."""
    return pool.POOL.call(judge_rows, source) if source.path else load_judged()


@cached("Reading every row …")
def models(source: Source) -> dict[str, ModelRow]:
    """Return all trained models, by their keys; `Refused` where the store cannot be read."""
    rows, _ = pool.POOL.call(rows_of, source) if source.path else load_rows()
    return {row.key: row for row in rows}


@cached()
def proof_counts_of(claim: str) -> ProofCounts | None:
    """Return what is proved of bundled models beside C1 or C2; ``None`` for other claims."""
    variants = {"C1": WITHOUT_GATE, "C2": GATED}.get(claim)
    if variants is None:
        return None
    return proof_counts([ProvedModel(**row) for row in load_csv(PROOFS)], variants)


@cached()
def signed() -> list[SignedModel]:
    """Return the bundled ungated models with four values, and the sign of K of each."""
    return [SignedModel(**row) for row in load_csv(SIGNS)]


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
        found = source, pool.POOL.call(judge_rows, source)
        with _lock:
            _so_far[source.path] = found
    except (Refused, pool.WorkerLost):
        pass  # the page says so once the study has ended
    finally:
        with _lock:
            _judging.discard(source.path)


def live_source(status: Status) -> Source:
    """Return the rows of this server; those of a running study change every few seconds."""
    store = store_path()
    with _lock:
        when, ran, stamp = _seen.get(store, (0.0, False, ()))
        now = time.monotonic()
        if not (status.lives and ran and now - when < STORE_STAMPS_SECONDS):
            stamp = read_stamp(store)
            _seen[store] = now, status.lives, stamp
    return Source(str(store), stamp)


def read_stamp(store: Path) -> tuple[int, ...]:
    """Return what changes when rows may have come; SQLite writes them to a log first."""
    numbers: list[int] = []
    for path in (store, store.with_name(f"{store.name}-wal")):
        try:
            stat = path.stat()
            numbers += [stat.st_mtime_ns, stat.st_size]
        except OSError:
            numbers += [0, 0]
    return tuple(numbers)


def fetch(rows: str, status: Status) -> tuple[Source, JudgedStudy, str]:
    """Return the requested rows and their verdicts, or the bundled ones and a sentence why."""
    note = ""
    if rows == LIVE and not store_path().exists():
        note = "No study has been run here yet."
    elif rows == LIVE:
        source, found = live_source(status), None
        try:
            if not status.lives:
                found = judged(source)
            elif newest := judged_so_far(source):
                source, found = newest
        except Refused as error:
            note = f"The live rows cannot be read: {error}."
        if found is not None and (found.model_count or found.stack_count):
            return source, found, ""
        first = ": the first are being computed" * status.lives
        none = f"The study here has no rows yet{first}."
        note = note or (none if found else "The live rows are being judged.")
    return Source(), judged(Source()), f"{note} Bundled rows are shown." if note else ""
