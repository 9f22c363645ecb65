"""The rows of a study: one trained model, or one stack of the structured regime."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelRow:
    """One trained model: what it was (a configuration), and what was measured.

    Everything that is measured is ``None`` where ``error`` says why there is nothing, in a
    sentence. Curvature is that of the surface over the query chart, [-1, 1]^2, after the last
    step, in double precision, with Sigma = 1; what begins with ``chart_`` is that over the
    attention-weight chart, ``None`` where a model has none.
    """

    key: str  # hash of the configuration and of the version
    code: str  # the version of the study, `units.STUDY_VERSION`
    # Of the grid: "base", "depth", "values", "tokens", "residual" (what is varied), or "all". Only
    # models of "residual" have a residual connection.
    part: str
    task: str  # a key of TASKS
    variant: str  # a key of the comparison's VARIANTS
    source: str  # "memory" or "tokens"
    depth: int
    values: int  # n
    model_dim: int  # D, that of the variant "matched" its own
    seed: int
    together: int  # models in the batch that it was trained in, which rounding depends on
    steps: int
    parameters: int
    train_accuracy: float | None
    test_accuracy: float | None
    train_loss: float | None
    test_loss: float | None
    total_curvature: float | None  # the integral of |K| dA
    total_error: float | None  # of quadrature and rounding, in the same unit
    total_complete: bool | None  # False: something is unresolved, and the total a lower estimate
    positive_curvature: float | None  # the integral of K dA where K > 0
    flat: bool | None  # |K| below its bound at every resolved point; None if none is resolved
    positive_share: float | None  # of area, where K > 0 is known; so for the next two
    negative_share: float | None
    undecided_share: float | None  # |K| below its bound, or unresolved
    resolved_share: float | None  # of points
    largest_curvature: float | None  # max |K|
    largest_bound: float | None  # the bound on its error there
    chart_flat: bool | None  # as `flat`, and ``None`` also where there is no such chart
    chart_largest: float | None  # max |K|
    chart_bound: float | None  # the largest bound on an error of K
    chart_positive_share: float | None  # of area, where K > 0 is known
    proxy: float | None  # the paper's, limit of small steps
    normalised_proxy: float | None  # divided by the Jacobian's norm
    seconds: float | None  # its share of its batch's training, and its measuring
    error: str | None = None


@dataclass(frozen=True)
class StackRow:
    """One stack of aligned scalar gates on the flat sheet: the structured regime of claim C7."""

    key: str
    code: str
    seed: int
    depth: int
    strength: float  # eps, drawn by the seed
    total_curvature: float  # the integral of |K| dA
    total_error: float
    centre_curvature: float  # K(0)
    centre_bound: float
    proxy: float
    small: bool  # whether depth * eps * max(u^2 + v^2) <= 0.05, where exponents are fitted
    seconds: float


Row = ModelRow | StackRow
