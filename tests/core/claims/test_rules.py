"""Does every verdict follow from the numbers as its rule says, and from nothing else?"""

from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import settings
from scipy import stats
from scipy.optimize import linprog

from gating_core.claims import LINEAR, NONLINEAR, THRESHOLDS, WORDS, Thresholds, design, growth
from gating_core.claims.claim import guarded
from gating_core.claims.growth import CENTRE
from gating_core.claims.models import sorted_out
from gating_core.claims.verdicts import CLAIMS, verdict, verdicts
from gating_core.tasks import TASKS as ALL_TASKS
from gating_core.tasks import make_task
from tests.core.claims.made_rows import FLAT, SEEDS, TASKS, failed, made, stacks

SUPPORTED, PARTLY, NOT_SUPPORTED, NOT_ENOUGH = WORDS


def judged(claim: str, rows=(), depths=(), t: Thresholds = THRESHOLDS):
    """The verdict from rows of any seeds."""
    return verdict(CLAIMS[claim], sorted_out(rows, depths), t)


def word(claim: str, rows=(), depths=(), t: Thresholds = THRESHOLDS) -> str:
    return judged(claim, rows, depths, t).word


def gate(**numbers):
    """A change of the sigmoid-gated models: number -> value, or a function of task, seed, rng."""

    def change(task, variant, seed, rng):
        if variant != "sigmoid":
            return {}
        return {k: v(task, seed, rng) if callable(v) else v for k, v in numbers.items()}

    return change


def lost(rows, variant, seeds, tasks=TASKS):
    """The same rows, where some models failed."""
    return [
        failed(row) if row.variant == variant and row.seed in seeds and row.task in tasks else row
        for row in rows
    ]


GOOD = made(
    gate(
        test_accuracy=lambda task, seed, rng: (
            (0.8 if task in ("linear", "offset") else 0.95) + 0.004 * rng.normal()
        ),
        total_curvature=lambda task, seed, rng: 10 + rng.normal(),
    )
)
EVEN = [
    replace(row, test_accuracy=0.8 + 0.003 * np.sin(31 * row.seed + ord(row.variant[0])))
    if row.task in ("linear", "offset")
    else row
    for row in GOOD
]


RUNS = settings().max_examples


def slack(count: int, share: float = 0.05) -> int:
    return int(stats.binom.ppf(0.999, count, share))


# --- Words, and what is written down --------------------------------------------------------------


def test_there_is_a_verdict_of_every_claim_where_there_is_nothing():
    found = verdicts([], [])
    assert list(found) == ["C1", "C2", "C3", "C4", "C5", "C6", "C7"] == list(CLAIMS)
    assert {one.word for one in found.values()} == {NOT_ENOUGH}
    assert all(one.sentences and one.changes for one in found.values())


def test_an_effect_that_is_there_is_found_on_the_seeds_of_the_criteria_alone():
    later = [replace(row, seed=row.seed + 64, key=f"later{row.key}") for row in EVEN]
    first = dict.fromkeys(("C1", "C2", "C5", "C7"), SUPPORTED) | {"C4": NOT_ENOUGH}
    for rows, expected in ((EVEN, first), ([*EVEN, *later], first | {"C4": SUPPORTED})):
        words = {claim: one.word for claim, one in verdicts(rows, stacks()).items()}
        assert words == expected | {"C3": NOT_ENOUGH, "C6": NOT_ENOUGH}


CHANGED = {"flat_bound": 1e-3, "level": 0.01, "fewest_seeds": 9, "fewest_tasks": 3,
           "curved_share": 0.5, "margin": 0.02, "power": 0.9, "most_failed": 0.25, "paper_r": 0.5,
           "curvature_slope": 4.0, "curvature_tolerance": 0.1, "proxy_slope": 3.0,
           "proxy_tolerance": 0.2, "lost_margins": 2.0, "fewest_groups": 7, "fewest_settings": 3,
           "most_cells": 0.7}  # fmt: skip


