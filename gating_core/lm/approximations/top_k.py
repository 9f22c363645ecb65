"""Top-k: in one row of scores, and in language models with all heads truncated.

The row is that of the last query, which sees every key: the tail mass for every k, its bounds,
and the Gaussian approximation. Curves have every k from 1 to n, or of long rows some of them.

Shapes: n keys, d channels, P points of curves, B bins; of models N texts, L layers, H heads, K
sizes k, C certificates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

import gating_core.efficient as efficient
from gating_core.lm.approximations.models import FIRST, truncated
from gating_core.lm.losses import Arrays, batches, text_losses
from gating_core.lm.model import LanguageModel

SIZES = (1, 2, 4, 8, 16, 32)  # k; in arrays the untruncated model comes after them
EPSILON = 0.05  # the tail-mass budget
EPSILONS = (0.2, 0.1, 0.05, 0.01, 0.001)  # of `fire_rates`
FIRE_SHARE = 0.5  # a certificate fires where it keeps less than this share of the keys
FIRING = ("exact", *efficient.CERTIFICATES, "boxes")  # in `fire_rates`: exact τ, and certificates
FIRST_QUERY = 64  # the first whose heads are measured
EVERY = 4  # one text in as many is measured head by head, to save time
BINS = np.linspace(-6.0, 6.0, 49)  # of standardised scores; those beyond count in the last bins
POINTS = 300  # of a curve, at most
STRETCHES = 64  # of even gaps in a long row, at most
LATE = 64  # queries at the end whose scores are counted: at most half of all


def truncation(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Measure losses, and heads, under truncation.

    ``sums`` (K + 1, N): the loss of each text in nats, from its 33rd character on, with all heads
    truncated to k, the last with none; ``counts`` (N,). Of the queries from `FIRST_QUERY` on of
    every fourth text, by head (L, H): ``needed``, the median k for a tail mass of 5 %, and its
    upper decile ``needed_high``; ``rule``, the median of what the Gaussian approximation says, and
    ``sigma``; ``certified`` (C, L, H), the median k that each certificate allows; ``histogram``
    (L, H, b) of standardised scores.
    """
    models = [*(truncated(model, k) for k in SIZES), model]
    losses = [text_losses(each, texts, first=FIRST) for each in models]
    columns: dict[str, list[torch.Tensor]] = {}
    bins = []
    for batch in batches(model, texts[::EVERY]):
        late = efficient.causal(torch.stack([x.scores for x in batch.layers]))[..., FIRST_QUERY:, :]
        for name, column in _heads(late).items():
            columns.setdefault(name, []).append(column)
        bins.append(_histogram(late))
    by_head = {name: torch.cat(parts, -1) for name, parts in columns.items()}
    medians = {name: column.quantile(0.5, -1).numpy() for name, column in by_head.items()}
    return {
        "sums": torch.stack([sums for sums, _ in losses]).float().numpy(),
        "counts": losses[0][1].float().numpy(),
        **medians,
        "needed_high": by_head["needed"].quantile(0.9, -1).numpy(),
        "histogram": np.sum(bins, 0).astype(np.int32),
    }


def _heads(late: torch.Tensor) -> dict[str, torch.Tensor]:
    """(..., L, H, rows): the quantities of `truncation` by row of scores (L, B, H, t, n)."""
    visible = (~late.isneginf()).sum(-1)
    sigma = efficient.standardised(late)[1]
    rule = (visible * efficient.needed_share(sigma, EPSILON)).clamp(min=1)
    certified = [
        efficient.smallest_k(certificate.curve(late), EPSILON)
        for certificate in efficient.CERTIFICATES.values()
    ]
    needed = efficient.smallest_k(efficient.masses(late), EPSILON)
    numbers = {"needed": needed, "sigma": sigma, "rule": rule, "certified": torch.stack(certified)}
    return {name: x.float().transpose(-3, -2).flatten(-2) for name, x in numbers.items()}


def _histogram(late: torch.Tensor) -> np.ndarray:
    """(L, H, b) int64: standardised scores by head."""
    scaled = efficient.standardised(late)[0].clamp(BINS[0], BINS[-1])
    by_head = scaled.transpose(1, 2).flatten(2).numpy()
    return np.array(
        [[np.histogram(head[~np.isnan(head)], BINS)[0] for head in layer] for layer in by_head]
    )


