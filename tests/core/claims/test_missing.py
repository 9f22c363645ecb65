"""Verdicts name what is missing: pairs, models, groups, totals that are not known."""

from dataclasses import replace

import pytest

from gating_core.claims import WORDS, verdicts
from gating_core.claims.measures import SETTINGS, TASKS
from gating_core.claims.models import RefinedTotal
from gating_core.claims.pairs import Pairs, missing_text
from tests.core.claims.made_rows import FLAT, SEEDS, failed, made, stacks
from tests.core.claims.test_rules import EVEN, GOOD, lost
from tests.core.claims.test_rules import judged as of_any_seeds
from tests.core.claims.test_v2 import curved, gaining, judged, kin, study

SUPPORTED, PARTLY, NOT_SUPPORTED, NOT_ENOUGH = WORDS
LOWER = dict(total_complete=False, resolved_share=0.9)


def unresolved(rows, chosen):
    """The same rows, where tangent planes of some ungated models are unresolved."""
    return [
        replace(row, **LOWER) if row.variant == "ungated" and chosen(row) else row for row in rows
    ]


# --- C3 -----------------------------------------------------------------------------------------

AHEAD = study(curved(total_curvature=40.0))  # by curvature in all of 24, by the proxies in none


def in_cells(count):
    """Whether a row is one of the first eight seeds in the first so many settings and tasks."""
    cells = [
        (at.value_count, at.source, at.depth, at.residual, task)
        for at in SETTINGS
        for task in TASKS
    ][:count]

    def chosen(row):
        residual = row.part == "residual"
        return row.seed < 72 and (row.values, row.source, row.depth, residual, row.task) in cells

    return chosen


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("count", "worst", "said", "word"), [
    (5, 19, "in 19 of 24 by total curvature; 12 are needed for a measure to hold: that would not"
     " change", PARTLY),
    (12, 12, "in 12 of 24 by total curvature, exactly as many as a measure needs to hold: that"
     " would not change", PARTLY),
    (13, 11, "in 11 of 24 by total curvature; 12 are needed for a measure to hold: the verdict"
     " would be “not supported here” instead of “partly”", NOT_ENOUGH),
])  # fmt: skip
def test_c3_counts_missing_pairs_and_what_holds_in_their_worst_case(count, worst, said, word):
    found = judged("C3", unresolved(AHEAD, in_cells(count)))
    assert found.word == word
    missing = f"{8 * count} of 384 pairs are missing on {count} of 24 settings and tasks"
    reason = f"in {8 * count} the ungated total leaves out unresolved points"
    assert f"{missing}: {reason}." in found.sentences
    assert f"In the worst case of missing pairs and errors they are ahead {said}" in found.sentences
    assert found.summary.startswith(f"ahead in 24 (at worst {worst}), 0 and 0 of 24")


def test_c3_says_that_nothing_is_missing_by_saying_nothing():
    found = judged("C3", AHEAD)
    assert "missing on" not in found.sentences
    assert "Not tested" not in found.sentences
    assert "ahead in 24 of 24 by total curvature" in found.sentences


def test_errors_above_their_totals_count_in_the_worst_case_alone():
    rows = [
        replace(row, total_error=1e9) if row.variant == "ungated" and in_cells(13)(row) else row
        for row in AHEAD
    ]
    found = judged("C3", rows)
    assert not any(row.total_complete for row in rows if row.total_error > 1)
    assert found.summary.startswith("ahead in 24 (at worst 11)")
    assert "missing on" not in found.sentences


def test_c3_says_of_what_models_failed_and_of_what_is_not_tested():
    rows = [
        failed(row) if row.seed < 75 and row.task == "xor" and row.values == 4 else row
        for row in unresolved(AHEAD, in_cells(2))
    ]
    sentences = judged("C3", rows).sentences
    reasons = "in 8 the ungated total leaves out unresolved points and in 11 a model failed"
    assert f"19 of 384 pairs are missing on 2 of 24 settings and tasks: {reasons}." in sentences
    assert "Not tested, because fewer than 8 pairs are left: xor (n = 4)." in sentences


def test_totals_in_closed_form_are_told_beside_and_decide_nothing():
    rows = unresolved(AHEAD, in_cells(13))
    missing = [row for row in rows if row.lower_estimate]
    totals = [RefinedTotal(row.key, True, row.total_curvature, 1e-3) for row in missing[:-2]]
    totals.append(RefinedTotal(missing[-2].key, False))
    found = verdicts(rows, [], refined=totals)["C3"]
    assert found.word == NOT_ENOUGH == judged("C3", rows).word
    assert (
        f"With {len(missing) - 2} of the missing totals and 0 of large error computed in closed"
        " form, which decides nothing here, they are ahead in 24, in the worst case in"
    ) in found.sentences
    assert "closed form" not in judged("C3", rows).sentences
    assert "total curvature ∫|K| dA, some in closed form" in {row[0] for row in found.table.rows}


# --- The other claims -----------------------------------------------------------------------------


