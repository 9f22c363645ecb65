"""Claims C8 and C9, ours: does the gain of a gate need Gaussian curvature? Decided row by row.

python -m gating_core.claims.price_verdicts    # a line for each task and architecture
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from gating_core.claims.claim import Brief, Claim, Criteria, Mark, Verdict, Word
from gating_core.claims.price_study import (
    ARCHITECTURES,
    DECIDING_SEEDS,
    MORE,
    MORE_VALUES,
    NONE,
    PLANES,
    TASKS,
    WITH_ISLANDS,
    PieceResult,
    PriceStudy,
    price_study,
)
from gating_core.claims.text import counted, interval, number, share, spans
from gating_core.experiments.comparison.setting import NO_PRICE
from gating_core.training.trained import MeanInterval, mean_interval

NEEDED, NOT_NEEDED, LOST, INCONCLUSIVE = "needed", "not needed", "lost", "inconclusive"
NOT_PAID, DOES_NOT_COUNT = "price not paid", "does not count"
AS_PLACEBO = "lost, also under the placebo"
LOST_BELOW, KEPT_ABOVE = 0.5, 0.8
PAID = 0.04  # of the unpriced median total, on the deciding seeds
V2 = Criteria("v2", "28 November 2026", DECIDING_SEEDS)


@dataclass(frozen=True)
class Share:
    """A kept share of a gain with its 95 % interval (Fieller), over paired seeds."""

    value: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """Return what it says alone."""
        if self.low > KEPT_ABOVE:
            return NOT_NEEDED
        return LOST if self.high < LOST_BELOW else INCONCLUSIVE


@dataclass(frozen=True)
class Row:
    """The verdict of one task and architecture, with what it follows from.

    ``gain`` is that of the unpriced gate over none, in points;
    ``left`` the priced models' median total over the unpriced ones'; ``tries`` the kept shares, the
    first one and those of second tries whose price is paid; ``placebo`` that under a price on area.
    Of the priced models of the first try, ``folded`` is the share that folds, and ``folds`` are the
    numbers of those with an island that do, and of those with an island.
    """

    gate: str
    model_dim: int
    task: str
    gain: MeanInterval
    left: float
    placebo: Share | None
    tries: tuple[Share, ...]
    folds: tuple[int, int]
    folded: float
    word: str

    def __str__(self) -> str:
        shares = ", ".join(f"{x.value:.2f} [{x.low:.2f}, {x.high:.2f}]" for x in self.tries)
        return (
            f"{self.gate} D={self.model_dim} {self.task}: {self.word}; gain {self.gain.mean:.1f} ±"
            f" {self.gain.half_width:.1f}, total left {self.left:.2g}, kept {shares or '-'}"
        )


def kept_share(ungated: np.ndarray, unpriced: np.ndarray, priced: np.ndarray) -> Share | None:
    """Return the kept share of the gain of (S,) accuracies; ``None`` if the gain may be 0.

    Fieller's interval: all shares r for which the mean of kept - r gain may be 0 (Student, 95 %).
    """
    gain, kept = mean_interval(unpriced - ungated), mean_interval(priced - ungated)
    both = mean_interval(unpriced + priced - 2 * ungated)
    vg, vk = gain.half_width**2, kept.half_width**2
    cov = (both.half_width**2 - vg - vk) / 2
    a, b = gain.mean**2 - vg, gain.mean * kept.mean - cov
    if a <= 0 or gain.mean <= 0:
        return None
    half = np.sqrt(max(0.0, b**2 - a * (kept.mean**2 - vk))) / a
    return Share(kept.mean / gain.mean, float(b / a - half), float(b / a + half))


def judge(study: PriceStudy) -> list[Row]:
    """Return the rows of C8 (elementwise) and C9 (headwise), as far as the study has got."""
    rows = []
    for gate, model_dim in sorted(ARCHITECTURES):
        if model_dim > 2:
            found = [_row(study, gate, model_dim, at) for at in range(len(TASKS))]
            rows += [row for row in found if row is not None]
    return rows


def judge_planes(study: PriceStudy) -> list[Row]:
    """Return the rows of a headwise gate over values whose plane is fixed.

    ``gain`` and ``left`` compare with the plane off 0; the one try is the share of that gain kept
    where the plane passes through 0, and K = 0 for every map.
    """
    rows = []
    for gate, model_dim in sorted(ARCHITECTURES):
        through, off = (
            study.find(gate=gate, model_dim=model_dim, plane=distance) for distance in PLANES
        )
        base = study.find(gate=NONE, model_dim=model_dim, plane=PLANES[0])
        if through is None or off is None or base is None:
            continue
        for at, task in enumerate(TASKS):
            without, curved, flat = _paired(at, base, off, through)
            share = kept_share(without, curved, flat)
            folds, folded = _folds(at, through)
            rows.append(
                Row(
                    gate,
                    model_dim,
                    task,
                    mean_interval(100 * (curved - without)),
                    float(np.median(through.total[at]) / np.median(off.total[at])),
                    None,
                    () if share is None else (share,),
                    folds,
                    folded,
                    DOES_NOT_COUNT if share is None else share.word,
                )
            )
    return rows


def _paired(at: int, *results: PieceResult) -> list[np.ndarray]:
    """Return the accuracies on a task of the seeds that all ``results`` have."""
    seeds = set.intersection(*({*x.seeds.tolist()} for x in results))
    return [x.accuracy[at][np.isin(x.seeds, [*seeds])].astype(float) for x in results]


def _row(study: PriceStudy, gate: str, model_dim: int, at: int) -> Row | None:
    def of(gate: str, price: str = NO_PRICE, **more: Any) -> PieceResult | None:
        return study.find(gate=gate, model_dim=model_dim, price=price, **more)

    def tried(**more: Any) -> tuple[Share | None, float, PieceResult] | None:
        base, free, paid = of(NONE, **more), of(gate, **more), of(gate, "K", **more)
        if base is None or free is None or paid is None or at >= len(paid.weight):
            return None
        left = float(np.median(paid.total[at]) / np.median(free.total[at]))
        return kept_share(*_paired(at, base, free, paid)), left, paid

    base, free, area, first = of(NONE), of(gate), of(gate, "area"), tried()
    if base is None or free is None or area is None or first is None:
        return None
    share, left, paid = first
    without, gated = _paired(at, base, free)
    placebo = kept_share(*_paired(at, base, free, area))
    more = [tried(longer=MORE, value_count=count) for count in (3, MORE_VALUES)]
    second = [x[0] for x in more if x is not None and x[0] is not None and x[1] <= PAID]
    held = placebo is not None and placebo.low > KEPT_ABOVE
    folds, folded = _folds(at, paid)
    return Row(
        gate,
        model_dim,
        TASKS[at],
        mean_interval(100 * (gated - without)),
        left,
        placebo,
        tuple(x for x in (share, *second) if x is not None),
        folds,
        folded,
        _word(share, left, second, TASKS[at] in WITH_ISLANDS, held),
    )


def _folds(at: int, result: PieceResult) -> tuple[tuple[int, int], float]:
    """Return `Row.folds` and `Row.folded` of a task."""
    assert result.folded is not None
    islands, folded = result.islands[at] > 0, result.folded[at]
    return (int((folded & islands).sum()), int(islands.sum())), float(folded.mean())


def _word(share: Share | None, left: float, second: list[Share], islands: bool, held: bool) -> str:
    """Return the verdict; ``held``: the gain is kept under the placebo."""
    if share is None:
        return DOES_NOT_COUNT
    words = [x.word for x in ([share] if left <= PAID else []) + second]
    if NOT_NEEDED in words:
        return NOT_NEEDED
    if left > PAID:
        return NOT_PAID
    if INCONCLUSIVE in words:
        return INCONCLUSIVE
    if not held:
        return AS_PLACEBO
    return NEEDED if islands and len(words) == 3 else LOST


# --- The claims -----------------------------------------------------------------------------------


def decide(rows: Sequence[Row]) -> Word:
    """Decide a claim by those of its rows that count and whose price is paid."""
    words = {row.word for row in rows} - {NOT_PAID, DOES_NOT_COUNT}
    if len(words) > 1:
        return Word.PARTLY
    alone = {NEEDED: Word.SUPPORTED, NOT_NEEDED: Word.NOT_SUPPORTED}
    return alone.get(words.pop(), Word.PARTLY) if words else Word.NOT_ENOUGH


def judge_gate(gate: str, study: PriceStudy) -> Verdict:
    """Decide the claim about one kind of gate; what is said of its rows is their count by word."""
    rows = [row for row in judge(study) if row.gate == gate]
    counts = Counter(dict.fromkeys((NEEDED, NOT_NEEDED, INCONCLUSIVE), 0))
    counts.update(row.word for row in rows)
    first, *rest = (f"{count} {word}" for word, count in counts.items())
    dims = {f"D = {row.model_dim}": row.model_dim for row in rows}
    summary = "; ".join([first, *rest])
    text = f"Of {counted(len(rows), 'row')} ({', '.join(dims)}; six tasks): {summary}."
    text += " Each row speaks of its own task and dimension alone."
    table = [
        {
            "task": row.task, "D": str(row.model_dim), "verdict": row.word,
            "gain, points": f"{row.gain.mean:.1f} ± {row.gain.half_width:.1f}",
            "total |K| left": share(row.left),
            "kept shares": "; ".join(
                f"{number(x.value, '.2f')} {interval(x.low, x.high, '.2f')}" for x in row.tries
            ),
        }
        for row in rows
    ]  # fmt: skip
    cells = [
        [
            Mark(TASKS.index(row.task) + 0.1, TASKS.index(row.task) + 0.9, kind=row.word)
            for row in rows
            if row.model_dim == dim
        ]
        for dim in dims.values()
    ]
    without, unclear = counts[NOT_NEEDED], counts[INCONCLUSIVE]
    others = len(rows) - counts[NEEDED] - without - unclear
    brief = Brief(
        f"needed in {counts[NEEDED]} of {len(rows)} rows; {without} do without",
        f"{unclear} inconclusive, {others} others; a row is a task (across) and a D (down)",
        cells,
        legend="*not needed*, ~~inconclusive~~" + ", **needed**" * (counts[NEEDED] > 0),
        answer="" if counts[NEEDED] else "not shown",
    )
    return Verdict(decide(rows), summary, text, table, (), rows, brief)


def _claim(name: str, gate: str, dims: str) -> Claim:
    return Claim(
        name=name,
        title=f"Does the gain of {gate} gates need K ≠ 0?",
        claim=f"The gain in test accuracy of {gate} gates needs Gaussian curvature. (Ours, not the"
        " paper's.)",
        test=f"One layer over learned slots on six tasks, D = {dims}: without a gate, with one, and"
        " with one that pays for ∫|K| dA from step 250 of 800 on. The price's weight is the"
        " smallest that leaves 2 % of the curvature on the seeds 0–15. A row is a task and a"
        " dimension. Its kept share of the gain is (priced − ungated) / (gated − ungated), by test"
        " accuracy, with Fieller's 95 % interval over paired seeds, not corrected for the number of"
        " rows.",
        verdict=f"A row is *not needed* if its kept share is known to be above {KEPT_ABOVE:g}, and"
        f" *lost* if it is known to be below {LOST_BELOW:g}; else it is *inconclusive*. Tasks with"
        " islands are tried again where they are lost or inconclusive: with four times the steps,"
        " with n = 3 and n = 8. *Needed* is what is lost in all three, while a price on area, the"
        f" placebo, keeps more than {KEPT_ABOVE:g}. The claim is supported if every row that counts"
        " and is paid is needed, contradicted (not supported here) if each is not needed, else"
        " partly.",
        failures="A row whose gain is not significantly above 0 does not count. Where more than"
        f" {PAID:.0%} of the curvature is left, the price is not paid and the row has no verdict.",
        judge=partial(judge_gate, gate),
        criteria=V2,
        why="Criteria v1, of the seeds 128–191, asked the placebo of every row. The first 32 of"
        " these seeds showed that a price on area itself costs a part of the gain on 34 of 36 rows,"
        " so that hardly a row would count. One rule was changed: the placebo is asked only where"
        " a gain is lost. Criteria v2 were committed before any model of the seeds"
        f" {spans(DECIDING_SEEDS)} was trained, and decide on these.",
    )


PRICE_CLAIMS = {
    "C8": _claim("C8", "elementwise", "3, 4, 8 and 16"),
    "C9": _claim("C9", "headwise", "8 and 16"),
}


if __name__ == "__main__":
    for row in judge(price_study()):
        print(row)
    print("The values' plane through 0, against off it:")
    for row in judge_planes(price_study()):
        print(row)
