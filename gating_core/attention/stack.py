"""The model: an ensemble of attention stacks, evaluated as one batched computation.

Shapes: S seeds (the leading axis of every parameter), N points, D model dimension, H heads of
d = D / H channels, n values (slots or tokens). Hidden states are (S, N, D) with memory slots and
(S, n, N, D) with tokens: points always stand next to last. One model is an ensemble of one.
Ungated is the same class with gate ``None``. Everything is written in ordinary torch operations,
so that ``gating_core.jets`` can carry derivatives through it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import nn

from gating_core.attention.config import AttentionConfig
from gating_core.attention.gates import Gate
from gating_core.checks import check_integer, check_seeds
from gating_core.points_last import product, softmax
from gating_core.randomness import normal

INPUT_SCALE = 1.5  # standard deviation of the input map times sqrt(2)
OFFSET_SCALE = 0.5  # standard deviation of the input offset and of the slot biases


def rms_normalise(states: torch.Tensor) -> torch.Tensor:
    """States (..., D) divided by their root mean square: unit gain, epsilon 0."""
    return states / (states * states).mean(-1, keepdim=True).sqrt()


@dataclass(frozen=True, eq=False)
class LayerLook:
    """What one layer did: attention ``weights`` (S, H, N, n) and ``gate`` (S, N, D or H).

    With tokens both are those of token 1; a gate that reads slots or tokens (G2, G3) is averaged
    over them. ``gate`` is ``None`` without a gate, and where the weights were prescribed and no
    state is known that it could read; of an additive control it is what is added.
    """

    weights: torch.Tensor
    gate: torch.Tensor | None


class AttentionLayer(nn.Module):
    """One layer: softmax attention, gate, projection, residual, normalisation."""

    def __init__(self, config: AttentionConfig, seeds: tuple[int, ...], name: str) -> None:
        super().__init__()
        self.config = config
        dim, count = config.model_dim, config.value_count
        narrow = dim**-0.5

        def draw(part: str, shape: tuple[int, ...], scale: float) -> nn.Parameter:
            return nn.Parameter(normal(seeds, f"{name}.{part}", shape, scale))

        self.query = draw("query", (dim, dim), narrow)
        if config.source == "memory":
            self.keys = draw("keys", (count, dim), 1.0)
            self.values = draw("values", (count, dim), 1.0)
            self.bias = draw("bias", (config.heads, count), OFFSET_SCALE)
        else:
            self.key_map = draw("key_map", (dim, dim), narrow)
            self.value_map = draw("value_map", (dim, dim), narrow)
        self.gate: Gate | None = None
        if config.gate is not None:
            self.gate = Gate(config.gate, dim, config.heads, seeds, f"{name}.gate")
        self.projection: nn.Parameter | None = None
        if config.output_projection:
            self.projection = draw("projection", (dim, dim), narrow)

    def _gated(self, position: str, x: torch.Tensor, states: torch.Tensor | None) -> torch.Tensor:
        """``x`` (S, ..., D), gated by ``states`` if this is where the layer's gate sits."""
        if self.gate is None or self.gate.config.position != position:
            return x
        return self.gate(x, states)

    def _by_head(self, matrix: torch.Tensor) -> torch.Tensor:
        """(S, R, D) to (S, H, R, d)."""
        return matrix.unflatten(-1, (self.config.heads, -1)).transpose(1, 2)

    # --- Memory slots ---

    def slot_keys(self) -> torch.Tensor:
        """(S, n, D): the keys in force, gated by themselves at G3."""
        return self._gated("G3", self.keys, self.keys)

    def slot_values(self) -> torch.Tensor:
        """(S, n, D): the values in force, gated by themselves at G2."""
        return self._gated("G2", self.values, self.values)

    def logit_map(self) -> torch.Tensor:
        """(S, H, D, n): the linear map from hidden states to logits, query and keys in one."""
        query, keys = self._by_head(self.query), self._by_head(self.slot_keys())
        return query @ keys.transpose(-1, -2) * (query.shape[-1] ** -0.5)

    def weights(self, hidden: torch.Tensor) -> torch.Tensor:
        """(S, H, N, n): attention weights over the slots for hidden states (S, N, D)."""
        logits = product(hidden.unsqueeze(1), self.logit_map())
        if self.gate is not None and self.gate.config.position == "G4" and not self.gate.idle:
            # What the gate changes, added on: a gate that is one then changes no bit.
            query = product(hidden, self.query)
            change = self._by_head(self.gate(query, hidden) - query)
            keys = self._by_head(self.slot_keys()).transpose(-1, -2)
            logits = logits + product(change, keys * keys.shape[-2] ** -0.5)
        return softmax(logits + self.bias.unsqueeze(2))

    def mix(self, weights: torch.Tensor) -> torch.Tensor:
        """(S, N, D): values averaged with the attention weights (S, H, N, n)."""
        return product(weights, self._by_head(self.slot_values())).transpose(1, 2).flatten(-2)

    # --- Tokens ---

    def _token_heads(self, states: torch.Tensor) -> torch.Tensor:
        """(S, n, N, D) to (S, H, n, N, d)."""
        return states.unflatten(-1, (self.config.heads, -1)).permute(0, 3, 1, 2, 4)

    def token_weights(self, asking: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(S, H, m, n, N): how the m ``asking`` tokens (S, m, N, D) weigh all n ``states``."""
        query = self._gated("G4", product(asking, self.query.unsqueeze(1)), asking)
        keys = self._gated("G3", product(states, self.key_map.unsqueeze(1)), states)
        query, keys = self._token_heads(query), self._token_heads(keys)
        products = query.transpose(2, 3) @ keys.permute(0, 1, 3, 4, 2)  # (S, H, N, m, n)
        return torch.softmax(products * query.shape[-1] ** -0.5, -1).permute(0, 1, 3, 4, 2)

    def mix_tokens(self, weights: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
        """(S, m, N, D): the tokens' values averaged with ``weights`` (S, H, m, n, N)."""
        values = self._gated("G2", product(states, self.value_map.unsqueeze(1)), states)
        values = self._token_heads(values).permute(0, 1, 3, 2, 4)  # (S, H, N, n, d)
        mixed = weights.permute(0, 1, 4, 2, 3) @ values  # (S, H, N, m, d)
        return mixed.permute(0, 3, 2, 1, 4).flatten(-2)

    # --- Both ---

    def read(self, hidden: torch.Tensor) -> torch.Tensor:
        """The states that query and gate read, shaped as ``hidden``."""
        return rms_normalise(hidden) if self.config.norm == "pre" else hidden

    @property
    def reads_only_weights(self) -> bool:
        """Whether, once the attention weights are given, the hidden state no longer matters."""
        gate = self.gate
        only = gate is None or not gate.needs_state or gate.config.position in ("G2", "G3", "G4")
        return self.config.source == "memory" and only and not self.config.residual

    def forward(
        self,
        hidden: torch.Tensor | None,
        weights: torch.Tensor | None = None,
        last: bool = False,
        looks: list[LayerLook] | None = None,
    ) -> torch.Tensor:
        """The next hidden states; given ``weights`` (S, H, N, n) replace the computed ones.

        Weights can be given for memory slots only; ``hidden`` may then be ``None`` when
        ``reads_only_weights`` holds. The ``last`` layer of a token model returns token 1 alone,
        (S, 1, N, D). What the layer did is appended to ``looks`` if that is given.
        """
        if hidden is None:
            assert weights is not None
            assert self.reads_only_weights
            state, mixed = None, self.mix(weights)
        elif self.config.source == "memory":
            state = self.read(hidden)
            weights = self.weights(state) if weights is None else weights
            mixed = self.mix(weights)
        else:
            assert weights is None
            states = self.read(hidden)
            if last:
                hidden = hidden[:, :1]
            state = states[:, :1] if last else states
            token_weights = self.token_weights(state, states)
            mixed = self.mix_tokens(token_weights, states)
            weights = token_weights[:, :, 0].transpose(-1, -2)
        out = self._gated("G1", mixed, state)
        if self.projection is not None:
            lifted = self.projection if out.ndim == 3 else self.projection.unsqueeze(1)
            out = product(out, lifted)
        if state is not None:
            out = self._gated("G5", out, state)
        if hidden is not None and self.config.residual:
            out = out + hidden
        if looks is not None:
            whole = state if hidden is None or self.config.source == "memory" else states
            looks.append(LayerLook(weights, self._seen_gate(whole, mixed)))
        return rms_normalise(out) if self.config.norm == "post" else out

    def _seen_gate(self, states: torch.Tensor | None, mixed: torch.Tensor) -> torch.Tensor | None:
        """(S, N, D or H): the gate in force where values were ``mixed``, as `LayerLook` says."""
        if self.gate is None:
            return None
        position = self.gate.config.position
        if self.config.source == "memory" and position in ("G2", "G3"):
            slots = self.values if position == "G2" else self.keys
            gate = self.gate.values(slots, slots)
            return gate.mean(1, keepdim=True).expand(-1, mixed.shape[-2], -1)
        if not self.gate.config.reads_state:
            gate = self.gate.values(None, mixed) * torch.ones_like(mixed)
        elif states is None:  # the weights were given, and with them the query
            return None
        else:
            gate = self.gate.values(states, states)
        if self.config.source == "memory":
            return gate
        return gate.mean(1) if position in ("G2", "G3") else gate[:, 0]


class Attention(nn.Module):
    """An ensemble of attention stacks with the same configuration and one member per seed."""

    def __init__(self, config: AttentionConfig, seeds: tuple[int, ...]) -> None:
        super().__init__()
        self.config = config
        self.seeds = seeds
        # Tokens have an affine map each, memory models one for the query.
        tokens = () if config.source == "memory" else (config.value_count,)
        name = "token" if tokens else "input"
        scale = INPUT_SCALE * config.input_dim**-0.5
        shape = (*tokens, config.input_dim, config.model_dim)
        self.input_map = nn.Parameter(normal(seeds, f"{name}_map", shape, scale))
        shape = (*tokens, config.model_dim)
        self.input_bias = nn.Parameter(normal(seeds, f"{name}_bias", shape, OFFSET_SCALE))
        self.layers = nn.ModuleList(
            AttentionLayer(config, seeds, f"layers.{depth}") for depth in range(config.depth)
        )

    @property
    def blocks(self) -> list[AttentionLayer]:
        """The layers in order."""
        return [cast(AttentionLayer, layer) for layer in self.layers]

    def embed(self, points: torch.Tensor) -> torch.Tensor:
        """The first hidden states of points (N, input_dim) or (S, N, input_dim)."""
        if points.ndim not in (2, 3) or points.shape[-1] != self.config.input_dim:
            raise ValueError(
                f"points has shape {tuple(points.shape)}; it must be (N, {self.config.input_dim})"
                f" or (S, N, {self.config.input_dim}) for this model"
            )
        if self.config.source == "tokens" and points.ndim == 3:
            points = points.unsqueeze(1)
        return product(points, self.input_map) + self.input_bias.unsqueeze(-2)

    def run(
        self,
        hidden: torch.Tensor | None,
        weights: torch.Tensor | None = None,
        looks: list[LayerLook] | None = None,
    ) -> torch.Tensor:
        """(S, N, D): all layers, the first one with prescribed ``weights`` if they are given."""
        final = len(self.layers) - 1
        out = hidden
        for depth, layer in enumerate(self.blocks):
            out = layer(out, weights if depth == 0 else None, depth == final, looks)
        assert out is not None
        return out[:, 0] if self.config.source == "tokens" else out

    def forward(self, points: torch.Tensor, looks: list[LayerLook] | None = None) -> torch.Tensor:
        """Representations (S, N, D) of points (N, input_dim) or (S, N, input_dim).

        What each layer did is appended to ``looks`` if that is given.
        """
        return self.run(self.embed(points), looks=looks)

    def member(self, index: int, strengths: Sequence[float] | None = None) -> Attention:
        """Member ``index`` alone, or as many copies of it as there are gate ``strengths``.

        Copies share their weights and differ in the strength of the gate, so that a sweep is one
        batched evaluation. A strength of 0 gives the ungated numbers bit for bit.
        """
        check_integer("index", index, 0, len(self.seeds) - 1)
        out = copy.deepcopy(self)
        copies = 1 if strengths is None else len(strengths)
        out.seeds = (self.seeds[index],) * copies
        for parameter in out.parameters():
            parameter.data = parameter.data[index : index + 1].expand(copies, *parameter.shape[1:])
        if strengths is not None and self.config.gate is None:
            raise ValueError("strengths were given for a model without a gate")
        for gate in (layer.gate for layer in out.blocks if layer.gate is not None):
            if strengths is not None:
                gate.strength = torch.tensor(strengths, dtype=torch.float64)
            elif isinstance(gate.strength, torch.Tensor):
                gate.strength = gate.strength[index : index + 1]
        return out


def build_attention(config: AttentionConfig, seeds: Iterable[int] = (0,)) -> Attention:
    """A float64 ``nn.Module`` from points (N, input_dim) or (S, N, input_dim) to (S, N, D).

    The weights of a member depend on its seed and on the parameter's name alone. Gradients are
    off; the trainer turns them on. ``ValueError`` for seeds that are empty, repeated or negative.
    """
    return Attention(config, check_seeds(seeds)).requires_grad_(False)
