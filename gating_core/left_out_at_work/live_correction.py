"""Delta correction on two samples, slow tokens and a head over a text; and a retrieval task.

Shapes: T queries and as many keys, d channels, C points of a curve, G gaps, S seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch.nn import functional

from gating_core.left_out import (
    COSTS,
    HeadSample,
    Retrieval,
    anchors,
    change_by_lag,
    corrected,
    mixed,
    retrieval,
    slow_tokens,
    window_mask,
)
from gating_core.left_out_at_work.losses import FIRST

WINDOW_STEPS = (4, 8, 16, 32, 64)  # keys
GAMMA_STEPS = (1, 2, 4, 8, 16, 32, 64)  # queries; at 1 every query is computed in full
SHOWN_LAGS = 32
SLOW_TOKENS = 512
SLOW_MEMORY = 128.0  # tokens
SLOW_DRAWS = 5
SHORTEST = 4  # tokens
PAIRS, GAPS = 16, (0, 16, 32, 64, 128, 256)  # of the retrieval task
RETRIEVAL_SEEDS = tuple(range(8))


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
    (in a short text from its middle on).
    """

    points: np.ndarray  # (3, T, 2): full, sparse, corrected outputs on two principal axes of full
    first: int  # the first query of the means
    explained: float  # the share of the variance of full outputs along these axes
    shift: np.ndarray  # (2,): |mean - mean of full| / spread of full; sparse, corrected
    cosine: np.ndarray  # (2,): sparse, corrected
    by_gamma: np.ndarray  # (2, C) at GAMMA_STEPS: cosine corrected, and the share of scores
    by_window: np.ndarray  # (4, C) at WINDOW_STEPS: cosine sparse, corrected; shares of scores
    share: np.ndarray  # (2,): of the scores of full attention, sparse and corrected
    ratio: float  # squared error corrected over sparse; NaN if nothing is missing
    change: np.ndarray  # (lags,): `change_by_lag`


@dataclass(frozen=True, eq=False)
class Outputs:
    """Outputs (T, d) of one head: of full attention, and with ``sinks`` in each window."""

    full: torch.Tensor
    sparse: dict[int, torch.Tensor]  # by `WINDOW_STEPS`
    sinks: int


def outputs(sample: HeadSample, sinks: int) -> Outputs:
    """Mix the values of a sample in full and in each window; float32."""
    scores, values = sample.scores.float(), sample.values.float()
    sparse = {window: mixed(scores, values, window_mask(len(values), window, sinks))
              for window in WINDOW_STEPS}  # fmt: skip
    return Outputs(mixed(scores, values), sparse, sinks)


def correct(outputs: Outputs, window: int, gamma: int) -> Correction:
    """Correct sparse outputs of a ``window`` among `WINDOW_STEPS` at every ``gamma``-th query.

    ``ValueError`` for another window, and for a text of fewer than four tokens.
    """
    if window not in outputs.sparse:
        raise ValueError(f"window is {window}; it must be one of {WINDOW_STEPS}")
    length, channels = outputs.full.shape
    if length < SHORTEST:
        raise ValueError(f"the text has {length} tokens; it must have {SHORTEST} at least")
    first = min(FIRST, length // 2)

    def repaired(window: int, gamma: int) -> torch.Tensor:
        return corrected(outputs.sparse[window], outputs.full[anchors(length, gamma)], gamma)

    def cosine(result: torch.Tensor) -> float:
        similarity = functional.cosine_similarity(result, outputs.full, dim=-1)
        return float(similarity[first:].mean())

    def share(window: int, gamma: int | None = None) -> float:
        if gamma is None:
            cost = COSTS["window"](length, channels, window, outputs.sinks)
        else:
            cost = COSTS["corrected"](length, channels, window, outputs.sinks, gamma)
        return cost.scores / COSTS["full"](length, channels).scores

    shown = torch.stack([outputs.full, outputs.sparse[window], repaired(window, gamma)])
    missing = (shown[0] - shown[1])[first:]
    points, explained = _principal(shown)
    means, spread = shown[:, first:].mean(1), shown[0, first:].std(0).norm()
    errors = (shown[1:] - shown[0])[:, first:].square().sum((1, 2))
    return Correction(
        points=points,
        first=first,
        explained=explained,
        shift=((means[1:] - means[0]).norm(dim=-1) / spread).numpy(),
        cosine=np.array([cosine(result) for result in shown[1:]]),
        by_gamma=np.array([
            [cosine(repaired(window, each)) for each in GAMMA_STEPS],
            [share(window, each) for each in GAMMA_STEPS],
        ]),
        by_window=np.array([
            [cosine(outputs.sparse[each]) for each in WINDOW_STEPS],
            [cosine(repaired(each, gamma)) for each in WINDOW_STEPS],
            [share(each) for each in WINDOW_STEPS],
            [share(each, gamma) for each in WINDOW_STEPS],
        ]),
        share=np.array([share(window), share(window, gamma)]),
        ratio=float(errors[1] / errors[0]),
        change=change_by_lag(missing, min(SHOWN_LAGS, len(missing) - 1)).numpy(),
    )  # fmt: skip


@lru_cache(maxsize=4)
def _slow_outputs(sinks: int, tokens: int, memory: float, seed: int) -> list[Outputs]:
    """The outputs of slowly varying tokens, by draw; cached, for any window and γ."""
    return [outputs(slow_tokens(tokens, memory, seed=seed + n), sinks) for n in range(SLOW_DRAWS)]


def correct_slow(
    request: CorrectionRequest, tokens: int = SLOW_TOKENS, memory: float = SLOW_MEMORY,
    seed: int = 0,
) -> list[Correction]:  # fmt: skip
    """Correct several draws, from ``seed`` on, of slow ``tokens`` correlated over ``memory``."""
    return [correct(outputs, request.window, request.gamma)
            for outputs in _slow_outputs(request.sinks, tokens, memory, seed)]  # fmt: skip


def correct_head(sample: HeadSample, request: CorrectionRequest) -> Correction:
    """Correct a head over a text, as `head_specimen` returns it."""
    return correct(outputs(sample, request.sinks), request.window, request.gamma)


@lru_cache(maxsize=2)
def _retrievals(
    window: int, sinks: int
) -> list[list[tuple[Retrieval, torch.Tensor, torch.Tensor]]]:
    """Retrieval tasks with full and sparse outputs, by gap and seed; cached, for any γ."""

    def outputs_of(task: Retrieval) -> tuple[Retrieval, torch.Tensor, torch.Tensor]:
        scores, values = task.specimen.scores, task.specimen.values
        sparse = mixed(scores, values, window_mask(len(values), window, sinks))
        return task, mixed(scores, values), sparse

    return [[outputs_of(retrieval(PAIRS, gap, seed, before=sinks)) for seed in RETRIEVAL_SEEDS]
            for gap in GAPS]  # fmt: skip


def retrieve(request: CorrectionRequest) -> np.ndarray:
    """(3, G, S): how often full, sparse and corrected attention retrieve the right value.

    Of `PAIRS` pairs, with each of `GAPS` other tokens between pairs and queries, by seed. No pair
    is a sink.
    """
    accuracies = np.empty((3, len(GAPS), len(RETRIEVAL_SEEDS)))
    for g, tasks in enumerate(_retrievals(request.window, request.sinks)):
        for s, (task, full, sparse) in enumerate(tasks):
            anchor_queries = anchors(len(full), request.gamma)
            variants = (full, sparse, corrected(sparse, full[anchor_queries], request.gamma))
            accuracies[:, g, s] = [task.accuracy(out) for out in variants]
    return accuracies


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
