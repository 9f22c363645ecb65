"""Which gate does a visitor ask for, and which is shown where that cannot be?"""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.theory import (
    FIRST_FORMULA,
    FIRST_RADIUS,
    GALLERY,
    FormulaError,
    GateCase,
    own_case,
    sphere_case,
)

SPHERE, OWN = "sphere", "own"
RADII = (0.3, 2.0)  # of those that the law allows: what is drawn beside the sheet
STEPS = 20  # from the flat sheet to the gated image
STRENGTHS = tuple(round(i / STEPS, 2) for i in range(STEPS + 1))
GRID = 61  # points along a side


@dataclass(frozen=True)
class GateRequest:
    """A case of the gallery; a ``radius`` for the sphere, a ``formula`` for one's own gate."""

    case: str = SPHERE
    radius: float = FIRST_RADIUS
    formula: str = FIRST_FORMULA

    @property
    def plain(self) -> GateRequest:
        """The same without what its case does not use: what it is kept under."""
        return GateRequest(
            self.case,
            self.radius if self.case == SPHERE else FIRST_RADIUS,
            self.formula if self.case == OWN else FIRST_FORMULA,
        )


def case_of(request: GateRequest) -> GateCase:
    """The gate that is asked for; `FormulaError` for a formula that is none."""
    if request.case == SPHERE:
        return sphere_case(request.radius)
    return own_case(request.formula) if request.case == OWN else GALLERY[request.case]


def resolve(request: GateRequest) -> tuple[GateRequest, str]:
    """The nearest request that has a gate, and a sentence where that is another one."""
    try:
        case_of(request)
    except FormulaError as error:
        sentence = str(error)
        said = sentence[:1].upper() + sentence[1:]
        return GateRequest(request.case), f"{said}. Shown instead: {FIRST_FORMULA}"
    return request.plain, ""
