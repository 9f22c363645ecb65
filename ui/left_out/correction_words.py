"""Sentences of the tab Correction that are built from its numbers, and its losses.

Shapes: S seeds, N texts, G distances of anchors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

import gating_core.left_out_at_work as core
from gating_core.at_work import PairedDifference, loss_difference
from gating_core.training import mean_interval
from ui.common.words import percent, plus_minus, short
from ui.left_out.correction_picture import NONE
from ui.left_out.words import LEAST_SEEDS, Arrays, Losses, by_seed, gate_verdict, nats, nearest

COLUMNS = (*map(str, core.GAMMAS), NONE)  # of losses: by the γ of their correction
Differences = Mapping[str, Mapping[str, PairedDifference]]  # by the models' title and COLUMNS


def losses_of(tables: Sequence[Arrays], window: int) -> Losses:
    """Return the losses in a window, a column for each of `COLUMNS`, of models of several seeds."""
    sums = by_seed(tables, "correction.sums")[:, core.WINDOWS.index(window)]
    full, counts = by_seed(tables, "correction.full"), by_seed(tables, "correction.counts")[0]
    return Losses(np.roll(sums, -1, 1), full, counts)  # those without correction last


def worth(losses: Losses, gamma: int) -> PairedDifference:
    """Return the loss with correction minus that without."""
    corrected, without = losses.sums[:, core.GAMMAS.index(gamma)], losses.sums[:, -1]
    return loss_difference(corrected, without, losses.counts)


def slow_text(slow: Sequence[core.Correction]) -> str:
    """Say whether correction helps on slowly varying tokens, over seeds."""
    ratio = mean_interval(np.array([of.ratio for of in slow]))
    if ratio.mean + ratio.half_width < 1:
        verdict = "correction helps"
    elif ratio.mean - ratio.half_width > 1:
        verdict = "correction does harm"
    else:
        verdict = "it is undecided whether correction helps"
    sparse, repaired = np.mean([of.cosine for of in slow], 0)
    return (
        f"**On tokens that vary slowly, {verdict}**: the cosine with full attention goes"
        f" {short(sparse)} → {short(repaired)}. The squared error is"
        f" {plus_minus(ratio.mean, ratio.half_width)} of the window's ({len(slow)} seeds). This"
        f" takes {percent(slow[0].share[1])} of the scores (the window alone:"
        f" {percent(slow[0].share[0])})."
    )


def beside_names(head: str) -> tuple[str, str]:
    """Return the short and the long name of the sample beside slow tokens: a ``head``, if any."""
    if head:
        return "characters", f"characters, in head {head} over this one text"
    return "independent", "independent tokens with normal scores"


def head_text(name: str, head: core.Correction, slow: Sequence[core.Correction], gamma: int) -> str:
    """Say whether correction helps on the sample with the long ``name``, and why."""
    if np.isnan(head.ratio):
        return f"**On {name}, nothing is missing**: the window holds it all."
    verdict = "correction helps" if head.ratio < 1 else "correction does harm"
    lag = min(max(gamma // 2, 1), len(head.change), len(slow[0].change))
    slowly = np.mean([of.change[lag - 1] for of in slow])
    return (
        f"**On {name}, {verdict}**:"
        f" {short(head.cosine[0])} → {short(head.cosine[1])}, squared error {short(head.ratio)}."
        f" What decides is how fast the missing part changes. Its relative"
        f" squared change {_queries(lag)} later is {short(head.change[lag - 1])} (slow tokens:"
        f" {short(slowly)})."
    )


def heads_text(tables: Sequence[Arrays], title: str, window: int, gamma: int) -> str:
    """Say in how many heads of models of several seeds correction helps, the mean over texts."""
    ratios = np.stack([of["correction.ratios"] for of in tables])
    of_heads = ratios[:, core.WINDOWS.index(window), core.GAMMAS.index(gamma)]
    return (
        f"Over all verses, correction helps in {int((of_heads < 1).sum())} of {of_heads.size} heads"
        f" ({title}, {len(tables)} seeds)."
    )


def loss_text(
    losses: Differences,
    worths: Mapping[str, PairedDifference],
    window: int,
    gamma: int,
) -> str:
    """Say what window and correction cost language models, by title; the ungated first."""
    parts = []
    for title, of in losses.items():
        change = worths[title]
        parts.append(
            f"{title} {nats(of[NONE])}, corrected {nats(of[str(gamma)])}"
            f" ({_verdict(change, 'better', 'worse')}: {nats(change)})"
        )
    return (
        f"Loss of whole models above full attention, in nats (window {window}, {core.SINKS} sinks,"
        f" γ {gamma}): {'; '.join(parts)}."
    )


def gate_text(saves: PairedDifference) -> str:
    """Say whether a gate makes leaving out cheaper."""
    verdict, seeds = gate_verdict(saves, "the window"), len(saves.by_seed)
    if seeds < LEAST_SEEDS:
        return f"{verdict}."
    return (
        f"{verdict}: {nats(saves)} nats against no gate ({seeds} seeds; interval over seeds and"
        " texts)."
    )


def retrieval_text(accuracy: np.ndarray) -> str:
    """Say how often the value is right over the largest distance; accuracy (3, G, S)."""
    full, sparse, repaired = (mean_interval(of[-1]) for of in accuracy)
    share = plus_minus(100 * repaired.mean, 100 * repaired.half_width)
    return (
        f"Retrieval over {core.GAPS[-1]} tokens: full attention finds {percent(full.mean)} of"
        f" values, the window {percent(sparse.mean)}, corrected {share}\u00a0%"
        f" ({len(core.RETRIEVAL_SEEDS)} seeds; by chance {percent(1 / core.PAIRS)})."
    )


def shift_text(name: str, result: core.Correction) -> str:
    """Say how far the mean output is from full attention's."""
    return (
        f"{name}: the mean output of the window lies {short(result.shift[0])} spreads from that of"
        " full"
        f" attention, the corrected one {short(result.shift[1])}. The plane holds"
        f" {percent(result.explained)} of the variance"
    )