@pytest.mark.parametrize("name", [field.name for field in fields(Thresholds)])
def test_a_threshold_that_changes_changes_what_is_written(name):
    other = replace(THRESHOLDS, **{name: CHANGED[name]})
    texts = ["".join(one.rule(t).values()) for t in (THRESHOLDS, other) for one in CLAIMS.values()]
    assert texts[: len(CLAIMS)] != texts[len(CLAIMS) :]
    assert not any("{" in text or "}" in text for text in texts)


def test_what_is_written_names_every_word():
    for one in CLAIMS.values():
        text = one.rule()["The verdict"].lower()
        assert all(text.count(f"{each}:") == 1 for each in WORDS)


@pytest.mark.parametrize(("claim", "change", "rows", "depths"), [
    ("C1", {"fewest_seeds": 200}, EVEN, ()),
    ("C1", {"flat_bound": 1e-21}, EVEN, ()),
    ("C2", {"fewest_seeds": 200}, EVEN, ()),
    ("C4", {"fewest_seeds": 17}, EVEN, ()),
    ("C4", {"fewest_tasks": 4}, EVEN, ()),
    ("C5", {"margin": 0.0005}, EVEN, ()),
    ("C7", {"curvature_slope": 1.9}, (), stacks()),
    ("C7", {"proxy_slope": 1.1}, (), stacks()),
    ("C7", {"curvature_tolerance": 0.0}, (), stacks(2.01)),
    ("C7", {"fewest_seeds": 17}, (), stacks()),
])  # fmt: skip
def test_the_code_compares_with_the_same_numbers(claim, change, rows, depths):
    assert word(claim, rows, depths) == SUPPORTED
    assert word(claim, rows, depths, replace(THRESHOLDS, **change)) != SUPPORTED


# --- C1 and C2 ------------------------------------------------------------------------------------


def changed(rows, variant, seeds, **numbers):
    return [
        replace(row, **numbers)
        if row.variant == variant and row.seed in seeds and row.task == "xor"
        else row
        for row in rows
    ]


@pytest.mark.parametrize(("rows", "expected"), [
    (EVEN, SUPPORTED),
    (changed(EVEN, "ungated", {3}, chart_flat=False), NOT_SUPPORTED),
    (changed(EVEN, "matched", {3}, chart_flat=False), NOT_SUPPORTED),
    (changed(EVEN, "sigmoid", {3}, chart_flat=True), SUPPORTED),
    (changed(EVEN, "ungated", {3}, chart_largest=None), PARTLY),
    (changed(EVEN, "ungated", {3}, chart_flat=None), PARTLY),
    (changed(EVEN, "ungated", {3}, chart_bound=1.0), PARTLY),
    (lost(EVEN, "ungated", {3}), PARTLY),
    (made(tasks=("xor",), variants=("ungated",), seeds=range(7)), NOT_ENOUGH),
    (made(tasks=("xor",), variants=("ungated",), seeds=range(8)), SUPPORTED),
    (made(variants=("sigmoid", "half")), NOT_ENOUGH),
])  # fmt: skip
def test_flat_means_every_one(rows, expected):
    assert word("C1", rows) == expected


@pytest.mark.parametrize(("rows", "expected"), [
    (EVEN, SUPPORTED),
    (made(gate(chart_flat=lambda task, seed, rng: seed > 0 or task != "xor")), PARTLY),
    (made(gate(chart_positive_share=0.0)), PARTLY),
    (made(gate(chart_flat=True)), NOT_SUPPORTED),
    (made(gate(chart_flat=None)), NOT_ENOUGH),
    (made(variants=("ungated", "additive")), NOT_ENOUGH),
    (lost(EVEN, "sigmoid", {0}), PARTLY),  # 75 of 80
    (lost(EVEN, "sigmoid", {0}, ("xor",)), SUPPORTED),  # 79 of 80
])  # fmt: skip
def test_curved_means_nearly_all_and_some_positively(rows, expected):
    assert word("C2", rows) == expected


# --- C4 -----------------------------------------------------------------------------------------


def test_without_an_effect_alarms_are_rare():
    words = [word("C4", made(seed=seed, variants=("ungated", "sigmoid"))) for seed in range(RUNS)]
    assert sum(each in (SUPPORTED, PARTLY) for each in words) <= slack(RUNS)


