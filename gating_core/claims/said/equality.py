"""How is claim C5 said? From equivalence and its power."""

from __future__ import annotations

from gating_core.claims.grid import LINEAR
from gating_core.claims.models import PRIMARY, UNGATED
from gating_core.claims.pairs import Equivalences, LinearTask
from gating_core.claims.said.said import Wording
from gating_core.claims.statistics import seeds_for_power
from gating_core.claims.thresholds import NOT_ENOUGH, SUPPORTED, Thresholds
from gating_core.claims.wording import (
    MISSING,
    Table,
    counted,
    interval,
    listed,
    number,
    probability,
    share,
    signed,
    spans,
)


def equal(found: Equivalences, word: str, t: Thresholds) -> Wording:
    done = [(one, one.measured) for one in found.tasks if one.measured is not None]
    parts = []
    for one, of in done:
        low, high = (100 * end for end in of.interval)
        parts.append(
            f"On {one.task} the difference is {signed(100 * of.paired.mean)} points"
            f" ({1 - 2 * t.level:.0%} interval {interval(low, high)}),"
            f" {'within' if of.equivalent else 'not known to be within'} ±{t.margin_points:g}"
            f" point; the power is {share(of.power)}."
        )
    lost = [
        f"{counted(len(one.failed), 'pair')} on {one.task}" for one in found.tasks if one.failed
    ]
    if lost:
        parts.append(f"Failed: {listed(lost)}.")
    absent = [name for name in LINEAR if name not in {one.task for one, _ in done}]
    if absent:
        parts.append(f"There are no pairs on {listed(absent)}.")
    needed = []
    for one, of in done:
        if not of.equivalent and of.power < t.power:
            count = seeds_for_power(of.paired.deviation, t.margin, t.level, t.power)
            told = "more than a thousand" if count is None else f"{count}"
            needed.append(f"{told} seeds on {one.task}")
    if needed:
        change = f"A power of {t.power:.0%} at the observed deviations needs {listed(needed)}."
    elif word == SUPPORTED:
        change = f"A task on which the interval leaves ±{t.margin_points:g} point."
    elif word == NOT_ENOUGH:
        change = f"{t.fewest_seeds} pairs on each of the tasks {listed(LINEAR)}."
    else:
        change = f"Intervals within ±{t.margin_points:g} point on both tasks."
    return Wording(" ".join(parts), _equivalence_table(found), change)


def _equivalence_table(found: Equivalences) -> Table:
    columns = ("task", "difference, points", "pairs", "mean", "90 % interval", "95 % interval",
               "deviation", "worst seed", "p (two one-sided)", "power", "failed seeds")  # fmt: skip
    of_gate = [(PRIMARY, one) for one in found.tasks]
    of_others = [(name, one) for name, some in found.controls.items() for one in some]
    return Table(columns, tuple(_equivalence_row(name, one) for name, one in of_gate + of_others))


def _equivalence_row(name: str, one: LinearTask) -> tuple[str, ...]:
    of, failed = one.measured, spans(one.failed) or MISSING
    name = f"{name} − {UNGATED}"
    if of is None:
        return (one.task, name, "0", *[MISSING] * 7, failed)
    seed, worst = of.paired.worst
    low, high = of.interval
    return (
        one.task, name, str(one.count), signed(100 * of.paired.mean),
        interval(100 * low, 100 * high), interval(100 * of.paired.low, 100 * of.paired.high),
        number(100 * of.paired.deviation), f"{signed(100 * worst)} (seed {seed})",
        probability(of.p), share(of.power), failed,
    )  # fmt: skip
