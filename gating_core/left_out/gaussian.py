"""The Gaussian rule: how many keys are needed if scores are normally distributed.

Dots stand for any leading dimensions.
"""

from __future__ import annotations

import torch

from gating_core.checks import check_integer, check_number
from gating_core.left_out.certificates import masses, smallest_k
from gating_core.left_out.rows import check_scores


def needed_share(sigma: torch.Tensor, epsilon: float) -> torch.Tensor:
    """(...): k_ε / n for many scores N(μ, σ²): Φc(σ + Φ⁻¹(ε)), for ``sigma`` (...).

    The share of keys that are kept when the mass left out may be ε. Exact as n grows, for fixed σ:
    weighing by e^s moves a normal distribution by σ² (Tzachristas et al., arXiv 2512.07647).
    ``ValueError`` unless 0 < epsilon < 1 and sigma >= 0.
    """
    if not (sigma >= 0).all():
        raise ValueError("sigma contains NaN or negative numbers; it must be at least 0")
    return torch.special.ndtr(-(sigma + _quantile(epsilon).to(sigma)))


def needed_by_quantiles(n: int, sigma: float, epsilon: float) -> int:
    """The smallest k for the n scores σ Φ⁻¹((i - ½) / n): the rule without its limit n → ∞.

    A remaining difference from real scores is due to their distribution, not to their number.
    ``ValueError`` for n < 1, sigma < 0, and unless 0 < epsilon < 1.
    """
    check_integer("n", n, 1, 2**31 - 1)
    check_number("sigma", sigma, 0.0, float("inf"))
    _quantile(epsilon)
    levels = (torch.arange(n, dtype=torch.float64) + 0.5) / n
    return int(smallest_k(masses(sigma * torch.special.ndtri(levels)), epsilon))


def standardised(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """(..., n) and (...): (s - mean) / σ of each row of ``scores`` (..., n), and σ.

    Mean and σ are over the keys that the query sees; for others the result is NaN. Where all scores
    are equal, σ and the results are 0.
    """
    check_scores(scores)
    seen = ~scores.isneginf()
    count = seen.sum(-1, keepdim=True)
    centred = torch.where(seen, scores, 0.0)
    centred = torch.where(seen, centred - centred.sum(-1, keepdim=True) / count, 0.0)
    sigma = (centred.square().sum(-1, keepdim=True) / count).sqrt()
    scaled = torch.where(sigma > 0, centred / sigma, 0.0)
    return torch.where(seen, scaled, torch.nan), sigma[..., 0]


def _quantile(epsilon: float) -> torch.Tensor:
    """Φ⁻¹(ε) as a float64 scalar; ``ValueError`` unless 0 < ε < 1."""
    check_number("epsilon", epsilon, 0.0, 1.0)
    if epsilon in (0.0, 1.0):
        raise ValueError(f"epsilon is {epsilon!r}; it must be between 0 and 1")
    return torch.special.ndtri(torch.tensor(epsilon, dtype=torch.float64))
