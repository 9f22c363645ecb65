"""Top-k in one row of scores: its tail mass for every k, bounds, and the Gaussian approximation.

The row is that of the last query, which sees every key. Curves have every k from 1 to n, or of long
rows some of them.

Shapes: n keys, d channels, P points of curves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from gating_core.lm.efficient.certificates import (
    BLOCK,
    CERTIFICATES,
    block_bounds,
    block_search,
    even_gaps_certificate,
    masses,
    needed_by_quantiles,
    needed_share,
    smallest_k,
    standardised,
)
from gating_core.lm.efficient.rows import output_error, tail_mass, top_k
from gating_core.lm.efficient.samples import HeadSample

SIZES = (1, 2, 4, 8, 16, 32)  # k of models that are measured, see `load_efficient`
EPSILONS = (0.2, 0.1, 0.05, 0.01, 0.001)  # tail-mass budgets of their certificates
EPSILON = 0.05  # the tail-mass budget
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


def row_curves(sample: HeadSample | torch.Tensor, epsilon: float) -> RowCurves:
    """Curves of a sample's last row, or of scores (n,), and the k certified for ``epsilon``."""
    row = _row(sample)
    n = len(row)
    ks = torch.arange(1, n + 1)
    if n > POINTS:  # some of them, evenly spaced on a logarithmic axis
        ks = torch.logspace(0, np.log10(n), POINTS, dtype=torch.float64).round().long().unique()
    at = ks - 1
    order = row.argsort(descending=True, stable=True)
    # For long rows with wider even gaps: each gap costs a pass over the row.
    certificates = CERTIFICATES | {
        "even_gaps": even_gaps_certificate(max(BLOCK, -(-n // STRETCHES)))
    }
    curves = {name: certificate.curve(row) for name, certificate in certificates.items()}
    truth = masses(row)
    certified = {"truth": Certified("all scores", int(smallest_k(truth, epsilon)), n)}
    for name, certificate in certificates.items():
        k = int(smallest_k(curves[name], epsilon))
        certified[name] = Certified(certificate.title, k, min(n, certificate.reads(k, n)))
    if isinstance(sample, HeadSample):
        bounds = block_bounds(sample.queries[-1:], sample.keys)
        scored = int(block_search(row[None], bounds, epsilon).kept.sum())
        certified["boxes"] = Certified(f"box bounds, blocks of {BLOCK}", scored, scored)
    sigma = standardised(row)[1]
    return RowCurves(
        n=n,
        sigma=float(sigma),
        ks=ks.numpy(),
        weights=row.softmax(-1)[order][at].numpy(),
        keys=order[at].numpy(),
        mass=truth[at].numpy(),
        bounds={name: curve[at].numpy() for name, curve in curves.items()},
        certified=certified,
        rule=max(1.0, float(n * needed_share(sigma, epsilon))),
        by_quantiles=needed_by_quantiles(n, float(sigma), epsilon),
    )


def row_at(sample: HeadSample | torch.Tensor, k: int) -> tuple[float, float | None, float | None]:
    """Truncate the last row of a sample, or scores (n,), to ``k`` keys.

    Returns:
        The tail mass τ, and with values also the output's error |o - ô| and its bound.
    """
    row = _row(sample)
    kept = top_k(row, k)
    mass = float(tail_mass(row, kept))
    if isinstance(sample, torch.Tensor):
        return mass, None, None
    error, bound = output_error(row[None], sample.values, kept[None])
    return mass, float(error), float(bound)


def _row(sample: HeadSample | torch.Tensor) -> torch.Tensor:
    """(n,) scores of the last query."""
    if isinstance(sample, torch.Tensor):
        return sample
    return sample.queries[-1] @ sample.keys.mT * sample.queries.shape[-1] ** -0.5
