"""The conic in attention weights on which a real gated layer does not curve.

One layer, one head, n = 3 values, a headwise sigmoid gate. The gate's logit is affine in the
hidden state, and so in the logarithms of the attention weights a that the state produces:
1/g = 1 + c a1^p a2^q a3^r with p + q + r = 0. By the curvature formula K has the sign of
qr a1^2 + pr a2^2 + pq a3^2 + pqr, if the plane of the values misses the origin.

Shapes: D model dimension, M points of the triangle of weights.
"""

from dataclasses import dataclass

import numpy as np
import torch

from gating_core.attention.charts import WeightChart
from gating_core.attention.config import AttentionConfig, GateConfig
from gating_core.attention.gates import Gate
from gating_core.attention.stack import Attention, build_attention
from gating_core.checks import check_integer, check_number
from gating_core.geometry.curvature import CurvatureField, curvature
from gating_core.jets.bounded import Bounded
from gating_core.jets.second_order import second_order_jet


def gated_layer(seed: int, model_dim: int = 3) -> Attention:
    """Build a random layer of the kind that the conic is about, with D = ``model_dim``."""
    check_integer("model_dim", model_dim, 3, 64)
    gate = GateConfig(granularity="headwise")
    return build_attention(AttentionConfig(model_dim=model_dim, gate=gate), (seed,))


def with_exponents(model: Attention, p: float, q: float, log_scale: float = 0.0) -> Attention:
    """A copy of ``model`` whose gate has 1/g = 1 + exp(log_scale) a1^p a2^q a3^(-p-q).

    Of all gate weights that do, the smallest.
    """
    for number in (p, q, log_scale):
        check_number("exponent", number, -100.0, 100.0)
    chart, copy = TriangleChart(model), model.member(0)
    gate, to_state = _gate(copy), chart.inverse[0] @ model.input_map[0]  # (3, D), of logits
    weight = -torch.linalg.pinv(to_state) @ torch.tensor([p, q, -p - q], dtype=torch.float64)
    centre = model.input_bias[0] - chart.offset[0, 0] @ to_state  # the state at equal weights
    gate.weight.data = weight.reshape(1, -1, 1)
    gate.bias.data = (-log_scale - centre @ weight).reshape(1, 1)
    return copy


@dataclass(frozen=True)
class Exponents:
    """1/g = 1 + exp(log_scale) a1^p a2^q a3^r; ``error`` bounds the errors of p, q and r."""

    p: float
    q: float
    r: float
    log_scale: float
    error: float


@dataclass(frozen=True, eq=False)
class ConicResult:
    """The conic and the exact K at M points of the triangle.

    ``form`` is the quadratic form; K is zero where it is zero. Signs are compared where both are
    decided: beyond their bounds, at resolved points.
    """

    exponents: Exponents
    weights: np.ndarray  # (M, 3)
    gate: np.ndarray  # (M,)
    gaussian: np.ndarray  # (M,)
    gaussian_error: np.ndarray  # (M,)
    form: np.ndarray  # (M,)
    decided: np.ndarray  # (M,): both signs are

    @property
    def agreeing(self) -> int:
        """Number of points with decided, equal signs."""
        return int((self.decided & (np.sign(self.form) == np.sign(self.gaussian))).sum())

    @property
    def disagreeing(self) -> int:
        """Number of points with decided, different signs."""
        return int((self.decided & (np.sign(self.form) != np.sign(self.gaussian))).sum())

    @property
    def undetermined(self) -> int:
        """Number of points where a sign is not known."""
        return int((~self.decided).sum())


class TriangleChart(WeightChart):
    """A callable (N, 2) -> (1, N, D): the layer's output for the weights (a1, a2, 1 - a1 - a2).

    The gate reads the state of the input that has these weights.
    """

    def __init__(self, model: Attention) -> None:
        config, gate = model.config, GateConfig(granularity="headwise")
        if config != AttentionConfig(model_dim=config.model_dim, gate=gate) or len(model.seeds) > 1:
            raise ValueError(
                f"model is {config}; the conic is about one member of one layer with one head,"
                " three fixed values and a headwise sigmoid gate at G1, at full strength"
            )
        super().__init__(model)

    def weights(self, points: torch.Tensor) -> torch.Tensor:
        """(1, N, 3): the attention weights at chart points (N, 2)."""
        return torch.cat([points, 1 - points.sum(-1, keepdim=True)], -1).unsqueeze(0)


def triangle(size: int, smallest: float = 0.02) -> torch.Tensor:
    """(M, 3): evenly spread weights, none below ``smallest``, ``size`` along a side."""
    check_integer("size", size, 3, 201)
    check_number("smallest", smallest, 1e-6, 0.3)
    steps = size - 1
    rows = [(i, j, steps - i - j) for i in range(size) for j in range(size - i)]
    share = torch.tensor(rows, dtype=torch.float64) / steps
    return smallest + (1 - 3 * smallest) * share


def exponents_of(model: Attention) -> Exponents:
    """Compute p, q, r and c from the model's weights; errors as `TriangleChart`."""
    chart, gate = TriangleChart(model), _gate(model)
    exponents = _exponents(chart)
    p, q, r = exponents.value.tolist()
    weight = gate.weight[0, :, 0]
    bias = model.input_bias[0] @ weight + gate.bias[0, 0]
    log_scale = chart.offset[0, 0] @ chart.inverse[0] @ model.input_map[0] @ weight - bias
    return Exponents(p, q, r, float(log_scale), float(exponents.bound.max()))


def quadratic_form(
    exponents: tuple[float, float, float] | Bounded, weights: torch.Tensor
) -> Bounded:
    """Return qr a1^2 + pr a2^2 + pq a3^2 + pqr at ``weights`` (M, 3), with its error."""
    if not isinstance(exponents, Bounded):
        exponents = Bounded(torch.tensor(exponents, dtype=torch.float64))
    p, q, r = (exponents[i : i + 1] for i in range(3))
    a1, a2, a3 = (Bounded(a) for a in weights.unbind(-1))
    return q * r * (a1 * a1) + p * r * (a2 * a2) + p * q * (a3 * a3) + p * q * r


def measure_conic(model: Attention, size: int = 41) -> ConicResult:
    """Compare the conic with the exact K over the triangle, ``size`` points along a side.

    ``ValueError`` for models of another kind, and for those whose logits leave some weights
    without an input.
    """
    chart = TriangleChart(model)
    points = triangle(size)[:, :2].contiguous()
    weights = chart.weights(points)[0]  # as the chart has them, to the last bit
    field: CurvatureField = curvature(second_order_jet(chart, points, "rigorous"))
    form = quadratic_form(_exponents(chart), weights)
    states = model.embed(chart.inputs(points))
    decided = field.decided[0] & (form.value.abs() > form.bound)
    return ConicResult(
        exponents=exponents_of(model),
        weights=weights.numpy(),
        gate=_gate(model).values(states, states)[0, :, 0].numpy(),
        gaussian=field.gaussian[0].numpy(),
        gaussian_error=field.gaussian_error[0].numpy(),
        form=form.value.numpy(),
        decided=decided.numpy(),
    )


def _gate(model: Attention) -> Gate:
    gate = model.blocks[0].gate
    assert gate is not None
    return gate


def _exponents(chart: TriangleChart) -> Bounded:
    """(3,): p, q, r of the chart's own map from logits to inputs, rounding followed."""
    model = chart.model
    weight = Bounded(_gate(model).weight[0])
    logits = (Bounded(chart.inverse[0]) @ Bounded(model.input_map[0]) @ weight)[:, 0]
    return -(logits - logits.mean(0, keepdim=True))