def fire_rates(model: LanguageModel, texts: Sequence[str]) -> Arrays:
    """Measure how often each of `FIRING` certifies a tail mass with fewer than half of the keys.

    ``rates`` (E, F, L, H): of the rows of each text's last query, which sees n keys, the share that
    a certificate keeps below each of `EPSILONS` with k < n / 2; ``rows``: their number by head.
    """
    fired = torch.zeros(len(EPSILONS), len(FIRING), model.config.depth, model.config.heads)
    for length, alike in _by_length(texts, model.config.context).items():
        for batch in batches(model, alike):
            scores = torch.stack(
                [x.scores[..., length - 1 : length, :length] for x in batch.layers]
            )
            queries, keys = (
                torch.stack([getattr(x, name)[..., start:length, :] for x in batch.layers])
                for name, start in (("queries", length - 1), ("keys", 0))
            )
            for row, epsilon in enumerate(EPSILONS):
                kept = kept_keys(scores, queries, keys, epsilon)
                fired[row] += (kept < FIRE_SHARE * length).sum((2, 4)).float()
    return {"rates": (fired / len(texts)).numpy(), "rows": np.array(len(texts), np.float32)}


def _by_length(texts: Sequence[str], context: int) -> dict[int, list[str]]:
    """Texts by the number of characters that are read of them: what follows a text is no key."""
    groups: dict[int, list[str]] = {}
    for text in texts:
        groups.setdefault(min(len(text) + 1, context), []).append(text)
    return groups


def kept_keys(
    scores: torch.Tensor, queries: torch.Tensor, keys: torch.Tensor, epsilon: float
) -> torch.Tensor:
    """(F, ..., T) int64: the keys that each of `FIRING` keeps for a tail mass of ``epsilon``.

    ``scores`` (..., T, n) are those of ``queries`` (..., T, d) and ``keys`` (..., n, d).
    """
    certificates = efficient.CERTIFICATES.values()
    curves = [
        efficient.masses(scores),
        *(certificate.curve(scores) for certificate in certificates),
    ]
    bounds = efficient.block_bounds(queries, keys)
    by_boxes = efficient.block_search(scores, bounds, epsilon).kept.sum(-1)
    return torch.stack([*(efficient.smallest_k(curve, epsilon) for curve in curves), by_boxes])


@dataclass(frozen=True)
class Certified:
    """The smallest k that a method certifies for an ε."""

    title: str
    k: int  # the smallest
    scored: int  # keys whose scores it reads, given their order


@dataclass(frozen=True, eq=False)
class RowCurves:
    """One row of scores, truncated to every k."""

    n: int
    sigma: float  # of its scores
    ks: np.ndarray  # (P,) int64, ascending
    weights: np.ndarray  # (P,): the k-th largest
    keys: np.ndarray  # (P,) int64: the key that has it
    mass: np.ndarray  # (P,): τ, the mass that the k largest leave out
    bounds: dict[str, np.ndarray]  # (P,) of each row of `CERTIFICATES`
    errors: np.ndarray | None  # (2, P): |o - ô| and τ times the diameter; None without values
    # For ε, by: the exact mass, each certificate, blocks by their boxes.
    certified: dict[str, Certified]
    rule: float  # k by the Gaussian approximation
    by_quantiles: int  # k by that rule for exactly n keys
    counts: np.ndarray  # (B,): the share of standardised scores in each of `BINS`
    carried: np.ndarray  # (B,): the share of the attention weight in each of `BINS`


@dataclass(frozen=True, eq=False)
class RowAt:
    """One row of scores with its k largest weights kept."""

    masses: tuple[float, float, float]  # τ: tail mass, total variation, 1 - exp(-KL)
    # |o - ô| direct, τ |μ_tail - μ_head|, τ times the diameter; None without values
    errors: tuple[float, float, float] | None


def row_curves(sample: efficient.HeadSample | torch.Tensor, epsilon: float) -> RowCurves:
    """Curves of a sample's last row, or of scores (n,), and the k certified for ``epsilon``."""
    row, values = _row(sample)
    n = len(row)
    ks = _steps(n)
    at = ks - 1
    order = row.argsort(descending=True, stable=True)
    certificates = _certificates(n)
    curves = {name: certificate.curve(row) for name, certificate in certificates.items()}
    truth = efficient.masses(row)
    certified = {"truth": Certified("all scores", int(efficient.smallest_k(truth, epsilon)), n)}
    for name, certificate in certificates.items():
        k = int(efficient.smallest_k(curves[name], epsilon))
        certified[name] = Certified(certificate.title, k, min(n, certificate.reads(k, n)))
    if isinstance(sample, efficient.HeadSample):
        certified["boxes"] = _by_boxes(sample, row, epsilon)
    sigma = efficient.standardised(row)[1]
    counts, carried = _histograms(sample)
    return RowCurves(
        n=n,
        sigma=float(sigma),
        ks=ks.numpy(),
        weights=row.softmax(-1)[order][at].numpy(),
        keys=order[at].numpy(),
        mass=truth[at].numpy(),
        bounds={name: curve[at].numpy() for name, curve in curves.items()},
        errors=None if values is None else _errors(row, values, order, truth)[:, at].numpy(),
        certified=certified,
        rule=max(1.0, float(n * efficient.needed_share(sigma, epsilon))),
        by_quantiles=efficient.needed_by_quantiles(n, float(sigma), epsilon),
        counts=counts,
        carried=carried,
    )


