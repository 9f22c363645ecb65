"""Totals that a grid did not settle, computed again in closed form, beside claim C3.

The surface of an ungated model with one layer, fixed values and no residual connection is a softmax
average of fixed vectors, whose total curvature `gating_core.geometry.averages` knows also where a
saturated softmax hides tangent planes from float64. No rule changes: verdicts are decided from the
rows, and what these totals would change is said beside. As for `proofs`, models are trained again,
and nothing is said of one that comes out with other accuracies than those in its row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch

from gating_core.attention.stack import Attention, restore
from gating_core.claims.design import UNGATED
from gating_core.claims.models import ModelRow, RefinedTotal
from gating_core.claims.selection import SELECTIONS, ModelUnit
from gating_core.claims.training import IN_DOUBT, trained
from gating_core.geometry.averages import SoftmaxAverage
from gating_core.jets.blocks import one_thread


def in_doubt(row: ModelRow) -> bool:
    """Return whether ``row`` has a total not known to a tenth for which there is a closed form."""
    closed = row.variant == UNGATED and row.part == "values"
    if not closed or row.total_curvature is None or row.total_error is None:
        return False
    return not row.total_complete or row.total_error > IN_DOUBT * row.total_curvature


def units_to_refine(rows: Mapping[str, ModelRow]) -> list[ModelUnit]:
    """The units of criteria v2 that have trained a row in doubt, by key in ``rows``."""
    keys = {key for key, row in rows.items() if in_doubt(row)}
    units = (unit for unit in SELECTIONS["v2"].units() if isinstance(unit, ModelUnit))
    return [unit for unit in units if keys & {*unit.keys.values()}]


def refined_totals(unit: ModelUnit, rows: Mapping[str, ModelRow]) -> Iterator[RefinedTotal]:
    """Train ``unit`` again and compute the totals of its models in doubt, by key in ``rows``."""
    with one_thread():  # as the study does: rounding depends on it
        run = trained(unit.setting)
    ensemble = run.variants[UNGATED].ensemble
    model = restore(ensemble.config, ensemble.seeds, ensemble.state).attention
    for member, seed in enumerate(ensemble.seeds):
        row = rows.get(unit.keys[UNGATED, seed])
        if row is None or not in_doubt(row):
            continue
        accuracies = ensemble.train_accuracy[-1, member], ensemble.test_accuracy[-1, member]
        if (row.train_accuracy, row.test_accuracy) != tuple(x.item() for x in accuracies):
            yield RefinedTotal(row.key, False)
            continue
        total = softmax_average(model.member(member)).total_absolute_curvature()
        yield RefinedTotal(row.key, True, float(total.value), float(total.error))


def softmax_average(model: Attention) -> SoftmaxAverage:
    """Return the surface of a ``model`` with one member; ``ValueError`` if it is no average."""
    config, layer = model.config, model.blocks[0]
    alone = len(model.seeds) == config.depth == config.heads == 1
    fixed = layer.fixed_values and config.norm == "none" and layer.reads_only_weights
    if not alone or not fixed:
        raise ValueError(
            "model is no softmax average of fixed vectors; it must be one member with one layer of"
            " ungated softmax attention over slots, with one head, and neither a residual"
            " connection nor a norm"
        )
    logit_map = layer.logit_map()[0, 0]
    offsets = model.input_bias[0] @ logit_map + layer.bias[0, 0]
    corners = torch.eye(config.value_count, dtype=torch.float64)
    vectors = model.run(None, corners[None, None])[0]
    return SoftmaxAverage(model.input_map[0] @ logit_map, offsets, vectors)
