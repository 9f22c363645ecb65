"""Window, sinks and delta correction: in language models, and in samples of a head.

The samples are AR(1) tokens and a head over a text; and there is a retrieval task.

Shapes: N texts, B texts of a batch, L layers, H heads, W windows, G distances γ of anchors; of a
sample T queries and as many keys, d channels, C points of a curve; G gaps and S seeds of the task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import torch

import gating_core.efficient as efficient
from gating_core.lm.approximations.models import (
    FIRST,
    first_late,
    late_cosine,
    windowed,
)
from gating_core.lm.losses import Arrays, batches, text_losses
from gating_core.lm.model import LanguageModel

WINDOWS = (8, 16, 32)  # keys
SINKS = 4
GAMMAS = (4, 8, 16, 32)  # one query in as many is computed in full
LAGS = 31
WINDOW_STEPS = (4, 8, 16, 32, 64)  # keys
GAMMA_STEPS = (1, 2, 4, 8, 16, 32, 64)  # queries; at 1 every query is computed in full
SHOWN_LAGS = 32
SLOW_TOKENS = 512
SLOW_MEMORY = 128.0  # tokens
SLOW_DRAWS = 5
SHORTEST = 4  # tokens
PAIRS, GAPS = 16, (0, 16, 32, 64, 128, 256)  # of the retrieval task
LEAST_PUBLISHED = efficient.DENSE_BLOCK * efficient.LEAST_BLOCKS  # tokens, for the published tail
RETRIEVAL_SEEDS = tuple(range(8))


def correction(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Measure losses and outputs in a window, without and with correction.

    ``sums`` (W, 1 + G, N): the loss of each text from its 33rd character on, in nats, without
    correction and with each γ; ``full`` and ``counts`` (N,). ``cosines`` (W, 1 + G, L, H): the mean
    cosine of outputs with those of full attention, from the 33rd query on, for the states of the
    full model. ``ratios`` (W, G, L, H) and ``changes`` (W, lags, L, H): the means over texts of
    `error_ratio` and of `change_by_lag` there. Cosines and ratios with a γ are over the queries
    before the `dense_tail`.
    """
    full, counts = text_losses(model, texts, first=FIRST)
    sums = torch.stack(
        [
            torch.stack(
                [
                    text_losses(windowed(model, window, SINKS, gamma), texts, first=FIRST)[0]
                    for gamma in (None, *GAMMAS)
                ]
            )
            for window in WINDOWS
        ]
    )
    parts: dict[str, list[torch.Tensor]] = {"cosines": [], "ratios": [], "changes": []}
    for batch in batches(model, texts):
        layers = [_outputs(efficient.causal(x.scores), x.values) for x in batch.layers]
        for name, columns in parts.items():
            columns.append(torch.stack([layer[name] for layer in layers], -3))
    means = {name: torch.cat(columns, -2).nanmean(-2).numpy() for name, columns in parts.items()}
    return {
        "sums": sums.float().numpy(),
        "full": full.float().numpy(),
        "counts": counts.float().numpy(),
        **means,
    }


def _in_window(scores: torch.Tensor, values: torch.Tensor, window: int, sinks: int) -> torch.Tensor:
    """(..., T, d): the outputs of attention in a window and to the first ``sinks`` keys."""
    return efficient.mixed(scores, values, efficient.window_mask(values.shape[-2], window, sinks))


def _repaired(sparse: torch.Tensor, full: torch.Tensor, gamma: int, tail: int = 0) -> torch.Tensor:
    """(..., T, d): ``sparse`` outputs (..., T, d), corrected by the ``full`` ones at anchors."""
    anchors = efficient.anchors(full.shape[-2], gamma, tail)
    return efficient.corrected(sparse, full[..., anchors, :], gamma, tail)


