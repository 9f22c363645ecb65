"""What is measured of a gated sheet at every strength of its gate, as little as a page needs.

Shapes: R x C grid points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from gating_core.geometry import square_grid
from gating_core.theory import GateVerdict, MeasuredGate, SignShares, measure_gate, sign_shares
from ui.gates.request import GRID_SIZE, STRENGTHS, GateRequest, case_of

LAW_PARTS = ("rho", "hessian", "normal_square", "gaussian")  # in the law's order, `LawAtPoint`


@dataclass(frozen=True)
class Deviation:
    """How far measured K is from K by another way, at most; and what is allowed there.

    ``value`` is K by the other way at the middle of the chart, ``constant`` whether it is that
    everywhere.
    """

    deviation: float
    allowed: float
    agrees: bool
    value: float
    constant: bool


@dataclass(frozen=True, eq=False)
class GateFrame:
    """A gated sheet at one strength: what is drawn, and what is said. Arrays are (R, C, ...)."""

    strength: float
    whole: GateVerdict
    range: tuple[float, float] | None
    middle: tuple[float, float]  # K and its error at the middle of the chart
    largest_error: float  # of K, among points where it is known
    largest_bend: float  # of |H|, among resolved points
    share_lost: float  # of the chart, where the gate is not positive or not finite
    share_undecided: float  # of the area
    exact: Deviation | None
    law: Deviation | None
    axis: np.ndarray  # (R,)
    values: np.ndarray
    known: np.ndarray  # K, NaN where it is not known
    error: np.ndarray
    breaks: np.ndarray  # where the gate is not smooth, or may not be
    signed: np.ndarray  # K where its sign is decided
    mean: np.ndarray  # |H|
    gate: np.ndarray  # in use; the mean over channels
    channels: np.ndarray  # (R, C, 1 or 3): in use, each channel's own
    law_parts: dict[str, np.ndarray]  # `LAW_PARTS`, NaN where not known; none for several channels


def measure_frames(
    strengths: tuple[float, ...], request: GateRequest, size: int = GRID_SIZE
) -> Iterator[GateFrame]:
    """Measure the sheet under the requested gate at all ``strengths``, one after the other."""
    case, grid = case_of(request), square_grid(size)
    for strength in strengths:
        yield frame_of(measure_gate(case, strength, grid))


def measure_shares(request: GateRequest, strength: float) -> SignShares:
    """On how much of the chart the sign of K is proved."""
    case = case_of(request)
    return sign_shares(case.gate, strength, case.formulas)


def measured_frames(
    request: GateRequest, strengths: tuple[float, ...] = STRENGTHS, size: int = GRID_SIZE
) -> tuple[GateFrame, ...]:
    """Return the same, once all are measured."""
    return tuple(measure_frames(strengths, request, size))


def frame_of(measured: MeasuredGate) -> GateFrame:
    """Return what a page needs of one measured gate."""
    surface = measured.surface
    resolved = surface.resolved[0]
    middle = (len(surface.axis) // 2,) * 2
    gate = np.where(measured.lost[..., None], np.nan, measured.gate)
    channels = (1 - measured.strength) + measured.strength * gate
    errors = surface.gaussian_error[0][np.isfinite(surface.known[0])]
    bends = measured.mean_norm[resolved]
    return GateFrame(
        strength=measured.strength,
        whole=measured.whole,
        range=measured.curvature_range,
        middle=(float(surface.known[0][middle]), float(surface.known_error[0][middle])),
        largest_error=float(errors.max()) if errors.size else float("nan"),
        largest_bend=float(bends.max()) if bends.size else float("nan"),
        share_lost=float(measured.fails.mean()) if measured.strength else 0.0,
        share_undecided=float(surface.verdicts[0].undecided),
        exact=_compared(measured, "exact"),
        law=_compared(measured, "law"),
        axis=surface.axis,
        values=surface.values[0],
        known=surface.known[0],
        error=surface.known_error[0],
        breaks=measured.breaks & (measured.strength > 0),
        signed=surface.gaussian_where(surface.decided)[0],
        mean=np.where(resolved, measured.mean_norm, np.nan),
        gate=channels.mean(-1),
        channels=channels,
        law_parts=_law_parts(measured),
    )


def _law_parts(measured: MeasuredGate) -> dict[str, np.ndarray]:
    """What stands in the law: 0 for a determinant within its error where K is known to be zero."""
    law = measured.law
    if law is None:
        return {}
    unsure = ~(np.abs(law.hessian) > law.hessian_error)
    zero = unsure & measured.surface.zero[0]
    lost = measured.lost & (measured.strength > 0) | unsure & ~zero
    parts = {name: np.where(lost, np.nan, getattr(law, name)) for name in LAW_PARTS}
    vanish = {name: np.where(zero, 0.0, parts[name]) for name in ("hessian", "gaussian")}
    return parts | vanish


def _compared(measured: MeasuredGate, name: str) -> Deviation | None:
    reference = getattr(measured, name)
    if reference is None:
        return None
    resolved = measured.surface.resolved[0]
    values = reference.gaussian[resolved]
    spread = float(np.ptp(values)) if values.size else float("nan")
    noise = float(reference.error[resolved].max()) if values.size else 0.0
    centre = len(measured.surface.axis) // 2
    return Deviation(
        *measured.largest_deviation(reference),
        agrees=measured.agrees(reference),
        value=float(reference.gaussian[centre, centre]),
        constant=spread <= 2 * noise,
    )
