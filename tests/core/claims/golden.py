"""Golden texts of studies: words, sentences, what is missing, tables. A change is read as a diff.

python -m tests.core.claims.golden   # writes the files again
"""

from dataclasses import replace
from pathlib import Path

import numpy as np

from gating_core.claims import CLAIMS, sorted_out, verdict
from gating_core.claims.claim import NONLINEAR
from tests.core.claims.made_rows import (
    EVEN,
    FLAT,
    GOOD,
    LOWER,
    SEEDS,
    curved,
    failed,
    gaining,
    in_cells,
    kin,
    lost,
    made,
    stacks,
    study,
    tied,
    unresolved,
)

MADE, BUNDLED = (Path(__file__).with_name(f"golden_{name}.txt") for name in ("made", "bundled"))
AHEAD = study(curved(total_curvature=40.0))  # by curvature in all of 24, by the proxies in none
LINEAR_GATES = {"ungated": 0.8, "sigmoid": 0.77}


def worse(task, variant, seed, rng):
    return {"test_accuracy": LINEAR_GATES.get(variant, 0.8) + 0.01 * rng.normal()}


def equal(*_):
    return {"test_accuracy": 0.9}


def varied(rows, **numbers):
    """The same rows, where one ungated model on each task is otherwise."""
    return [
        replace(row, **numbers) if (row.variant, row.seed) == ("ungated", 3) else row
        for row in rows
    ]


def studies():
    """Of each: the claim that is judged, the rows, the stacks; by what there is to be said."""
    gained, related = gaining(0.2, 0.15), kin(1.5, 1.5)
    two = [
        row if row.task in NONLINEAR[:2] or row.variant != "additive" else equal_to(row, 0.7)
        for row in gained
    ]
    wide = [
        replace(row, total_error=1e9) if row.variant == "ungated" and in_cells(13)(row) else row
        for row in AHEAD
    ]
    gone = [
        failed(row) if row.seed < 75 and row.task == "xor" and row.values == 4 else row
        for row in unresolved(AHEAD, in_cells(2))
    ]
    unknown = [
        replace(row, **FLAT) if (row.variant, row.seed) == ("sigmoid", 2)
        else replace(row, chart_flat=None) if (row.variant, row.seed) == ("sigmoid", 4) else row
        for row in GOOD
    ]  # fmt: skip
    incomplete = [
        replace(row, **LOWER) if row.variant == "sigmoid" and row.seed < 70 else row
        for row in related
    ]
    both = study(curved(**dict.fromkeys(("total_curvature", "proxy", "normalised_proxy"), 12.0)))
    base = [replace(row, seed=row.seed + 64) for row in made(tasks=("xor", "linear"))]
    yield from ((f"{claim}, nothing", claim, [], []) for claim in CLAIMS)
    yield "C1 and all that can be said of models", "C1", varied(
        lost(GOOD, "matched", (0, 1)), chart_bound=1.0
    ), []  # fmt: skip
    yield "C1, one is curved", "C1", varied(GOOD, chart_flat=False), []
    yield "C2 and all that can be said of models", "C2", unknown, []
    yield "C3 by all measures, and the control beside", "C3", [*both, *base], []
    yield "C3 by none", "C3", study(curved(total_curvature=-12.0)), []
    yield "C3 by one, behind by another", "C3", study(
        curved(total_curvature=12.0, normalised_proxy=-12.0)
    ), []  # fmt: skip
    for count in (5, 12, 13):
        rows = unresolved(AHEAD, in_cells(count))
        yield f"C3, totals missing in {count} settings and tasks", "C3", rows, []
    yield "C3, errors above their totals", "C3", wide, []
    yield "C3, models failed", "C3", gone, []
    yield "C4, adding reaches most everywhere", "C4", gained, []
    yield "C4, adding reaches most on two", "C4", two, []
    yield "C4, adding reaches less", "C4", gaining(0.2, 0.09), []
    yield "C4, adding is compared on three", "C4", [
        row for row in gained if (row.task, row.variant) != ("xor", "additive")
    ], []  # fmt: skip
    yield "C4 without a control", "C4", [x for x in gained if x.variant != "additive"], []
    yield "C4, models failed", "C4", lost(
        lost(EVEN, "sigmoid", range(3), ("xor",)), "ungated", range(9), ("spiral",)
    ), []  # fmt: skip
    yield "C4, seeds are not done", "C4", [
        row for row in EVEN if (row.task, row.variant) != ("circle", "sigmoid") or row.seed < 11
    ], []  # fmt: skip
    yield "C5, equal", "C5", EVEN, []
    yield "C5, significantly worse on both", "C5", made(worse), []
    yield "C5, better on one and one is missing", "C5", [
        equal_to(row, 0.83 + 0.001 * np.sin(row.seed)) if row.variant == "sigmoid" else row
        for row in EVEN
        if row.task == "linear"
    ], []  # fmt: skip
    yield "C5, half of the pairs failed", "C5", lost(made(equal), "sigmoid", range(8)), []
    yield "C5, all pairs failed", "C5", lost(made(equal), "sigmoid", SEEDS), []
    yield "C6, up on both kinds", "C6", related, []
    yield "C6, signs differ", "C6", kin(1.5, -1.5), []
    yield "C6, groups without a jackknife error", "C6", tied(related, ("xor", "circle")), []
    yield "C6, totals are not complete", "C6", incomplete, []
    yield "C6, too few groups", "C6", [x for x in related if x.task != "offset"], []
    yield "C7 as built", "C7", [], stacks()
    yield "C7, another exponent", "C7", [], stacks(slope=3.0)
    yield "C7, errors are large", "C7", [], [
        replace(row, centre_bound=1.0) if row.seed == 3 and row.depth > 8 else row
        for row in stacks()
    ]  # fmt: skip
    yield "C7, too few depths", "C7", [], [replace(row, small=row.depth < 3) for row in stacks()]


def equal_to(row, accuracy):
    return replace(row, test_accuracy=accuracy)


def told(name, word, summary, sentences, gaps, table):
    """All that is said, as text; of a table its rows."""
    lines = [f"## {name}", f"{word}: {summary}", *sentences.replace(". ", ".\n").splitlines()]
    lines += [f"- {gap}" for gap in gaps]
    lines += [" | ".join(x for x in cells if x) for cells in [*table[:1], *map(dict.values, table)]]
    return "\n".join(lines) + "\n"


def made_text():
    """Return the words of made studies; their rows are of any seeds."""
    texts = []
    for name, claim, rows, depths in studies():
        x = verdict(CLAIMS[claim], sorted_out(rows, depths))
        table = x.table if len(x.table) < 30 else x.table[:3]
        texts.append(told(name, x.word, x.summary, x.sentences, x.gaps, table))
    return "\n".join(texts)


def bundled_text(claims):
    """Return the words of the bundled rows: a `ui.claims.shared.Judgement` of every claim."""
    return "\n".join(
        told(name, x.word, x.evidence, x.sentences, x.gaps, x.table) for name, x in claims.items()
    )


if __name__ == "__main__":
    from ui.claims.shared import JUDGED, load_judged

    MADE.write_text(made_text(), encoding="utf-8")
    BUNDLED.write_text(bundled_text(load_judged(JUDGED)), encoding="utf-8")
