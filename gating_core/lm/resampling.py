"""Intervals over texts by bootstrap, and of differences that are paired over seeds and texts.

Shapes: N texts, R resamples, S seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from gating_core.claims.statistics import holm
from gating_core.training import mean_interval

RESAMPLES = 400
LEVEL = 0.05  # of tests; the intervals' complement
TAILS = (2.5, 97.5)  # percent: the ends of a 95 % interval


@lru_cache(maxsize=4)  # used for every interval; a megabyte for 400 texts
def text_draws(texts: int, resamples: int = RESAMPLES) -> np.ndarray:
    """(R, N) int64: how often each resample draws each text, the same for every model."""
    draw = np.random.default_rng(0)
    return draw.multinomial(texts, np.full(texts, 1 / texts), resamples)


def resampled_means(sums: np.ndarray, counts: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """(R, ...): the mean over characters in each resample, from texts' ``sums`` (N, ...).

    ``counts`` (N,) are the characters of each text, ``draws`` those of `text_draws`.
    """
    totals = np.tensordot(draws, sums, 1)
    return totals / (draws @ counts).reshape(-1, *[1] * (totals.ndim - 1))


def ends(resamples: np.ndarray) -> np.ndarray:
    """(2, ...): the ends of the 95 % interval of ``resamples`` (R, ...), NaN left out."""
    return np.nanpercentile(resamples, TAILS, axis=0)


@dataclass(frozen=True, eq=False)
class PairedDifference:
    """A difference of two models, paired over seeds and texts, and its 95 % interval."""

    by_seed: np.ndarray  # (S,)
    half_width: float

    @property
    def mean(self) -> float:
        """The mean over seeds."""
        return float(self.by_seed.mean())

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half_width

    @property
    def p(self) -> float:
        """The two-sided p-value that fits the interval: below 5 % where that lacks 0.

        Student t with a degree of freedom less than there are seeds; NaN with one seed.
        """
        freedom = len(self.by_seed) - 1
        if freedom < 1:
            return float("nan")
        # `scipy.stats`, whose import takes half a second of a first picture, has the same numbers.
        from scipy.special import stdtr, stdtrit

        error = self.half_width / stdtrit(freedom, 1 - LEVEL / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(2 * stdtr(freedom, -abs(np.divide(self.mean, error))))


def family_p(differences: Sequence[PairedDifference]) -> np.ndarray:
    """(T,): p-values of T differences that are told together, adjusted by Holm."""
    return holm([of.p for of in differences])


def widened(differences: Sequence[PairedDifference]) -> list[PairedDifference]:
    """Return T differences, each with the interval of the level at which Holm's method tests it.

    It lacks 0 where `family_p` is below `LEVEL`, and only there.
    """
    from scipy.special import stdtrit  # see `PairedDifference.p`

    p = np.array([of.p for of in differences])
    # Of those that are significant each leaves one test less; then all are tested at one level.
    tests = len(p) - np.minimum(p.argsort().argsort(), (holm(p) < LEVEL).sum())
    return [
        replace(of, half_width=of.half_width * float(own / alone))
        for of, count in zip(differences, tests, strict=True)
        for own, alone in [stdtrit(len(of.by_seed) - 1, 1 - LEVEL / 2 / np.array([count, 1]))]
    ]


def paired_difference(
    values: np.ndarray, others: np.ndarray, resamples: np.ndarray, others_resamples: np.ndarray
) -> PairedDifference:
    """``values`` (S,) minus ``others`` (S,), each with its resamples (S, R) over the same texts.

    Seeds and texts are independent sources of uncertainty: the half-widths of the interval over
    seeds (Student t) and of that over texts (bootstrap of the mean over seeds) are added in
    quadrature. With one seed the interval is that over texts alone.
    """
    by_seed = np.asarray(values, float) - others
    low, high = ends((np.asarray(resamples, float) - others_resamples).mean(0))
    seeds = mean_interval(by_seed).half_width if len(by_seed) > 1 else 0.0
    return PairedDifference(by_seed, float(np.hypot(seeds, (high - low) / 2)))


def loss_difference(
    sums: np.ndarray, other_sums: np.ndarray, counts: np.ndarray
) -> PairedDifference:
    """The difference of mean losses of a character, from losses of texts (S, N).

    ``counts`` (N,): the characters of each text.
    """
    draws = text_draws(len(counts))
    values, resamples = zip(
        *(
            (losses.sum(-1) / counts.sum(), resampled_means(losses.T, counts, draws).T)
            for losses in (np.asarray(sums, float), np.asarray(other_sums, float))
        ),
        strict=True,
    )
    return paired_difference(*values, *resamples)