def test_c1_and_c2_account_for_every_model():
    rows = [
        replace(row, chart_bound=1.0) if (row.variant, row.seed) == ("ungated", 3) else row
        for row in lost(GOOD, "matched", (0, 1))
    ]
    assert "Of the others inconclusive: 5 and failed: 10." in of_any_seeds("C1", rows).sentences
    rows = [
        replace(row, **FLAT)
        if (row.variant, row.seed) == ("sigmoid", 2)
        else replace(row, chart_flat=None)
        if (row.variant, row.seed) == ("sigmoid", 4)
        else row
        for row in GOOD
    ]
    found = of_any_seeds("C2", rows).sentences
    assert "Of the others flat within the bound: 5 and without such a chart: 5." in found
    assert (
        "Of the others"
        not in of_any_seeds("C2", GOOD).sentences + of_any_seeds("C1", GOOD).sentences
    )


def test_c4_names_pairs_and_tasks():
    rows = lost(lost(EVEN, "sigmoid", range(3), ("xor",)), "ungated", range(9), ("spiral",))
    sentences = of_any_seeds("C4", rows).sentences
    said = f"12 of {3 * len(SEEDS)} pairs are missing on 2 of 3 tasks: in 12 a model failed."
    assert said in sentences
    assert "Not tested, because fewer than 8 pairs are left: spiral." in sentences
    assert "missing on" not in of_any_seeds("C4", EVEN).sentences


def test_c4_names_tasks_without_the_additive_control():
    rows = [row for row in gaining(0.2, 0.15) if (row.task, row.variant) != ("xor", "additive")]
    said = "Not compared with adding, because fewer than 8 seeds have all three models: xor."
    assert said in judged("C4", rows).sentences
    assert "Not compared" not in judged("C4", gaining(0.2, 0.15)).sentences


def test_c5_says_what_failed_pairs_would_make_of_the_verdict():
    rows = lost(made(lambda *about: {"test_accuracy": 0.9}), "sigmoid", range(8))
    said = "Failed: 8 pairs on linear and 8 pairs on offset; the verdict in the worst case: “not"
    assert said in of_any_seeds("C5", rows).sentences
    few = lost(made(lambda *about: {"test_accuracy": 0.9}), "sigmoid", (0,), ("linear",))
    assert "the verdict in the worst case: “" in of_any_seeds("C5", few).sentences


def tied(rows, tasks):
    """The same rows, where all accuracies of sigmoid-gated models are equal but one."""
    return [
        replace(row, test_accuracy=1.0)
        if (row.variant, row.task in tasks) == ("sigmoid", True) and row.seed % 16
        else row
        for row in rows
    ]


def test_c6_names_groups_without_a_jackknife_error_and_r_with_them():
    """31 of 32 accuracies are equal there: without the other nothing varies."""
    rows = tied(kin(1.5, 1.5), ("xor", "circle"))
    found = judged("C6", rows)
    exact = found.evidence.pooled("nonlinear", "total_curvature")
    proxy = found.evidence.pooled("nonlinear", "proxy")
    assert len(exact.groups) - exact.group_count == 2
    assert (
        "2 of 12 groups are excluded (xor, sigmoid; circle, sigmoid), because nothing varies there"
        " without one of the seeds, so that there is no jackknife error. With them r would be"
        f" {exact.with_excluded:.2f} for ∫|K| dA and {proxy.with_excluded:.2f} for the proxy."
    ) in found.sentences
    assert exact.with_excluded != pytest.approx(exact.r, abs=1e-3)
    assert "excluded" not in judged("C6", kin(1.5, 1.5)).sentences
    one = judged("C6", tied(kin(1.5, 1.5), ("xor",))).sentences
    assert "1 of 12 groups is excluded (xor, sigmoid)" in one


def test_c6_counts_totals_that_are_not_complete():
    rows = [
        replace(row, **LOWER) if row.variant == "sigmoid" and row.seed < 70 else row
        for row in kin(1.5, 1.5)
    ]
    sentences = judged("C6", rows).sentences
    known = judged("C6", [row for row in rows if row.total_complete])
    r = known.evidence.pooled("nonlinear", "total_curvature").r
    assert "18 of 192 totals are not complete, but count; without" in sentences
    assert f"these models r for ∫|K| dA is {r:.2f}" in sentences
    assert "not complete" not in judged("C6", kin(1.5, 1.5)).sentences


def test_c7_names_values_that_are_not_fitted():
    rows = [
        replace(row, centre_bound=1.0) if row.seed == 3 and row.depth > 8 else row
        for row in stacks()
    ]
    lost_values = sum(row.small for row in stacks() if row.seed == 3 and row.depth > 8)
    said = f"{lost_values} values of |K(0)| in the regime are not fitted, because of errors above"
    assert said in of_any_seeds("C7", [], rows).sentences
    assert "not fitted" not in of_any_seeds("C7", [], stacks()).sentences


def test_nothing_is_missing_without_pairs():
    assert missing_text([], 8) == ""
    pairs = Pairs(SETTINGS[0], "xor", "sigmoid", "ungated", {}, (), ())
    assert "Not tested" in missing_text([pairs], 8)
