"""Sentences of the tab Wiring that are built from its numbers.

By name of a wiring, in the order of `WIRINGS`. Shapes: S seeds, N texts, L blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from gating_core.at_work import PairedDifference, StepTime
from gating_core.language import WIRINGS
from gating_core.training import mean_interval
from ui.at_work.confidence_words import LEAST_SEEDS, LOWER, TABLE, TOO_FEW, difference_text, word
from ui.at_work.wiring_picture import label
from ui.common.language_models import TITLES
from ui.common.words import figures, plus_minus

MARGIN = TABLE["loss"].margin
PAPER_SAVED, PAPER_THROUGHPUT = 44, 1.18  # percent on several GPUs; times on one: Kim et al.
Arrays = Mapping[str, np.ndarray]


def feeds(name: str) -> str:
    """Say what the MLP of a later block reads, from the table of wirings."""
    wiring = WIRINGS[name]
    read = ["x", *(["A of its block"] if wiring.reads_own else []),
            *(["A1"] if wiring.reads_first else [])]  # fmt: skip
    return f"{label(name)}: from the second block on, M reads {' + '.join(read)}"


def loss_text(losses: Mapping[str, np.ndarray], against: Mapping[str, PairedDifference],
              base: str) -> str:  # fmt: skip
    """Say which wirings read better than ``base``: losses (S,), differences from it."""
    parts = []
    for name, of in against.items():
        verdict = word(of, MARGIN)
        stated = "" if verdict == TOO_FEW else f"**{verdict}** "
        parts.append(f"{label(name)} {stated}({difference_text(of)})")
    seeds = min(len(of.by_seed) for of in against.values())
    paired = "1 seed" if seeds == 1 else f"{seeds} seeds"
    few = "" if seeds >= LEAST_SEEDS else " Fewer than three seeds: no verdict."
    return (
        f"Loss after equally many steps: {label(base)} {losses[base].mean():.3f} nats. Difference,"
        f" paired over {paired}: {', '.join(parts)}.{few}"
    )


def gain_text(fal: PairedDifference, control: PairedDifference) -> str:
    """Say whether A1 makes the difference.

    ``fal`` is FAL less the control without A1, ``control`` the control less the usual wiring.
    """
    if TOO_FEW in (word(fal, MARGIN), word(control, MARGIN)):
        return ""
    if word(fal, MARGIN) == LOWER and word(control, MARGIN) != LOWER:
        return f"FAL is ahead of the same wiring without A1 ({difference_text(fal)}): **A1 helps**."
    return (
        f"FAL minus the same wiring without A1: {difference_text(fal)}. **It is undecided whether"
        " A1 helps**."
    )


def blocks_text(links: Mapping[str, np.ndarray], gradients: Mapping[str, np.ndarray],
                base: str) -> str:  # fmt: skip
    """Say where links cost most, and how the gradient at the first attention differs: (S, N, L)."""
    costs = []
    for name, of in links.items():
        means = of.mean((0, 1))
        costs.append(f"{label(name)} {figures(float(means.max()))} (block {means.argmax() + 1})")
    parts = []
    for name, of in gradients.items():
        if name != base:
            parts.append(f"{label(name)} {_ratio(of[..., 0], gradients[base][..., 0])}")
    return (
        f"The costliest link, in nats: {', '.join(costs)}. Gradient at the first attention, over"
        f" that of {label(base)}: {', '.join(parts)}."
    )


def _ratio(values: np.ndarray, others: np.ndarray) -> str:
    """The quotient of means over texts of (S, N), paired by seed, with its interval over seeds."""
    by_seed = values.mean(-1) / others.mean(-1)[: len(values)]
    if len(by_seed) < 2:
        return figures(float(by_seed.mean()))
    mean = mean_interval(by_seed)
    return plus_minus(mean.mean, mean.half_width)


def curvature_text(totals: Mapping[str, np.ndarray], errors: Mapping[str, np.ndarray],
                   complete: bool) -> str:  # fmt: skip
    """Say how much the last block's output curves: ∫|K| dA and its errors, (S, L)."""
    parts = []
    for name, total in totals.items():
        last = total[:, -1]
        if len(last) > 1:
            mean = mean_interval(last)
            parts.append(f"{label(name)} {plus_minus(mean.mean, mean.half_width, 0.0)}")
        else:
            parts.append(f"{label(name)} {plus_minus(last[0], errors[name][0, -1])}")
    least = "" if complete else " (lower estimates: some points are not resolved)"
    return f"∫|K| dA of the last block{least}: {', '.join(parts)}."


def time_text(times: StepTime | None) -> str:
    """Say what side by side saves here, and what the paper says of other machines."""
    paper = (
        f"Kim et al. report up to {PAPER_SAVED} % less training time on several GPUs and"
        f" {PAPER_THROUGHPUT} times the throughput on one. That is not measured here."
    )
    if times is None:
        return paper
    middle, low, high = times.ratio()
    seconds = np.median(times.side_by_side), np.median(times.all_cores)
    side, after = (figures(1000 * float(x)) for x in seconds)
    verdict = "no gain" if high >= 1 >= low else "faster" if high < 1 else "slower"
    return (
        f"On a machine with {times.cores} cores, one block takes {side} ms with attention and MLP"
        f" side by side, {after} ms with one after the other on two cores (quotient {middle:.2f},"
        f" quartiles {low:.2f} to {high:.2f}: **{verdict}**). {paper}"
    )


def wiring_csv(measured: Mapping[tuple[str, int], Arrays]) -> Iterator[Sequence[object]]:
    """Yield a row for every block of every model of the table of wirings."""
    yield ("model", "seed", "block", "loss", "cost of the link", "gradient at attention",
           "∫|K| dA", "error")  # fmt: skip
    for (name, seed), arrays in measured.items():
        if "wiring.links" not in arrays:
            continue
        loss = float(arrays["strengths.sums"][-1].sum() / arrays["strengths.counts"].sum())
        for block, link in enumerate(arrays["wiring.links"].mean(-1)):
            gradient = arrays["wiring.gradients"][block].mean()
            total, error = (arrays[f"wiring.{part}"][block] for part in ("total", "total_error"))
            yield (TITLES.get(name, name), seed, block + 1, loss, float(link), float(gradient),
                   float(total), float(error))  # fmt: skip
