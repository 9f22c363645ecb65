"""Sentences of *How many data does it take?* that are built from its numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import numpy as np

from gating_core.experts import Learned, slope
from gating_core.training import MeanInterval
from ui.common.words import short
from ui.experts.data_request import TITLES

USUAL = -0.5  # the slope of an error that falls like 1 / sqrt(n)
NEARLY_NONE = 0.2  # slopes nearer to 0: ten times the data change an error by at most 1.6
NEARLY_USUAL = -0.35  # between that and none: steeper slopes are nearer to the usual one
SURE = 0.1  # half-width and distance at most, to be called usual
LATE = 3  # numbers of data, the last ones, where the rule holds best
ALIKE = 2.0  # medians of predictions within this factor of each other
FULL, SLOW, NOT, UNDECIDED = "learned", "slower", "not learned", "undecided"
COLUMNS = ("gate", "seed", "n", "expert_error", "prediction_error", "expert_theory",
           "prediction_theory", "excess", "starts", "reached")  # fmt: skip


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


def summary(learned: Mapping[str, Learned]) -> str:
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


def alt(learned: Mapping[str, Learned], name: str) -> str:
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


def errors_csv(learned: Mapping[str, Learned]) -> str:
    """Return every fit as a row of a table."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for gate, each in learned.items():
        for row, seed in enumerate(each.request.seeds):
            for level, n in enumerate(each.request.counts):
                numbers = [
                    f"{float(getattr(each, name)[row, level]):.9g}"
                    for name in ("expert", "prediction", "expert_theory", "prediction_theory",
                                 "excess", "starts")
                ]  # fmt: skip
                reached = bool(each.reached[row, level])
                writer.writerow([TITLES[gate], seed, f"{n:.0f}", *numbers, reached])
    return out.getvalue()


def fields(learned: Mapping[str, Learned]) -> dict[str, str]:
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
