"""Sentences of the tab Confidence that are built from its numbers, and what it calls a difference.

Shapes: S seeds, Q quantities, R resamples of texts, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.at_work import QUANTITIES, PairedDifference, paired_difference
from ui.common.language_models import TITLES
from ui.common.words import figures, plus_minus, short

LEAST_SEEDS = 3  # with fewer there is no verdict
LOWER, HIGHER, HARDLY = "lower", "higher", "hardly different"
UNDECIDED, TOO_FEW = "undecided", "too few seeds"
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class ComparedQuantity:
    """A compared number: its name, and the margin within which models are hardly different."""

    title: str
    margin: float
    unit: str = ""


TABLE = dict(zip(QUANTITIES, (
    ComparedQuantity("ECE", 0.003),
    ComparedQuantity("classwise ECE", 0.0001),
    ComparedQuantity("loss", 0.01, " nats"),
    ComparedQuantity("entropy of predictions", 0.02, " nats"),
    ComparedQuantity("entropy of attention", 0.1, " nats"),
), strict=True))  # fmt: skip


def differences(
    values: Sequence[np.ndarray], resamples: Sequence[np.ndarray]
) -> dict[str, PairedDifference]:
    """Return gated minus ungated by quantity, from values (S, Q) and resamples (S, Q, R).

    Two of each, the ungated models first.
    """
    return {name: paired_difference(values[1][:, q], values[0][:, q], resamples[1][:, q],
                                    resamples[0][:, q])
            for q, name in enumerate(QUANTITIES)}  # fmt: skip


def word(difference: PairedDifference, margin: float) -> str:
    """Return the verdict on a difference.

    *hardly different*: the whole 95 % interval lies within the margin. *lower*, *higher*: it does
    not hold 0. Otherwise *undecided*. No verdict with fewer than `LEAST_SEEDS`.
    """
    if len(difference.by_seed) < LEAST_SEEDS:
        return TOO_FEW
    if -margin <= difference.low and difference.high <= margin:
        return HARDLY
    return HIGHER if difference.low > 0 else LOWER if difference.high < 0 else UNDECIDED


def summary(paired: Mapping[str, PairedDifference], gated: np.ndarray, ungated: np.ndarray) -> str:
    """Say of every quantity how the gate changes it; values (S, Q)."""
    seeds = len(gated)
    few = "" if seeds >= LEAST_SEEDS else (
        f" **{seeds} {'seed is' if seeds == 1 else 'seeds are'} too few for a verdict**."
    )  # fmt: skip
    parts = []
    for column, (name, of) in enumerate(paired.items()):
        quantity = TABLE[name]
        values = f"{figures(ungated[:, column].mean())} → {figures(gated[:, column].mean())}"
        verdict = word(of, quantity.margin)
        shown = "" if verdict == TOO_FEW else f"**{verdict}**, "
        parts.append(f"{quantity.title} {shown}{values}{quantity.unit}"
                     f" ({difference_text(of)})")  # fmt: skip
    over = "1 seed" if seeds == 1 else f"{seeds} seeds"
    return f"With the gate, paired over {over}: {'; '.join(parts)}.{few}"


def difference_text(difference: PairedDifference) -> str:
    """Format a difference with its interval and its sign."""
    sign = "+" if difference.mean > 0 else ""
    text = plus_minus(difference.mean, difference.half_width)
    return text if text.startswith("between") else f"{sign}{text}"


def margins_text() -> str:
    """List the margins."""
    return ", ".join(f"{x.title} ± {short(x.margin)}{x.unit}" for x in TABLE.values())


def diagram_text(bins: np.ndarray, ends: np.ndarray) -> str:
    """Say in how many bins the frequency differs from the confidence, beyond its interval."""
    low, high = ends
    off = int(((bins[0] < low) | (bins[0] > high)).sum())
    side = "too sure" if (bins[0] > high).sum() > off / 2 else "not sure enough"
    more = f", mostly {side}" if off else ""
    return f"{off} of {bins.shape[1]} bins lie off the diagonal{more}"


def confidence_csv(measured: Mapping[tuple[str, int], Arrays]) -> Iterator[Sequence[object]]:
    """Yield a row for every model and quantity, and a row for every bin of its diagram."""
    yield "model", "seed", "what", "bin", "value", "low", "high", "mean confidence", "count"
    for (name, seed), arrays in measured.items():
        start = TITLES.get(name, name), seed
        for row, quantity in enumerate(TABLE.values()):
            ends = np.percentile(arrays["confidence.resamples"][row], (2.5, 97.5))
            value = float(arrays["confidence.values"][row])
            yield (*start, quantity.title, "", value, *map(float, ends))
        for number, column in enumerate(
            np.concatenate([arrays["confidence.bins"], arrays["confidence.range"]]).T
        ):
            sure, came, count, low, high = map(float, column)
            yield *start, "share that came", number + 1, came, low, high, sure, int(count)
