"""Prices on curvature, bending and area: what a training may add to its loss.

All three are integrals over the chart that do not change when the surface is scaled, moved or
turned, so that no model can pay by shrinking:

- "K": ∫|K| dA, total absolute Gaussian curvature.
- "bending": ∫‖II‖² dA, with ‖II‖ the norm of the second fundamental form.
- "area": A / r², with r² the mean squared distance of the surface from its mean. A placebo: it
  moves the same weights by the same derivatives, and asks for no flatness.

**Where the metric g degenerates**, K and ‖II‖ grow beyond all bounds, and are lost in rounding.
Normal parts of second derivatives are exact, by a re-orthogonalised Gram-Schmidt frame; but
g_ε = g + ε tr(g) I, ε = 1e-5, stands in place of g, and the density is multiplied by
det g / det g_ε. The bias of that: the density of |K| is too small by the factor
(det g / det g_ε)^(3/2), never above 1, and 1 - 3 ε tr(g)² / (2 det g) where g is regular. So a
plane in whatever coordinates, and any map into the plane (D = 2), has the price 0, as it has the
curvature 0. A ridge that is narrower than √ε, 0.3 % of its surroundings, is charged too little:
totals of trained models are measured afterwards, without ε (`gating_core.measure`).

References:
    Lee & Park, *On Explicit Curvature Regularization in Deep Generative Models*, arXiv 2309.10237:
    intrinsic and extrinsic curvature as regularisers of autoencoders. They take the mean over data
    of the squared norms of the Riemann tensor and of the second fundamental form, for
    manifolds of any dimension, traces estimated along random directions. Ours are exact for
    surfaces; they weigh by dA, so that they belong to the surface alone, whatever its chart, and
    are free of its scale; and K enters as |K|, of which a total is a known quantity, not as K².
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from gating_core.checks import check_choice
from gating_core.jets.jet import Jet
from gating_core.jets.second_order import second_order_jet

PRICES = ("K", "bending", "area")
SOFTENING = 1e-5  # ε: of the trace of the metric, added to its diagonal
CHART_AREA = 4.0  # of [-1, 1]^2


TINY = 1e-30  # added to squares under a root
STILL = 1e-18  # added to the metric, of size 1, lest 0 be divided by 0 where nothing moves


def curvature_price(
    layer: Callable[[torch.Tensor], torch.Tensor],
    points: torch.Tensor,
    of: str = "K",
    check: bool = True,
) -> torch.Tensor:
    """Estimate ∫|K| dA, ∫‖II‖² dA or A / r² over [-1, 1]², differentiable in the layer's weights.

    Args:
        layer: Any torch callable from points (N, 2) to (..., N, D), D > 1, whose n-th output
            depends on the n-th point alone.
        points: (N, 2), spread evenly over the chart: the estimate is the mean of the density times
            the chart's area. Our ensembles (`gating_core.attention.stack.Attention`) may have
            points (S, N, 2), other ones for each member; they then compute in the points' type.
        of: "K", "bending" or "area". The module's docstring defines them and states the bias.
        check: Whether to compare derivatives with differences at a few points, as
            `second_order_jet` does. In a training, after the first step, leave it out.

    Returns:
        (...,): the price of each surface; a number without a unit.

    Raises:
        ValueError: ``of`` is no price, D is below 2, or `second_order_jet` refuses the layer,
            because its second derivatives are not those that torch computes.

    Example:
        >>> import torch
        >>> from gating_core.geometry.grid import square_grid
        >>> from gating_core.geometry.price import curvature_price
        >>> lift, read = torch.nn.Linear(2, 5).double(), torch.nn.Linear(5, 3).double()
        >>> layer = torch.nn.Sequential(lift, torch.nn.Tanh(), read)
        >>> curvature_price(layer, square_grid(9).points).backward()
        >>> lift.weight.grad.shape
        torch.Size([5, 2])
    """
    check_choice("of", of, PRICES)
    if points.ndim == 3:
        jet = _member_jet(layer, points)
    else:
        whole = second_order_jet(layer, points, check=check)
        if whole.k != 2:
            raise ValueError(f"points have {whole.k} coordinates; a surface needs 2")
        jet = whole.stack
    if jet.shape[-2] < 2:
        raise ValueError(f"function has D = {jet.shape[-2]} outputs; a surface needs D >= 2")
    return CHART_AREA * price_density(jet, of).mean(-1)


def _member_jet(layer: Callable, points: torch.Tensor) -> torch.Tensor:
    """(6, S, D, N): the jet of an ensemble, each member at its own ``points`` (S, N, 2)."""
    value = points.mT.contiguous()
    first = torch.zeros(2, *value.shape, dtype=value.dtype)
    first[0, :, 0], first[1, :, 1] = 1.0, 1.0
    out = layer(Jet(value.mT, first.mT, k=2))  # type: ignore[arg-type]
    value = out.value.mT
    first, second = (
        value.new_zeros(count, *value.shape) if part is None else part.mT
        for count, part in ((2, out.first), (3, out.second))
    )
    return torch.cat([value.unsqueeze(0), first, second])


def price_density(jet: torch.Tensor, of: str) -> torch.Tensor:
    """(..., N): the density of a price on the chart, from value and derivatives (6, ..., D, N).

    They come in the order of `SecondOrderJet.stack`.
    """
    # Split once: gradients of slices would each be added up in a tensor of the whole size.
    value, first, second = jet.split((1, 2, 3))
    # No density but that of the area changes when all derivatives at a point are scaled: of size 1
    # their powers stay within float32 where attention is saturated.
    size = first.detach().abs().amax(0).amax(-2).clamp_min(TINY)
    u, v = (first / size.unsqueeze(-2)).unbind(0)
    e, f, g = _dot(u, u), _dot(u, v), _dot(v, v)
    softening = SOFTENING * (e + g) + STILL
    e, g = e + softening, g + softening
    det = e * g - f * f
    if of == "area":
        away = value[0] - value[0].mean(-1, keepdim=True)
        return size.square() * det.sqrt() / away.square().sum(-2).mean(-1, keepdim=True)
    along = _unit(u)
    rest = _without(v, along)
    across = _unit(_without(_unit(rest), along))
    bends = second / size.unsqueeze(-2)
    uu, uv, vv = _without(_without(bends, along), across).unbind(0)
    factor = _dot(u, u) * _dot(rest, rest) / det  # 0 where the tangent plane is unknown
    if of == "K":
        return (_dot(uu, vv) - _dot(uv, uv)).abs() * factor / det.sqrt()
    slope = (f / e).unsqueeze(-2)  # II in the frame of u and of v less its part along u
    h12 = uv - slope * uu
    h22 = vv - slope * (h12 + uv)
    norm = _dot(uu, uu) / e**2 + 2 * _dot(h12, h12) / det + _dot(h22, h22) * (e / det) ** 2
    return norm * factor * det.sqrt()


def _dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return (a * b).sum(-2)


def _unit(x: torch.Tensor) -> torch.Tensor:
    """``x`` divided by its length; 0, with finite derivatives, where it is 0."""
    return x / (_dot(x, x) + TINY).sqrt().unsqueeze(-2)


def _without(x: torch.Tensor, unit: torch.Tensor) -> torch.Tensor:
    return x - _dot(x, unit).unsqueeze(-2) * unit
