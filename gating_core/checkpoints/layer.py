"""One attention layer of a checkpoint in float64, and what it computes on a text.

Shapes: T tokens, D width, H heads, d channels of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional

OptionalTensor = torch.Tensor | None
EPSILON = 1e-6  # of the norms of our own models


@dataclass(frozen=True, eq=False)
class Layer:
    """The weights of one attention layer, float64, each head's on its own.

    Attributes:
        number: Of the layer, from 0.
        query: (H, d, D).
        key: (H, d, D).
        value: (H, d, D).
        query_bias: (H, d) or ``None``.
        key_bias: (H, d) or ``None``.
        value_bias: (H, d) or ``None``.
        output: (H, D, d), the projection after attention; ``None`` if the files hold none.
        output_bias: (D,) or ``None``.
        gate: (H, d, D) or, with one gate for a head, (H, 1, D); ``None`` without a gate.
        gate_bias: (H, d or 1) or ``None``.
        sigma: The gate's function of its logits.
        gate_strength: λ of the gate as the layer was trained.
        gates_values: The gate multiplies each token's values (G2), not the output (G1).
        norm: (D,), the gains of the RMSNorm before attention, or ``None`` where attention reads the
            residual stream.
        causal: A query sees its own key and earlier ones only.
        window: The number of keys that a query sees at most, or ``None``; of a layer that is not
            causal, the distance of the farthest.
    """

    number: int
    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    query_bias: OptionalTensor = None
    key_bias: OptionalTensor = None
    value_bias: OptionalTensor = None
    output: OptionalTensor = None
    output_bias: OptionalTensor = None
    gate: OptionalTensor = None
    gate_bias: OptionalTensor = None
    sigma: Callable[[torch.Tensor], torch.Tensor] = torch.sigmoid
    gate_strength: float = 1.0
    gates_values: bool = False
    norm: OptionalTensor = None
    causal: bool = True
    window: int | None = None

    @property
    def heads(self) -> int:
        """H."""
        return len(self.query)

    @property
    def channels(self) -> int:
        """The number of channels d of a head."""
        return self.query.shape[1]

    @property
    def width(self) -> int:
        """The number of channels D of a state."""
        return self.query.shape[2]

    def read(self, stream: torch.Tensor) -> torch.Tensor:
        """Return the states that attention reads, from the residual stream (T, D)."""
        if self.norm is None:
            return stream
        return functional.rms_norm(stream, (self.width,), self.norm, EPSILON)

    def visible(self, position: int, count: int) -> torch.Tensor:
        """(count,) bool: the keys that the query at ``position`` sees."""
        keys = torch.arange(count)
        if self.causal:
            seen = keys <= position
            return seen if self.window is None else seen & (keys > position - self.window)
        reach = count if self.window is None else self.window  # both ways, as transformers has it
        return (keys - position).abs() <= reach


# --- On a text ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LayerPass:
    """Everything that one layer computes for the T tokens of a text, head by head.

    Attributes:
        queries: (H, T, d).
        keys: (H, T, d).
        values: (H, T, d), as they are mixed.
        scores: (H, T, T), -inf where a query does not see a key.
        weights: (H, T, T), the softmax of the scores.
        gate: (H, T, d or 1), the factors of outputs (or of values, at G2), λ included, or ``None``.
        mixed: (H, T, d), gated.
        output: (T, D), after the projection; ``None`` if the layer has none.
    """

    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    scores: torch.Tensor
    weights: torch.Tensor
    gate: OptionalTensor
    mixed: torch.Tensor
    output: OptionalTensor


def by_head(states: torch.Tensor, weight: torch.Tensor, bias: OptionalTensor) -> torch.Tensor:
    """(n, T, d): ``states`` (T, D) times ``weight`` (n, d, D), plus ``bias`` (n, d)."""
    product = states @ weight.mT
    return product if bias is None else product + bias[:, None, :]


def factor(values: torch.Tensor, strength: float) -> torch.Tensor:
    """Return the factor of a gate with ``values`` at λ = ``strength``: (1 - λ) + λ values."""
    return values if strength == 1 else (1 - strength) + strength * values


def check_states(layer: Layer, states: torch.Tensor) -> torch.Tensor:
    """``states`` in float64; ``ValueError`` unless they are (T, D), T > 0, and finite."""
    states = torch.as_tensor(states, dtype=torch.float64)
    if states.ndim != 2 or states.shape[1] != layer.width or not len(states):
        raise ValueError(
            f"states has shape {tuple(states.shape)}; it must be (T, {layer.width}), T > 0"
        )
    if not states.isfinite().all():
        raise ValueError("states contains NaN or infinite numbers; all must be finite")
    return states


@torch.no_grad()
def attend(layer: Layer, states: torch.Tensor, strength: float = 1.0) -> LayerPass:
    """Compute one layer on a text.

    Args:
        layer: As `read_layer` returns it.
        states: (T, D), what attention reads: ``layer.read`` of the residual stream.
        strength: λ from 0 to 1, which multiplies that of the layer's gate; 0 leaves it out.
    """
    states = check_states(layer, states)
    count = len(states)
    queries = by_head(states, layer.query, layer.query_bias)
    keys = by_head(states, layer.key, layer.key_bias)
    values = by_head(states, layer.value, layer.value_bias)
    seen = torch.stack([layer.visible(i, count) for i in range(count)])
    scores = (queries @ keys.mT * layer.channels**-0.5).masked_fill(~seen, -torch.inf)
    weights = scores.softmax(-1)
    strength, gate = strength * layer.gate_strength, None
    if strength and layer.gate is not None:
        logits = by_head(states, layer.gate, layer.gate_bias)
        gate = factor(layer.sigma(logits), strength)
        if layer.gates_values:
            values = values * gate
    mixed = weights @ values
    if gate is not None and not layer.gates_values:
        mixed = mixed * gate
    output = None
    if layer.output is not None:
        output = (mixed @ layer.output.mT).sum(0)
        output = output if layer.output_bias is None else output + layer.output_bias
    return LayerPass(queries, keys, values, scores, weights, gate, mixed, output)
