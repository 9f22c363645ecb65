"""The paper's finite-difference measure of local nonlinearity, in our reading, beside exact ones.

Only the abstract of [BJ] (arXiv 2604.14702) was at hand. We read its proxy as the mean over
points of the Frobenius norm of central second differences of the output. It sees warping and
bending as well as curving, and scales with the output.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gating_core.geometry.differences import central_differences
from gating_core.jets.second_order import SecondOrderJet

PROXY_STEP = 1e-4  # the best in float64; in float32 it is 0.01 to 0.02


@dataclass(frozen=True, eq=False)
class Proxy:
    """The mean proxy (...), the same divided by the Jacobian's norm, and per point (..., N)."""

    mean: torch.Tensor
    normalised: torch.Tensor
    per_point: torch.Tensor
    step: float


def paper_proxy(
    function: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor,
    step: float = PROXY_STEP,
    dtype: torch.dtype = torch.float64,
) -> Proxy:
    """(|D_uu|^2 + 2 |D_uv|^2 + |D_vv|^2)^1/2 of central differences with ``step``, averaged.

    ``function`` is a torch callable (N, 2) -> (..., N, D), evaluated in ``dtype``. The second
    number divides by the norm of the Jacobian (central differences, too): that removes the
    output's scale only. ``ValueError`` for a step that is not between 1e-8 and 1.
    """
    _, u, v, uu, uv, vv = central_differences(function, points, step, dtype)
    return _proxy((uu, uv, vv), (u, v), step)


def proxy_limit(jet: SecondOrderJet) -> Proxy:
    """What `paper_proxy` tends to as the step goes to zero, from exact derivatives."""
    first, second = jet.first, jet.second
    seconds = (second[..., 0, 0], second[..., 0, 1], second[..., 1, 1])
    return _proxy(seconds, (first[..., 0], first[..., 1]), 0.0)


def _proxy(seconds: tuple, firsts: tuple, step: float) -> Proxy:
    uu, uv, vv = (x.square().sum(-1) for x in seconds)
    per_point = (uu + 2 * uv + vv).sqrt()
    jacobian = sum(x.square().sum(-1) for x in firsts).sqrt()
    return Proxy(per_point.mean(-1), (per_point / jacobian).mean(-1), per_point, step)
