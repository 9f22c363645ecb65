"""Delta correction: attention in a window, repaired by its error at every γ-th query.

Sparse attention sees the last ``window`` keys and the first ``sinks``. Every γ-th query, an anchor,
is computed in full too; the difference of both outputs there is added to its own output and to the
γ - 1 that follow (Willette, Lee and Hwang, *Delta Attention*, arXiv 2505.11254). So it helps
exactly where the missing part m = full - sparse changes by less, from an anchor to the queries
after it, than m itself. The published code also computes the last queries in full: `dense_tail`.

Shapes: T queries and as many keys, d channels, R queries computed in full; dots stand for any
leading dimensions.
"""

from __future__ import annotations

import torch

from gating_core.checks import check_integer
from gating_core.efficient.rows import MOST

DENSE_BLOCK = 128  # queries that the published code computes in full at the end, at least
LEAST_BLOCKS = 4  # in a sequence, so that most of it is sparse


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
    """(..., T, d): ``sparse`` outputs (..., T, d), repaired by the ``full`` ones at `anchors`.

    ``full`` is (..., R, d). The outputs at the anchors are those of ``full``, bit for bit.
    ``ValueError`` where sizes do not fit or something is not finite.
    """
    _check_outputs("sparse", sparse)
    length = sparse.shape[-2]
    at = anchors(length, gamma, dense)
    if full.shape != (*sparse.shape[:-2], len(at), sparse.shape[-1]):
        raise ValueError(
            f"sparse has shape {tuple(sparse.shape)} and full {tuple(full.shape)};"
            f" full must have {len(at)} rows, and the rest as sparse"
        )
    _check_outputs("full", full)
    if full.dtype != sparse.dtype:
        raise ValueError(f"full is {full.dtype}; it must be {sparse.dtype}, as sparse")
    missing = full - sparse[..., at, :]
    last = torch.searchsorted(at, torch.arange(length), right=True) - 1
    result = sparse + missing[..., last, :]
    return result.index_copy(-2, at, full)


def change_by_lag(missing: torch.Tensor, lags: int) -> torch.Tensor:
    """(..., lags): the relative change of ``missing`` m (..., T, d) after 1, 2, ... queries.

    The sum of |m_i - m_(i - lag)|² divided by that of |m_i|², for i >= lag: 0 where m is constant,
    2 where both are independent with mean zero. The squared error of corrected outputs over that of
    sparse ones is about the mean over the lags 0 to γ - 1. NaN where nothing is missing.
    ``ValueError`` unless 1 <= lags < T, and where ``missing`` is not finite.
    """
    _check_outputs("missing", missing)
    check_integer("lags", lags, 1, missing.shape[-2] - 1)
    return torch.stack(
        [
            _squares(missing[..., lag:, :] - missing[..., :-lag, :])
            / _squares(missing[..., lag:, :])
            for lag in range(1, lags + 1)
        ],
        -1,
    )


def _check_outputs(name: str, x: torch.Tensor) -> None:
    """``ValueError`` unless ``x`` is (..., T, d), T > 0, and finite."""
    if x.ndim < 2 or not x.shape[-2]:
        raise ValueError(f"{name} has shape {tuple(x.shape)}; it must be (..., T, d), T > 0")
    if not x.isfinite().all():
        raise ValueError(f"{name} contains NaN or infinite numbers; all must be finite")


def _squares(x: torch.Tensor) -> torch.Tensor:
    """(...): the sum of squares over the last two axes."""
    return x.square().sum((-2, -1))
