"""Totals in closed form: of which rows there are any, and what they are for trained models."""

from dataclasses import replace

import pytest
import torch

from gating_core.attention import AttentionConfig, GateConfig, build_attention
from gating_core.claims.models import RefinedTotal, sorted_out
from gating_core.claims.refined import in_doubt, refined_totals, softmax_average, units_to_refine
from gating_core.claims.selection import SELECTIONS
from gating_core.claims.training import unit_rows
from tests.core.claims.made_rows import BLANK, failed

DOUBTFUL = replace(BLANK, part="values", variant="ungated", values=4, total_error=2.0)
POINTS = torch.rand(20, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 2 - 1


def first_unit(name):
    return next(x for x in SELECTIONS[name].units() if getattr(x, "part", "") == "values")


def test_a_total_is_complete_where_its_error_is_no_larger():
    """Whatever a store says: rows of before hold True beside errors of a billion."""
    assert not replace(BLANK, total_error=1e9).total_complete
    assert not replace(BLANK, total_error=1e9).lower_estimate
    assert replace(BLANK, total_error=1.0).total_complete
    assert replace(BLANK, total_curvature=0.0, total_error=0.0).total_complete
    assert replace(BLANK, total_complete=False, resolved_share=0.9).lower_estimate
    assert not failed(BLANK).total_complete


@pytest.mark.parametrize(("change", "expected"), [
    ({}, True), ({"total_error": 0.05}, False), ({"total_error": 0.2}, True),
    ({"total_error": 0.0, "total_complete": False, "resolved_share": 0.5}, True),
    ({"part": "tokens"}, False), ({"part": "residual"}, False), ({"variant": "sigmoid"}, False),
    ({"total_curvature": None}, False),
])  # fmt: skip
def test_what_is_in_doubt(change, expected):
    assert in_doubt(replace(DOUBTFUL, **{"total_complete": True} | change)) == expected


def test_an_ungated_layer_is_a_softmax_average_and_others_are_refused():
    config = AttentionConfig("memory", model_dim=8, value_count=4)
    model = build_attention(config, (3,))
    surface = softmax_average(model)
    assert torch.allclose(surface(POINTS), model(POINTS)[0], atol=1e-14)
    others = [build_attention(replace(config, **change), (0,)) for change in (
        {"depth": 2}, {"heads": 2}, {"residual": True}, {"norm": "post"}, {"source": "tokens"},
        {"gate": GateConfig()},
    )]  # fmt: skip
    for other in [*others, build_attention(config, (0, 1))]:
        with pytest.raises(ValueError, match="no softmax average"):
            softmax_average(other)


def test_a_model_trained_again_has_the_total_of_its_row_and_of_another_nothing_is_said():
    first = first_unit("full")
    unit = replace(first, setting=replace(first.setting, seed_count=3, steps=30))
    rows = {row.key: row for row in unit_rows(unit) if row.variant == "ungated"}
    assert all(row.total_error < 0.02 * row.total_curvature for row in rows.values())
    doubtful = {key: replace(row, total_error=1e9) for key, row in rows.items()}
    other = next(iter(rows))
    doubtful[other] = replace(doubtful[other], test_accuracy=0.123)
    found = {one.key: one for one in refined_totals(unit, doubtful)}
    assert found.keys() == rows.keys()
    assert found[other] == RefinedTotal(other, False)
    for key, row in rows.items():
        if key != other:
            error = row.total_error + found[key].error
            assert found[key].total == pytest.approx(row.total_curvature, abs=error)
    assert not list(refined_totals(unit, rows))  # none is in doubt


def test_units_are_those_of_rows_in_doubt():
    unit = first_unit("v2")
    key = unit.keys["ungated", unit.setting.seed]
    assert units_to_refine({key: replace(DOUBTFUL, key=key)}) == [unit]
    assert not units_to_refine({key: replace(BLANK, key=key, part="values", variant="ungated")})


def test_refined_totals_stand_in_for_those_of_their_rows_alone():
    rows = [replace(DOUBTFUL, key=str(seed), seed=seed, task="xor") for seed in range(3)]
    totals = (RefinedTotal("0", True, 7.0, 0.01), RefinedTotal("1", False))
    models = replace(sorted_out(rows), refined=totals).with_refined()
    (members,) = models.cells.values()
    assert [row.total_curvature for row in members.values()] == [7.0, 1.0, 1.0]
    assert [row.total_complete for row in members.values()] == [True, False, False]
