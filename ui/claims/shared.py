"""Shared by the tabs of Claims: the rows, their verdicts with charts, and the bundled files.

Bundled are the rows of the studies of both criteria and their verdicts with charts, so that these
stand on the first screen at once. ``python -m ui.claims`` writes both; a test judges the rows and
compares. Frozen are the verdicts of C3, C4 and C6 by criteria v1, and what was found beside the
claims: ``beside.json`` has captions and verdicts, the files that they tell of, and the commits with
the code that made these and judged them.
"""

from __future__ import annotations

import gzip
import json
import lzma
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from time import monotonic
from typing import Any

from gating_core.assets import ASSETS
from gating_core.claims import (
    CLAIMS,
    V1,
    ModelRow,
    Refused,
    StackRow,
    Store,
    accuracies,
    csv_rows,
    csv_text,
    default_path,
    is_written,
    models_of,
    sorted_out,
    verdicts,
)
from gating_core.claims.price_verdicts import PRICE_CLAIMS, price_study
from gating_core.claims.text import spans
from ui.claims.charts import claim_charts
from ui.drawing.palette import CLASS_COLOURS, SIDE_COLOURS
from ui.foreign import error_words
from ui.limits import STORE_STAMPS_SECONDS
from ui.work import pool
from ui.work.cache import cached

HERE, FOLDER = Path(__file__).parent, ASSETS / "claims"
MODELS, STACKS, JUDGED = "models.csv.xz", "stacks.csv.xz", "verdicts.json.gz"
FROZEN, BESIDE = "criteria_v1.json.gz", "beside.json"
# Charts of `FROZEN` have the colours of their time.
RECOLOURED = {"#a21caf": SIDE_COLOURS["right"], "#e07b1a": CLASS_COLOURS[1]}
BUNDLED, LIVE = "bundled", "live"
STORE = "GATING_CLAIMS_STORE"  # a variable that names the file


@dataclass(frozen=True)
class Source:
    """A source of rows: the store at ``path`` at the time of its ``stamp``; or bundled."""

    path: str = ""
    stamp: tuple[int, ...] = ()


@dataclass(frozen=True)
class Judgement:
    """A claim's verdict as the page shows it, from numbers and texts alone."""

    claim: str
    title: str
    kind: str  # theorem, by construction, experiment
    criteria: str  # a name of `CRITERIA`
    seeds: list[int]  # of these criteria, that there are models of
    word: str
    evidence: str  # in a few words
    sentences: str
    rule: dict[str, str]
    gaps: list[str]
    table: list[dict[str, str]]
    charts: list[dict[str, Any]]  # title, figure as JSON, alt, explanation
    counts: dict[str, int] = field(default_factory=dict)
    date: str = V1.date  # of the criteria; those that are frozen are v1
    decide_on: str = spans(V1.seeds)
    brief: dict[str, Any] = field(default_factory=dict)  # of a row: see `Brief`


@dataclass(frozen=True)
class JudgedStudy:
    """All nine claims, and what the rows of the first seven are."""

    claims: dict[str, Judgement]
    model_count: int
    stack_count: int
    code: str  # the rows' version of the study
    seeds: list[int]
    set_aside: int  # models of other versions or steps, or trained twice
    accuracies: list[dict[str, str]]  # of the seeds of v1


# --- Computed by a worker process -----------------------------------------------------------------


def rows_of(source: Source) -> tuple[list[ModelRow], list[StackRow]]:
    """Return all rows; `Refused` where a store cannot be read."""
    if not source.path:
        return csv_rows(ModelRow, read_text(MODELS)), csv_rows(StackRow, read_text(STACKS))
    with Store(Path(source.path), readable=True) as store:
        return store.models(), store.stacks()


