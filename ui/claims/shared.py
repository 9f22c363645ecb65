"""Shared by the tabs of Claims: the rows, their verdicts, and the bundled files of both.

Bundled are the rows of the studies of both criteria and their verdicts with charts, so that these
stand on the first screen at once. ``python -m ui.claims`` makes all of them but the verdicts of C3,
C4 and C6 by criteria v1, which are frozen; a test judges the rows and compares. Charts are kept as
JSON: a server passes on what it received.
"""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import Any

import plotly.graph_objects as go

from gating_core.assets import ASSETS
from gating_core.claims import (
    GATED,
    V1,
    WITHOUT_GATE,
    ModelRow,
    ProofCounts,
    ProvedModel,
    Refused,
    SignedModel,
    SinkVerdict,
    StackRow,
    Store,
    TextTable,
    accuracies,
    csv_rows,
    csv_text,
    is_written,
    models_of,
    proof_counts,
    reported_verdicts,
    sink_verdict,
    verdicts,
    write_report,
)
from gating_core.claims.further import REPORTED, TOKENS
from gating_core.claims.gain import Differences
from gating_core.claims.models import RefinedTotal, sorted_out
from gating_core.claims.tables import Record
from gating_core.progress import Progress, silent
from ui.claims.charts import ClaimChart, claim_charts
from ui.claims.report_charts import illustrations
from ui.claims.running import store_path
from ui.limits import STORE_STAMPS_SECONDS
from ui.work import pool
from ui.work.cache import cached

FOLDER = ASSETS / "claims"
MODELS, STACKS, JUDGED = "models.csv.xz", "stacks.csv.xz", "verdicts.json.gz"
FROZEN = "criteria_v1.json.gz"
PROOFS, REFINED, SIGNS = "proofs.csv", "refined.csv", "signs.csv"  # of bundled models
FURTHER, FURTHER_JUDGED = "further.csv.xz", "further.json"  # two questions beside the claims
FURTHER_MEASURED = (
    "test_accuracy",
    "total_curvature",
    "total_error",
    "total_complete",
    "resolved_share",
    "error",
)
REPORTS = {"Report (HTML)": "claims.html", "Report (Markdown)": "claims.md"}  # by their buttons
BUNDLED, LIVE = "bundled", "live"


@dataclass(frozen=True)
class Source:
    """A source of rows: the store at ``path`` at the time of its ``stamp``; or bundled."""

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
    criteria: str  # a name of `CRITERIA`
    seeds: tuple[int, ...]  # of these criteria, that there are models of
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
        """True if there is more to show than what decides."""
        return any(chart.wide for chart in self.charts)

    def shown(self, wide: bool) -> list[SavedChart]:
        """The charts of what decides, or of all variants, if there are any."""
        return [chart for chart in self.charts if chart.wide == (wide and self.has_wide)]


@dataclass(frozen=True)
class FurtherVerdicts:
    """The verdict on the sink, and that on each claim in the reported settings.

    ``reported`` is by question, one of slots and one of tokens, and then by claim.
    """

    sink: SinkVerdict
    reported: dict[str, dict[str, str]]


@dataclass(frozen=True)
class JudgedStudy:
    """All seven claims, and what the rows are."""

    claims: dict[str, Judgement]
    model_count: int
    stack_count: int
    code: str  # the rows' version of the study
    seeds: tuple[int, ...]
    set_aside: int  # models of other versions or steps, or trained twice
    accuracies: TextTable  # of the seeds of v1


@dataclass(frozen=True)
class Frozen:
    """Verdicts of C3, C4 and C6 by criteria v1, as they were when criteria v2 took their place.

    ``decided`` is the commit that trained their rows and judged them, ``code`` a later one that
    computes the same verdicts from the bundled rows.
    """

    decided: str
    code: str
    claims: dict[str, Judgement]


# --- Computed by a worker process -----------------------------------------------------------------