def test_an_effect_on_some_tasks_is_partly():
    rows = made(gate(test_accuracy=lambda task, s, r: 0.95 if task == "xor" else 0.7 + r.normal()))
    found = judged("C4", rows)
    assert found.word == PARTLY
    assert "circle" in found.changes
    assert "spiral" in found.changes
    assert word("C4", made(gate(test_accuracy=0.5))) == NOT_SUPPORTED
    assert word("C4", made(gate(test_accuracy=0.95), tasks=("xor", "linear"))) == NOT_ENOUGH


def test_equal_differences_decide():
    same = made(lambda *_: {"test_accuracy": 0.8})
    assert word("C4", same) == NOT_SUPPORTED
    assert word("C5", same) == SUPPORTED
    better = made(lambda t, v, s, r: {"test_accuracy": 0.9 if v == "sigmoid" else 0.8})
    assert word("C4", better) == SUPPORTED
    assert word("C5", better) == NOT_SUPPORTED


def test_one_seed_says_nothing():
    found = {claim: judged(claim, made(seeds=(3,)), stacks(seeds=(3,))) for claim in CLAIMS}
    few = {claim for claim, one in found.items() if one.word == NOT_ENOUGH}
    assert few == {*CLAIMS} - {"C1"}  # bounds of ten models say something
    assert "(seed 3)" in str(found["C4"].table.rows)


def test_one_failing_seed_in_sixteen_is_named_and_does_not_hide_an_effect():
    rows = [
        replace(row, test_accuracy=0.5)
        if (row.variant, row.seed, row.task) == ("sigmoid", 11, "circle")
        else row
        for row in EVEN
    ]
    found = judged("C4", rows)
    assert found.word == SUPPORTED
    assert any("circle" in row and "(seed 11)" in str(row) for row in found.table.rows)


@pytest.mark.parametrize("claim", ["C4", "C5"])
def test_a_failed_model_in_sixteen_is_named_and_does_not_hide_an_effect(claim):
    found = judged(claim, lost(EVEN, "sigmoid", {11}))
    assert found.word == SUPPORTED
    assert any("seed 11" in line and "diverged" in line for line in found.gaps)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("variant", ["sigmoid", "ungated"])
@pytest.mark.parametrize("claim", ["C4", "C5", "C6"])
@pytest.mark.parametrize("count", [4, 7])
def test_failures_do_not_raise_a_verdict(claim, variant, count):
    """However many of the worst models fail, what is left does not do better than all together."""
    order = (SUPPORTED, PARTLY, NOT_ENOUGH, NOT_SUPPORTED)
    for seed in range(2):
        weak = made(
            gate(
                test_accuracy=lambda t, s, r: 0.79 + 0.05 * r.normal() + 0.02,
                total_curvature=lambda t, s, r: 0.5 + 2 * r.normal(),
            ),
            seed,
        )
        by = {(row.task, row.seed): row for row in weak if row.variant == "sigmoid"}
        bad = set()
        for task in TASKS:
            ranked = sorted(SEEDS, key=lambda s, t=task: by[t, s].test_accuracy)
            bad |= {(task, s) for s in ranked[:count]}
        after = [
            failed(row) if row.variant == variant and (row.task, row.seed) in bad else row
            for row in weak
        ]
        before, then = word(claim, weak), word(claim, after)
        assert before == then or order.index(then) >= order.index(before) or then == NOT_ENOUGH


@pytest.mark.parametrize(("measured", "worst", "expected"), [
    (SUPPORTED, SUPPORTED, SUPPORTED), (SUPPORTED, PARTLY, PARTLY),
    (SUPPORTED, NOT_SUPPORTED, NOT_ENOUGH), (SUPPORTED, NOT_ENOUGH, NOT_ENOUGH),
    (PARTLY, NOT_SUPPORTED, NOT_ENOUGH), (PARTLY, SUPPORTED, PARTLY),
    (NOT_SUPPORTED, SUPPORTED, NOT_SUPPORTED), (NOT_ENOUGH, SUPPORTED, NOT_ENOUGH),
])  # fmt: skip
def test_failures_are_no_evidence_either_way(measured, worst, expected):
    assert guarded(measured, worst) == expected


