"""Where do verdicts begin and end? The numbers of all rules, set before any result was seen.

But for `lost_margins`, which came after a review; no pair of the shipped study had failed.
"""

from __future__ import annotations

from dataclasses import dataclass

SUPPORTED, PARTLY, NOT_SUPPORTED, NOT_ENOUGH = WORDS = (
    "supported", "partly", "not supported here", "not enough data",
)  # fmt: skip


@dataclass(frozen=True)
class Thresholds:
    """Accuracies and the margin are shares, 0 to 1; a point is 0.01."""

    level: float = 0.05  # of tests, two-sided where a rule does not say otherwise
    fewest_seeds: int = 8  # or models, below which nothing is said
    fewest_tasks: int = 2
    flat_bound: float = 1e-6  # on |K|, 1 / length^2: a larger one lets curvature hide below it
    curved_share: float = 0.95  # of gated models that must be known to be curved
    margin: float = 0.01  # of accuracy: one point
    power: float = 0.8  # below it, failing to show equivalence says nothing
    lost_margins: float = 4.0  # C5: so far off, at least, counts a pair that failed
    most_failed: float = 1 / 16  # of models, where a failed one cannot be counted against a claim
    paper_r: float = 0.79  # Bathula & Joshi, arXiv 2604.14702
    curvature_slope: float = 2.0  # of log |K(0)| against log depth: K(0) = 4 L^2 eps^2
    curvature_tolerance: float = 0.02
    proxy_slope: float = 1.0
    proxy_tolerance: float = 0.05

    @property
    def confidence(self) -> float:
        """Of intervals."""
        return 1 - self.level

    @property
    def margin_points(self) -> float:
        """The margin, in points."""
        return 100 * self.margin


THRESHOLDS = Thresholds()
