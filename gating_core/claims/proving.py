"""Proving the sign of K of a study's models, which are trained again: their weights are not stored.

A model whose accuracies differ from those in its row is another one, and nothing is proved of it:
training is chaotic for some, and another machine rounds in another order.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from gating_core.attention.charts import weight_chart
from gating_core.attention.classifier import restore
from gating_core.attention.stack import Attention
from gating_core.claims.design import GATED, WITHOUT_GATE
from gating_core.claims.models import ModelRow
from gating_core.claims.proofs import ProvedModel
from gating_core.claims.selection import SELECTIONS
from gating_core.claims.training import trained
from gating_core.claims.units import ModelUnit
from gating_core.jets.blocks import one_thread
from gating_core.pauses import drained
from gating_core.proved import Budget, prove_curvature

PROOF_CELLS = 3000  # half a second for each model that no theorem calls flat
OPEN_SHARE = 0.01  # of the chart: no more cells below it
BUDGET = Budget(math.inf, PROOF_CELLS, OPEN_SHARE, math.inf)


def units_to_prove() -> list[ModelUnit]:
    """The units of C1 and C2 with the first seeds, those that a full study begins with."""
    needed = {*WITHOUT_GATE, *GATED}
    units = [unit for unit in SELECTIONS["full"].units() if isinstance(unit, ModelUnit)]
    return [
        unit
        for unit in units
        if unit.part == "base" and not unit.setting.seed and needed & {*unit.setting.variants}
    ]


def proved_models(unit: ModelUnit, rows: Mapping[str, ModelRow]) -> Iterator[ProvedModel]:
    """Train ``unit`` again and prove what can be proved of its models that are in ``rows`` by key.

    Models without an attention-weight chart are left out.
    """
    with one_thread():  # as the study does: rounding depends on it
        run = drained(trained(unit.setting))
    for name, variant in run.variants.items():
        ensemble = variant.ensemble
        if name not in (*WITHOUT_GATE, *GATED):
            continue
        model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
        for member, seed in enumerate(ensemble.seeds):
            row = rows.get(unit.keys[name, seed])
            if row is None or row.chart_flat is None:
                continue
            accuracies = ensemble.train_accuracy[-1, member], ensemble.test_accuracy[-1, member]
            same = (row.train_accuracy, row.test_accuracy) == tuple(x.item() for x in accuracies)
            yield proved_model(row, model.member(member) if same else None)


def proved_model(row: ModelRow, model: Attention | None) -> ProvedModel:
    """Prove what can be proved on the attention-weight chart of the ``model`` of a ``row``."""
    about = row.key, row.task, row.variant, row.seed
    if model is None:
        return ProvedModel(*about, False, False, 0.0, 0.0, 0)
    proof = prove_curvature(weight_chart(model), budget=BUDGET)
    return ProvedModel(*about, True, proof.flat == 1, proof.positive, proof.negative, proof.count)
