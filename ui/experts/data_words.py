"""Sentences and tables of the two sections on data that are built from their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from gating_core.claims import THRESHOLDS
from gating_core.experts import Learned, LearningCurves, Needed, Ratio, slope
from gating_core.training import MeanInterval
from ui.common.words import percent, short
from ui.experts.request import TITLES, title_of

# --- How many data does it take? ------------------------------------------------------------------

USUAL = -0.5  # the slope of an error that falls like 1 / sqrt(n)
NEARLY_NONE = 0.2  # slopes nearer to 0: ten times the data change an error by at most 1.6
NEARLY_USUAL = -0.35  # between that and none: steeper slopes are nearer to the usual one
SURE = 0.1  # half-width and distance at most, to be called usual
LATE = 3  # numbers of data, the last ones, where the rule holds best
ALIKE = 2.0  # medians of predictions within this factor of each other
FULL, SLOW, NOT, UNDECIDED = "learned", "slower", "not learned", "undecided"
NUMBERS = ("expert", "prediction", "expert_theory", "prediction_theory", "excess", "starts")
COLUMNS = ("gate", "seed", "n", "expert_error", "prediction_error", *NUMBERS[2:], "reached")


def slope_text(mean: MeanInterval) -> str:
    """Format a slope with its interval, in two places."""
    return f"{mean.mean:.2f} ± {mean.half_width:.2f}".replace("-", "−")


def word(mean: MeanInterval) -> str:
    """Return what the slope of the experts' errors says, as far as its interval decides it."""
    low, high = mean.mean - mean.half_width, mean.mean + mean.half_width
    if low >= -NEARLY_NONE and high <= NEARLY_NONE:
        return NOT
    if high < NEARLY_USUAL:
        return FULL
    return SLOW if low > USUAL and high < -NEARLY_NONE else UNDECIDED


def errors_summary(learned: Mapping[str, Learned]) -> str:
    """Return who predicts and who learns experts, with slopes."""
    last = [float(np.median(each.prediction[:, -1])) for each in learned.values()]
    slopes = [each.slopes["prediction"].mean for each in learned.values()]
    usual = all(max(abs(s.mean - USUAL), s.half_width) <= SURE for s in slopes)
    if len(learned) == 1:
        text = f"Predictions: slope {slope_text(slopes[0])}."
    elif usual and max(last) <= ALIKE * min(last):
        text = (
            f"**All predict alike**: their errors have slopes {_range([s.mean for s in slopes])},"
            f" and last medians within a factor of {max(last) / min(last):.1f}."
        )
    else:
        text = f"Predictions differ: their errors have slopes {_range([s.mean for s in slopes])},"
        text += f" and last medians within a factor of {max(last) / min(last):.1f}."
    parts = []
    for name, lead in (
        (FULL, "**Experts are learned** with"),
        (SLOW, "Experts are learned **more slowly** than 1/√n with"),
        (NOT, "Experts are **not learned** with"),
        (UNDECIDED, "These repeats do not decide it for"),
    ):
        own = [
            f"*{TITLES[gate]}* ({slope_text(each.slopes['expert'].mean)})"
            for gate, each in learned.items()
            if word(each.slopes["expert"].mean) == name
        ]
        if own:
            parts.append(f"{lead} {_listed(own)}.")
    return " ".join([text, *parts])


