"""The sources of rows: what comes with the app, and stores. What the page says of either.

Shipped are the rows of both editions' studies and their verdicts, so that these stand on the first
screen at once. ``python -m ui.claims`` makes both; a test judges the rows and compares. Figures are
texts (JSON), in the colours of the light theme: so a server passes on what it received, and parses
one only when somebody looks at it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from pyarrow import csv, parquet

from gating_core.assets import ASSETS
from gating_core.claims import (
    FIRST,
    SECOND,
    ClaimVerdict,
    Edition,
    ModelRow,
    ProvedModel,
    StackRow,
    Store,
    TextTable,
    accuracies,
    export,
    models_of,
    verdicts,
    write_report,
)
from gating_core.claims.gain import Differences
from gating_core.claims.models import RefinedTotal, sorted_out
from ui.claims.figures import figures
from ui.claims.picture import Figure, merged
from ui.claims.report_pictures import illustrations

SHIPPED_FOLDER = ASSETS / "claims"
MODELS, STACKS, JUDGED = "models.parquet", "stacks.parquet", "verdicts.json.gz"
PROOFS = "proofs.csv"  # of shipped models
REFINED = "refined.csv"  # their totals in closed form
ABOUT = {"written by": "the page of claims"}
FILES = {  # what can be taken home: file names, and what they are
    "claims.html": "text/html",
    "claims.md": "text/markdown",
    "models.csv": "text/csv",
    PROOFS: "text/csv",
    REFINED: "text/csv",
    "models.parquet": "application/vnd.apache.parquet",
    "stacks.csv": "text/csv",
    "stacks.parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True)
class Source:
    """Which rows: those of the store at ``path``, when it was as ``stamp`` says; or shipped."""

    path: str = ""
    stamp: tuple[int, ...] = ()


@dataclass(frozen=True)
class ClaimPicture:
    """A figure as JSON; ``wide`` ones show more than what decides."""

    title: str
    text: str
    alt: str
    explain: str
    wide: bool = False


@dataclass(frozen=True)
class Judgement:
    """A claim's verdict as a page shows it."""

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
    pictures: tuple[ClaimPicture, ...]

    def shown(self, wide: bool) -> tuple[ClaimPicture, ...]:
        """The pictures that decide, or those that show more, if there are any."""
        return tuple(one for one in self.pictures if one.wide == (wide and self.has_wide))

    @property
    def has_wide(self) -> bool:
        """Whether more can be shown than what decides."""
        return any(one.wide for one in self.pictures)


@dataclass(frozen=True)
class JudgedStudy:
    """All seven claims, those of the second edition, and what the rows are."""

    claims: dict[str, Judgement]
    second: dict[str, Judgement]
    model_count: int
    stack_count: int
    code: str  # the rows' version of the study
    seeds: tuple[int, ...]
    set_aside: int  # models: of other versions or steps, or trained twice
    accuracies: TextTable  # of the first edition's seeds

    def of(self, claim: str, edition: str) -> Judgement:
        """The claim in an edition; in the first where that has no other rule, or no models."""
        again = self.second.get(claim)
        if again is not None and again.edition == edition and again.seeds:
            return again
        return self.claims[claim]

    def newest(self, claim: str) -> Judgement:
        """The claim in the newest edition that there are models of."""
        return self.of(claim, SECOND.name)


# --- Computed by a worker process -----------------------------------------------------------------


def rows_of(source: Source) -> tuple[list[ModelRow], list[StackRow]]:
    """Return all rows; `Refused` where a store cannot be read."""
    if not source.path:
        return load_rows()
    with Store(Path(source.path), readable=True) as store:
        return store.models(), store.stacks()


def judge_rows(source: Source) -> JudgedStudy:
    """Return the verdicts of the rows of ``source``."""
    return judge(*rows_of(source), refined_of(source))


def refined_of(source: Source) -> list[RefinedTotal]:
    """Return totals in closed form of its rows: only shipped ones have any."""
    return [] if source.path else load_refined()


