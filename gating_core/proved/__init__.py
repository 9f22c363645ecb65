"""On how much of its chart is the sign of K proved, and between which bounds is its total?

    proof = prove_curvature(model, budget=Budget(seconds=2.0))
    proof.positive, proof.negative, proof.flat, proof.open   # shares of the chart, in all 1
    proof.absolute, proof.gaussian, proof.area               # (low, high) of each integral
    proof.cells, proof.labels                                # boxes, and a word for each
    for proof in proof_steps(model): ...                     # the same, growing

Any torch callable whose operations have error rules: models, token models, formulas. Formulas on a
gated sheet have a judge of their own (`gating_core.theory.enclosure`), which also says where a gate
has no derivatives, which is nothing that a sign of K can tell.

`proof_steps` yields a whole result after each pass; a later one is never worse: cells only leave
*open*, and bounds lie within the earlier ones. See `prove`.
"""

from gating_core.jets.jet import MissingRule
from gating_core.proved.prove import Budget, proof_steps, prove_curvature
from gating_core.proved.result import (
    FLAT,
    LABELS,
    NEGATIVE,
    OPEN,
    POSITIVE,
    Interval,
    ProvedCurvature,
)

__all__ = [
    "FLAT",
    "LABELS",
    "NEGATIVE",
    "OPEN",
    "POSITIVE",
    "Budget",
    "Interval",
    "MissingRule",
    "ProvedCurvature",
    "proof_steps",
    "prove_curvature",
]
