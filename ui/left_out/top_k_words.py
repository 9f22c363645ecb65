"""Sentences of the tab Top-k that are built from its numbers, and its losses.

Shapes: S seeds, K sizes k, N texts, L layers, H heads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.at_work import PairedDifference
from gating_core.left_out import COSTS
from gating_core.left_out_at_work import BINS, EPSILON, RowAt, RowCurves
from ui.common.language_models import TITLES
from ui.common.words import error_text, figures, percent, short
from ui.language.selection import HEADS
from ui.left_out.words import Arrays, Losses, by_seed, gate_text

FAR = 2.0  # times too few keys: then the rule has failed
Differences = Mapping[str, Mapping[int, PairedDifference]]  # by the models' title and k


def losses_of(tables: Sequence[Arrays]) -> Losses:
    """Return the losses with top-k, a column for each of `SIZES`, of models of several seeds."""
    sums = by_seed(tables, "truncation.sums")
    return Losses(sums[:, :-1], sums[:, -1], by_seed(tables, "truncation.counts")[0])


def loss_text(losses: Differences, saves: PairedDifference, size: int) -> str:
    """Say whether truncation is cheaper with a gate; ``losses`` by title, the ungated first."""
    ungated, gated = (of[size].mean for of in losses.values())
    return gate_text(saves, f"top-{size} in every head", ungated, gated)


def row_text(row: RowCurves, at: RowAt, k: int) -> str:
    """Say what one row leaves out with ``k`` kept, in three ways, and what that changes."""
    apart = max(at.masses) - min(at.masses)
    mass, variation, divergence = map(figures, at.masses)
    text = (
        f"The last query, k = {k:,} of {row.n:,}: **τ = {mass}** is left out. Total variation is"
        f" {variation}, 1 − e^(−KL) is {divergence}: {_equal(apart)}."
    )
    if at.errors is None:
        return text
    direct, factored, bound = at.errors
    return (
        f"{text} The output moves by **{figures(direct)}**. τ · |μ_tail − μ_head| is"
        f" {figures(factored)}: {_equal(abs(direct - factored))}. The bound τ · diameter is"
        f" {figures(bound)}."
    )


def _equal(apart: float) -> str:
    return f"equal up to {error_text(apart)}" if apart else "equal"


def certificate_text(row: RowCurves, epsilon: float) -> str:
    """Say which k is needed for ``epsilon`` and which the best and the worst certificate know."""
    truth, *others = row.certified.values()
    best, worst = min(others, key=lambda one: one.k), max(others, key=lambda one: one.k)
    return (
        f"For τ ≤ {percent(epsilon)} this row needs k = {truth.k:,}. The best certificate"
        f" ({best.title}) gives {best.k:,}, the worst ({worst.title}) {worst.k:,}. The Gaussian"
        f" rule gives {short(row.rule)} for many keys (σ = {short(row.sigma)}),"
        f" {row.by_quantiles:,} for {row.n:,}."
    )


def certificate_rows(row: RowCurves) -> Iterator[tuple[str, ...]]:
    """Yield the table of certificates: names first."""
    yield "known from", "k for ε", "keys scored", "saved"
    for one in row.certified.values():
        yield one.title, f"{one.k:,}", f"{one.scored:,}", percent(1 - one.scored / row.n)


def cost_text(n: int, k: int) -> str:
    """Say what top-k saves over a text of ``n`` tokens when all scores are computed."""
    full, part = COSTS["full"](n, 1), COSTS["top_k"](n, 1, k)  # shares, whatever the channels
    return (
        f"Cost of top-{k:,} over a text of {n:,} tokens, against full attention:"
        f" {percent(part.scores / full.scores)} of the scores,"
        f" {percent(part.mixed / full.mixed)} of the products with values,"
        f" {percent(part.stored / full.stored)} of the stored numbers. Only an index that orders"
        " keys without their scores saves scores."
    )


def rule_text(rules: Mapping[str, Sequence[np.ndarray]]) -> str:
    """Say in how many heads the rule asks for far too few keys; predicted and needed (S, L H)."""
    parts, alike = [], []
    for title, (predicted, needed) in rules.items():
        logs = np.log(np.stack([predicted.ravel(), needed.ravel()]))
        if np.ptp(logs, 1).all():  # where all are equal there is no correlation
            alike.append(f"{short(float(np.corrcoef(logs)[0, 1]))} ({title})")
        far = needed > FAR * predicted
        median = f", median need {short(float(np.median(needed[far])))} keys" if far.any() else ""
        parts.append(f"in {int(far.sum())} of {far.size} heads ({title}{median})")
    return (
        "The Gaussian rule gives less than half of the keys that τ ≤"
        f" {percent(EPSILON)} needs {', '.join(parts)}."
    ) + (f" The logarithms of rule and need correlate by {', '.join(alike)}." if alike else "")


def why_text(row: RowCurves) -> str:
    """Say where the weight lies, and where the rule expects it."""
    middles = (BINS[1:] + BINS[:-1]) / 2
    centre = float((row.carried * middles).sum() / row.carried.sum())
    return (
        f"The weight of these rows lies {short(centre)} σ above their mean score. If scores were"
        f" normal, it would lie at {short(row.sigma)} σ."
    )


def row_csv(row: RowCurves) -> Iterator[Sequence[object]]:
    """Yield a row for every k of the curves."""
    names = ("moved", "tau times diameter")
    errors = [] if row.errors is None else [*row.errors]
    yield "k", "key", "weight", "mass left out", *row.bounds, *names[: len(errors)]
    columns = (row.ks, row.keys, row.weights, row.mass, *row.bounds.values(), *errors)
    for values in zip(*columns, strict=True):
        yield [value.item() for value in values]


def heads_csv(tables: Mapping[tuple[str, int], Arrays]) -> Iterator[Sequence[object]]:
    """Yield a row for every head of every measured model."""
    yield "model", "seed", "head", "sigma", "k needed", "k needed, upper decile", "k by the rule"
    for (name, seed), of in tables.items():
        columns = [of[f"truncation.{part}"].ravel() for part in
                   ("sigma", "needed", "needed_high", "rule")]  # fmt: skip
        for head, *values in zip(HEADS, *columns, strict=True):
            yield TITLES[name], seed, head, *map(float, values)


def losses_csv(losses: Differences) -> Iterator[Sequence[object]]:
    """Yield a row for every k."""
    yield "models", "k", "nats above full attention", "half-width of its 95 % interval"
    for title, of in losses.items():
        for size, loss in of.items():
            yield title, size, loss.mean, loss.half_width