def correction_csv(
    request: core.CorrectionRequest,
    slow: Sequence[core.Correction],
    head: core.Correction,
    losses: Differences,
    beside: str,
) -> Iterator[Sequence[object]]:
    """Yield a row for every point of the curves; ``beside``: the short name of the ``head``."""
    yield "of", "seed", "window", "sinks", "gamma", "what", "value", "half width"
    specimens = [*(("slow tokens", seed, of) for seed, of in enumerate(slow)),
                 (beside, "", head)]  # fmt: skip
    for name, seed, of in specimens:
        start = name, seed
        for column, gamma in enumerate(core.GAMMA_STEPS):
            for row, what in enumerate(("cosine", "share of scores")):
                value = float(of.by_gamma[row, column])
                yield *start, request.window, request.sinks, gamma, what, value, ""
        for column, window in enumerate(core.WINDOW_STEPS):
            for row, what in enumerate(("cosine", "share of scores")):
                without, corrected = map(float, of.by_window[2 * row : 2 * row + 2, column])
                yield *start, window, request.sinks, NONE, what, without, ""
                yield *start, window, request.sinks, request.gamma, what, corrected, ""
        for lag, change in enumerate(of.change, 1):
            what = f"change after {lag}"
            yield *start, request.window, request.sinks, NONE, what, float(change), ""
    for title, by_gamma in losses.items():
        window = nearest(core.WINDOWS, request.window)
        for gamma_name, one in by_gamma.items():
            yield (title, "", window, core.SINKS, gamma_name, "loss above full, nats", one.mean,
                   one.half_width)  # fmt: skip


def _verdict(difference: PairedDifference, lower: str, higher: str) -> str:
    if len(difference.by_seed) < LEAST_SEEDS:
        return "too few seeds"
    return higher if difference.low > 0 else lower if difference.high < 0 else "undecided"


def _queries(count: int) -> str:
    return "1 query" if count == 1 else f"{count} queries"
