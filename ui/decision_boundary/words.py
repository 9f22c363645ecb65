"""Sentences about runs and one's own points, written from the numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from gating_core.experiments.comparison import CurvatureSummary, TrainedRun
from gating_core.geometry import CURVED, FLAT, UNKNOWN, Integral, Verdict
from gating_core.tasks import OwnData, quote, train_counts
from gating_core.training import mean_interval
from ui.common import words as common
from ui.decision_boundary.names import TITLES

FEW_SEEDS = 6
HALFWAY = 0.5  # from the base rate to 100 %: below it nothing much is learned
COARSE_BELOW = 20  # test points: one more or less right shows in the accuracy


def verdict(run: TrainedRun, frame: int = -1, learned: bool = True) -> str:
    """Return what the paired difference of test accuracies shows after a step.

    Without a judgement where neither has ``learned`` much.
    """
    left, right = run.setting.compared
    before, after = (run.variants[n].ensemble.test_accuracy[frame] for n in (left, right))
    gap, count = mean_interval(after - before), len(before)
    if learned:
        return common.difference_text(gap, count, TITLES[right], TITLES[left])
    return f"The mean difference over {count} seeds is {common.points_text(gap)} points."


def has_learned(accuracy: np.ndarray, base: np.ndarray) -> bool:
    """Whether seeds of test ``accuracy`` (S,) may have come halfway from the ``base`` rate (S,).

    Not where even the upper end of the mean's 95 % interval stays below halfway from the base rate,
    which is that of always guessing the largest class, to 100 %.
    """
    interval, nothing = mean_interval(accuracy), float(base.mean())
    return interval.mean + interval.half_width >= nothing + HALFWAY * (1 - nothing)


def about(run: TrainedRun, name: str) -> dict[str, object]:
    """Return what a file of weights says of the run that they come from."""
    setting = run.setting
    return {field.name: getattr(setting, field.name) for field in fields(setting)} | {
        "variant": name, "task": run.task.name, "own": setting.own is not None,
        "steps": int(run.steps[-1]),
    }  # fmt: skip


def base_shares(run: TrainedRun) -> np.ndarray:
    """(S,): the share of each seed's test points in their largest class."""
    labels = run.task.test_labels
    counts = [np.bincount(own, minlength=run.task.class_count) for own in labels]
    return np.max(counts, axis=1) / labels.shape[1]


def guess_text(run: TrainedRun) -> str:
    """Return the base rate, and how one reaches it."""
    class_ = "larger" if run.task.class_count == 2 else "largest"
    return f"always guessing the {class_} class gets {common.percent(base_shares(run).mean())}"


def table_note(run: TrainedRun) -> str:
    """Return what the table's numbers are of, and which variants may do no better than guessing."""
    count, guess = len(run.task.seeds), guess_text(run)
    parts = [
        f"After step {run.steps[-1]}. Mean of {count} seeds ± 95 % interval of the mean (Student"
        " t)."
    ]
    if count < FEW_SEEDS:
        parts.append("With so few seeds, intervals are wide.")
    parts.append(f"{guess[0].upper()}{guess[1:]}.")
    base = base_shares(run)
    gains = {name: mean_interval(_finals(run, name) - base) for name in run.variants}
    idle = [TITLES[name] for name, gain in gains.items() if gain.mean <= gain.half_width]
    if idle:
        parts.append(f"Not known to be better than that: {', '.join(idle)}.")
    if run.setting.own is not None:
        parts.append(
            "Seeds differ in their initial weights and in which of your points they train on. The"
            " interval does not say what other points would have done."
        )
    return " ".join(parts)


def _finals(run: TrainedRun, name: str) -> np.ndarray:
    return run.variants[name].ensemble.test_accuracy[-1]


def table(run: TrainedRun) -> dict[str, list[str]]:
    """Return accuracy, difference to the left variant, parameters and time of every variant."""
    left = run.setting.compared[0]
    decimals = decimals_of(run, run.variants)
    rows = []
    for name, variant in run.variants.items():
        finals, ensemble = _finals(run, name), variant.ensemble
        together = " (together)" if len(variant.together) > 1 else ""
        gap = common.points_text(mean_interval(finals - _finals(run, left)))
        rows.append({
            "Variant": TITLES[name],
            "Accuracy on new points": mean_text(finals, decimals),
            f"Against {TITLES[left]}, paired": "–" if name == left else f"{gap} points",
            "Worst seed": f"{100 * finals.min():.0f} %",
            "D": str(ensemble.config.model_dim),
            "Parameters": str(ensemble.parameter_count),
            "Training time, all seeds": f"{variant.seconds:.2f} s{together}",
        })  # fmt: skip
    return {title: [row[title] for row in rows] for title in rows[0]}


