"""How are claims C3 and C4 said? From paired differences, task by task."""

from __future__ import annotations

from gating_core.claims.models import PRIMARY
from gating_core.claims.pairs import Comparison, Differences
from gating_core.claims.said.said import Wording
from gating_core.claims.thresholds import SUPPORTED, Thresholds
from gating_core.claims.wording import (
    MISSING,
    Table,
    counted,
    interval,
    listed,
    probability,
    signed,
    spans,
)


def more_curvature(found: Differences, word: str, t: Thresholds) -> Wording:
    return _differences(found, word, t, "", 1.0, "more curved")


def better(found: Differences, word: str, t: Thresholds) -> Wording:
    wording = _differences(found, word, t, " points", 100.0, "better")
    said = [
        f"{sum(one.ahead(t.level) for one in of)} of {len(of)} against “{name}”"
        for name, of in found.controls.items()
        if of
    ]
    text = wording.sentences
    if said:
        text += f" Against the controls the gate is significantly ahead on {', '.join(said)}: what"
        text += " a control reaches as well is not peculiar to gating."
    return Wording(text, wording.table, wording.changes)


def _differences(
    found: Differences, word: str, t: Thresholds, unit: str, factor: float, adjective: str
) -> Wording:
    tasks = found.deciding
    tested = [one for one in tasks if one.count >= t.fewest_seeds and one.measured is not None]
    ahead = [one for one in tested if one.ahead(t.level)]
    behind = [one for one in tested if one.behind(t.level)]
    if not tested:
        said = f"No task has {t.fewest_seeds} pairs of a {PRIMARY}-gated and an ungated model."
    else:
        said = f"Gated models are significantly {adjective} on {len(ahead)} of"
        said += f" {counted(len(tested), 'task')}"
        said += f", and the opposite on {len(behind)}." if behind else "."
        ordered = sorted(tested, key=lambda one: one.measured.mean if one.measured else 0.0)
        ends = [_with_interval(one, unit, factor) for one in (ordered[0], ordered[-1])]
        span = f"goes from {ends[0]} to {ends[1]}" if len(tested) > 1 else f"is {ends[0]}"
        said += f" The mean difference {span}."
    lost = [one.task for one in tasks if one.ahead(t.level) and not
            one.ahead_in_the_worst_case(t.level)]  # fmt: skip
    if lost:
        said += f" In the worst case of failures and errors {listed(lost)} would not hold."
    missing = [one.task for one in tasks if not one.ahead(t.level)]
    if missing:
        change = f"The gate would have to be significantly ahead on {listed(missing)} as well."
    elif word != SUPPORTED:
        change = f"Pairs on {t.fewest_tasks} tasks, {t.fewest_seeds} on each, without a failure and"
        change += " with small errors."
    elif tasks:
        least = max(ahead, key=lambda one: one.p)
        change = f"One task without a certain difference; the nearest to it is {least.task}."
    else:
        change = "Trained pairs."
    return Wording(said, _difference_table(found, factor), change)


def _with_interval(one: Comparison, unit: str, factor: float) -> str:
    of = one.measured
    assert of is not None
    ends = interval(factor * of.low, factor * of.high)
    return f"{signed(factor * of.mean)}{unit} {ends} ({one.task})"


def _difference_table(found: Differences, factor: float) -> Table:
    columns = ("setting", "task", "difference", "pairs", "mean", "95 % interval", "worst seed",
               "p (Holm)", "p in the worst case", "failed seeds")  # fmt: skip
    families = [*found.families.values(), *found.controls.values(), found.varied]
    rows = []
    for one in [one for family in families for one in family]:
        of = one.measured
        name = f"{one.variant} − {one.against}"
        failed = spans(one.failed) or MISSING
        if of is None:
            rows.append((one.place.text, one.task, name, "0", *[MISSING] * 5, failed))
            continue
        seed, worst = of.worst
        rows.append((
            one.place.text, one.task, name, str(of.count), signed(factor * of.mean),
            interval(factor * of.low, factor * of.high), f"{signed(factor * worst)} (seed {seed})",
            probability(one.p), probability(one.worst_case_p), failed,
        ))  # fmt: skip
    return Table(columns, tuple(rows))
