"""The gated sheet g (u, v, 1), and the formula of its curvature, with error bounds.

The sheet y = (u, v, 1) is an affine plane that misses the origin, over the chart [-1, 1]^2. A gate
is a callable from chart points (N, 2) to factors (N, 1), one for all channels, or (N, 3), one for
each. At strength s the factor in force is (1 - s) + s g: exactly 1 at s = 0.

With rho = 1/g the image g (u, v, 1) has
K = rho^4 det Hess(rho) / (rho_u^2 + rho_v^2 + (rho - u rho_u - v rho_v)^2)^2.
So K = 0 exactly where det Hess(1/g) = 0, and elsewhere K has its sign. Derivation: the point Y of
the image satisfies <Y, m> = 1 for m = (rho_u, rho_v, rho - u rho_u - v rho_v), which is normal to
it, because <Y_u, m> = <Y_v, m> = 0; then <Y_ab, m> = -rho_ab / rho, and det g = |m|^2 / rho^6.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from gating_core.checks import check_number, check_points
from gating_core.jets.bounded import Bounded
from gating_core.jets.second_order import second_order_jet

# --- The gated sheet ------------------------------------------------------------------------------

LARGEST_GATE = 1e12  # and 1e-12 the smallest: so that K and all terms fit single precision
Gate = Callable[[torch.Tensor], torch.Tensor]


def sheet(points: torch.Tensor) -> torch.Tensor:
    """(N, 3): the sheet y = (u, v, 1) over chart points (N, 2)."""
    return torch.cat([points, torch.ones(len(points), 1, dtype=torch.float64)], -1)


@dataclass(frozen=True)
class GatedSheet:
    """A callable (N, 2) -> (N, 3): the sheet times its gate at a strength from 0 to 1."""

    gate: Gate
    strength: float = 1.0

    def __post_init__(self) -> None:
        check_number("strength", self.strength, 0.0, 1.0)

    def factor(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 1) or (N, 3): the factor in force."""
        if self.strength == 0:
            return torch.ones(len(points), 1, dtype=torch.float64)
        gate = self.gate(points)
        return gate if self.strength == 1 else (1 - self.strength) + self.strength * gate

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        """(N, 3): the sheet times the factor at ``points`` (N, 2)."""
        flat = sheet(points)
        return flat if self.strength == 0 else flat * self.factor(points)


def gate_values(gate: Gate, points: torch.Tensor) -> np.ndarray:
    """(N, 1) or (N, 3): the gate at full strength at ``points`` (N, 2).

    Coordinates that are 0 but for rounding are set to 0, where a gate may be undefined.
    """
    # The unit of coordinates is the half side of a chart.
    points = torch.where(points.abs() < 1e-12, 0.0, points)
    with torch.no_grad():
        return gate(points).to(torch.float64).numpy()


def gate_fails(values: np.ndarray) -> np.ndarray:
    """(...): where ``values`` (..., channels) of a gate are not between 1e-12 and 1e12."""
    inside = (values > 1 / LARGEST_GATE) & (values < LARGEST_GATE)
    return np.asarray(~inside.all(-1))


# --- The curvature formula ------------------------------------------------------------------------


@dataclass(frozen=True)
class WithError:
    """A number and the bound on its rounding error."""

    value: float
    error: float


def curvature_terms(gate: Gate, points: torch.Tensor, strength: float = 1.0) -> dict[str, Bounded]:
    """Evaluate the curvature formula for a scalar ``gate`` at ``points`` (N, 2), term by term.

    The terms (N,) are, in the order of computation, "gate", the factor in force, "rho", "rho_u",
    "rho_v", "rho_uu", "rho_uv", "rho_vv", "hessian", its determinant, "foot" = rho - u rho_u -
    v rho_v, "normal_square" = rho_u^2 + rho_v^2 + foot^2, and "gaussian", K in 1 / length^2. Bounds
    are infinite where nothing is known. ``strength`` is from 0 to 1. ``ValueError`` for a gate of
    several channels, and for one that uses an operation without an error rule.
    """
    points = check_points(points)
    image = GatedSheet(gate, strength)

    def both(p: torch.Tensor) -> torch.Tensor:
        factor = image.factor(p)
        if factor.shape[-1] != 1:
            raise ValueError(
                f"gate has {factor.shape[-1]} channels; the curvature formula is for a scalar one"
            )
        return torch.cat([factor, 1 / factor], -1)

    jet = second_order_jet(both, points, "rigorous", check=False)
    if jet.errors is None:
        raise ValueError(
            "gate uses an operation without an error rule; the curvature formula needs its bound"
        )
    rows = [
        Bounded(value, error)
        for value, error in zip(jet.stack[:, 1], jet.errors[:, 1], strict=True)
    ]
    rho, rho_u, rho_v, rho_uu, rho_uv, rho_vv = rows
    u, v = (Bounded(x) for x in points.unbind(-1))
    hessian = rho_uu * rho_vv - rho_uv * rho_uv
    foot = rho - u * rho_u - v * rho_v
    normal = rho_u * rho_u + rho_v * rho_v + foot * foot
    ratio = rho * rho / normal
    return dict(
        gate=Bounded(jet.stack[0, 0], jet.errors[0, 0]),
        rho=rho,
        rho_u=rho_u,
        rho_v=rho_v,
        rho_uu=rho_uu,
        rho_uv=rho_uv,
        rho_vv=rho_vv,
        hessian=hessian,
        foot=foot,
        normal_square=normal,
        gaussian=ratio * ratio * hessian,
    )


def curvature_terms_at(
    gate: Gate, u: float, v: float, strength: float = 1.0
) -> dict[str, WithError]:
    """Evaluate the curvature formula at one point; names and errors as in `curvature_terms`."""
    terms = curvature_terms(gate, torch.tensor([[u, v]], dtype=torch.float64), strength)
    return {name: WithError(float(x.value), float(x.bound)) for name, x in terms.items()}
