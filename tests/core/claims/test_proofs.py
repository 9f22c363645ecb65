"""What is proved of trained models beside C1 and C2 agrees with their rows and is counted."""

from dataclasses import replace

import pytest

from gating_core.claims import (
    GATED,
    WITHOUT_GATE,
    ProvedModel,
    proof_counts,
    proved_models,
    units_to_prove,
)
from gating_core.claims.selection import ModelUnit
from gating_core.claims.training import unit_rows


def made(variant, seed=0, **parts):
    given = {"same": True, "flat": False, "positive": 0.0, "negative": 0.0, "cells": 256} | parts
    return ProvedModel(f"{variant}{seed}", "xor", variant, seed, **given)


def test_counts_are_of_the_variants_asked_for():
    models = [
        made("ungated", 0, flat=True),
        made("matched", 3, flat=True),
        made("ungated", 1),
        made("sigmoid", 0, positive=0.25, negative=0.5),
        made("silu", 0, negative=0.5),
        made("headwise", 1),
        made("headwise", 5, same=False),
    ]
    plain, gated = (proof_counts(models, names) for names in (WITHOUT_GATE, GATED))
    assert (plain.models, plain.seeds, plain.flat, plain.curved) == (3, (0, 1, 3), 2, 0)
    assert (gated.trained, gated.models, gated.seeds, gated.flat) == (4, 3, (0, 1), 0)
    assert (gated.curved, gated.positive) == (2, 1)
    assert (gated.median, gated.least) == (0.5, 0.0)
    assert proof_counts([], GATED).models == 0


@pytest.fixture(scope="module")
def unit():
    first = units_to_prove()[0]
    return ModelUnit(first.part, replace(first.setting, seed_count=2, steps=150))


@pytest.mark.soak
def test_a_proof_and_a_row_say_the_same_and_of_another_model_nothing_is_said(unit):
    rows = {row.key: row for row in unit_rows(unit)}
    proofs = {one.key: one for one in proved_models(unit, rows)}
    assert proofs.keys() == rows.keys()
    assert all(one.same for one in proofs.values())
    for key, one in proofs.items():
        row = rows[key]
        assert (one.task, one.variant, one.seed) == (row.task, row.variant, row.seed)
        assert one.flat == (row.variant in WITHOUT_GATE) == row.chart_flat
        assert bool(one.signed) == (not row.chart_flat)
        if one.positive:
            assert row.chart_positive_share > 0 or one.positive < 0.1  # few points are there
    key = next(iter(rows))
    others = rows | {key: replace(rows[key], test_accuracy=rows[key].test_accuracy / 2)}
    (other,) = (one for one in proved_models(unit, others) if not one.same)
    assert (other.key, other.flat, other.signed, other.cells) == (key, False, 0.0, 0)


def test_first_seeds_of_every_task_and_of_all_variants_are_proved():
    units = units_to_prove()
    assert {unit.part for unit in units} == {"base"}
    assert {seed for unit in units for seed in unit.setting.seeds} == set(range(16))
    names = {name for unit in units for name in unit.setting.variants}
    assert names == {"ungated", "matched", "sigmoid", "headwise", "silu"}
