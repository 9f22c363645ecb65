"""Top-k on one row of scores: what is left out for every k, bounds of it, and why a rule fails.

The row is that of the last query, which sees every key. Shapes: n keys, d channels, P points of
curves, B bins; curves are given at some k, of long rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch

from gating_core.left_out import (
    BLOCK,
    CERTIFICATES,
    Certificate,
    HeadSample,
    block_bounds,
    block_search,
    causal,
    divergence,
    even_gaps,
    kept_weights,
    left_out_mass,
    masses,
    needed_by_quantiles,
    needed_share,
    ordered,
    output_error,
    smallest_k,
    standardised,
    top_k,
    total_variation,
)
from gating_core.left_out_at_work.truncation import BINS

POINTS = 300  # of a curve, at most
STRETCHES = 64  # into which gaps cut what a long row leaves out
LATE = 64  # of a specimen's last queries, whose scores are counted: at most half of them


@dataclass(frozen=True)
class Certified:
    """What a way to know the mass left out says of an ε."""

    title: str
    k: int  # the smallest that it certifies
    scored: int  # keys whose scores it needs, where they are in order


@dataclass(frozen=True, eq=False)
class RowCurves:
    """One row over all k."""

    n: int
    sigma: float  # of its scores
    ks: np.ndarray  # (P,) int64, ascending
    weights: np.ndarray  # (P,): the k-th largest
    places: np.ndarray  # (P,) int64: whose it is
    mass: np.ndarray  # (P,): τ, what the k largest leave out
    bounds: dict[str, np.ndarray]  # (P,) of each row of `CERTIFICATES`
    errors: np.ndarray | None  # (2, P): |o - ô| and τ times the diameter; None without values
    certified: dict[str, Certified]  # for ε: the truth, the certificates, blocks by their boxes
    rule: float  # k by the Gaussian rule
    by_quantiles: int  # the same for so few keys
    counts: np.ndarray  # (B,): the share of standardised scores in each of `BINS`
    carried: np.ndarray  # (B,): the share of the weight that these carry


@dataclass(frozen=True, eq=False)
class RowAt:
    """One row with its k largest weights kept."""

    masses: tuple[float, float, float]  # τ: left out, total variation, 1 - exp(-KL)
    # |o - ô| direct, τ |μ_tail - μ_head|, τ times the diameter; None without values
    errors: tuple[float, float, float] | None


def row_curves(of: HeadSample | torch.Tensor, epsilon: float) -> RowCurves:
    """Curves of the last row of a specimen, or of scores (n,), and what certifies ``epsilon``."""
    row, values = _row(of)
    n = len(row)
    ks = _steps(n)
    at = ks - 1
    order = row.argsort(descending=True, stable=True)
    certificates = _certificates(n)
    curves = {name: one.curve(row) for name, one in certificates.items()}
    truth = masses(row)
    certified = {"truth": Certified("all scores", int(smallest_k(truth, epsilon)), n)}
    for name, one in certificates.items():
        k = int(smallest_k(curves[name], epsilon))
        certified[name] = Certified(one.title, k, min(n, one.reads(k, n)))
    if isinstance(of, HeadSample):
        certified["boxes"] = _by_boxes(of, row, epsilon)
    sigma = standardised(row)[1]
    counts, carried = _histograms(of)
    return RowCurves(
        n=n,
        sigma=float(sigma),
        ks=ks.numpy(),
        weights=row.softmax(-1)[order][at].numpy(),
        places=order[at].numpy(),
        mass=truth[at].numpy(),
        bounds={name: curve[at].numpy() for name, curve in curves.items()},
        errors=None if values is None else _errors(row, values, order, truth)[:, at].numpy(),
        certified=certified,
        rule=max(1.0, float(n * needed_share(sigma, epsilon))),
        by_quantiles=needed_by_quantiles(n, float(sigma), epsilon),
        counts=counts,
        carried=carried,
    )


def row_at(of: HeadSample | torch.Tensor, k: int) -> RowAt:
    """The last row of a specimen, or scores (n,), with ``k`` kept."""
    row, values = _row(of)
    kept = top_k(row, k)
    mass = float(left_out_mass(row, kept))
    apart = float(total_variation(row.softmax(-1), kept_weights(row, kept)))
    by_divergence = -float(torch.expm1(-divergence(row, kept).clamp(min=0)))  # rounding
    errors = None
    if values is not None:
        error = output_error(row[None], values, kept[None])
        errors = float(error.direct), float(error.factored), float(error.bound)
    return RowAt((mass, apart, by_divergence), errors)


def _row(of: HeadSample | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
    """(n,) scores of the last query, and the values (n, d) if there are any."""
    if isinstance(of, torch.Tensor):
        return of, None
    return of.queries[-1] @ of.keys.mT * of.queries.shape[-1] ** -0.5, of.values


def _steps(n: int) -> torch.Tensor:
    """(P,): every k from 1 to n, or of many those that are even on a logarithmic axis."""
    if n <= POINTS:
        return torch.arange(1, n + 1)
    return torch.logspace(0, np.log10(n), POINTS, dtype=torch.float64).round().long().unique()


def _certificates(n: int) -> dict[str, Certificate]:
    """The rows of `CERTIFICATES`; in long rows gaps are further apart: each takes a pass."""
    block = max(BLOCK, -(-n // STRETCHES))
    even = Certificate(
        f"a gap after every {block} keys",
        partial(even_gaps, block=block),
        lambda k, n: min(k, n) + -(-max(0, n - k) // block),
    )
    return CERTIFICATES | {"even_gaps": even}


def _by_boxes(of: HeadSample, row: torch.Tensor, epsilon: float) -> Certified:
    """Score blocks of keys by the bounds that their boxes give, until that is enough."""
    bounds = block_bounds(of.queries[-1:], of.keys)
    search = block_search(row[None], bounds, epsilon)
    scored = int(search.kept.sum())
    return Certified(f"blocks of {BLOCK} keys by their boxes", scored, scored)


def _errors(
    row: torch.Tensor, values: torch.Tensor, order: torch.Tensor, truth: torch.Tensor
) -> torch.Tensor:
    """(2, n): for every k how far the output moves, and the bound by the diameter."""
    weights, values = ordered(row).exp(), values[order]
    mixtures = (weights[:, None] * values).cumsum(0) / weights.cumsum(0)[:, None]
    moved = (mixtures - mixtures[-1]).norm(dim=-1)
    return torch.stack([moved, truth * diameters(values)])


def diameters(values: torch.Tensor) -> torch.Tensor:
    """(n,): for every k the largest distance of the first k values (n, d) from the others."""
    distances = torch.cdist(values, values, compute_mode="donot_use_mm_for_euclid_dist")
    to_first = distances.cummax(0).values  # (k, j): of value j from the first k
    return to_first.triu(1).amax(-1)


def _histograms(of: HeadSample | torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """(B,) and (B,): shares of late rows' standardised scores by bin, and of their weight."""
    if isinstance(of, torch.Tensor):
        rows = of[None]
    else:
        late = max(1, min(LATE, len(of.queries) // 2))
        rows = causal(of.queries[-late:] @ of.keys.mT * of.queries.shape[-1] ** -0.5)
    scaled = standardised(rows)[0]
    seen = ~scaled.isnan()
    flat = scaled[seen].clamp(BINS[0], BINS[-1]).numpy()
    each = (1 / seen.sum(-1, keepdim=True).to(rows)).expand(rows.shape)[seen].numpy()
    shares = [np.histogram(flat, BINS, weights=of_each / len(rows))[0]
              for of_each in (each, rows.softmax(-1)[seen].numpy())]  # fmt: skip
    return shares[0], shares[1]