def file_bytes(source: Source, name: str) -> bytes:
    """Return one of `FILES`."""
    if name in (PROOFS, REFINED):
        return (SHIPPED_FOLDER / name).read_bytes()
    rows, stacks = rows_of(source)
    with TemporaryDirectory() as path:
        folder = Path(path)
        if name.startswith("claims."):
            write_report(folder, rows, stacks, ABOUT, illustrations(), refined=refined_of(source))
        else:
            with Store(folder / "rows.sqlite") as store:
                store.write([*rows, *stacks])
                export(store, folder)
        return (folder / name).read_bytes()


def judge(
    rows: Sequence[ModelRow],
    stacks: Sequence[StackRow],
    refined: Sequence[RefinedTotal] = (),
) -> JudgedStudy:
    """Return everything that the page says of rows."""
    models, of_first = sorted_out(rows), accuracies(models_of(rows, FIRST))
    return JudgedStudy(
        _judgements(rows, stacks, FIRST, refined), _judgements(rows, stacks, SECOND, refined),
        len(rows), len(stacks),
        models.code, models.seeds, models.set_aside, of_first,
    )  # fmt: skip


def _judgements(
    rows: Sequence[ModelRow],
    stacks: Sequence[StackRow],
    edition: Edition,
    refined: Sequence[RefinedTotal],
) -> dict[str, Judgement]:
    seeds = models_of(rows, edition).seeds
    return {
        name: Judgement(
            name, one.claim.title, one.claim.kind, edition.name, seeds, one.word, one.summary,
            one.sentences, one.changes, one.rule, one.gaps, one.table, tuple(_pictures(one)),
        )
        for name, one in verdicts(rows, stacks, edition=edition, refined=refined).items()
    }  # fmt: skip


def _pictures(one: ClaimVerdict) -> Iterator[ClaimPicture]:
    deciding = one
    if isinstance(one.evidence, Differences) and one.evidence.deciding:
        of = one.evidence
        families = {name: of.families[name] for name in of.shown if name in of.families}
        deciding = replace(one, evidence=replace(of, families=families))
        yield from (_picture(figure, True) for figure in figures(one))
    yield from (_picture(figure, False) for figure in figures(deciding))


def _picture(figure: Figure, wide: bool) -> ClaimPicture:
    text = json.dumps(merged(figure.figure))
    return ClaimPicture(figure.title, text, figure.alt, figure.explain, wide)


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


def load_refined(folder: Path = SHIPPED_FOLDER) -> list[RefinedTotal]:
    """Return the totals of shipped models that are known in closed form."""
    return [RefinedTotal(**row) for row in csv.read_csv(folder / REFINED).to_pylist()]


def save_refined(totals: Sequence[RefinedTotal], folder: Path = SHIPPED_FOLDER) -> None:
    """Write them, with all digits."""
    csv.write_csv(pa.Table.from_pylist([asdict(one) for one in totals]), folder / REFINED)


def load_judged(folder: Path = SHIPPED_FOLDER) -> JudgedStudy:
    """Return the verdicts of the shipped rows."""
    saved = _with_tuples(json.loads(gzip.decompress((folder / JUDGED).read_bytes())))
    editions = {of: {name: _judgement(**one) for name, one in saved[of].items()}
                for of in ("claims", "second")}  # fmt: skip
    return JudgedStudy(**saved | editions | {"accuracies": TextTable(**saved["accuracies"])})


def save_judged(judged: JudgedStudy, folder: Path = SHIPPED_FOLDER) -> None:
    """Write them; the same bytes every time."""
    text = json.dumps(asdict(judged))
    (folder / JUDGED).write_bytes(gzip.compress(text.encode(), mtime=0))


def _judgement(**saved: Any) -> Judgement:
    pictures = tuple(ClaimPicture(**one) for one in saved["pictures"])
    return Judgement(**saved | {"table": TextTable(**saved["table"]), "pictures": pictures})


def _with_tuples(saved: Any) -> Any:
    """What JSON has lists for, as tuples."""
    if isinstance(saved, dict):
        return {name: _with_tuples(value) for name, value in saved.items()}
    return tuple(map(_with_tuples, saved)) if isinstance(saved, list) else saved
