"""The verdicts of rows, ready to be shown. Computed by a worker process.

Figures are texts (JSON), in the colours of the light theme: so a server passes on what it received,
and parses one only when somebody looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gating_core.claims import (
    FIRST,
    SECOND,
    ClaimVerdict,
    Edition,
    ModelRow,
    StackRow,
    TextTable,
    accuracies,
    models_of,
    verdicts,
)
from gating_core.claims.gain import Differences
from gating_core.claims.models import sorted_out
from ui.claims.figures import figures
from ui.claims.picture import merged
from ui.claims.style import Figure


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


def judge(rows: Sequence[ModelRow], stacks: Sequence[StackRow]) -> JudgedStudy:
    """Return everything that the page says of rows."""
    models = sorted_out(rows)
    return JudgedStudy(
        _judgements(rows, stacks, FIRST),
        _judgements(rows, stacks, SECOND),
        len(rows),
        len(stacks),
        models.code,
        models.seeds,
        models.set_aside,
        accuracies(models_of(rows, FIRST)),
    )


def _judgements(
    rows: Sequence[ModelRow], stacks: Sequence[StackRow], edition: Edition
) -> dict[str, Judgement]:
    seeds = models_of(rows, edition).seeds
    judged = verdicts(rows, stacks, edition=edition)
    return {name: _judgement(one, edition.name, seeds) for name, one in judged.items()}


def _judgement(one: ClaimVerdict, edition: str, seeds: tuple[int, ...]) -> Judgement:
    return Judgement(
        one.claim.name, one.claim.title, one.claim.kind, edition, seeds, one.word, one.summary,
        one.sentences, one.changes, one.rule, one.gaps, one.table, tuple(_pictures(one)),
    )  # fmt: skip


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
