"""Top-k in one row of scores: its tail mass for every k, bounds, and the Gaussian approximation.

The row is that of the last query, which sees every key. Curves have every k from 1 to n, or of long
rows some of them.

Shapes: n keys, d channels, P points of curves, B bins.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

import gating_core.efficient as efficient

SIZES = (1, 2, 4, 8, 16, 32)  # k of models that are measured, see `load_efficient`
EPSILONS = (0.2, 0.1, 0.05, 0.01, 0.001)  # tail-mass budgets of their certificates
EPSILON = 0.05  # the tail-mass budget
BINS = np.linspace(-6.0, 6.0, 49)  # of standardised scores; those beyond count in the last bins
POINTS = 300  # of a curve, at most
STRETCHES = 64  # of even gaps in a long row, at most


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
    # For ε, by: the exact mass, each certificate, blocks by their boxes.
    certified: dict[str, Certified]
    rule: float  # k by the Gaussian approximation
    by_quantiles: int  # k by that rule for exactly n keys


@dataclass(frozen=True, eq=False)
class RowAt:
    """One row of scores with its k largest weights kept."""

    masses: tuple[float, float, float]  # τ: tail mass, total variation, 1 - exp(-KL)
    # |o - ô| direct, τ |μ_tail - μ_head|, τ times the diameter; None without values
    errors: tuple[float, float, float] | None


def row_curves(sample: efficient.HeadSample | torch.Tensor, epsilon: float) -> RowCurves:
    """Curves of a sample's last row, or of scores (n,), and the k certified for ``epsilon``."""
    row, _ = _row(sample)
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
    return RowCurves(
        n=n,
        sigma=float(sigma),
        ks=ks.numpy(),
        weights=row.softmax(-1)[order][at].numpy(),
        keys=order[at].numpy(),
        mass=truth[at].numpy(),
        bounds={name: curve[at].numpy() for name, curve in curves.items()},
        certified=certified,
        rule=max(1.0, float(n * efficient.needed_share(sigma, epsilon))),
        by_quantiles=efficient.needed_by_quantiles(n, float(sigma), epsilon),
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
