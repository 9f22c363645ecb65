"""The rules of the further questions, on rows whose truth is known, and what they train."""

from dataclasses import replace

import numpy as np
import pytest

from gating_core.claims.claim import V1, V2, Word
from gating_core.claims.design import FULL_TASKS, LINEAR
from gating_core.claims.further import (
    QUESTIONS,
    REPORTED,
    SEEDS,
    SINKS,
    TOKENS,
    further_rows,
    reported_verdicts,
    settings,
    sink_verdict,
)
from gating_core.claims.verdicts import CLAIMS
from gating_core.experiments.comparison.setting import LIMITS, Setting, variant_config
from tests.core.claims.made_rows import failed, made

NONLINEAR = [task for task in FULL_TASKS if task not in LINEAR]


def rows(gains, question=SINKS, tasks=NONLINEAR):
    """Rows in which a variant gains so much over the ungated model, of a spread of a point."""

    def change(task, variant, seed, rng):
        level = 0.7 + 0.02 * np.random.default_rng(seed).normal()
        return {"test_accuracy": level + gains[variant] + 0.01 * rng.normal()}

    return [
        replace(row, part=question, values=8, model_dim=64)
        for row in made(change, tasks=tasks, variants=gains, seeds=SEEDS)
    ]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("sink", "word", "most", "gate_ahead"), [
    (0.10, Word.SUPPORTED, 6, 0),
    (0.08, Word.SUPPORTED, 6, 6),
    (0.03, Word.SUPPORTED, 0, 6),
    (0.0, Word.NOT_SUPPORTED, 0, 6),
    (-0.05, Word.NOT_SUPPORTED, 0, 6),
])  # fmt: skip
def test_the_word_is_that_of_the_truth(sink, word, most, gate_ahead):
    found = sink_verdict(rows({"ungated": 0.0, "sigmoid": 0.1, "sink": sink}))
    assert (found.word, found.tasks) == (word, 6)
    assert found.ahead == (6 if word == Word.SUPPORTED else 0)
    assert (found.most, found.gate_ahead) == (most, gate_ahead)
    assert found.least <= 100 * sink + 1
    assert found.greatest >= 100 * sink - 1


def test_a_sink_that_helps_on_some_tasks_is_partly_and_failures_count_against_it():
    truth = rows({"ungated": 0.0, "sigmoid": 0.1, "sink": 0.0})
    helped = [
        replace(row, test_accuracy=row.test_accuracy + 0.05)
        if (row.task, row.variant) == ("circle", "sink")
        else row
        for row in truth
    ]
    found = sink_verdict(helped)
    assert (found.word, found.ahead) == (Word.PARTLY, 1)
    all_ahead = rows({"ungated": 0.0, "sigmoid": 0.1, "sink": 0.05})
    lost = [
        failed(row) if row.variant == "sink" and row.seed < SEEDS.start + 16 else row
        for row in all_ahead
    ]
    assert sink_verdict(all_ahead).word == Word.SUPPORTED
    assert sink_verdict(lost).word != Word.SUPPORTED


@pytest.mark.parametrize(("question", "other"), [(REPORTED, TOKENS), (TOKENS, REPORTED)])
def test_the_reported_settings_are_judged_by_the_rules_of_the_claims(question, other):
    gains = {"ungated": 0.0, "sigmoid": 0.05}
    truth = rows(gains, question, NONLINEAR) + rows(
        {"ungated": 0.0, "sigmoid": 0.0}, question, LINEAR
    )
    found = reported_verdicts([*truth, *rows({"ungated": 9.0, "sigmoid": 0.0}, other)], question)
    assert {name: one.word for name, one in found.items()} == {
        "C4": Word.SUPPORTED,
        "C5": Word.SUPPORTED,
    }
    assert found["C4"].claim is CLAIMS["C4"]
    assert found["C5"].claim is CLAIMS["C5"]


def test_seeds_are_of_no_criteria_and_settings_what_the_rules_say():
    assert not {*SEEDS} & {*V1.seeds, *V2.seeds}
    for question in QUESTIONS:
        every = list(settings(question))
        tasks = NONLINEAR if question == SINKS else FULL_TASKS
        found = {(one.task, seed) for one in every for seed in one.seeds}
        assert found == {(task, seed) for task in tasks for seed in SEEDS}
        sizes = {(one.model_dim, one.value_count, one.depth, one.source) for one in every}
        assert (
            sizes
            == {
                SINKS: {(8, 3, 1, "memory")},
                REPORTED: {(64, 8, 1, "memory")},
                TOKENS: {(64, 8, 1, "tokens")},
            }[question]
        )
    sunk = next(settings(SINKS)).configs["sink"]
    assert (sunk.sink, sunk.gate) == ("learned", None)


def test_rows_are_trained_and_measured_as_in_the_study(monkeypatch):
    one = replace(next(settings(SINKS)), seed=300, seed_count=2, steps=20, points=64)
    monkeypatch.setattr("gating_core.claims.further.settings", lambda question: [one])
    found = list(further_rows(SINKS))
    names = ("ungated", "sigmoid", "sink")
    assert {row.part for row in found} == {SINKS}
    assert sorted((row.variant, row.seed) for row in found) == sorted(
        (name, seed) for name in names for seed in (300, 301)
    )
    assert all(row.error is None and row.total_curvature is not None for row in found)
    ungated, sunk = ({r.seed: r for r in found if r.variant == v} for v in ("ungated", "sink"))
    assert all(ungated[s].total_curvature == 0 < sunk[s].total_curvature for s in (300, 301))


def test_of_tokens_the_accuracies_alone_are_measured(monkeypatch):
    setting = next(settings(TOKENS))
    small = replace(setting, seed=300, seed_count=2, steps=20, points=64)
    monkeypatch.setattr("gating_core.claims.further.settings", lambda question: [small])
    found = list(further_rows(TOKENS))
    assert sorted((row.variant, row.seed, row.source) for row in found) == sorted(
        (name, seed, "tokens") for name in ("ungated", "sigmoid") for seed in (300, 301)
    )
    assert all(row.error is None and 0 <= row.test_accuracy <= 1 for row in found)
    assert all(row.total_curvature is None for row in found)


def test_a_sink_is_a_variant_and_64_channels_are_allowed():
    setting = Setting(variants=("ungated", "sink"), model_dim=64)
    assert LIMITS["model_dim"] == (2, 64)
    assert setting.configs["sink"].sink == "learned"
    assert setting.configs["ungated"].sink == "none"
    with pytest.raises(ValueError, match="a sink needs softmax attention"):
        variant_config("sink", Setting(source="linear").base)
