"""Measure surfaces that have nothing to do with attention (notebook-style script).

Run it as a whole, ``python -m gating_core.examples.any_surface``, or cell by cell in an editor
that supports ``# %%``. It measures a closed form and a small neural network.
"""

# %% A torus, whose curvature is known: K = cos v / (r (R + r cos v)), total |K| of a patch
from __future__ import annotations

import logging

import torch

from gating_core import adaptive_integrals, curvature, second_order_jet, square_grid
from gating_core import second_fundamental_form as second_form

log = logging.getLogger("any_surface")
RING, TUBE = 2.0, 1.0


def torus(p: torch.Tensor) -> torch.Tensor:
    """Map (N, 2) to (N, 3): angles u (round the ring) and v (round the tube), in radians."""
    u, v = p.unbind(-1)
    ring = RING + TUBE * torch.cos(v)
    return torch.stack([ring * torch.cos(u), ring * torch.sin(u), TUBE * torch.sin(v)], -1)


def compare_torus() -> float:
    """Return the largest distance between measured and exact K, in units of the bound."""
    points = square_grid(61).points
    jet = second_order_jet(torus, points, bound="rigorous")
    field = curvature(jet)
    v = points[:, 1]
    exact = torch.cos(v) / (TUBE * (RING + TUBE * torch.cos(v)))
    ratio = ((field.gaussian - exact).abs() / field.gaussian_error).max()
    log.info("torus: largest |K - exact| is %.3f of its bound (%s)", ratio, field.bound_kind)
    principal, _ = second_form(jet).principal_curvatures()
    log.info(
        "torus: largest principal curvature %.12f, 1 / tube radius %g",
        principal.abs().max(),
        1 / TUBE,
    )
    return float(ratio)


# %% A small network: three outputs of two inputs, so again a surface in space
def small_network(seed: int = 0) -> torch.nn.Module:
    """Build a multilayer perceptron 2 -> 16 -> 3 with tanh, from a generator of its own."""
    rng = torch.Generator().manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
    for weight in net.parameters():
        weight.data = torch.randn(weight.shape, generator=rng)
    return net.double().requires_grad_(False)


def measure_network() -> tuple[float, float]:
    """Return total absolute curvature of the network's surface over [-1, 1]^2, and its error."""
    total = adaptive_integrals(small_network(), bound="rigorous").absolute
    log.info("network: total |K| = %.3f +- %.3f", total.value, total.error)
    return float(total.value), float(total.error)


# %% Both
if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    compare_torus()
    measure_network()
