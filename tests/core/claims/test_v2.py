"""Rules of criteria v2, on made studies of which it is known what is true."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gating_core.attention.stack import build_attention
from gating_core.claims import CLAIMS, SELECTIONS, THRESHOLDS, V1, V2, WORDS, verdicts
from gating_core.claims.claim import CONSTRUCTION, EXPERIMENT, THEOREM
from gating_core.claims.design import LINEAR, NONLINEAR
from gating_core.claims.gain import reached
from gating_core.claims.measures import MEASURES, SETTINGS, TASKS, ByMeasure, holds
from gating_core.claims.models import BASE
from gating_core.claims.pairs import Comparison, Pairs
from gating_core.claims.relation import EXACT, PEARSON, PROXY, RelationsByKind
from gating_core.claims.statistics import paired
from gating_core.geometry.flatness import flatness_proofs
from gating_core.geometry.grid import square_grid
from tests.core.claims.made_rows import failed, made
from tests.core.claims.test_rules import lost, slack

SUPPORTED, PARTLY, NOT_SUPPORTED, NOT_ENOUGH = WORDS
SEEDS = range(64, 80)
VARIANTS = ("ungated", "sigmoid")
NAMES = ("total_curvature", "proxy", "normalised_proxy")
RUNS = max(settings().max_examples // 10, 5)


def study(change, seed=0, places=SETTINGS):
    """Rows of every setting in which an ungated model can curve."""
    rows = []
    for number, at in enumerate(places):
        where = dict(
            source=at.source,
            depth=at.depth,
            values=at.value_count,
            part="residual" if at.residual else "values",
        )
        some = made(change, 100 * seed + number, TASKS, VARIANTS, SEEDS)
        rows += [replace(row, key=f"{at.text}/{row.key}", **where) for row in some]
    return rows


def curved(**shift):
    """Measures that differ between seeds as they do, and by ``shift`` with a gate."""

    def change(task, variant, seed, rng):
        sizes = {name: 20 + 4 * rng.normal() for name in NAMES}
        more = shift if variant == "sigmoid" else {}
        return {"flat": False} | {x: size + more.get(x, 0.0) for x, size in sizes.items()}

    return change


def judged(claim, rows, t=THRESHOLDS):
    return verdicts(rows, [], t)[claim]


# --- What is theorem, and what is of criteria v2 --------------------------------------------------


def test_what_cannot_fail_is_called_a_check():
    kinds = {name: one.kind for name, one in CLAIMS.items()}
    assert kinds == dict.fromkeys(CLAIMS, EXPERIMENT) | {"C1": THEOREM, "C7": CONSTRUCTION}
    for one in CLAIMS.values():
        assert ("a check of our code" in one.rule()["What it is"]) == (one.kind != EXPERIMENT)


def test_criteria_v2_say_why_and_decide_on_seeds_of_their_own():
    second = [name for name, one in CLAIMS.items() if one.criteria is V2]
    assert second == ["C3", "C4", "C6"]
    assert all(
        bool(one.rule().get("Why criteria v2")) == (one.criteria is V2) for one in CLAIMS.values()
    )
    chosen = SELECTIONS["v2"]
    seeds = {seed for unit in chosen.units() for *_, seed in unit.keys}
    assert seeds == set(V2.seeds) == set(range(64, 96))
    assert not seeds & set(V1.seeds)
    known = {key for unit in SELECTIONS["full"].units() for key in unit.keys.values()}
    assert not known & {key for unit in chosen.units() for key in unit.keys.values()}
    old = made(curved(total_curvature=99.0))  # seeds 0 to 15
    assert {judged(name, old).word for name in second} == {NOT_ENOUGH}


def test_no_theorem_says_that_an_ungated_model_is_flat_where_c3_compares():
    """And one does in the base, where criteria v1 compared."""
    seen = {}
    for unit in SELECTIONS["v2"].units():
        x = unit.setting
        if x.task == "xor" and "ungated" in x.variants:
            seen[x.source, x.depth, x.value_count, x.residual] = x.configs["ungated"]
    for (source, depth, values, residual), config in seen.items():
        model = build_attention(config, (0,))
        (proof,) = flatness_proofs(model, model(square_grid(3).points))
        here = replace(BASE, source=source, depth=depth, value_count=values, residual=residual)
        assert (proof is not None) == (here == BASE)
        assert (here in SETTINGS) == (here != BASE)


# --- C3 -------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("shift", "expected", "said"), [
    (dict.fromkeys(NAMES, 12.0), SUPPORTED, "holds by total curvature ∫|K| dA, the paper's proxy"),
    (dict.fromkeys(NAMES, -12.0), NOT_SUPPORTED, "holds by none of"),
    ({"total_curvature": 12.0}, PARTLY, "holds by total curvature ∫|K| dA, not by the paper's"),
    ({"total_curvature": 12.0, "normalised_proxy": -12.0}, PARTLY, "behind in 24 by the normal"),
    ({"proxy": 12.0}, PARTLY, "holds by the paper's proxy, not by total curvature"),
])  # fmt: skip
def test_c3_says_by_which_measure_it_holds(shift, expected, said):
    found = judged("C3", study(curved(**shift)))
    assert found.word == expected
    assert said in found.sentences
    assert len(found.table.rows) == len(MEASURES) * len(SETTINGS) * len(TASKS)


@pytest.mark.soak  # long
def test_where_gating_changes_no_curvature_c3_is_not_supported():
    alarms = [judged("C3", study(curved(), seed)).word != NOT_SUPPORTED for seed in range(RUNS)]
    assert sum(alarms) <= slack(RUNS)


def test_c3_needs_settings_and_pairs():
    rows = study(curved(**dict.fromkeys(NAMES, 12.0)))
    assert judged("C3", study(curved(total_curvature=12.0), places=SETTINGS[:1])).word == NOT_ENOUGH
    assert judged("C3", [row for row in rows if row.seed < 70]).word == NOT_ENOUGH
    assert judged("C3", [row for row in rows if row.task == "xor"]).word == NOT_ENOUGH
    assert judged("C3", rows, replace(THRESHOLDS, fewest_settings=7)).word == NOT_ENOUGH


def test_failures_do_not_support_c3():
    rows = [
        failed(row) if row.variant == "sigmoid" and row.seed < 71 else row
        for row in study(curved(**dict.fromkeys(NAMES, 3.0)))
    ]
    found = judged("C3", rows)
    assert found.word in (NOT_ENOUGH, NOT_SUPPORTED)
    assert any("failed: xor, sigmoid" in line for line in found.gaps)


signs = st.lists(st.sampled_from((-1, 0, 1)), min_size=6, max_size=6)


def family(of):
    """Cells whose differences are known to be above, below, or not known to differ from zero."""
    return tuple(
        Comparison(
            Pairs(
                SETTINGS[number % 3],
                TASKS[number // 3],
                "sigmoid",
                "ungated",
                dict.fromkeys(SEEDS, (0.0, 0.0, 0.0)),
                (),
                (),
            ),
            *[paired(SEEDS, sign + 0.01 * np.arange(16))] * 2,
            *[0.001 if sign else 0.9] * 2,
        )
        for number, sign in enumerate(of)
    )


@given(st.tuples(signs, signs, signs))
def test_c3s_word_follows_from_how_often_each_measure_is_ahead(given_signs):
    evidence = ByMeasure(
        {title: family(of) for title, of in zip(MEASURES.values(), given_signs, strict=True)}, ()
    )
    hold = [of.count(1) >= 3 and -1 not in of for of in given_signs]
    expected = PARTLY if any(hold) else NOT_SUPPORTED
    if all(of == [1] * 6 for of in given_signs):
        expected = SUPPORTED
    assert [holds(of, THRESHOLDS) for of in evidence.cells.values()] == hold
    assert CLAIMS["C3"].decide(evidence, THRESHOLDS) == expected


# --- C4 -------------------------------------------------------------------------------------------


def gaining(whole, control):
    """A gate that gains ``whole`` and a control that gains ``control`` of accuracy."""
    gains = {"sigmoid": whole, "additive": control, "ungated": 0.0}

    def change(task, variant, seed, rng):
        return {"test_accuracy": 0.7 + gains[variant] + 0.005 * rng.normal()}

    return made(change, 3, NONLINEAR[:4], tuple(gains), SEEDS)


@pytest.mark.parametrize(("whole", "control", "starts"), [
    (0.2, 0.19, "Adding instead of multiplying already gives most of the gain on 4 of 4 tasks:"),
    (0.2, 0.09, "Adding instead of multiplying gives most of the gain on 0 of 4 tasks; on"),
    (0.2, 0.0, "Adding instead of multiplying gives most of the gain on 0 of 4 tasks; on"),
])  # fmt: skip
def test_c4_begins_with_what_adding_reaches(whole, control, starts):
    found = judged("C4", gaining(whole, control))
    assert found.word == SUPPORTED
    assert found.sentences.startswith(starts)
    one = re.search(r"([\d.]+) of ([\d.]+) points on", found.sentences)
    assert float(one[1]) == pytest.approx(100 * control, abs=0.5)
    assert float(one[2]) == pytest.approx(100 * whole, abs=0.5)


def test_c4_names_the_tasks_that_it_counts():
    """On the other tasks nothing but the gate gains."""
    few = set(NONLINEAR[:2])
    rows = [
        row if row.task in few or row.variant != "additive" else replace(row, test_accuracy=0.7)
        for row in gaining(0.2, 0.15)
    ]
    first = judged("C4", rows).sentences.split(". What")[0]
    counted, others = first.split("; on the others it reaches ")
    assert counted.startswith("Adding instead of multiplying gives most of the gain on 2 of 4")
    assert set(re.findall(r" on (\w+)(?=,| and|$)", counted.split(":")[1])) == few
    assert set(re.findall(r" on (\w+)(?=,| and|$)", others)) == set(NONLINEAR[2:4])


def test_what_adding_reaches_and_what_multiplying_adds_are_the_whole():
    rows = gaining(0.2, 0.15)
    found = judged("C4", rows)
    mean = {
        name: np.mean([x.test_accuracy for x in rows if (x.task, x.variant) == ("xor", name)])
        for name in ("ungated", "sigmoid", "additive")
    }
    one = next(x for x in reached(found.evidence, THRESHOLDS) if x.task == "xor")
    assert one.gain == pytest.approx(100 * (mean["sigmoid"] - mean["ungated"]))
    assert one.control == pytest.approx(100 * (mean["additive"] - mean["ungated"]))
    assert one.most
    assert one.own


def test_without_a_control_c4_says_so_and_without_a_gain_it_fails():
    rows = gaining(0.2, 0.15)
    alone = judged("C4", [row for row in rows if row.variant != "additive"])
    assert alone.sentences.startswith("There is no additive control")
    assert judged("C4", gaining(0.0, 0.0)).word == NOT_SUPPORTED


# --- C6 -------------------------------------------------------------------------------------------

KIN = ("ungated", "sigmoid", "headwise", "silu")
KIN_TASKS = ("linear", "offset", "xor", "circle", "spiral")


def related(within: float, between: float, names=("proxy", "total_curvature")):
    """Curvature and accuracy that go together within groups, or between variants."""

    def change(task, variant, seed, rng):
        x, gated = rng.normal(), variant == "sigmoid"
        accuracy = 0.7 + 0.2 * between * gated + 0.02 * (within * x + rng.normal())
        numbers = {"test_accuracy": accuracy, "flat": False}
        values = {
            name: 5 + 10 * between * gated + rng.normal() for name in ("proxy", "total_curvature")
        }
        return numbers | values | dict.fromkeys(names, 5 + 10 * between * gated + x)

    return change


def kin(nonlinear, linear, seed=0):
    """Relations of their own within both kinds of tasks."""
    linear_tasks = {True: related(linear, 1), False: related(nonlinear, 1)}

    def change(task, *rest):
        return linear_tasks[task in LINEAR](task, *rest)

    return made(change, seed, KIN_TASKS, KIN, SEEDS)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("nonlinear", "linear", "expected", "said"), [
    (1.5, 1.5, SUPPORTED, "On linear tasks accuracy goes up with"),
    (1.5, -1.5, PARTLY, "The signs differ"),
    (-1.5, -1.5, NOT_SUPPORTED, "On nonlinear tasks accuracy goes down with"),
    (0.5, 0.5, PARTLY, "On linear tasks accuracy goes up with"),  # far from the paper's r
])  # fmt: skip
def test_c6_is_said_within_each_kind(nonlinear, linear, expected, said):
    found = judged("C6", kin(nonlinear, linear))
    assert found.word == expected
    assert said in found.sentences
    for kind, sign in (("nonlinear", nonlinear), ("linear", linear)):
        assert np.sign(found.evidence.pooled(kind, "proxy").r) == np.sign(sign)


@pytest.mark.parametrize(("intervals", "expected"), [
    ([(0.6, 0.8), (0.1, 0.3), (0.6, 0.8), (0.1, 0.3)], SUPPORTED),
    ([(0.6, 0.8), (0.1, 0.3), (0.6, 0.78), (0.1, 0.3)], PARTLY),  # far from the paper's r
    ([(0.6, 0.8), (0.1, 0.3), (0.6, 0.8), (-0.1, 0.3)], PARTLY),
    ([(-0.1, 0.8), (-0.1, 0.3), (-0.6, 0.8), (0.1, 0.3)], PARTLY),
    ([(-0.1, 0.8), (-0.1, 0.3), (-0.6, 0.8), (-0.1, 0.3)], NOT_SUPPORTED),
    ([(0.6, 0.8), (0.1, 0.3), (0.6, 0.8), (np.nan, np.nan)], NOT_ENOUGH),
])  # fmt: skip
def test_the_ends_of_all_four_intervals_decide_c6(intervals, expected):
    """The proxy's and curvature's on nonlinear tasks, then on linear ones."""
    ends, kinds = iter(intervals), {}
    for kind in ("nonlinear", "linear"):
        pooled = {
            (name, PEARSON): SimpleNamespace(low=low, high=high, seed_count=32, group_count=6)
            for name, (low, high) in zip((PROXY, EXACT), ends, strict=False)
        }
        kinds[kind] = SimpleNamespace(pooled=pooled, failed_share=0.0)
    assert CLAIMS["C6"].decide(RelationsByKind(kinds), THRESHOLDS) == expected


def test_flat_models_are_left_out_and_too_many_failures_decide_nothing():
    rows = made(curved(), variants=KIN, tasks=KIN_TASKS, seeds=SEEDS)
    rows = [replace(row, flat=row.variant == "ungated") for row in rows]
    groups = judged("C6", rows).evidence.pooled("nonlinear", "proxy").groups
    assert {group.variant for group in groups} == {*KIN} - {"ungated"}
    assert judged("C6", lost(kin(1.5, 1.5), "sigmoid", {65}, KIN_TASKS)).word == SUPPORTED
    few = lost(kin(1.5, 1.5), "sigmoid", range(64, 69), KIN_TASKS)
    assert judged("C6", few).word == NOT_ENOUGH


def test_a_relation_between_variants_alone_does_not_support_c6():
    found = judged("C6", made(related(0, 1), 0, KIN_TASKS, KIN, SEEDS))
    assert found.word == NOT_SUPPORTED


@pytest.mark.soak  # long
def test_where_nothing_goes_together_c6_is_not_supported():
    count = 4 * RUNS
    words = [judged("C6", kin(0, 0, 1000 + seed)).word for seed in range(count)]
    assert sum(word != NOT_SUPPORTED for word in words) <= slack(count)


def test_too_few_groups_are_said_and_decide_nothing():
    rows = [row for row in kin(-1.5, -1.5) if row.task != "offset"]
    found = judged("C6", rows)
    assert found.word == NOT_ENOUGH
    assert "too few groups of task and variant: 4 on linear tasks; 6 are needed" in found.sentences
    assert "accuracy goes down" in found.sentences  # on the nonlinear ones
