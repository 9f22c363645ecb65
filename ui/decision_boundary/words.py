"""Sentences about runs, written from the numbers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import fields

import numpy as np

from gating_core.experiments.comparison import FRAME_GRID, CurvatureSummary, TrainedRun
from gating_core.geometry import CURVED, FLAT, UNKNOWN, Integral, Verdict
from gating_core.tasks import OwnData, quote, train_counts
from gating_core.training import mean_interval
from ui.common.words import (
    accuracy_text,
    difference_text,
    doubt_text,
    percent,
    points_text,
    total_text,
    verdict_text,
)
from ui.decision_boundary.names import TITLES

FEW_SEEDS = 6
HALFWAY = 0.5  # from the base rate to 100 %: who surely stays below has learned nothing much
LEARNED_HELP = (
    "Whoever always guesses the largest class is right at the base rate. “Neither has learned much”"
    " stands where even the upper ends of both accuracies' 95 % intervals stay below halfway from"
    " there to 100 %. Differences are paired: each seed's own, right less left, and their mean."
)
COARSE_BELOW = 20  # test points: one more or less right shows in the accuracy
CURVES = (
    "grey left, magenta right · thick: the shown seed; band: 10 to 90 % of the seeds · total"
    f" curvature: on {FRAME_GRID} × {FRAME_GRID} points, of the shown seed's last step refined;"
    " bars: its estimated error; rings: a lower estimate, some points are unresolved"
)
TOTAL_HELP = (
    "Total curvature is ∫|K| dA of the shown seed's surface, free of units. At the last step it is"
    " refined where the surface turns, with rigorous bounds on rounding; those before it are"
    " estimates, as good as the grid."
)
NOT_YET = "total curvature is being measured …"
NOT_MEASURED = "total curvature: not measured"


def verdict(run: TrainedRun, frame: int = -1) -> str:
    """What the paired difference of test accuracies says, after the last step unless said."""
    left, right = run.setting.compared
    gaps = _gaps(run, frame)
    count = len(gaps)
    if count < 2:
        return "One seed cannot show a difference."
    return difference_text(mean_interval(gaps), count, TITLES[right], TITLES[left])


def plain_verdict(run: TrainedRun, frame: int = -1) -> str:
    """The same difference without a word for it, where neither side has learned anything much."""
    gaps = _gaps(run, frame)
    if len(gaps) < 2:
        return "One seed cannot show a difference."
    return (
        f"Their difference, the mean of the {len(gaps)} seeds' own:"
        f" {points_text(mean_interval(gaps))} points."
    )


def _gaps(run: TrainedRun, frame: int) -> np.ndarray:
    """(S,): right-hand less left-hand test accuracy of each seed."""
    left, right = (run.variants[n].ensemble.test_accuracy[frame] for n in run.setting.compared)
    return right - left


def has_learned(accuracy: np.ndarray, base: np.ndarray) -> bool:
    """Whether seeds of test ``accuracy`` (S,) may be half as good as can be, all in all.

    They have learned nothing much where even the upper end of the mean's 95 % interval stays below
    halfway from the ``base`` rate (S,), that of always guessing the largest class, to 100 %.
    """
    end = float(accuracy.mean())
    if len(accuracy) > 1:
        found = mean_interval(accuracy)
        end = found.mean + found.half_width
    nothing = float(base.mean())
    return end >= nothing + HALFWAY * (1 - nothing)


def about(run: TrainedRun, name: str) -> dict[str, object]:
    """What a file of weights says of the run that they come from."""
    setting = run.setting
    return {field.name: getattr(setting, field.name) for field in fields(setting)} | {
        "variant": name, "task": run.task.name, "own": setting.own is not None,
        "steps": int(run.steps[-1]),
    }  # fmt: skip


def table_note(run: TrainedRun) -> str:
    """What the table's numbers are of."""
    parts = [
        f"After step {run.steps[-1]}. Mean of {len(run.task.seeds)} seeds ± 95 % interval of the"
        " mean (Student t)."
    ]
    if len(run.task.seeds) < FEW_SEEDS:
        parts.append("Of so few seeds intervals are wide.")
    parts.append(_idle_text(run))
    if run.setting.own is not None:
        parts.append(
            "Seeds differ in their start and in which of your points they train on: the interval"
            " does not say what other points would have done."
        )
    return " ".join(parts)


def base_shares(run: TrainedRun) -> np.ndarray:
    """(S,): how often someone is right on each seed's test points who has learned nothing."""
    labels = run.task.test_labels
    counts = [np.bincount(own, minlength=run.task.class_count) for own in labels]
    return np.max(counts, axis=1) / labels.shape[1]


def guess_text(run: TrainedRun) -> str:
    """The mean of that, and how one does it."""
    class_ = "larger" if run.task.class_count == 2 else "largest"
    return f"always guessing the {class_} class gets {percent(base_shares(run).mean())}"


def _idle_text(run: TrainedRun) -> str:
    """How often someone is right who has learned nothing, and who does no better."""
    text = guess_text(run)
    text, base = f"{text[0].upper()}{text[1:]}.", base_shares(run)
    gains = {name: _finals(run, name) - base for name in run.variants}
    idle = [TITLES[name] for name, gain in gains.items() if not _is_above(gain)]
    return f"{text} No better than that: {', '.join(idle)}." if idle else text


