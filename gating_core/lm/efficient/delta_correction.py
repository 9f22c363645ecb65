"""Delta correction: attention in a window, repaired by its error at every γ-th query.

Sparse attention sees the last ``window`` keys and the first ``sinks``. Every γ-th query, an anchor,
is computed in full too; the difference of both outputs there is added to its own output and to the
γ - 1 that follow (Willette, Lee and Hwang, *Delta Attention*, arXiv 2505.11254). So it helps
exactly where the missing part m = full - sparse changes by less, from an anchor to the queries
after it, than m itself. The published code also computes the last queries in full: `dense_tail`.

Shapes: T queries and as many keys, d channels, R queries computed in full, C points of a curve, G
gaps and S seeds of the retrieval task; dots stand for any leading dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from gating_core.checks import check_integer
from gating_core.lm.efficient.cost import COSTS
from gating_core.lm.efficient.rows import MOST, mixed
from gating_core.lm.efficient.samples import (
    HeadSample,
    first_late,
    late_cosine,
    retrieval,
)

DENSE_BLOCK = 128  # queries that the published code computes in full at the end, at least
LEAST_BLOCKS = 4  # in a sequence, so that most of it is sparse
WINDOWS = (8, 16, 32)  # keys, of models that are measured: see `load_efficient`
SINKS = 4
GAMMAS = (4, 8, 16, 32)  # one query in as many is computed in full
WINDOW_STEPS = (4, 8, 16, 32, 64)  # keys
GAMMA_STEPS = (1, 2, 4, 8, 16, 32, 64)  # queries; at 1 every query is computed in full
SHOWN_LAGS = 32
SHORTEST = 4  # tokens
PAIRS, GAPS = 16, (0, 16, 32, 64, 128, 256)  # of the retrieval task
RETRIEVAL_SEEDS = tuple(range(8))


def window_mask(length: int, window: int, sinks: int = 0) -> torch.Tensor:
    """(T, T) bool: the last ``window`` keys, the query's own included, and the first ``sinks``.

    Row t is that of query t. ``ValueError`` for sizes that are no positive integers (sinks: 0 too).
    """
    check_integer("length", length, 1, MOST)
    check_integer("window", window, 1, MOST)
    check_integer("sinks", sinks, 0, MOST)
    ago = torch.arange(length)[:, None] - torch.arange(length)
    return (ago >= 0) & ((ago < window) | (torch.arange(length) < sinks))


def dense_tail(length: int, gamma: int) -> int:
    """The number of last queries that are computed in full: ``length`` mod γ + max(128, γ).

    This is the published rule. In sequences below 512 tokens it would cover most of the text, and
    all of one of 128 characters: there it is ``length`` mod γ + γ, and at most ``length``.
    """
    check_integer("length", length, 1, MOST)
    check_integer("gamma", gamma, 1, MOST)
    block = DENSE_BLOCK if length >= LEAST_BLOCKS * DENSE_BLOCK else 1
    return min(length, length % gamma + max(block, gamma))


def anchors(length: int, gamma: int, dense: int = 0) -> torch.Tensor:
    """(R,) int64: the queries computed in full: 0, γ, 2 γ, ..., and each of the last ``dense``."""
    check_integer("length", length, 1, MOST)
    check_integer("gamma", gamma, 1, MOST)
    check_integer("dense", dense, 0, length)
    first = length - dense
    return torch.cat([torch.arange(0, first, gamma), torch.arange(first, length)])


def corrected(sparse: torch.Tensor, full: torch.Tensor, gamma: int, dense: int = 0) -> torch.Tensor:
    """(..., T, d): ``sparse`` outputs, repaired by the ``full`` ones (..., T, d) at `anchors`.

    The outputs at the anchors are those of ``full``, bit for bit; its other rows are not read.
    ``ValueError`` where shapes or types differ or something is not finite.
    """
    _check_outputs("sparse", sparse)
    _check_outputs("full", full)
    if (full.shape, full.dtype) != (sparse.shape, sparse.dtype):
        raise ValueError(
            f"sparse is {tuple(sparse.shape)} {sparse.dtype} and full {tuple(full.shape)}"
            f" {full.dtype}; both must be the same"
        )
    length = sparse.shape[-2]
    at = anchors(length, gamma, dense)
    last = torch.searchsorted(at, torch.arange(length), right=True) - 1
    result = sparse + (full - sparse)[..., at[last], :]
    return result.index_copy(-2, at, full[..., at, :])


def change_by_lag(missing: torch.Tensor, lags: int) -> torch.Tensor:
    """(..., lags): the relative change of ``missing`` m (..., T, d) after 1, 2, ... queries.

    The sum of |m_i - m_(i - lag)|² divided by that of |m_i|², for i >= lag: 0 where m is constant,
    2 where both are independent with mean zero. The squared error of corrected outputs over that of
    sparse ones is about the mean over the lags 0 to γ - 1. NaN where nothing is missing.
    ``ValueError`` unless 1 <= lags < T, and where ``missing`` is not finite.
    """
    _check_outputs("missing", missing)
    check_integer("lags", lags, 1, missing.shape[-2] - 1)
    changes = []
    for lag in range(1, lags + 1):
        later, earlier = missing[..., lag:, :], missing[..., :-lag, :]
        squares = ((x**2).sum((-2, -1)) for x in (later - earlier, later))
        changes.append(torch.div(*squares))
    return torch.stack(changes, -1)


def _check_outputs(name: str, x: torch.Tensor) -> None:
    """``ValueError`` unless ``x`` is (..., T, d), T > 0, and finite."""
    if x.ndim < 2 or not x.shape[-2]:
        raise ValueError(f"{name} has shape {tuple(x.shape)}; it must be (..., T, d), T > 0")
    if not x.isfinite().all():
        raise ValueError(f"{name} contains NaN or infinite numbers; all must be finite")


# --- A head, and a retrieval task -----------------------------------------------------------------


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

    cosine: np.ndarray  # (2,): sparse, corrected
    by_gamma: np.ndarray  # (2, C) at GAMMA_STEPS: cosine corrected, and the share of scores
    share: np.ndarray  # (2,): of the scores of full attention, sparse and corrected
    ratio: float  # squared error corrected over sparse, before the tail; NaN if nothing is missing
    change: np.ndarray  # (lags,): `change_by_lag`


def correct_head(sample: HeadSample, request: CorrectionRequest) -> Correction:
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
    full = mixed(scores, values)
    sparse = mixed(scores, values, window_mask(length, window, request.sinks))
    tail = dense_tail(length, gamma)
    late = slice(first_late(length), max(first_late(length), length - tail))

    def cosine(gamma: int) -> float:
        tail = dense_tail(length, gamma)
        return float(late_cosine(corrected(sparse, full, gamma, tail), full, tail))

    def share(gamma: int | None = None) -> float:
        sizes = length, channels, window, request.sinks
        cost = (
            COSTS["window"](*sizes)
            if gamma is None
            else COSTS["corrected"](*sizes, gamma, dense_tail(length, gamma))
        )
        return cost.scores / COSTS["full"](length, channels).scores

    missing = full - sparse
    left = full - corrected(sparse, full, gamma, tail)
    errors = [part[late].square().sum() for part in (missing, left)]
    missing = missing[late.start :]
    return Correction(
        cosine=np.array([float(late_cosine(sparse, full, tail)), cosine(gamma)]),
        by_gamma=np.array([[of(each) for each in GAMMA_STEPS] for of in (cosine, share)]),
        share=np.array([share(), share(gamma)]),
        ratio=float(errors[1] / errors[0]),
        change=change_by_lag(missing, min(SHOWN_LAGS, len(missing) - 1)).numpy(),
    )


def retrieve(request: CorrectionRequest) -> np.ndarray:
    """(3, G, S): how often full, sparse and corrected attention retrieve the right value.

    Of `PAIRS` pairs, with each of `GAPS` other tokens between pairs and queries, by seed. No pair
    is a sink. There is no dense tail: it would hold the queries, which come last.
    """
    accuracies = []
    for gap, seed in product(GAPS, RETRIEVAL_SEEDS):
        task = retrieval(PAIRS, gap, seed, before=request.sinks)
        scores, values = task.sample.scores, task.sample.values
        full = mixed(scores, values)
        sparse = mixed(scores, values, window_mask(len(values), request.window, request.sinks))
        outputs = full, sparse, corrected(sparse, full, request.gamma)
        accuracies.append([task.accuracy(x) for x in outputs])
    return np.array(accuracies).T.reshape(3, len(GAPS), len(RETRIEVAL_SEEDS))
