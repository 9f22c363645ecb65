"""What is proved of single trained models beside C1 and C2: flat or curved, and on how much.

The verdicts are decided from points and their bounds, see `bounds`. A proof is about all of the
attention-weight chart: a theorem, or cells on which the sign of K is certain. It changes no rule.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ProvedModel:
    """One model of a study, by the ``key`` of its row, trained again.

    ``same``: whether it has come out with the accuracies of its row; nothing is proved of one that
    has not, which is another model. ``flat``: K = 0 on all of its chart, by a theorem.
    ``positive`` and ``negative``: shares of the chart on which K > 0 and K < 0 are proved.
    ``cells`` were judged.
    """

    key: str
    task: str
    variant: str
    seed: int
    same: bool
    flat: bool
    positive: float
    negative: float
    cells: int

    @property
    def signed(self) -> float:
        """The share of the chart on which a sign of K is proved; any is enough for curved."""
        return self.positive + self.negative


@dataclass(frozen=True)
class ProofCounts:
    """Of ``models`` with ``seeds``: how many are proved flat, curved, and positive somewhere.

    They are those that came out the ``same`` when they were trained again, of ``trained``.
    ``median`` and ``least`` are shares of the chart with a proved sign, among those that no theorem
    calls flat; 0 where there are none.
    """

    trained: int
    models: int
    seeds: tuple[int, ...]
    flat: int
    curved: int
    positive: int
    median: float
    least: float


def proof_counts(models: Iterable[ProvedModel], variants: Sequence[str]) -> ProofCounts:
    """Count the proofs for the models of some ``variants``."""
    again = [one for one in models if one.variant in variants]
    those = [one for one in again if one.same]
    shares = [one.signed for one in those if not one.flat] or [0.0]
    return ProofCounts(
        len(again),
        len(those),
        tuple(sorted({one.seed for one in those})),
        sum(one.flat for one in those),
        sum(one.signed > 0 for one in those),
        sum(one.positive > 0 for one in those),
        statistics.median(shares),
        min(shares),
    )