def _is_above(gains: np.ndarray) -> bool:
    """Whether the gain over nothing is beyond its interval over seeds."""
    if len(gains) < 2:
        return bool(gains[0] > 0)
    found = mean_interval(gains)
    return found.mean > found.half_width


def _finals(run: TrainedRun, name: str) -> np.ndarray:
    return run.variants[name].ensemble.test_accuracy[-1]


def table(run: TrainedRun) -> dict[str, list[str]]:
    """Accuracy, difference to the left-hand variant, parameters and time of every variant."""
    left = run.setting.compared[0]
    against = f"Against {TITLES[left]}, paired"
    rows: dict[str, list[str]] = {
        "Variant": [], "Accuracy on new points": [], against: [], "Worst seed": [], "D": [],
        "Parameters": [], "Training time, all seeds": [],
    }  # fmt: skip
    decimals = decimals_of(run, run.variants)
    for name, variant in run.variants.items():
        finals = 100 * _finals(run, name)
        rows["Variant"].append(TITLES[name])
        rows["Accuracy on new points"].append(mean_text(_finals(run, name), decimals))
        gaps = finals - 100 * _finals(run, left)
        rows[against].append("–" if name == left else f"{_gap_text(gaps)} points")
        rows["Worst seed"].append(f"{finals.min():.0f} %")
        rows["D"].append(str(variant.ensemble.config.model_dim))
        rows["Parameters"].append(str(variant.ensemble.parameter_count))
        together = " (together)" if len(variant.together) > 1 else ""
        rows["Training time, all seeds"].append(f"{variant.seconds:.2f} s{together}")
    return rows


def _gap_text(gaps: np.ndarray) -> str:
    """A difference in points as the sentence says it: to one decimal, the error rounded up."""
    if len(gaps) < 2:
        return f"{gaps[0]:.1f}".replace("-", "−")
    return points_text(mean_interval(gaps / 100))


def mean_text(shares: np.ndarray, decimals: int = 1) -> str:
    """The mean accuracy of all seeds in percent, with its 95 % interval where there are several.

    An interval that would reach beyond what an accuracy can be ends there.
    """
    if len(shares) < 2:
        return f"{100 * shares[0]:.{decimals}f}\u00a0%"
    found = mean_interval(shares)
    if not found.half_width <= found.mean <= 1 - found.half_width:
        return accuracy_text(found)
    step = 10.0**-decimals
    width = step * math.ceil(100 * found.half_width / step - 1e-9)  # rounded up
    return f"{100 * found.mean:.{decimals}f} ± {width:.{decimals}f}\u00a0%"


def decimals_of(run: TrainedRun, names: Iterable[str], frame: int = -1) -> int:
    """How many decimals mean accuracies in percent have beside their differences, which have one.

    As many, or one more where the rounded numbers would not subtract to the rounded difference.
    """
    first, *others = (float(run.variants[n].ensemble.test_accuracy[frame].mean()) for n in names)
    agree = all(
        round(1000 * mean) - round(1000 * first) == round(1000 * (mean - first)) for mean in others
    )
    return 1 if agree else 2


def caption_total(total: Integral, verdict: Verdict) -> str:
    """A surface's total curvature with its doubt, as a part of the line over its picture."""
    if verdict.word == FLAT:
        return "total curvature **0**: flat"
    text = total_text(total, flat=False)
    if text == UNKNOWN:
        return f"total curvature: {text}, it folds too sharply"
    return f"total curvature **{text}**"


def ends_text(ends: dict[str, CurvatureSummary | None]) -> str:
    """How sure the totals after the last step are, by variant; nothing of what is not measured."""
    known = {TITLES[name]: found for name, found in ends.items() if found is not None}
    return " ".join(f"At the end, {title}: {final_doubt(x)}." for title, x in known.items())


def final_doubt(found: CurvatureSummary) -> str:
    """How sure a total is, and on how much of the area."""
    verdict = found.verdicts[-1]
    text = doubt_text(found.total, verdict)
    return f"{verdict_text(verdict)}; {text}" if verdict.word == CURVED else text


def scaling_text(own: OwnData) -> str:
    """A sentence that says what was done to the coordinates of somebody's own points."""
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
    """What splitting does with somebody's own points, and what that means where they are few."""
    total, train = len(own.labels), sum(train_counts(own, train_share))
    test = total - train
    parts = [
        f"Each seed trains on {train} of the {total} points, its own draw, and is tested on the"
        f" other {test}."
    ]
    if test < COARSE_BELOW:
        parts.append(
            f"That is few: one point more or less right moves a test accuracy by {100 / test:.0f}"
            " points."
        )
    single = [own.names[label] for label, size in Counter(own.labels.tolist()).items() if size == 1]
    if single:
        names = ", ".join(map(quote, sorted(single)))
        parts.append(f"Of the classes {names} there is one point each: trained on, never tested.")
    return " ".join(parts)
