"""The verdicts of rows, ready to be shown. Computed by a worker process.

Figures are texts (JSON), in the colours of the light theme: so a server passes on what it received,
and parses one only when somebody looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gating_core.claims import ModelRow, StackRow, Table, Verdict, accuracies, verdicts
from gating_core.claims.gain import Differences
from gating_core.claims.models import sorted_out
from ui.claims.figures import figures
from ui.claims.picture import merged
from ui.claims.style import Figure


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
    code: str  # the rows' version of the study
    seeds: tuple[int, ...]
    set_aside: int  # models: of other versions or steps, or trained twice
    accuracies: Table


def judge(rows: Sequence[ModelRow], stacks: Sequence[StackRow]) -> Judged:
    """Return everything that the page says of rows."""
    models = sorted_out(rows)
    return Judged(
        {name: _judgement(one) for name, one in verdicts(rows, stacks).items()},
        len(rows),
        len(stacks),
        models.code,
        models.seeds,
        models.set_aside,
        accuracies(models),
    )


def _judgement(one: Verdict) -> Judgement:
    return Judgement(
        one.claim.name, one.claim.title, one.word, one.summary, one.sentences, one.changes,
        one.rule, one.gaps, one.table, tuple(_pictures(one)),
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
