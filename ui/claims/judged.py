"""What follows from the study's rows, ready to be shown? Computed by a worker process.

Verdicts come from the core. Figures are texts (JSON), in the colours of the light theme: so a
server passes on what it has been told, and reads one only when somebody looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from gating_core.claims import (
    Figure,
    ModelRow,
    StackRow,
    Store,
    Table,
    Verdict,
    export,
    figures,
    verdicts,
    write_report,
)
from gating_core.claims.models import sorted_out
from gating_core.claims.pairs import Differences
from gating_core.claims.published import difference_sentence, difference_table, differences
from ui.claims.picture import merged
from ui.claims.shipped import load_rows
from ui.claims.words import evidence_text

ABOUT = {"written by": "the page of claims"}
FILES = {  # what can be taken home: file names, and what they are
    "claims.html": "text/html",
    "claims.md": "text/markdown",
    "models.csv": "text/csv",
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
class Picture:
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
    word: str
    evidence: str  # in a few words
    sentences: str
    changes: str
    rule: dict[str, str]
    gaps: tuple[str, ...]
    table: Table
    pictures: tuple[Picture, ...]

    def shown(self, wide: bool) -> tuple[Picture, ...]:
        """The pictures that decide, or those that show more, if there are any."""
        return tuple(one for one in self.pictures if one.wide == (wide and self.has_wide))

    @property
    def has_wide(self) -> bool:
        """Whether more can be shown than what decides."""
        return any(one.wide for one in self.pictures)


@dataclass(frozen=True)
class Judged:
    """All seven claims, and what the rows are."""

    claims: dict[str, Judgement]
    model_count: int
    stack_count: int
    code: str
    seeds: tuple[int, ...]
    set_aside: int  # models: of other versions or steps, or trained twice
    compared: str  # our accuracies and those of the theory document
    compared_table: Table | None


def rows_of(source: Source) -> tuple[list[ModelRow], list[StackRow]]:
    """All that there are; `Refused` where a store cannot be read."""
    if not source.path:
        return load_rows()
    with Store(Path(source.path), readable=True) as store:
        return store.models(), store.stacks()


def judge(source: Source) -> Judged:
    """Everything that the page says of the rows of ``source``."""
    rows, stacks = rows_of(source)
    models = sorted_out(rows)
    others = differences(models)
    return Judged(
        {name: _judgement(one) for name, one in verdicts(rows, stacks).items()},
        len(rows),
        len(stacks),
        models.code,
        tuple(models.seeds),
        models.set_aside,
        difference_sentence(others),
        difference_table(others) if others else None,
    )


def models_of(source: Source) -> dict[str, ModelRow]:
    """All trained models, by their keys."""
    return {row.key: row for row in rows_of(source)[0]}


def _judgement(one: Verdict) -> Judgement:
    return Judgement(
        one.claim, one.title, one.word, evidence_text(one), one.sentences, one.changes, one.rule,
        one.gaps, one.table, tuple(_pictures(one)),
    )  # fmt: skip


def _pictures(one: Verdict) -> Iterator[Picture]:
    deciding = one
    if isinstance(one.evidence, Differences) and one.evidence.deciding:
        name = one.evidence.deciding[0].variant
        family = {name: one.evidence.deciding}
        deciding = replace(one, evidence=replace(one.evidence, families=family))
        yield from (_picture(figure, True) for figure in figures(one))
    yield from (_picture(figure, False) for figure in figures(deciding))


def _picture(figure: Figure, wide: bool) -> Picture:
    text = json.dumps(merged(figure.figure))
    return Picture(figure.title, text, figure.alt, figure.explain, wide)


def file_bytes(source: Source, name: str) -> bytes:
    """One of `FILES`."""
    rows, stacks = rows_of(source)
    with TemporaryDirectory() as place:
        folder = Path(place)
        if name.startswith("claims."):
            write_report(folder, rows, stacks, ABOUT)
        else:
            with Store(folder / "rows.sqlite") as store:
                store.write([*rows, *stacks])
                export(store, folder)
        return (folder / name).read_bytes()