def judge_rows(source: Source) -> JudgedStudy:
    """Return the verdicts of the rows of ``source``, with their charts."""
    rows, stacks = rows_of(source)
    claims, every = {}, CLAIMS | PRICE_CLAIMS
    judged = {name: claim.judge(price_study()) for name, claim in PRICE_CLAIMS.items()}
    for name, of in (verdicts(rows, stacks) | judged).items():
        claim, charts = every[name], []
        for chart in claim_charts(name, of):
            figure = json.loads(chart.figure.update_layout(template="none").to_json())
            figure["layout"].pop("template", None)  # the page has its own
            texts = {"title": chart.title, "alt": chart.alt, "explanation": chart.explanation}
            charts.append(texts | {"text": json.dumps(figure)})
        claims[name] = Judgement(
            name,
            claim.title,
            claim.kind,
            claim.criteria.name,
            [*models_of(rows, claim.criteria).seeds],
            str(of.word),
            of.summary,
            of.sentences,
            claim.rule(),
            [*of.gaps],
            of.table,
            charts,
            of.counts,
            claim.criteria.date,
            spans(claim.criteria.seeds),
            asdict(of.brief),
        )
    found = sorted_out(rows)
    return JudgedStudy(
        claims,
        len(rows),
        len(stacks),
        found.code,
        [*found.seeds],
        found.set_aside,
        accuracies(models_of(rows, V1)),
    )


def csv_texts(source: Source) -> dict[str, str]:
    """Return the rows as CSV by name; of bundled ones also what was found beside the claims."""
    if source.path:
        models, stacks = rows_of(source)
        return {"models": csv_text(ModelRow, models), "stacks": csv_text(StackRow, stacks)}
    return {path.name.split(".")[0]: read_text(path.name) for path in sorted(FOLDER.glob("*.csv*"))}


# --- Bundled files --------------------------------------------------------------------------------


def read_text(name: str) -> str:
    """Return the text of a bundled file, which may be packed."""
    unpack = {".xz": lzma.decompress, ".gz": gzip.decompress}.get(Path(name).suffix, bytes)
    return unpack((FOLDER / name).read_bytes()).decode()


def save_judged() -> None:
    """Write the verdicts of the bundled rows; the same bytes every time."""
    text = json.dumps(asdict(judge_rows(Source())))
    (FOLDER / JUDGED).write_bytes(gzip.compress(text.encode(), mtime=0))


def load_judged(name: str) -> dict[str, Judgement]:
    """Return the bundled verdicts, or the `FROZEN` ones, whose tables are in columns and rows."""
    text = read_text(name)
    for before, now in RECOLOURED.items():
        text = text.replace(before, now)
    found = json.loads(text)["claims"]
    for x in found.values():
        x.pop("changes", None)
        if isinstance(table := x["table"], dict):
            x["table"] = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    return {claim: Judgement(**x) for claim, x in found.items()}


# --- Cached for all visitors ----------------------------------------------------------------------


@cached("Judging every row …")
def judged(source: Source) -> JudgedStudy:
    """Return the verdicts; `Refused` where the store cannot be read."""
    if source.path:
        return pool.POOL.call(judge_rows, source)
    return JudgedStudy(**json.loads(read_text(JUDGED)) | {"claims": load_judged(JUDGED)})


@cached("Reading every row …")
def models(source: Source) -> dict[str, ModelRow]:
    """Return all trained models, by their keys; `Refused` where the store cannot be read."""
    rows, _ = pool.POOL.call(rows_of, source) if source.path else rows_of(source)
    return {row.key: row for row in rows}


@cached()
def frozen() -> dict[str, Any]:
    """Return the verdicts by criteria v1 and the commits, and what is beside.

    That is ``captions`` by claim, and verdicts by what models attend to and claim, ``reported``:
    word, evidence, seeds.
    """
    commits = json.loads(read_text(FROZEN)) | {"claims": load_judged(FROZEN)}
    return json.loads(read_text(BESIDE)) | commits


def store_path() -> Path:
    """Return the file of this server's study, which may not exist."""
    text = os.environ.get(STORE)
    return Path(text).expanduser().absolute() if text else default_path()


def fetch(rows: str) -> tuple[Source, JudgedStudy, str]:
    """Return the requested rows and their verdicts, or the bundled ones and a sentence why."""
    note = ""
    if rows == LIVE and not store_path().exists():
        note = "No study has been run here yet."
    elif rows == LIVE:
        try:
            stat = store_path().stat()
            stamp: tuple[int, ...] = stat.st_mtime_ns, stat.st_size
            if is_written(store_path()):  # rows of a running study change every few seconds
                stamp = (int(monotonic() // STORE_STAMPS_SECONDS),)
            source = Source(str(store_path()), stamp)
            found = judged(source)
            if found.model_count or found.stack_count:
                return source, found, ""
            note = "The study here has no rows yet."
        except Refused as error:
            note = f"The live rows cannot be read: {error_words(error)}."
    return Source(), judged(Source()), f"{note} Bundled rows are shown." if note else ""
