"""Measure a gated sheet: curvature, bending, and errors.

Measured twice: by the geometry of the map (u, v) -> g (u, v, 1), which knows nothing of gates, and
by the curvature formula; where K is known in closed form it is compared with that, too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from gating_core.geometry.curvature import curvature
from gating_core.geometry.grid import Grid, grid_points_near
from gating_core.geometry.surface import MeasuredSurface, SurfaceResult
from gating_core.geometry.verdict import jittered_points, verify
from gating_core.jets.bounded import Bounded
from gating_core.jets.second_order import SecondOrderJet, second_order_jet
from gating_core.theory.breaks import breaks_of
from gating_core.theory.curvature_formula import (
    Gate,
    GatedSheet,
    curvature_terms,
    gate_fails,
    gate_values,
)
from gating_core.theory.formula import Formula
from gating_core.theory.gallery import Exact, GateCase
from gating_core.theory.whole_chart import GateVerdict, Looked, gate_verdict


@dataclass(frozen=True, eq=False)
class Reference:
    """K by another way, on the grid; both (R, C), 1 / length^2."""

    gaussian: np.ndarray
    error: np.ndarray


@dataclass(frozen=True, eq=False)
class MeasuredGate:
    """A gated sheet on an R x C grid, in one version (T = 1 in ``surface``).

    ``gate`` (R, C, 1 or 3) is the gate at full strength; ``fails`` (R, C) says where it is not
    positive or not finite, ``breaks`` (R, C) next to which points it is not smooth: the surface is
    unresolved at both. ``mean_norm`` |H| is in 1 / length. ``whole`` is the verdict
    on the whole chart.
    """

    strength: float
    gate: np.ndarray
    fails: np.ndarray
    breaks: np.ndarray
    surface: SurfaceResult
    mean_norm: np.ndarray  # (R, C)
    terms: Reference | None  # by the curvature formula, for scalar gates
    exact: Reference | None  # where K is known in closed form
    looked: Looked
    whole: GateVerdict

    @property
    def lost(self) -> np.ndarray:
        """(R, C): where there is no gate, or none that is smooth."""
        return self.fails | self.breaks

    @property
    def verdict(self) -> str:
        """The verdict, one of `VERDICTS`; `whole` has the evidence."""
        return self.whole.word

    @property
    def curvature_range(self) -> tuple[float, float] | None:
        """The smallest and the largest known K, zero where it is that; ``None`` without any."""
        known = self.surface.known
        known = known[np.isfinite(known)]
        return (float(known.min()), float(known.max())) if known.size else None

    def agrees(self, reference: Reference) -> bool:
        """Return whether every resolved point is within both errors of the ``reference``."""
        surface = self.surface
        gap = np.abs(surface.gaussian[0] - reference.gaussian)
        within = gap <= surface.gaussian_error[0] + reference.error
        return bool(within[surface.resolved[0]].all() and surface.resolved.any())


def measure_gate(case: GateCase, strength: float, grid: Grid) -> MeasuredGate:
    """Measure the sheet under the gate of ``case`` at a ``strength`` from 0 to 1, on ``grid``."""
    return measure_any_gate(
        case.gate, grid, strength, case.scalar, case.exact_at(strength), case.formulas
    )


def measure_any_gate(
    gate: Gate,
    grid: Grid,
    strength: float = 1.0,
    scalar: bool = True,
    exact: Exact | None = None,
    formulas: tuple[Formula, ...] = (),
) -> MeasuredGate:
    """Measure any gate, such as a fitted one.

    ``exact`` is K in closed form, if known, and ``formulas`` are those that the gate is made of, if
    any. ``ValueError`` as `curvature_terms` for a ``scalar`` one.
    """
    image = GatedSheet(gate, strength)
    values = gate_values(gate, grid.points).reshape(*grid.weights.shape, -1)
    fails = gate_fails(values)
    terms = curvature_terms(gate, grid.points, strength) if scalar else None
    breaks = breaks_of(gate, formulas)
    breaking = grid_points_near(breaks.broken, grid.axis.numpy())
    lost = (fails | breaking) & (strength > 0)
    jet = _without(second_order_jet(image, grid.points, "rigorous", check=False), lost)
    again = jittered_points(grid)
    gone = gate_fails(gate_values(gate, again)) if strength else np.zeros(len(again), dtype=bool)
    other = curvature(_without(second_order_jet(image, again, "rigorous", check=False), gone))
    found = MeasuredSurface(image, grid, jet=jet, verification=verify(other, torch.tensor(gone)))
    shape = fails.shape

    def shaped(x: torch.Tensor) -> np.ndarray:
        return x.reshape(shape).numpy()

    by_formula = None
    if terms is not None:
        by_formula = Reference(shaped(terms.gaussian), shaped(terms.gaussian_error))
    closed = None
    if exact is not None:
        k = exact(*(Bounded(x) for x in grid.points.unbind(-1)))
        closed = Reference(shaped(k.value), shaped(k.bound))
    looked = Looked(found.surface, lost=float(lost.mean()))
    whole = gate_verdict(looked, gate, strength, breaks, formulas)
    return MeasuredGate(
        strength=strength,
        gate=values,
        fails=fails,
        breaks=breaking,
        surface=found.surface,
        mean_norm=shaped(found.field.mean_norm),
        terms=by_formula,
        exact=closed,
        looked=looked,
        whole=whole,
    )


def _without(jet: SecondOrderJet, lost: np.ndarray) -> SecondOrderJet:
    """Set the jet to NaN at the ``lost`` points, N in all."""
    gone = torch.tensor(lost).flatten()
    return replace(jet, stack=jet.stack.masked_fill(gone, torch.nan)) if gone.any() else jet