def _outputs(scores: torch.Tensor, values: torch.Tensor) -> dict[str, torch.Tensor]:
    """(..., B, H) of one layer: cosines, ratios and changes as `correction` describes them."""
    full = efficient.mixed(scores, values)
    length = full.shape[-2]
    tails = {gamma: efficient.dense_tail(length, gamma) for gamma in GAMMAS}
    cosines, ratios, changes = [], [], []
    for window in WINDOWS:
        sparse = _in_window(scores, values, window, SINKS)
        cosines.append(
            torch.stack(
                [
                    late_cosine(sparse, full),
                    *(
                        late_cosine(_repaired(sparse, full, gamma, tail), full, tail)
                        for gamma, tail in tails.items()
                    ),
                ]
            )
        )
        missing = full - sparse
        ratios.append(
            torch.stack(
                [
                    efficient.error_ratio(missing[..., FIRST : length - tail, :], gamma)
                    for gamma, tail in tails.items()
                ]
            )
        )
        changes.append(efficient.change_by_lag(missing[..., FIRST:, :], LAGS).movedim(-1, 0))
    return {
        "cosines": torch.stack(cosines),
        "ratios": torch.stack(ratios),
        "changes": torch.stack(changes),
    }


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

    points: np.ndarray  # (3, T, 2): full, sparse, corrected outputs on two principal axes of full
    first: int  # the first query of the means
    tail: int  # the last queries, which are computed in full
    explained: float  # the share of the variance of full outputs along these axes
    shift: np.ndarray  # (2,): |mean - mean of full| / spread of full; sparse, corrected
    cosine: np.ndarray  # (2,): sparse, corrected
    by_gamma: np.ndarray  # (2, C) at GAMMA_STEPS: cosine corrected, and the share of scores
    by_window: np.ndarray  # (4, C) at WINDOW_STEPS: cosine sparse, corrected; shares of scores
    share: np.ndarray  # (2,): of the scores of full attention, sparse and corrected
    ratio: float  # squared error corrected over sparse, before the tail; NaN if nothing is missing
    change: np.ndarray  # (lags,): `change_by_lag`


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs (T, d) of one head: of full attention, and with ``sinks`` in each window."""

    full: torch.Tensor
    sparse: dict[int, torch.Tensor]  # by `WINDOW_STEPS`
    sinks: int


def outputs(sample: efficient.HeadSample, sinks: int) -> Outputs:
    """Mix the values of a sample in full and in each window; float32."""
    scores, values = sample.scores.float(), sample.values.float()
    sparse = {window: _in_window(scores, values, window, sinks) for window in WINDOW_STEPS}
    return Outputs(efficient.mixed(scores, values), sparse, sinks)


def correct(outputs: Outputs, window: int, gamma: int) -> Correction:
    """Correct sparse outputs of a ``window`` among `WINDOW_STEPS` at every ``gamma``-th query.

    ``ValueError`` for another window, and for a text of fewer than four tokens.
    """
    if window not in outputs.sparse:
        raise ValueError(f"window is {window}; it must be one of {WINDOW_STEPS}")
    length, channels = outputs.full.shape
    if length < SHORTEST:
        raise ValueError(f"the text has {length} tokens; it must have {SHORTEST} at least")
    tail = efficient.dense_tail(length, gamma)
    late = slice(first_late(length), max(first_late(length), length - tail))

    def repaired(window: int, gamma: int) -> torch.Tensor:
        tail = efficient.dense_tail(length, gamma)
        return _repaired(outputs.sparse[window], outputs.full, gamma, tail)

    def cosine(result: torch.Tensor, tail: int = tail) -> float:
        return float(late_cosine(result, outputs.full, tail))

    def share(window: int, gamma: int | None = None) -> float:
        sizes = length, channels, window, outputs.sinks
        if gamma is None:
            cost = efficient.COSTS["window"](*sizes)
        else:
            tail = efficient.dense_tail(length, gamma)
            cost = efficient.COSTS["corrected"](*sizes, gamma, tail)
        return cost.scores / efficient.COSTS["full"](length, channels).scores

    shown = torch.stack([outputs.full, outputs.sparse[window], repaired(window, gamma)])
    missing = (shown[0] - shown[1])[late.start :]
    points, explained = _principal(shown)
    means, spread = shown[:, late].mean(1), shown[0, late].std(0).norm()
    errors = (shown[1:] - shown[0])[:, late].square().sum((1, 2))
    return Correction(
        points=points,
        first=late.start,
        tail=tail,
        explained=explained,
        shift=((means[1:] - means[0]).norm(dim=-1) / spread).numpy(),
        cosine=np.array([cosine(result) for result in shown[1:]]),
        by_gamma=np.array(
            [
                [
                    cosine(repaired(window, each), efficient.dense_tail(length, each))
                    for each in GAMMA_STEPS
                ],
                [share(window, each) for each in GAMMA_STEPS],
            ]
        ),
        by_window=np.array(
            [
                [cosine(outputs.sparse[each]) for each in WINDOW_STEPS],
                [cosine(repaired(each, gamma)) for each in WINDOW_STEPS],
                [share(each) for each in WINDOW_STEPS],
                [share(each, gamma) for each in WINDOW_STEPS],
            ]
        ),
        share=np.array([share(window), share(window, gamma)]),
        ratio=float(errors[1] / errors[0]),
        change=efficient.change_by_lag(missing, min(SHOWN_LAGS, len(missing) - 1)).numpy(),
    )


@lru_cache(maxsize=4)
def _slow_outputs(sinks: int, tokens: int, memory: float, seed: int) -> list[Outputs]:
    """The outputs of slowly varying tokens, by draw; cached, for any window and γ."""
    return [
        outputs(efficient.ar1_tokens(tokens, memory, seed=seed + n), sinks)
        for n in range(SLOW_DRAWS)
    ]


def correct_ar1(
    request: CorrectionRequest,
    tokens: int = SLOW_TOKENS,
    memory: float = SLOW_MEMORY,
    seed: int = 0,
) -> list[Correction]:
    """Correct several draws, from ``seed`` on, of slow ``tokens`` correlated over ``memory``."""
    return [
        correct(outputs, request.window, request.gamma)
        for outputs in _slow_outputs(request.sinks, tokens, memory, seed)
    ]


def correct_head(sample: efficient.HeadSample, request: CorrectionRequest) -> Correction:
    """Correct a head over a text, as `read_head` returns it."""
    return correct(outputs(sample, request.sinks), request.window, request.gamma)


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


def _principal(outputs: torch.Tensor) -> tuple[np.ndarray, float]:
    """(3, T, 2): ``outputs`` (3, T, d) on the two principal axes of ``outputs[0]``.

    And the share of its variance along these. Each axis is oriented so that its largest entry is
    positive.
    """
    centre = outputs[0].mean(0)
    _, sizes, directions = torch.linalg.svd(outputs[0] - centre, full_matrices=False)
    plane = directions[:2].mT
    plane = plane * plane.gather(0, plane.abs().argmax(0, keepdim=True)).sign()
    share = sizes[:2].square().sum() / sizes.square().sum()
    return ((outputs - centre) @ plane).numpy(), float(share)
