"""Proofs on cells of the chart: the sign of K, and bounds of the total curvature.

    proof = prove_curvature(model, budget=Budget(seconds=2.0))
    proof.positive, proof.negative, proof.flat, proof.open   # shares of the chart, in all 1
    proof.absolute, proof.gaussian, proof.area               # (low, high) of each integral
    proof.cells, proof.labels                                # boxes, and a word for each
    for proof in proof_steps(model): ...                     # the same, growing

The surface may be any torch callable whose operations have error rules: models, token models,
formulas. `Signs`, their `search` by cutting cells, and its helpers (`labels_of`, `variation`,
`worse_side`, `choose`) do not depend on what is enclosed: `gating_core.theory` uses them for gated
sheets, with a simpler expression, and for the cells in which a gate has no derivatives.

`proof_steps` yields a complete result after each pass. A later result is never worse: cells only
leave *open*, and bounds lie within the earlier ones. See `prove`.
"""

from gating_core.jets.jet import MissingRule
from gating_core.proved.prove import (
    DEGREE,
    Budget,
    curving,
    model,
    proof_steps,
    prove_curvature,
)
from gating_core.proved.signs import (
    FIRST_SIDE,
    FLAT,
    LABELS,
    NEGATIVE,
    OPEN,
    POSITIVE,
    Interval,
    ProvedCurvature,
    Signs,
    choose,
    labels_of,
    search,
    variation,
    worse_side,
)

__all__ = [
    "DEGREE",
    "FIRST_SIDE",
    "FLAT",
    "LABELS",
    "NEGATIVE",
    "OPEN",
    "POSITIVE",
    "Budget",
    "Interval",
    "MissingRule",
    "ProvedCurvature",
    "Signs",
    "choose",
    "curving",
    "labels_of",
    "model",
    "proof_steps",
    "prove_curvature",
    "search",
    "variation",
    "worse_side",
]
