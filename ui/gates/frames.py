"""The gates that the page can show, and what is measured of a gated surface at a strength.

Shapes: R x C grid points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

import gating_core.theory as theory
from gating_core.geometry import square_grid
from gating_core.theory import GateVerdict, MeasuredGate, SignShares, measure_gate, sign_shares

SPHERE, OWN = "sphere", "own"
RADII = (0.3, 2.0)  # of those that the formula allows: what is drawn beside the surface
STEPS = 20  # from the flat surface to the gated image
STRENGTHS = tuple(round(i / STEPS, 2) for i in range(STEPS + 1))
# What colours and boxes come from. The middle, too: between two flat ends a surface may curve.
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


@dataclass(frozen=True, eq=False)
class GateFrame:
    """A gated surface at one strength: what is drawn, and what is said. Arrays are (R, C, ...)."""

    strength: float
    whole: GateVerdict
    range: tuple[float, float] | None
    largest_bend: float  # of |H|, among resolved points
    share_lost: float  # of the chart, where the gate is not positive or not finite
    share_undetermined: float  # of the area
    exact: float | None  # K in closed form, where that is one number
    axis: np.ndarray  # (R,)
    values: np.ndarray
    known: np.ndarray  # K, NaN where it is not known
    error: np.ndarray
    breaks: np.ndarray  # where the gate is not smooth, or may not be
    signed: np.ndarray  # K where its sign is decided
    mean: np.ndarray  # |H|
    gate: np.ndarray  # in use; the mean over channels
    channels: np.ndarray  # (R, C, 1 or 3): in use, each channel's own


def measure_frames(
    strengths: tuple[float, ...], request: GateRequest, size: int = GRID_SIZE
) -> Iterator[GateFrame]:
    """Measure the surface under the requested gate at all ``strengths``, one after the other."""
    case, grid = case_of(request), square_grid(size)
    for strength in strengths:
        yield frame_of(measure_gate(case, strength, grid))


def measure_shares(request: GateRequest, strength: float) -> SignShares:
    """On how much of the chart the sign of K is proved."""
    case = case_of(request)
    return sign_shares(case.gate, strength, case.formulas)


def frame_of(measured: MeasuredGate) -> GateFrame:
    """Return what a page needs of one measured gate."""
    surface = measured.surface
    resolved = surface.resolved[0]
    gate = np.where(measured.lost[..., None], np.nan, measured.gate)
    channels = (1 - measured.strength) + measured.strength * gate
    bends = measured.mean_norm[resolved]
    return GateFrame(
        strength=measured.strength,
        whole=measured.whole,
        range=measured.curvature_range,
        largest_bend=float(bends.max()) if bends.size else float("nan"),
        share_lost=float(measured.fails.mean()) if measured.strength else 0.0,
        share_undetermined=float(surface.verdicts[0].undetermined),
        exact=_constant(measured.exact, resolved),
        axis=surface.axis,
        values=surface.values[0],
        known=surface.known[0],
        error=surface.known_error[0],
        breaks=measured.breaks & (measured.strength > 0),
        signed=surface.signed[0],
        mean=np.where(resolved, measured.mean_norm, np.nan),
        gate=channels.mean(-1),
        channels=channels,
    )


def _constant(exact: theory.Reference | None, resolved: np.ndarray) -> float | None:
    """Return K by a closed form where it is the same at all points, to within its rounding."""
    if exact is None or not resolved.any():
        return None
    middle = len(resolved) // 2
    same = float(np.ptp(exact.gaussian[resolved])) <= 2 * float(exact.error[resolved].max())
    return float(exact.gaussian[middle, middle]) if same else None
