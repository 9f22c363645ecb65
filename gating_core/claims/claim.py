"""The parts of a claim: what it needs, its rule, its evidence and its text.

A claim is one `Claim` in a file of this package, listed in `verdicts.CLAIMS`. A rule's text is made
from the same `Thresholds` that its function compares with, so that the two cannot disagree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from gating_core.claims.design import BASE_VARIANTS, COUNTED, VARIED
from gating_core.claims.models import Models
from gating_core.claims.text import TextTable


class Word(StrEnum):
    """The verdict on a claim."""

    SUPPORTED = "supported"
    PARTLY = "partly"
    NOT_SUPPORTED = "not supported here"
    NOT_ENOUGH = "not enough data"


WORDS = tuple(Word)
THEOREM, CONSTRUCTION, EXPERIMENT = "theorem", "by construction", "experiment"
KIND_TEXTS = {
    THEOREM: "A theorem: it cannot fail where our code is right. The verdict is a check of our"
    " code.",
    CONSTRUCTION: "True by construction: algebra says what is measured. The verdict is a check of"
    " our code.",
    EXPERIMENT: "An experiment: it can fail.",
}
NOT_DONE = " Seeds that are not done yet are left out, and named."
Evidence = TypeVar("Evidence")


@dataclass(frozen=True)
class Thresholds:
    """The numbers of all rules, set before any result was seen.

    But for `lost_margins` and `fewest_groups`, which came after reviews: no pair of the bundled
    study had failed, and it has groups enough. `most_cells` and `fewest_settings` are of criteria
    v2, written down before the models of their seeds were trained.
    Accuracies and the margin are shares, 0 to 1; a point is 0.01.
    """

    level: float = 0.05  # of tests, two-sided where a rule does not say otherwise
    fewest_seeds: int = 8  # or models, below which nothing is said
    fewest_tasks: int = 2
    flat_bound: float = 1e-6  # on |K|, 1 / length^2: a larger one lets curvature hide below it
    curved_share: float = 0.95  # of gated models that must be known to be curved
    margin: float = 0.01  # of accuracy: one point
    power: float = 0.8  # below it, failing to show equivalence says nothing
    lost_margins: float = 4.0  # C5: so far off, at least, counts a pair that failed
    most_failed: float = 1 / 16  # of models, where a failed one cannot be counted against a claim
    fewest_groups: int = 6  # C6: of either kind of task, below which a pooled r says nothing of it
    fewest_settings: int = 2  # C3: with `fewest_tasks` each
    most_cells: float = 0.5  # C3: share of settings and tasks for a measure to hold
    paper_r: float = 0.79  # Bathula & Joshi, arXiv 2604.14702
    curvature_slope: float = 2.0  # of log |K(0)| against log depth: K(0) = 4 L^2 eps^2
    curvature_tolerance: float = 0.02
    proxy_slope: float = 1.0
    proxy_tolerance: float = 0.05

    @property
    def confidence(self) -> float:
        """The confidence of intervals, one minus the level of tests."""
        return 1 - self.level

    @property
    def margin_points(self) -> float:
        """The margin, in points."""
        return 100 * self.margin


THRESHOLDS = Thresholds()


@dataclass(frozen=True)
class Criteria:
    """Rules that were written down on one day, and the seeds that they decide on."""

    name: str
    date: str
    seeds: range


V1 = Criteria("v1", "23 November 2026", range(64))
# Three rules were changed after the rows of v1 had been seen, before the models of these seeds.
V2 = Criteria("v2", "24 November 2026", range(64, 96))
CRITERIA = {one.name: one for one in (V1, V2)}


@dataclass(frozen=True)
class Needs:
    """Tasks, variants and parts of the grid that decide a claim. Other tasks do not count."""

    tasks: tuple[str, ...] = COUNTED
    variants: tuple[str, ...] = BASE_VARIANTS
    parts: tuple[str, ...] = tuple(VARIED)


@dataclass(frozen=True)
class Wording:
    """The text of a verdict."""

    summary: str  # the evidence, as short as a table needs it
    sentences: str  # with the numbers
    table: TextTable
    changes: str  # what would change the verdict


@dataclass(frozen=True)
class Claim(Generic[Evidence]):
    """One claim in our words, and how it is decided. Texts may contain fields of `Thresholds`."""

    name: str  # C1 to C7
    title: str
    claim: str
    test: str
    verdict: str
    failures: str
    needs: Needs
    evidence: Callable[[Models, Thresholds], Evidence]
    decide: Callable[[Evidence, Thresholds], Word]
    wording: Callable[[Evidence, Word, Thresholds], Wording]
    kind: str = EXPERIMENT  # a key of `KIND_TEXTS`
    criteria: Criteria = V1
    why: str = ""  # of criteria v2: what was wrong with v1

    def rule(self, t: Thresholds = THRESHOLDS) -> dict[str, str]:
        """Return claim, test, rule of the verdict and treatment of failures, as sentences."""
        why = {"Why criteria v2": self.why.format(t=t)} if self.why else {}
        return why | {
            "The claim": self.claim.format(t=t),
            "What it is": KIND_TEXTS[self.kind],
            "The test": self.test.format(t=t),
            "The verdict": self.verdict.format(t=t),
            "What failed": self.failures.format(t=t),
        }


def guarded(measured: Word, worst: Word) -> Word:
    """Return the verdict as measured, unless what failed might have spoken against it.

    Then it is "partly" where that much holds in the worst case, and else "not enough data":
    failures are no evidence against a claim, but must not be evidence for it.
    """
    if measured in (Word.NOT_SUPPORTED, Word.NOT_ENOUGH):
        return measured
    if WORDS.index(worst) <= WORDS.index(measured):
        return measured
    return Word.PARTLY if worst == Word.PARTLY else Word.NOT_ENOUGH