@pytest.mark.parametrize(("count", "expected"), [(0, SUPPORTED), (1, SUPPORTED), (8, NOT_ENOUGH)])
def test_failures_count_against_equality_though_all_others_hardly_differ(count, expected):
    """One may be put as far off as any other, which here is nothing."""
    rows = lost(made(lambda *about: {"test_accuracy": 0.9}), "sigmoid", range(count))
    found = verdicts(rows, ())["C5"]
    assert found.word == expected
    assert ("Failed: " in found.sentences) == (count > 0)


def test_seven_failures_of_sixteen_are_too_many():
    assert word("C4", lost(EVEN, "sigmoid", range(7))) == NOT_ENOUGH
    assert word("C4", lost(EVEN, "sigmoid", range(9))) == NOT_ENOUGH


def test_seeds_that_are_not_done_are_named_and_left_out():
    rows = [row for row in EVEN if (row.task, row.variant, row.seed) != ("circle", "sigmoid", 5)]
    found = judged("C4", rows)
    assert found.word == SUPPORTED
    assert found.gaps == ("not done: circle, sigmoid, seed 5",)


# --- C5 -------------------------------------------------------------------------------------------


def linear_rows(mean: float, deviation: float, seed: int = 0):
    return made(
        lambda t, v, s, r: {
            "test_accuracy": 0.8 + (mean + deviation * r.normal() if v == "sigmoid" else 0.0)
        },
        seed,
        ("linear", "offset"),
        ("ungated", "sigmoid"),
    )


@pytest.mark.parametrize(("mean", "deviation", "expected"), [
    (0.0, 0.005, SUPPORTED), (0.0, 0.06, NOT_ENOUGH), (0.03, 0.005, NOT_SUPPORTED),
    (-0.03, 0.005, PARTLY), (0.012, 0.008, NOT_SUPPORTED), (0.05, 0.03, NOT_SUPPORTED),
])  # fmt: skip
def test_equivalence_needs_power(mean, deviation, expected):
    assert word("C5", linear_rows(mean, deviation)) == expected


def test_equivalence_needs_both_tasks():
    assert word("C5", [row for row in EVEN if row.task != "offset"]) == NOT_ENOUGH
    half = [row for row in EVEN if row.task != "offset"]
    half += [row for row in linear_rows(0.05, 0.003) if row.task == "offset"]
    assert word("C5", half) == PARTLY


def test_a_difference_beyond_the_margin_is_rarely_called_equal():
    found = [
        word("C5", [r for r in linear_rows(0.01, 0.005, s) if r.task in ("linear", "offset")])
        for s in range(RUNS)
    ]
    assert sum(each == SUPPORTED for each in found) <= slack(RUNS)


# --- C7 -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("slope", "proxy_slope", "expected"), [
    (2.0, 1.0, SUPPORTED), (2.019, 0.951, SUPPORTED), (2.03, 1.0, PARTLY), (2.0, 0.9, PARTLY),
    (1.0, 0.5, NOT_SUPPORTED),
])  # fmt: skip
def test_exponents_decide(slope, proxy_slope, expected):
    assert word("C7", (), stacks(slope, proxy_slope)) == expected


@pytest.mark.parametrize(("centre", "proxy", "expected"), [
    ((1.981, 2.019), (0.96, 1.04), SUPPORTED), ((1.97, 2.01), (0.96, 1.04), PARTLY),
    ((1.99, 2.03), (0.96, 1.04), PARTLY), ((1.99, 2.01), (0.94, 1.0), PARTLY),
    ((1.97, 2.01), (1.0, 1.06), NOT_SUPPORTED),
])  # fmt: skip
def test_the_whole_interval_of_an_exponent_decides(centre, proxy, expected):
    exponents = {
        name: SimpleNamespace(low=low, high=high)
        for name, (low, high) in ((CENTRE, centre), (growth.PROXY, proxy))
    }
    found = SimpleNamespace(fewest_slopes=len(SEEDS), exponents=exponents)
    assert CLAIMS["C7"].decide(found, THRESHOLDS) == expected


