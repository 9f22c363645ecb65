"""On how much of its chart is the sign of K proved, and between which bounds is its total?

    proof = prove_curvature(model, budget=Budget(seconds=2.0))
    proof.positive, proof.negative, proof.flat, proof.open   # shares of the chart, in all 1
    proof.absolute, proof.gaussian, proof.area               # (low, high) of each integral
    proof.cells, proof.labels                                # boxes, and a word for each
    for proof in proof_steps(model): ...                     # the same, growing

Any torch callable whose operations have error rules: models, token models, formulas. `Signs` and
what stands with it (`labels_of`, `variation`, `worse_side`, `choose`) is the part that does not
depend on what has the sign of K: gated sheets have a simpler criterion for that
(`gating_core.theory.enclosure`), and cells that leave out where a gate has no derivatives.

`proof_steps` yields a whole result after each pass; a later one is never worse: cells only leave
*open*, and bounds lie within the earlier ones. See `prove`.
"""

from gating_core.jets.jet import MissingRule
from gating_core.proved.criterion import curving, model
from gating_core.proved.judge import DEGREE
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
from gating_core.proved.signs import (
    FIRST_SIDE,
    Signs,
    choose,
    labels_of,
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
    "variation",
    "worse_side",
]
