"""Sentences of *And in training?* that are built from its numbers."""

from __future__ import annotations

import csv
import io

from gating_core.claims import THRESHOLDS
from gating_core.experts import LearningCurves, Needed, Ratio
from ui.common.words import percent
from ui.experts.data_request import title_of

BOTH = ("ungated", "gated")
STAYS = ("gated better", "ungated better")  # with the most data


def summary(curves: LearningCurves, level: float) -> str:
    """Return how many points each model needs, and whether that differs."""
    ungated, gated = curves.needed(level)
    ratio = curves.ratio(level)
    need = f"To reach {percent(level)}, the ungated model needs {needed_text(ungated, curves)}."
    need += f" The {title_of(curves.request.gate)} needs {needed_text(gated, curves)}."
    return f"{need} {ratio_text(ratio, title_of(curves.request.gate))}"


def needed_text(needed: Needed, curves: LearningCurves) -> str:
    """Format a number of points with its interval, or say that it is not reached."""
    count, of = len(needed.points), needed.log2
    if of is None:
        reached = int(needed.reached.sum())
        return (
            f"**more than {curves.counts[-1]:,.0f}** points ({reached} of {count} seeds reach it)"
        )
    low, middle, high = (2 ** (of.mean + k * of.half_width) for k in (-1, 0, 1))
    text = f"**{middle:,.0f}** [{low:,.0f}, {high:,.0f}] points"
    missed = int((~needed.reached).sum())
    early = int((needed.reached & ~needed.inside).sum())
    notes = [f"{missed} of {count} seeds never do"] if missed else []
    if early:
        notes.append(f"{early} of {count} with {curves.counts[0]:.0f} or fewer")
    return f"{text} ({', '.join(notes)})" if notes else text


def ratio_text(ratio: Ratio, name: str) -> str:
    """Say whether the model called ``name`` needs another number of points, seed by seed."""
    if ratio.measured is None or ratio.word == "not enough data":
        return "**Not enough data** for a ratio: too few seeds of either model reach it."
    of = ratio.measured
    low, middle, high = (f"{2.0**x:.2g}" for x in (of.low, of.mean, of.high))
    numbers = f"{middle} [{low}, {high}] times as many, paired over {of.count} seeds"
    if ratio.against or (ratio.bounded and ratio.word == "not decided"):
        return (
            f"**Not decided**: {ratio.bounded} of {of.count} seeds are at an end of what was"
            " tried. Only a bound of their ratio is known."
        )
    if ratio.bounded:
        numbers += f"; {ratio.bounded} are at an end of what was tried, so that is too near 1"
    if ratio.word == "not decided":
        return f"**{of.count} seeds cannot show a difference**: the {name} needs {numbers}."
    more = "fewer" if ratio.word == "gated better" else "more"
    return f"**The {name} needs {more}**: {numbers}."


def verdicts(curves: LearningCurves) -> str:
    """Return the verdict at every number of points, gathered by word."""
    by_word: dict[str, list[str]] = {}
    for one in curves.differences():
        by_word.setdefault(one.word, []).append(f"{one.count:,}")
    parts = [f"*{word}* at {', '.join(counts)}" for word, counts in by_word.items()]
    margin = f"±{THRESHOLDS.margin_points:g} point"
    text = f"Accuracy with equal numbers of points, by the rules of *Claims* ({margin}):"
    text += f" {'; '.join(parts)}."
    last = curves.differences()[-1]
    if last.word in STAYS:
        text += f" The gap remains at {last.count:,}: so many data do not close it."
    return text


def alt(curves: LearningCurves) -> str:
    """Return the finding of the curves."""
    ends = [
        f"{name} from {percent(float(1 - each[:, 0].mean()))} to"
        f" {percent(float(1 - each[:, -1].mean()))}"
        for name, each in zip(BOTH, curves.accuracy, strict=True)
    ]
    first, last = curves.counts[0], curves.counts[-1]
    return f"Mean test error from {first:.0f} to {last:,.0f} training points: {'; '.join(ends)}"


def curves_csv(curves: LearningCurves) -> str:
    """Return every model as a row of a table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["model", "seed", "training_points", "test_accuracy"])
    for name, each in zip(BOTH, curves.accuracy, strict=True):
        for seed, row in zip(curves.request.setting.seeds, each, strict=True):
            for count, accuracy in zip(curves.counts, row, strict=True):
                writer.writerow([name, seed, f"{count:.0f}", f"{accuracy:.9g}"])
    return out.getvalue()
