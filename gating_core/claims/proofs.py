"""Proofs about single trained models beside C1 and C2: flat or curved, and on which share.

The verdicts are decided from points and their bounds, see `bounds`. A proof is about all of the
attention-weight chart: a theorem, or cells on which the sign of K is certain. It changes no rule.
Models are trained again, since their weights are not stored. One whose accuracies differ from those
in its row is another one, and nothing is proved of it: training is chaotic for some, and another
machine rounds in another order.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from gating_core.attention.charts import weight_chart
from gating_core.attention.stack import Attention, restore
from gating_core.claims.design import GATED, UNGATED, WITHOUT_GATE
from gating_core.claims.models import ModelRow
from gating_core.claims.selection import SELECTIONS, ModelUnit
from gating_core.claims.training import trained
from gating_core.geometry.keys import sign_proofs
from gating_core.jets.blocks import one_thread
from gating_core.proved import Budget, prove_curvature

PROOF_CELLS = 3000  # half a second for each model that no theorem calls flat
OPEN_SHARE = 0.01  # of the chart: no more cells below it
BUDGET = Budget(math.inf, PROOF_CELLS, OPEN_SHARE, math.inf)


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
    """Counts of ``models`` with ``seeds`` that are proved flat, curved, and positive somewhere.

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


def units_to_prove() -> list[ModelUnit]:
    """The units of C1 and C2 with the first seeds, those that a full study begins with."""
    units = (unit for unit in SELECTIONS["full"].units() if isinstance(unit, ModelUnit))
    first = [unit for unit in units if unit.part == "base" and unit.setting.seed == 0]
    return [unit for unit in first if {*WITHOUT_GATE, *GATED} & {*unit.setting.variants}]


def proved_models(unit: ModelUnit, rows: Mapping[str, ModelRow]) -> Iterator[ProvedModel]:
    """Train ``unit`` again and prove what can be proved of its models that are in ``rows`` by key.

    Models without an attention-weight chart are left out.
    """
    for row, same, model in _trained_again(unit, rows, (*WITHOUT_GATE, *GATED)):
        about = row.key, row.task, row.variant, row.seed
        if row.chart_flat is None:
            continue
        if not same:
            yield ProvedModel(*about, False, False, 0.0, 0.0, 0)
            continue
        proof = prove_curvature(weight_chart(model), budget=BUDGET)
        flat = proof.flat == 1
        yield ProvedModel(*about, True, flat, proof.positive, proof.negative, proof.count)


def _trained_again(
    unit: ModelUnit, rows: Mapping[str, ModelRow], variants: Sequence[str]
) -> Iterator[tuple[ModelRow, bool, Attention]]:
    """Train ``unit`` again; yield its models in ``rows``, and whether they are the same."""
    with one_thread():  # as the study does: rounding depends on it
        run = trained(unit.setting)
    for name, variant in run.variants.items():
        ensemble = variant.ensemble
        if name not in variants:
            continue
        model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
        for member, seed in enumerate(ensemble.seeds):
            row = rows.get(unit.keys[name, seed])
            if row is not None:
                accuracies = (ensemble.train_accuracy, ensemble.test_accuracy)
                now = tuple(each[-1, member].item() for each in accuracies)
                same = (row.train_accuracy, row.test_accuracy) == now
                yield row, same, model.member(member)


# --- Four keys ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SignedModel:
    """An ungated model with four values, trained again: the ``sign`` of K on its query chart.

    By the theorem of `gating_core.geometry.keys`, 1 or -1 on all of it; 0 where the model is not
    the ``same``, or nothing is proved.
    """

    key: str
    task: str
    seed: int
    same: bool
    sign: int


def units_of_four_keys() -> list[ModelUnit]:
    """The units of both studies in which only the number of values is varied, to four."""
    return [
        unit
        for name in ("full", "v2")
        for unit in SELECTIONS[name].units()
        if isinstance(unit, ModelUnit)
        and (unit.part, unit.setting.value_count) == ("values", 4)
        and UNGATED in unit.setting.variants
    ]


def signed_models(unit: ModelUnit, rows: Mapping[str, ModelRow]) -> Iterator[SignedModel]:
    """Train ``unit`` again and prove the sign of K on the query charts of its ungated models."""
    for row, same, model in _trained_again(unit, rows, (UNGATED,)):
        (proof,) = sign_proofs(model, 1)
        sign = proof.sign if same and proof is not None else 0
        yield SignedModel(row.key, row.task, row.seed, same, sign)
