"""Which gate a visitor asks for, and which is shown where that cannot be."""

from __future__ import annotations

from dataclasses import dataclass, replace

import gating_core.theory as theory

SPHERE, OWN = "sphere", "own"
RADII = (0.3, 2.0)  # of those that the law allows: what is drawn beside the sheet
STEPS = 20  # from the flat sheet to the gated image
STRENGTHS = tuple(round(i / STEPS, 2) for i in range(STEPS + 1))
# What colours and boxes come from. The middle, too: between two flat ends a sheet may curve.
SETTLING = (0.0, 0.5, 1.0)
GRID_SIZE = 61  # points along a side


@dataclass(frozen=True)
class GateRequest:
    """A case of the gallery; a ``radius`` for the sphere, a ``formula`` for one's own gate."""

    case: str = SPHERE
    radius: float = theory.FIRST_RADIUS
    formula: str = theory.FIRST_FORMULA


def case_of(request: GateRequest) -> theory.GateCase:
    """Return the requested gate; `FormulaError` for a formula that is none."""
    if request.case == SPHERE:
        return theory.sphere_case(request.radius)
    return theory.own_case(request.formula) if request.case == OWN else theory.GALLERY[request.case]


def resolve(request: GateRequest) -> tuple[GateRequest, str]:
    """Return the nearest request that has a gate, and a sentence where that is another one.

    What its case does not use has its default: the result is a key of caches.
    """
    try:
        case_of(request)
    except theory.FormulaError as error:
        message = str(error)
        message = message[:1].upper() + message[1:]
        return GateRequest(request.case), f"{message}. Shown instead: {theory.FIRST_FORMULA}"
    if request.case != SPHERE:
        request = replace(request, radius=theory.FIRST_RADIUS)
    if request.case != OWN:
        request = replace(request, formula=theory.FIRST_FORMULA)
    return request, ""
