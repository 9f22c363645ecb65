"""Sentences of the tab Linear that are built from its numbers, and its losses.

Shapes: S seeds, N texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from gating_core.at_work import PairedDifference, loss_difference
from gating_core.left_out import RULES
from gating_core.left_out_at_work import (
    CHEAPER,
    RECALL_PAIRS,
    AttentionTimes,
    Cheaper,
    RecallCurves,
)
from gating_core.training import mean_interval
from ui.common.words import percent, short
from ui.left_out.linear_picture import ALONE, BRANCHES, COST_LENGTHS, WAYS, paper_costs
from ui.left_out.request import GAUSSIAN, HEAD, SLOW, LeftOutSelection
from ui.left_out.words import LEAST_SEEDS, gate_verdict, nats

SMALL = 0.005  # nats: a branch that is worth less for certain is called bypassed
REFERENCE, GATED_REFERENCE = "softmax", "gated_softmax"
NAMES = {  # of conversions, as in the chart
    "window_16": ALONE[16], "hybrid_16": "16, hybrid", "dropped_16": "16, dropped",
    "elu_16": "16, elu + 1", "window_4": ALONE[4], "hybrid_4": "4, hybrid",
    "dropped_4": "4, dropped", "elu_4": "4, elu + 1", "linear": "linear alone",
    "delta": "delta rule",
}  # fmt: skip
ADDED = {"added_16": "16 added later", "added_4": "4 added later"}  # to linear alone
Losses = Mapping[str, Mapping[str, np.ndarray]]  # (S, N) by conversion and measurement


@dataclass(frozen=True, eq=False)
class Conversions:
    """The losses of conversions, and sentences about them."""

    losses: Losses
    counts: np.ndarray  # (N,): characters of the texts
    rows: dict[str, dict[str, PairedDifference]]  # as `above_softmax` returns them
    bypass: str
    gate: str


def above_softmax(losses: Losses, counts: np.ndarray) -> dict[str, dict[str, PairedDifference]]:
    """Return losses above softmax attention trained on as long, by conversion and branch."""
    if REFERENCE not in losses:
        return {}
    base = losses[REFERENCE]["whole"]

    def against(sums: np.ndarray) -> PairedDifference:
        seeds = min(len(sums), len(base))
        return loss_difference(sums[:seeds], base[:seeds], counts)

    rows = {title: {branch: against(losses[name][branch]) for branch in BRANCHES
                    if branch in losses[name]}
            for name, title in NAMES.items() if name in losses}  # fmt: skip
    linear = losses.get("linear", {})
    for added, title in ADDED.items():
        parts = {branch: against(linear[f"{added}.{branch}"]) for branch in BRANCHES
                 if f"{added}.{branch}" in linear}  # fmt: skip
        if parts:
            rows[title] = parts
    return rows


def branch_worth(losses: Losses, counts: np.ndarray, window: int) -> PairedDifference | None:
    """Return the loss of a window trained alone minus the hybrid's: the linear branch's worth.

    ``None`` where one of the two is missing.
    """
    alone, both = f"window_{window}", f"hybrid_{window}"
    if not {alone, both} <= set(losses):
        return None
    seeds = min(len(losses[alone]["whole"]), len(losses[both]["whole"]))
    return loss_difference(losses[alone]["whole"][:seeds], losses[both]["whole"][:seeds], counts)


def taken_out(losses: Losses, counts: np.ndarray, window: int) -> PairedDifference:
    """Return what a hybrid loses when its linear branch is taken out, untrained without it."""
    of = losses[f"hybrid_{window}"]
    return loss_difference(of["without_linear"], of["whole"], counts)


def bypass_text(losses: Losses, counts: np.ndarray) -> str:
    """Say whether hybrids bypass their linear branch, against a window trained on as long."""
    parts = []
    for window in (16, 4):
        worth = branch_worth(losses, counts, window)
        if worth is None:
            continue
        parts.append(
            f"At window {window} {_verdict(worth)}: it is worth {nats(worth)} nats"
            " against the window alone, trained for as long. Taking it out suggests"
            f" {nats(taken_out(losses, counts, window))}: that is co-adaptation."
        )
    return " ".join(parts)


def gate_text(losses: Losses, counts: np.ndarray) -> str:
    """Say whether models with a gate lose less by a window."""
    names = ("window_16", REFERENCE, "gated_window_16", GATED_REFERENCE)
    if not set(names) <= set(losses):
        return ""
    seeds = min(len(losses[name]["whole"]) for name in names)
    window, full, gated, gated_full = (losses[name]["whole"][:seeds] for name in names)
    saves = loss_difference(gated - gated_full, window - full, counts)
    return f"{gate_verdict(saves, 'the window')} ({nats(saves)} nats)."


def head_text(selection: LeftOutSelection, result: Cheaper, learned: int) -> str:
    """Say how near the outputs of each way are to softmax attention's.

    ``learned``: the window if ``result`` is a head of converted models, else 0.
    """
    parts = [f"{WAYS[way].name} {result.cosine[index]:.2f}"
             for index, way in enumerate(CHEAPER) if index]  # fmt: skip
    if selection.kind == HEAD:
        how = "of converted models" if learned else "not trained on"
        name = f"Head {selection.head}, {how}"
    else:
        name = {SLOW: "Slow tokens", GAUSSIAN: "Tokens with Gaussian scores"}[selection.kind]
    return f"{name}: cosine with softmax attention {', '.join(parts)}."


def state_text(result: Cheaper, at: int) -> str:
    """Say how much the state holds after the token ``at``, and of how many dimensions."""
    squares = result.sizes**2
    totals = squares.sum(1)
    share, first = float((totals[at] / totals.max()) ** 0.5), float(squares[at, 0] / totals[at])
    return (
        f"The state after {at + 1} of {len(totals)} tokens: its size is {percent(share)} of the"
        f" largest. {percent(first)} of its square lies in one direction"
    )


def recall_text(curves: RecallCurves, channels: int) -> str:
    """Say how many pairs each rule recalls: the most of which nine in ten are recognised."""
    seeds = next(iter(curves.recognised.values())).shape[1]
    parts = [f"{capacity(of)} ({RULES[rule].title})" for rule, of in curves.recognised.items()]
    return (
        f"A state of {channels} × {channels} numbers recognises nine in ten pairs up to this many"
        f" pairs: {', '.join(parts)} ({seeds} seeds)."
    )


def capacity(recognised: np.ndarray) -> str:
    """Return the largest number of pairs up to which nine in ten are recognised (n, S).

    Where that changes within the interval, the range of numbers.
    """
    means = recognised.mean(1)
    widths = np.array([mean_interval(row).half_width for row in recognised])
    low, high = (_last(of >= 0.9) for of in (means - widths, means + widths))
    if low == high:
        return f"{low}" if high < RECALL_PAIRS[-1] else f"{low} or more"
    return f"{low} to {high}"


def _last(enough: np.ndarray) -> int:
    """The last number of pairs before the first that is too many; 0 if all are."""
    first = int(np.argmin(enough)) if not enough.all() else len(enough)
    return RECALL_PAIRS[first - 1] if first else 0


def cost_text(channels: int, window: int, times: AttentionTimes | None) -> str:
    """Say what a million tokens cost on paper, and where linear attention was faster here."""
    costs = paper_costs(channels, window)
    share = costs["linear"][:, -1] / costs["full"][:, -1]
    text = (
        f"On paper, linear attention over {COST_LENGTHS[-1]:,} tokens takes {_share(share[0])} of"
        f" the products and {_share(share[1])} of the stored numbers of softmax attention."
    )
    if times is None:
        return text
    crossing = times.crossing("linear")
    where = f"from {crossing:,} tokens on" if crossing else "at none of the lengths timed"
    return f"{text} Measured on one core, it is faster {where}."


def linear_csv(
    losses: Losses, counts: np.ndarray, curves: RecallCurves
) -> Iterator[Sequence[object]]:
    """Yield losses of conversions by seed, and what rules recall."""
    yield "what", "of", "seed", "pairs", "value"
    for name, of in losses.items():
        for part, sums in of.items():
            for seed, row in enumerate(sums):
                yield f"loss, {part}", name, seed, "", float(row.sum() / counts.sum())
    for rule, shares in curves.recognised.items():
        for pairs, row in zip(RECALL_PAIRS, shares, strict=True):
            for seed, value in enumerate(row):
                yield "recognised", RULES[rule].title, seed, pairs, float(value)


def _verdict(difference: PairedDifference) -> str:
    """The linear branch is needed, bypassed, or neither is certain."""
    if len(difference.by_seed) < LEAST_SEEDS:
        return "it is undecided whether the linear branch is bypassed (too few seeds)"
    if difference.high < SMALL:
        return "**the linear branch is bypassed**"
    if difference.low > SMALL:
        return "**the linear branch is needed**"
    return "**it is undecided whether the linear branch is bypassed**"


def _share(share: float) -> str:
    return percent(share) if share >= 0.01 else short(share)
