"""The sources of rows: what comes with the app, and stores. What follows from either.

Shipped are the rows of both editions' studies and their verdicts, so that these stand on the first
screen at once. ``python -m ui.claims`` makes both; a test judges the rows and compares.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from gating_core.claims import (
    ModelRow,
    ProvedModel,
    StackRow,
    Store,
    TextTable,
    export,
    write_report,
)
from ui.claims.judged import ClaimPicture, JudgedStudy, Judgement, judge
from ui.claims.report_pictures import illustrations

SHIPPED_FOLDER = Path(__file__).resolve().parents[2] / "assets" / "claims"
MODELS, STACKS, JUDGED = "models.parquet", "stacks.parquet", "verdicts.json.gz"
PROOFS = "proofs.csv"  # of shipped models
ABOUT = {"written by": "the page of claims"}
FILES = {  # what can be taken home: file names, and what they are
    "claims.html": "text/html",
    "claims.md": "text/markdown",
    "models.csv": "text/csv",
    PROOFS: "text/csv",
    "models.parquet": "application/vnd.apache.parquet",
    "stacks.csv": "text/csv",
    "stacks.parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class Source:
    """Which rows: those of the store at ``path``, when it was as ``stamp`` says; or shipped."""

    path: str = ""
    stamp: tuple[int, ...] = ()


# --- Computed by a worker process -----------------------------------------------------------------


def rows_of(source: Source) -> tuple[list[ModelRow], list[StackRow]]:
    """Return all rows; `Refused` where a store cannot be read."""
    if not source.path:
        return load_rows()
    with Store(Path(source.path), readable=True) as store:
        return store.models(), store.stacks()


def judge_rows(source: Source) -> JudgedStudy:
    """Return the verdicts of the rows of ``source``."""
    return judge(*rows_of(source))


def models_of(source: Source) -> dict[str, ModelRow]:
    """Return all trained models, by their keys."""
    return {row.key: row for row in rows_of(source)[0]}


def file_bytes(source: Source, name: str) -> bytes:
    """Return one of `FILES`."""
    if name == PROOFS:
        return (SHIPPED_FOLDER / PROOFS).read_bytes()
    rows, stacks = rows_of(source)
    with TemporaryDirectory() as path:
        folder = Path(path)
        if name.startswith("claims."):
            write_report(folder, rows, stacks, ABOUT, illustrations())
        else:
            with Store(folder / "rows.sqlite") as store:
                store.write([*rows, *stacks])
                export(store, folder)
        return (folder / name).read_bytes()


# --- What is shipped ------------------------------------------------------------------------------


def load_rows(folder: Path = SHIPPED_FOLDER) -> tuple[list[ModelRow], list[StackRow]]:
    """Return all shipped rows."""
    models, stacks = (parquet.read_table(folder / name).to_pylist() for name in (MODELS, STACKS))
    return [ModelRow(**row) for row in models], [StackRow(**row) for row in stacks]


def save_rows(
    models: Sequence[ModelRow], stacks: Sequence[StackRow], folder: Path = SHIPPED_FOLDER
) -> None:
    """Write them, with all their digits."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in ((MODELS, models), (STACKS, stacks)):
        table = pa.Table.from_pylist([asdict(row) for row in rows])
        parquet.write_table(table, folder / name, compression="zstd")


def load_proofs(folder: Path = SHIPPED_FOLDER) -> list[ProvedModel]:
    """Return what is proved of shipped models."""
    table = csv.read_csv(folder / PROOFS)
    return [ProvedModel(**row) for row in table.to_pylist()]


def save_proofs(proofs: Sequence[ProvedModel], folder: Path = SHIPPED_FOLDER) -> None:
    """Write it, with all digits."""
    csv.write_csv(pa.Table.from_pylist([asdict(one) for one in proofs]), folder / PROOFS)


def load_judged(folder: Path = SHIPPED_FOLDER) -> JudgedStudy:
    """Return the verdicts of the shipped rows."""
    saved = json.loads(gzip.decompress((folder / JUDGED).read_bytes()))
    editions = {of: {name: _judgement(**one) for name, one in saved[of].items()}
                for of in ("claims", "second")}  # fmt: skip
    return JudgedStudy(**saved | editions | {
        "seeds": tuple(saved["seeds"]),
        "accuracies": _table(saved["accuracies"]),
    })  # fmt: skip


def save_judged(judged: JudgedStudy, folder: Path = SHIPPED_FOLDER) -> None:
    """Write them; the same bytes every time."""
    text = json.dumps(asdict(judged))
    (folder / JUDGED).write_bytes(gzip.compress(text.encode(), mtime=0))


def _judgement(**saved: Any) -> Judgement:
    return Judgement(**saved | {
        "seeds": tuple(saved["seeds"]), "gaps": tuple(saved["gaps"]),
        "table": _table(saved["table"]),
        "pictures": tuple(ClaimPicture(**one) for one in saved["pictures"]),
    })  # fmt: skip


def _table(saved: dict[str, Any]) -> TextTable:
    return TextTable(tuple(saved["columns"]), tuple(map(tuple, saved["rows"])))
