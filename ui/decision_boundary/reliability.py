"""How sure both variants are at test points and how often they are right: numbers and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.experiments.comparison import TrainedRun, sure_and_right
from gating_core.language.measurements import ResampledReliability, bootstrap_reliability
from ui.common.words import short
from ui.decision_boundary.names import TITLES
from ui.decision_boundary.words import FEW_SEEDS

TAILS = (2.5, 97.5)  # percent: the ends of a 95 % interval
Calibrations = Mapping[str, ResampledReliability]  # by variant


def calibrations(run: TrainedRun) -> dict[str, ResampledReliability]:
    """Return the reliability of both variants at the test points of all seeds together.

    Seeds are drawn again, the same ones for both.
    """
    results = {}
    for name in run.setting.compared:
        sure, right = sure_and_right(run.variants[name].ensemble, run.task)
        seeds = np.repeat(np.arange(len(sure)), sure.shape[1])
        results[name] = bootstrap_reliability(sure.ravel(), right.ravel(), seeds)
    return results


def ends(resampled: ResampledReliability) -> np.ndarray:
    """(2, n): the ends of the 95 % interval of each bin's frequency."""
    return np.nanpercentile(resampled.frequencies, TAILS, axis=0)


def summary(results: Calibrations, seeds: int) -> str:
    """Say how far off both variants are, and by how much less or more the right one."""
    (left, before), (right, after) = results.items()
    each = "; ".join(
        f"{TITLES[name]} {short(of.whole.error)} ({_range(of.errors)})"
        for name, of in results.items()
    )
    low, high = np.percentile(after.errors - before.errors, TAILS)
    gap = after.whole.error - before.whole.error
    verdict = "**no difference beyond the interval**"
    if seeds < FEW_SEEDS:
        verdict = f"{seeds} seeds are too few for a verdict"
    elif low > 0 or high < 0:
        verdict = f"**{TITLES[right]} is {'worse' if low > 0 else 'better'} calibrated**"
    return (
        f"Expected calibration error: {each}. Difference, {TITLES[right]} minus {TITLES[left]}:"
        f" {short(gap)} ({_range(after.errors - before.errors)}): {verdict}."
    )


def _range(resamples: np.ndarray) -> str:
    low, high = np.percentile(resamples, TAILS)
    return f"95\u00a0%: {short(low)} to {short(high)}"


def reliability_rows(results: Calibrations) -> Iterator[Sequence[object]]:
    """Yield a row for every variant and bin of its diagram."""
    yield "variant", "bin", "mean confidence", "share right", "low", "high", "points"
    for name, of in results.items():
        columns = of.whole.confidence, of.whole.frequency, *ends(of), of.whole.counts
        for number, row in enumerate(zip(*columns, strict=True), 1):
            yield TITLES[name], number, *map(float, row)