def _range(values: list[float]) -> str:
    low, high = (f"{end:.2f}".replace("-", "−") for end in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _listed(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def caution(learned: Mapping[str, Learned]) -> str:
    """Return what the slopes leave out: fits that missed, and where theory does not hold."""
    parts = []
    for gate, each in learned.items():
        missed = int((~each.reached).sum())
        if missed:
            parts.append(
                f"{missed} of {each.reached.size} fits of *{TITLES[gate]}* stay above the noise"
                f" after {int(each.starts.max())} random starts."
            )
    if next(iter(learned.values())).request.sizes.one_too_many:
        parts.append("Theory's condition fails with one expert too many: no dotted lines.")
    for gate, each in learned.items():
        whole = each.slopes["expert"].mean
        if whole.mean + whole.half_width < USUAL:
            late = slope(each.request.counts[-LATE:], each.expert[:, -LATE:]).mean
            parts.append(
                f"The slope of *{TITLES[gate]}* is steeper than −½. Where errors exceed the experts"
                f" themselves (dashed), n is too small for the rule. From n ="
                f" {each.request.counts[-LATE]:,.0f} on the slope is {slope_text(late)}."
            )
    return " ".join(parts)


def errors_alt(learned: Mapping[str, Learned], name: str) -> str:
    """Return the finding of one chart."""
    parts = []
    for gate, each in learned.items():
        medians = np.median(getattr(each, name), 0)
        parts.append(
            f"{TITLES[gate]} from {short(medians[0])} to {short(medians[-1])}, slope"
            f" {slope_text(each.slopes[name].mean)}"
        )
    counts = next(iter(learned.values())).request.counts
    span = f"{counts[0]:,.0f} to {counts[-1]:,.0f} measurements"
    return f"Errors of {name}s from {span}: {'; '.join(parts)}"


def table(learned: Mapping[str, Learned]) -> list[dict[str, str]]:
    """Return one row for each gate."""
    rows = []
    for gate, each in learned.items():
        medians = {
            f"n = {n:,.0f}": short(error)
            for n, error in zip(each.request.counts, np.median(each.expert, 0), strict=True)
        }
        rows.append({
            "Gate": TITLES[gate], **medians,
            "Slope, experts": slope_text(each.slopes["expert"].mean),
            "Slope, predictions": slope_text(each.slopes["prediction"].mean),
            "Experts": word(each.slopes["expert"].mean),
        })  # fmt: skip
    return rows


def errors_rows(learned: Mapping[str, Learned]) -> Iterator[tuple]:
    """Yield every fit as a row of a table, their names first."""
    yield COLUMNS
    for gate, each in learned.items():
        for (row, level), reached in np.ndenumerate(each.reached):
            numbers = (f"{float(getattr(each, name)[row, level]):.9g}" for name in NUMBERS)
            count = f"{each.request.counts[level]:.0f}"
            yield (TITLES[gate], each.request.seeds[row], count, *numbers, bool(reached))


def errors_fields(learned: Mapping[str, Learned]) -> dict[str, str]:
    """Return what the explanation is filled in with: its last gate is the example."""
    gate, last = [*learned.items()][-1]
    request = last.request
    theory = float(np.median(last.expert_theory[:, -1]))
    measured = short(float(np.median(last.expert[:, -1])))
    expects = f"expects {short(theory)}"
    if not np.isfinite(theory):
        expects = "has no number" if np.isnan(theory) else "expects ∞: no number of data decides"
    return {
        "repeats": f"{request.repeats}", "noise": f"{request.noise:g}", "gate": TITLES[gate],
        "measured": measured, "expects": expects, "undecided": f"{last.undecided}",
        "most": f"{request.counts[-1]:,.0f}",
        "slope": slope_text(last.slopes["expert"].mean),
    }  # fmt: skip


# --- And in training? -----------------------------------------------------------------------------

BOTH = ("ungated", "gated")
STAYS = ("gated better", "ungated better")  # with the most data


def curves_summary(curves: LearningCurves, level: float) -> str:
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


def curves_alt(curves: LearningCurves) -> str:
    """Return the finding of the curves."""
    ends = [
        f"{name} from {percent(float(1 - each[:, 0].mean()))} to"
        f" {percent(float(1 - each[:, -1].mean()))}"
        for name, each in zip(BOTH, curves.accuracy, strict=True)
    ]
    first, last = curves.counts[0], curves.counts[-1]
    return f"Mean test error from {first:.0f} to {last:,.0f} training points: {'; '.join(ends)}"


def curves_rows(curves: LearningCurves) -> Iterator[tuple]:
    """Yield every model as a row of a table, their names first."""
    yield "model", "seed", "training_points", "test_accuracy"
    seeds = curves.request.setting.seeds
    for (side, row, level), accuracy in np.ndenumerate(curves.accuracy):
        yield BOTH[side], seeds[row], f"{curves.counts[level]:.0f}", f"{accuracy:.9g}"
