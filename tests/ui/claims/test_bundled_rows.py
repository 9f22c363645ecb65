"""Are the bundled rows those that this code would compute, and is what is frozen as it was?"""

import hashlib
import json
import re
from dataclasses import asdict, replace
from functools import cache

import numpy as np
import pytest

from gating_core.claims import SELECTIONS, STUDY_VERSION, WORDS
from gating_core.claims.claim import STACKS
from gating_core.claims.measure import unit_rows
from gating_core.claims.study import Unit
from ui.claims.__main__ import BUNDLED
from ui.claims.shared import (
    BESIDE,
    FOLDER,
    FROZEN,
    JUDGED,
    Source,
    judge_rows,
    load_judged,
    read_text,
    rows_of,
)

# One seed is computed alone, and the study's in a batch of 16: sums are rounded in another order,
# and after 400 steps numbers differ by a millionth. Anything else changes them by far more.
ROUNDING = 1e-3
MOST_BYTES = 1_600_000  # rows and verdicts of both criteria
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
ROUNDED_ALONE = {
    "largest_curvature",
    "largest_bound",
    "chart_largest",
    "chart_bound",
    "total_error",
    "centre_bound",
}  # of flat models nothing but rounding, or bounds on that
NOT_NUMBERS = {"key", "together", "seconds"}
# Training is chaotic for stacks without a residual, for three layers with one and for tokens: on a
# processor or in a batch that rounds otherwise, accuracies alone are alike. (Of 1,000 points: .963
# or .962 for the seed that is computed here; .995 or .938 for another.) Single layers agree, and
# two with a residual.
CHAOTIC_PARTS, CHAOTIC_DEPTH, ALIKE = ("depth", "tokens"), 3, 0.05


@cache
def bundled_rows():
    """Rows of models and of stacks."""
    return rows_of(Source())


@cache
def by_key():
    models, stacks = bundled_rows()
    return {row.key: row for row in (*models, *stacks)}


def kinds():
    """One unit of every kind: part, variants, source, depth and n; and the stacks."""
    units = {}
    for unit in [unit for name in BUNDLED for unit in SELECTIONS[name].units()]:
        if unit.part == STACKS:
            units["stacks"] = unit
        elif unit.setting.task == ("xor" if unit.part == "tokens" else "linear"):  # not chaotic
            x = unit.setting
            kind = (unit.part, x.variants, x.source, x.depth, x.value_count)
            units.setdefault(kind, unit)
    return list(units.values())


def is_chaotic(unit):
    """Whether rounding decides where training ends."""
    if unit.part == STACKS:  # measured as they begin, not trained
        return False
    return unit.part in CHAOTIC_PARTS or unit.setting.depth >= CHAOTIC_DEPTH


def test_bundled_rows_are_the_studies_of_both_criteria_and_of_this_version():
    wanted = {
        key for name in BUNDLED for unit in SELECTIONS[name].units() for key in unit.keys.values()
    }
    assert set(by_key()) == wanted
    assert len(by_key()) == sum(map(len, bundled_rows()))
    assert {row.code for row in by_key().values()} == {STUDY_VERSION}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("unit", kinds(), ids=lambda unit: unit.text.split(", seeds")[0])
def test_rows_computed_anew_are_those_that_are_bundled(unit):
    """Where this fails, numbers have changed: raise `STUDY_VERSION` and make the rows again."""
    if unit.part == STACKS:
        smaller = Unit(STACKS, replace(unit.setting, seed_count=2))
    else:
        smaller = Unit(unit.part, replace(unit.setting, seed_count=1))
    for row in unit_rows(smaller):
        member = (row.seed, row.depth) if unit.part == STACKS else (row.variant, row.seed)
        bundled, now = asdict(by_key()[unit.keys[member]]), asdict(row)
        if is_chaotic(unit):
            assert abs(now["test_accuracy"] - bundled["test_accuracy"]) < ALIKE
            continue
        for name in set(bundled) - NOT_NUMBERS - ROUNDED_ALONE:
            before = bundled[name]
            number = isinstance(before, float)
            assert now[name] == (pytest.approx(before, ROUNDING, 1e-6) if number else before), name


def test_bundled_verdicts_are_those_of_the_bundled_rows():
    """To nine digits: a processor may round the last ones of what is drawn otherwise."""
    bundled, now = read_text(JUDGED), json.dumps(asdict(judge_rows(Source())))
    assert NUMBER.sub("#", bundled) == NUMBER.sub("#", now)
    numbers, numbers_now = ([*map(float, NUMBER.findall(x))] for x in (bundled, now))
    assert len(numbers) > 1000
    np.testing.assert_allclose(numbers_now, numbers, rtol=1e-9, atol=1e-12)
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES


def test_what_was_found_beside_the_claims_is_that_of_its_files():
    """The code that made both is no more here: they are data, with the commit that has it."""
    beside = json.loads(read_text(BESIDE))
    assert re.fullmatch("[0-9a-f]{40}", beside["code"])
    assert {claim: len(of) for claim, of in beside["captions"].items()} == dict.fromkeys(
        ("C1", "C2", "C3", "C4"), 1
    )
    assert {"proofs.csv", "refined.csv", "signs.csv", "further.csv.xz"} < {*beside["files"]}
    for name, digest in beside["files"].items():
        assert hashlib.sha256((FOLDER / name).read_bytes()).hexdigest() == digest, name


def test_verdicts_by_criteria_v1_are_of_bundled_models_of_their_seeds():
    for one in load_judged(FROZEN).values():
        assert (one.criteria, one.seeds) == ("v1", [*range(32)])
        assert one.word in WORDS
        drawn = {
            key
            for chart in one.charts
            for trace in json.loads(chart["text"])["data"]
            for key in trace.get("customdata") or ()
        }
        assert drawn
        assert all(by_key()[key].seed in one.seeds for key in drawn)
