"""Which gates curve? The law, a gallery of gates with exact cases, and gates made for a shape."""

from gating_core.theory.conic import (
    ConicResult,
    Exponents,
    exponents_of,
    gated_layer,
    measure_conic,
    quadratic_form,
    with_exponents,
    with_gate,
)
from gating_core.theory.counterexamples import (
    COUNTEREXAMPLES,
    THEOREM_GAPS,
    Counterexample,
    MeasuredCounterexample,
    measure_counterexample,
)
from gating_core.theory.design import SHAPES, Design, DesignedGate, design
from gating_core.theory.enclosure import CAUSES
from gating_core.theory.fit import GateFit, GateNetwork, fit_gate
from gating_core.theory.formula import (
    GRAMMAR,
    LONGEST_FORMULA,
    Formula,
    FormulaError,
    parse_formula,
)
from gating_core.theory.gallery import (
    FIRST_FORMULA,
    FIRST_RADIUS,
    GALLERY,
    RADIUS_RANGE,
    GateCase,
    own_case,
    sphere_case,
)
from gating_core.theory.law import (
    GatedSheet,
    LawAtPoint,
    LawField,
    WithError,
    gate_fails,
    gate_values,
    law,
    law_at,
    sheet,
)
from gating_core.theory.measure import (
    MeasuredGate,
    Reference,
    measure_any_gate,
    measure_gate,
)
from gating_core.theory.whole_chart import VERDICTS, GateVerdict

__all__ = [
    "CAUSES",
    "COUNTEREXAMPLES",
    "FIRST_FORMULA",
    "FIRST_RADIUS",
    "GALLERY",
    "GRAMMAR",
    "LONGEST_FORMULA",
    "RADIUS_RANGE",
    "SHAPES",
    "THEOREM_GAPS",
    "VERDICTS",
    "ConicResult",
    "Counterexample",
    "Design",
    "DesignedGate",
    "Exponents",
    "Formula",
    "FormulaError",
    "GateCase",
    "GateFit",
    "GateNetwork",
    "GateVerdict",
    "GatedSheet",
    "LawAtPoint",
    "LawField",
    "MeasuredCounterexample",
    "MeasuredGate",
    "Reference",
    "WithError",
    "design",
    "exponents_of",
    "fit_gate",
    "gate_fails",
    "gate_values",
    "gated_layer",
    "law",
    "law_at",
    "measure_any_gate",
    "measure_conic",
    "measure_counterexample",
    "measure_gate",
    "own_case",
    "parse_formula",
    "quadratic_form",
    "sheet",
    "sphere_case",
    "with_exponents",
    "with_gate",
]