def row_at(sample: efficient.HeadSample | torch.Tensor, k: int) -> RowAt:
    """Truncate the last row of a sample, or scores (n,), to ``k`` keys."""
    row, values = _row(sample)
    kept = efficient.top_k(row, k)
    mass = float(efficient.tail_mass(row, kept))
    variation = float(efficient.total_variation(row.softmax(-1), efficient.kept_weights(row, kept)))
    by_divergence = -float(torch.expm1(-efficient.divergence(row, kept).clamp(min=0)))  # rounding
    errors = None
    if values is not None:
        error = efficient.output_error(row[None], values, kept[None])
        errors = float(error.direct), float(error.factored), float(error.bound)
    return RowAt((mass, variation, by_divergence), errors)


def _row(sample: efficient.HeadSample | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """(n,) scores of the last query, and the values (n, d) if there are any."""
    if isinstance(sample, torch.Tensor):
        return sample, None
    return sample.queries[-1] @ sample.keys.mT * sample.queries.shape[-1] ** -0.5, sample.values


def _steps(n: int) -> torch.Tensor:
    """(P,): every k from 1 to n, or for large n some, evenly spaced on a logarithmic axis."""
    if n <= POINTS:
        return torch.arange(1, n + 1)
    return torch.logspace(0, np.log10(n), POINTS, dtype=torch.float64).round().long().unique()


def _certificates(n: int) -> dict[str, efficient.Certificate]:
    """`CERTIFICATES`, for long rows with wider even gaps: each gap costs a pass over the row."""
    return efficient.CERTIFICATES | {
        "even_gaps": efficient.even_gaps_certificate(max(efficient.BLOCK, -(-n // STRETCHES)))
    }


def _by_boxes(sample: efficient.HeadSample, row: torch.Tensor, epsilon: float) -> Certified:
    """Score blocks of keys by the bounds of their boxes, until ``epsilon`` is certified."""
    bounds = efficient.block_bounds(sample.queries[-1:], sample.keys)
    search = efficient.block_search(row[None], bounds, epsilon)
    scored = int(search.kept.sum())
    return Certified(f"box bounds, blocks of {efficient.BLOCK}", scored, scored)


def _errors(
    row: torch.Tensor, values: torch.Tensor, order: torch.Tensor, truth: torch.Tensor
) -> torch.Tensor:
    """(2, n): for every k the change of the output |o - ô|, and its bound τ · diameter."""
    weights, values = efficient.ordered(row).exp(), values[order]
    mixtures = (weights[:, None] * values).cumsum(0) / weights.cumsum(0)[:, None]
    changes = (mixtures - mixtures[-1]).norm(dim=-1)
    return torch.stack([changes, truth * diameters(values)])


def diameters(values: torch.Tensor) -> torch.Tensor:
    """(n,): for every k the largest distance of the first k values (n, d) from the others."""
    distances = torch.cdist(values, values, compute_mode="donot_use_mm_for_euclid_dist")
    to_first = distances.cummax(0).values  # (k, j): of value j from the first k
    return to_first.triu(1).amax(-1)


def _histograms(sample: efficient.HeadSample | torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """(B,) and (B,): shares of the standardised scores of late rows by bin, and of their weight."""
    if isinstance(sample, torch.Tensor):
        rows = sample[None]
    else:
        late = max(1, min(LATE, len(sample.queries) // 2))
        rows = efficient.causal(
            sample.queries[-late:] @ sample.keys.mT * sample.queries.shape[-1] ** -0.5
        )
    scaled = efficient.standardised(rows)[0]
    visible = ~scaled.isnan()
    flat = scaled[visible].clamp(BINS[0], BINS[-1]).numpy()
    each = (1 / visible.sum(-1, keepdim=True).to(rows)).expand(rows.shape)[visible].numpy()
    histograms = [
        np.histogram(flat, BINS, weights=shares / len(rows))[0]
        for shares in (each, rows.softmax(-1)[visible].numpy())
    ]
    return histograms[0], histograms[1]
