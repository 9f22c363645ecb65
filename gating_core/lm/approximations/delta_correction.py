"""Window, sinks and delta correction in samples of a head, and in a retrieval task.

The samples are AR(1) tokens and a head over a text.

Shapes: T queries and as many keys, d channels, C points of a curve; G gaps and S seeds of the task.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import torch

import gating_core.efficient as efficient
from gating_core.lm.approximations.heads import first_late, late_cosine

WINDOWS = (8, 16, 32)  # keys, of models that are measured: see `load_efficient`
SINKS = 4
GAMMAS = (4, 8, 16, 32)  # one query in as many is computed in full
WINDOW_STEPS = (4, 8, 16, 32, 64)  # keys
GAMMA_STEPS = (1, 2, 4, 8, 16, 32, 64)  # queries; at 1 every query is computed in full
SHOWN_LAGS = 32
SLOW_TOKENS = 512
SLOW_MEMORY = 128.0  # tokens
SLOW_DRAWS = 5
SHORTEST = 4  # tokens
PAIRS, GAPS = 16, (0, 16, 32, 64, 128, 256)  # of the retrieval task
RETRIEVAL_SEEDS = tuple(range(8))


def _in_window(scores: torch.Tensor, values: torch.Tensor, window: int, sinks: int) -> torch.Tensor:
    """(..., T, d): the outputs of attention in a window and to the first ``sinks`` keys."""
    return efficient.mixed(scores, values, efficient.window_mask(values.shape[-2], window, sinks))


def _repaired(sparse: torch.Tensor, full: torch.Tensor, gamma: int, tail: int = 0) -> torch.Tensor:
    """(..., T, d): ``sparse`` outputs (..., T, d), corrected by the ``full`` ones at anchors."""
    anchors = efficient.anchors(full.shape[-2], gamma, tail)
    return efficient.corrected(sparse, full[..., anchors, :], gamma, tail)


@dataclass(frozen=True)
class CorrectionRequest:
    """Attention to the last ``window`` keys and the first ``sinks``, every ``gamma``-th in full."""

    window: int = 16  # of WINDOW_STEPS
    sinks: int = 4
    gamma: int = 8


@dataclass(frozen=True, eq=False)
class Correction:
    """One sample with full, sparse and corrected attention.

    Cosines are those with the outputs of full attention, means over the queries from `FIRST` on
    (in a short text from its middle on) and before the dense tail; NaN, as the others, if there are
    none.
    """

    length: int  # T
    tail: int  # the last queries, which are computed in full
    cosine: np.ndarray  # (2,): sparse, corrected
    by_gamma: np.ndarray  # (2, C) at GAMMA_STEPS: cosine corrected, and the share of scores
    share: np.ndarray  # (2,): of the scores of full attention, sparse and corrected
    ratio: float  # squared error corrected over sparse, before the tail; NaN if nothing is missing
    change: np.ndarray  # (lags,): `change_by_lag`


def correct_head(sample: efficient.HeadSample, request: CorrectionRequest) -> Correction:
    """Correct the outputs of a head over a text, or of tokens, in a window.

    ``ValueError`` for a window that is none of `WINDOW_STEPS`, and for fewer than four tokens.
    """
    window, gamma = request.window, request.gamma
    if window not in WINDOW_STEPS:
        raise ValueError(f"window is {window}; it must be one of {WINDOW_STEPS}")
    length, channels = sample.values.shape
    if length < SHORTEST:
        raise ValueError(f"the text has {length} tokens; it must have {SHORTEST} at least")
    scores, values = sample.scores.float(), sample.values.float()
    full = efficient.mixed(scores, values)
    sparse = _in_window(scores, values, window, request.sinks)
    tail = efficient.dense_tail(length, gamma)
    late = slice(first_late(length), max(first_late(length), length - tail))

    def cosine(gamma: int) -> float:
        tail = efficient.dense_tail(length, gamma)
        return float(late_cosine(_repaired(sparse, full, gamma, tail), full, tail))

    def share(gamma: int | None = None) -> float:
        sizes = length, channels, window, request.sinks
        if gamma is None:
            cost = efficient.COSTS["window"](*sizes)
        else:
            tail = efficient.dense_tail(length, gamma)
            cost = efficient.COSTS["corrected"](*sizes, gamma, tail)
        return cost.scores / efficient.COSTS["full"](length, channels).scores

    missing = full - sparse
    left = full - _repaired(sparse, full, gamma, tail)
    errors = [part[late].square().sum() for part in (missing, left)]
    missing = missing[late.start :]
    return Correction(
        length=length,
        tail=tail,
        cosine=np.array([float(late_cosine(sparse, full, tail)), cosine(gamma)]),
        by_gamma=np.array([[of(each) for each in GAMMA_STEPS] for of in (cosine, share)]),
        share=np.array([share(), share(gamma)]),
        ratio=float(errors[1] / errors[0]),
        change=efficient.change_by_lag(missing, min(SHOWN_LAGS, len(missing) - 1)).numpy(),
    )


def correct_ar1(
    request: CorrectionRequest,
    tokens: int = SLOW_TOKENS,
    memory: float = SLOW_MEMORY,
    seed: int = 0,
) -> list[Correction]:
    """Correct several draws, from ``seed`` on, of slow ``tokens`` correlated over ``memory``."""
    return [
        correct_head(efficient.ar1_tokens(tokens, memory, seed=seed + n), request)
        for n in range(SLOW_DRAWS)
    ]


@lru_cache(maxsize=2)
def _retrievals(
    window: int, sinks: int
) -> list[tuple[efficient.Retrieval, torch.Tensor, torch.Tensor]]:
    """Retrieval tasks with full and sparse outputs, by gap, then seed; cached, for any γ."""
    results = []
    for gap, seed in product(GAPS, RETRIEVAL_SEEDS):
        task = efficient.retrieval(PAIRS, gap, seed, before=sinks)
        scores, values = task.sample.scores, task.sample.values
        sparse = _in_window(scores, values, window, sinks)
        results.append((task, efficient.mixed(scores, values), sparse))
    return results


def retrieve(request: CorrectionRequest) -> np.ndarray:
    """(3, G, S): how often full, sparse and corrected attention retrieve the right value.

    Of `PAIRS` pairs, with each of `GAPS` other tokens between pairs and queries, by seed. No pair
    is a sink. There is no dense tail: it would hold the queries, which come last.
    """
    accuracies = [
        [task.accuracy(out) for out in (full, sparse, _repaired(sparse, full, request.gamma))]
        for task, full, sparse in _retrievals(request.window, request.sinks)
    ]
    return np.array(accuracies).T.reshape(3, len(GAPS), len(RETRIEVAL_SEEDS))