def rows_of(source: Source) -> tuple[list[ModelRow], list[StackRow]]:
    """Return all rows; `Refused` where a store cannot be read."""
    if not source.path:
        return load_rows()
    with Store(Path(source.path), readable=True) as store:
        return store.models(), store.stacks()


def refined_of(source: Source) -> list[RefinedTotal]:
    """Return totals in closed form of its rows: only bundled ones have any."""
    return [] if source.path else load_csv(RefinedTotal, REFINED)


def judge_rows(source: Source) -> JudgedStudy:
    """Return the verdicts of the rows of ``source``, with their charts."""
    rows, stacks = rows_of(source)
    claims = {
        name: Judgement(
            name,
            one.claim.title,
            one.claim.kind,
            one.claim.criteria.name,
            models_of(rows, one.claim.criteria).seeds,
            one.word,
            one.summary,
            one.sentences,
            one.changes,
            one.rule,
            one.gaps,
            one.table,
            tuple(
                SavedChart.of(chart, wide)
                for wide in (False, True)
                for chart in claim_charts(one, wide)
                if not wide or isinstance(one.evidence, Differences)
            ),
        )
        for name, one in verdicts(rows, stacks, refined=refined_of(source)).items()
    }
    models = sorted_out(rows)
    return JudgedStudy(
        claims,
        len(rows),
        len(stacks),
        models.code,
        models.seeds,
        models.set_aside,
        accuracies(models_of(rows, V1)),
    )


def csv_texts(source: Source) -> dict[str, str]:
    """Return the rows as CSV by name; of bundled ones also what was measured of them later."""
    if source.path:
        models, stacks = rows_of(source)
        return {"models": csv_text(ModelRow, models), "stacks": csv_text(StackRow, stacks)}
    paths = [FOLDER / name for name in (MODELS, STACKS, PROOFS, REFINED, SIGNS, FURTHER)]
    return {path.name.split(".")[0]: _text(path) for path in paths}


def report_file(source: Source, name: str, line: str, progress: Progress = silent) -> bytes:
    """Return one of `REPORTS`; in it stands the ``line`` that says where it comes from."""
    progress(0.0)
    rows, stacks = rows_of(source)
    about = {"written by": f"the page of claims; {line}"}
    if not source.path:
        about |= {
            f"{claim} by criteria v1": f"{one.word}: {one.evidence}"
            for claim, one in load_frozen().claims.items()
        }
    with TemporaryDirectory() as path:
        refined = refined_of(source)
        drawn = illustrations()
        write_report(Path(path), rows, stacks, about, drawn, refined=refined, progress=progress)
        return (Path(path) / name).read_bytes()


# --- Bundled files --------------------------------------------------------------------------------


def load_rows(folder: Path = FOLDER) -> tuple[list[ModelRow], list[StackRow]]:
    """Return all bundled rows."""
    models, stacks = (_text(folder / name) for name in (MODELS, STACKS))
    return csv_rows(ModelRow, models), csv_rows(StackRow, stacks)


def _text(path: Path) -> str:
    data = path.read_bytes()
    return (lzma.decompress(data) if path.suffix == ".xz" else data).decode()