def table_text(columns: dict[str, list[str]]) -> str:
    """Return a table in Markdown."""
    rows = [columns, ["---"] * len(columns), *zip(*columns.values(), strict=True)]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def mean_text(shares: np.ndarray, decimals: int = 1) -> str:
    """Return the mean accuracy of all seeds in percent, with its 95 % interval.

    An interval that would reach beyond what an accuracy can be ends there.
    """
    interval = mean_interval(shares)
    if not interval.half_width <= interval.mean <= 1 - interval.half_width:
        return common.accuracy_text(interval)
    step = 10.0**-decimals
    width = step * math.ceil(100 * interval.half_width / step - 1e-9)  # rounded up
    return f"{100 * interval.mean:.{decimals}f} ± {width:.{decimals}f}\u00a0%"


def decimals_of(run: TrainedRun, names: Iterable[str], frame: int = -1) -> int:
    """Return how many decimals mean accuracies in percent need beside their differences.

    Differences have one. Accuracies have as many, or one more where the rounded numbers would not
    subtract to the rounded difference.
    """
    first, *others = (float(run.variants[n].ensemble.test_accuracy[frame].mean()) for n in names)
    agree = all(
        round(1000 * mean) - round(1000 * first) == round(1000 * (mean - first)) for mean in others
    )
    return 1 if agree else 2


def caption_total(total: Integral, verdict: Verdict, refined: bool = False) -> str:
    """Return a surface's total curvature with its doubt, for the line over its picture.

    A ``refined`` total is final: where it is doubtful still, the line says so.
    """
    if verdict.word == FLAT:
        return f"total curvature **0**: {common.flat_text(verdict)}"
    text = (
        common.settled_total_text(total, flat=False)
        if refined
        else common.total_text(total, flat=False)
    )
    if text == UNKNOWN:
        return f"total curvature: {text}, the sheet folds too sharply"
    return f"total curvature **{text}**"


def ends_text(ends: dict[str, CurvatureSummary | None]) -> str:
    """Return how sure the totals after the last step are, by variant; only of those measured."""
    return " ".join(
        f"At the last step, {TITLES[name]}: {final_doubt(summary)}."
        for name, summary in ends.items()
        if summary is not None
    )


def final_doubt(summary: CurvatureSummary) -> str:
    """Return how sure a total is, and on how much of the area."""
    verdict = summary.verdicts[-1]
    text = common.doubt_text(summary.total, verdict)
    return f"{common.verdict_text(verdict)}; {text}" if verdict.word == CURVED else text


def scaling_text(own: OwnData) -> str:
    """Return what was done to the coordinates of somebody's own points."""
    if (own.half_widths == 1).all() and not own.centre.any():
        return "The points stand where they were given."
    x, y = (
        f"({name} − {c:.6g}) / {by:.6g}"
        for name, c, by in zip("xy", own.centre, own.half_widths, strict=True)
    )
    how = (
        "by the same factor in both directions"
        if own.half_widths[0] == own.half_widths[1]
        else "each direction by itself, as one is more than ten times as wide as the other"
    )
    return f"Scaled to the square, {how}: {x} and {y}.".replace("− -", "+ ")


def split_text(own: OwnData, train_share: float) -> str:
    """Return how somebody's own points are split, and what that means where they are few."""
    total, train = len(own.labels), sum(train_counts(own, train_share))
    test = total - train
    parts = [
        f"Each seed draws {train} of the {total} points for training. It is tested on the other"
        f" {test}."
    ]
    if test < COARSE_BELOW:
        parts.append(
            f"These are few: one more right point moves a test accuracy by {100 / test:.0f} points."
        )
    single = [own.names[label] for label, size in Counter(own.labels.tolist()).items() if size == 1]
    if single:
        names = ", ".join(map(quote, sorted(single)))
        parts.append(
            f"The classes {names} have one point each. It is used for training, never for testing."
        )
    return " ".join(parts)