def test_a_proxy_without_slopes_is_not_enough():
    rows = [replace(row, proxy=0.0) for row in stacks()]
    assert word("C7", (), rows) == NOT_ENOUGH


@pytest.mark.parametrize(("claim", "rows", "depths", "word", "changes"), [
    ("C2", made(gate(**FLAT)), (), NOT_SUPPORTED, "would be supported if at least"),
    ("C2", GOOD, (), SUPPORTED, "would fall if fewer"),
    ("C4", [row for row in GOOD if row.task == "xor"], (), NOT_ENOUGH, "Pairs on 2 tasks"),
    ("C7", (), stacks(), SUPPORTED, "leaves its tolerance"),
    ("C7", (), stacks(slope=3.0), PARTLY, "would support it"),
    ("C7", (), stacks(seeds=range(3)), NOT_ENOUGH, "at least 8 seeds"),
])  # fmt: skip
def test_what_would_change_a_verdict_is_said_of_that_verdict(claim, rows, depths, word, changes):
    found = judged(claim, rows, depths)
    assert found.word == word
    assert changes in found.changes


def test_only_where_the_regime_holds():
    wild = [row if row.small else replace(row, centre_curvature=1.0, proxy=1.0) for row in stacks()]
    assert any(not row.small for row in wild)
    assert word("C7", (), wild) == SUPPORTED
    none = [replace(row, small=row.depth < 3) for row in stacks()]
    found = judged("C7", [], none)
    assert found.word == NOT_ENOUGH
    assert "Without a slope of |K(0)|: seed 0–15" in found.sentences
    assert "Without a slope of the paper's proxy: seed 0–15" in found.sentences


# --- Which tasks ----------------------------------------------------------------------------------


def separable(name):
    """Whether a straight line parts the classes of a task."""
    task = make_task(name, points=200)
    sides = np.column_stack([task.train_points[0], np.ones(200)])
    sides *= 1.0 - 2.0 * task.train_labels[0][:, None]
    return linprog(np.zeros(3), -sides, -np.ones(200), bounds=(None, None)).status == 0


def test_the_tasks_of_claims_are_fixed_and_are_what_they_are_called():
    assert set(design.COUNTED) <= set(ALL_TASKS)
    assert len(set(design.COUNTED)) == len(design.COUNTED)
    assert {name for name in (*LINEAR, *NONLINEAR) if separable(name)} == set(LINEAR)


def test_a_task_that_is_not_listed_changes_no_claim():
    new = [
        replace(row, task="new", key=f"new{row.key}", test_accuracy=0.1, chart_flat=False)
        for row in EVEN
        if row.task == "xor"
    ]
    for name in CLAIMS:
        one, other = (judged(name, rows, stacks()) for rows in (EVEN, [*EVEN, *new]))
        assert one.sentences == other.sentences
        assert one.table == other.table


# --- Which rows -----------------------------------------------------------------------------------


def test_rows_of_other_versions_and_second_rows_are_set_aside():
    others = [replace(row, code="old", test_accuracy=0.1, key=f"old{row.key}") for row in EVEN[:50]]
    again = [replace(row, part="all", key=f"a{row.key}", test_accuracy=0.2) for row in EVEN[:9]]
    found = sorted_out([*others, *again, *EVEN])
    assert found.set_aside == 59
    assert found.code == "c0de"
    assert {row.key for rows in found.cells.values() for row in rows.values()} == {
        row.key for row in EVEN
    }


def test_the_order_of_rows_changes_no_verdict():
    mixed = [EVEN[i] for i in np.random.default_rng(0).permutation(len(EVEN))]
    for name in CLAIMS:
        assert word(name, EVEN, stacks()) == word(name, mixed, stacks()[::-1])


def test_what_is_varied_stands_beside_and_does_not_decide():
    deep = [
        replace(row, depth=2, part="depth", key=f"d{row.key}", test_accuracy=0.1)
        if row.variant == "sigmoid"
        else replace(row, depth=2, key=f"d{row.key}")
        for row in EVEN
    ]
    found = judged("C4", EVEN + deep)
    assert found.word == SUPPORTED
    assert any(row[0] == "depth 2" for row in found.table.rows)