def save_rows(
    models: Sequence[ModelRow], stacks: Sequence[StackRow], folder: Path = FOLDER
) -> None:
    """Write them, with all their digits."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = {MODELS: csv_text(ModelRow, models), STACKS: csv_text(StackRow, stacks)}
    for name, text in texts.items():
        (folder / name).write_bytes(lzma.compress(text.encode(), preset=lzma.PRESET_EXTREME | 9))


def load_csv(kind: type[Record], name: str) -> list[Record]:
    """Return the rows of `PROOFS`, `REFINED` or `SIGNS`."""
    return csv_rows(kind, _text(FOLDER / name))


def save_csv(kind: type[Record], name: str, rows: Sequence[Record]) -> None:
    """Write `PROOFS`, `REFINED` or `SIGNS`, with all digits."""
    (FOLDER / name).write_text(csv_text(kind, rows), encoding="utf-8", newline="")


def load_further() -> list[ModelRow]:
    """Return the rows of the further questions."""
    return csv_rows(ModelRow, _text(FOLDER / FURTHER))


def save_further(rows: Sequence[ModelRow]) -> None:
    """Write them and their verdicts; of what was measured, only what verdicts need."""
    given = {each.name: each.default for each in fields(ModelRow) if each.default is not MISSING}
    unused = {name: x for name, x in given.items() if name not in FURTHER_MEASURED}
    text = csv_text(ModelRow, [replace(row, **unused) for row in rows])
    (FOLDER / FURTHER).write_bytes(lzma.compress(text.encode(), preset=lzma.PRESET_EXTREME | 9))
    judged = json.dumps(asdict(judge_further(rows)), indent=1, ensure_ascii=False)
    (FOLDER / FURTHER_JUDGED).write_text(judged + "\n", encoding="utf-8")


def judge_further(rows: Sequence[ModelRow]) -> FurtherVerdicts:
    """Judge the rows of the further questions."""
    reported = {
        question: {
            name: f"{verdict.word}, {verdict.summary}"
            for name, verdict in reported_verdicts(rows, question).items()
        }
        for question in (REPORTED, TOKENS)
    }
    return FurtherVerdicts(sink_verdict(rows), reported)


def load_judged() -> JudgedStudy:
    """Return the verdicts of the bundled rows."""
    saved = _read(JUDGED)
    return JudgedStudy(**saved | {"accuracies": TextTable(**saved["accuracies"])})


def load_frozen() -> Frozen:
    """Return the verdicts by criteria v1."""
    return Frozen(**_read(FROZEN))


def _read(name: str) -> dict[str, Any]:
    """The fields of a bundled file, its ``claims`` as `Judgement`."""
    saved = _with_tuples(json.loads(gzip.decompress((FOLDER / name).read_bytes())))

    def judgement(one: Mapping[str, Any]) -> Judgement:
        charts = tuple(SavedChart(**chart) for chart in one["charts"])
        return Judgement(**{**one, "table": TextTable(**one["table"]), "charts": charts})

    return saved | {"claims": {name: judgement(one) for name, one in saved["claims"].items()}}


def save_judged(judged: JudgedStudy) -> None:
    """Write them; the same bytes every time."""
    text = json.dumps(asdict(judged))
    (FOLDER / JUDGED).write_bytes(gzip.compress(text.encode(), mtime=0))


def _with_tuples(saved: Any) -> Any:
    """A value from JSON, with tuples in place of lists."""
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
    return proof_counts(load_csv(ProvedModel, PROOFS), variants)


@cached()
def further() -> FurtherVerdicts:
    """Return the bundled verdicts of the further questions."""
    saved = json.loads((FOLDER / FURTHER_JUDGED).read_text(encoding="utf-8"))
    return FurtherVerdicts(SinkVerdict(**saved["sink"]), saved["reported"])


@cached()
def signed() -> list[SignedModel]:
    """Return the bundled ungated models with four values, and the sign of K of each."""
    return load_csv(SignedModel, SIGNS)


@cached()
def frozen() -> Frozen:
    """Return the verdicts by criteria v1."""
    return load_frozen()


def live_source() -> Source:
    """Return the rows of this server; those of a running study change every few seconds."""
    store = store_path()
    if is_written(store):
        return Source(str(store), (int(monotonic() // STORE_STAMPS_SECONDS),))
    return Source(str(store), read_stamp(store))


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


def fetch(rows: str) -> tuple[Source, JudgedStudy, str]:
    """Return the requested rows and their verdicts, or the bundled ones and a sentence why."""
    note = ""
    if rows == LIVE and not store_path().exists():
        note = "No study has been run here yet."
    elif rows == LIVE:
        source = live_source()
        try:
            found = judged(source)
            if found.model_count or found.stack_count:
                return source, found, ""
            note = "The study here has no rows yet."
        except Refused as error:
            note = f"The live rows cannot be read: {error}."
    return Source(), judged(Source()), f"{note} Bundled rows are shown." if note else ""
