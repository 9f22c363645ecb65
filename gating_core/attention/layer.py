"""One attention layer: gate, projection, residual and normalisation round a mechanism.

Shapes: S seeds (the leading axis of every parameter), N points, D model dimension, H heads of
d = D / H channels, n values. Hidden states are (S, ..., N, D), with the axes between that
`AttentionLayer.state_axes` names. Everything is written in ordinary torch operations, so that
``gating_core.jets`` can carry derivatives through it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from gating_core.attention.gates import Gate, GateConfig
from gating_core.points_last import product
from gating_core.randomness import normal

BEFORE_MIXING = ("G2", "G3", "G4")  # gates of what is mixed, and of what it is mixed by
OFFSET_SCALE = 0.5  # standard deviation of the input offset, of the slot biases and of sinks
# Of a softmax: weights e^z / (sum e^z + e^s), with s = 0 or learned for each head. It equals a
# scalar gate on the softmax without it, and one more slot with key 0 and value 0
# (`gating_core.geometry.keys`).
SINKS = ("none", "zero", "learned")
OptionalTensor = torch.Tensor | None
Mixed = tuple[torch.Tensor, torch.Tensor]  # mixed values, and attention weights (S, H, N, n)
Draw = Callable[[str, tuple[int, ...], float], nn.Parameter]  # of a name, a shape, a scale


def rms_normalise(states: torch.Tensor) -> torch.Tensor:
    """States (..., D) divided by their root mean square: unit gain, epsilon 0."""
    return states / (states * states).mean(-1, keepdim=True).sqrt()


@dataclass(frozen=True)
class LayerConfig:
    """The sizes and parts of a stack of layers; `AttentionConfig` checks them.

    Sizes: ``model_dim`` D, ``heads`` H of D / H channels each, ``value_count`` n, ``depth`` L.
    """

    source: str = "memory"  # where keys and values come from: a key of MECHANISMS
    input_dim: int = 2  # 2 or 3: surfaces or solids
    model_dim: int = 3  # D, 1 to 256
    value_count: int = 3  # n slots or tokens, 2 to 64
    heads: int = 1  # H, must divide D
    depth: int = 1  # L, 1 to 16
    residual: bool = False
    norm: str = "none"  # RMSNorm "pre" (of what query and gate read) or "post" (of the output)
    output_projection: bool = False
    gate: GateConfig | None = None
    sink: str = "none"  # a logit in the denominator of every softmax: SINKS


@dataclass(frozen=True, eq=False)
class LayerRecord:
    """The attention ``weights`` (S, H, N, n) and the ``gate`` (S, N, D or H) of one layer.

    With tokens both are those of token 1; a gate that reads slots or tokens (G2, G3) is averaged
    over them. ``gate`` is ``None`` without a gate, and where the weights were prescribed and no
    state is known that it could read; of an additive control it is what is added. ``gate_logits``
    (S, ..., N, D or H) are the W h + b of a gate that reads states, of all tokens. ``on_simplex``
    says whether the weights of a head add up to one.
    """

    weights: torch.Tensor
    gate: torch.Tensor | None
    gate_logits: torch.Tensor | None
    on_simplex: bool = True

    @property
    def shares(self) -> torch.Tensor:
        """(S, H, N, n): the weights as shares of their sum."""
        return self.weights if self.on_simplex else self.weights / self.weights.sum(-1, True)


class AttentionLayer(nn.Module):
    """One attention layer; a mechanism is a subclass and a row of MECHANISMS.

    A mechanism makes its weights in `make_weights`, mixes values in `attend`, where it applies the
    gates of values, keys and queries (G2 to G4), and states its properties in class attributes.
    """

    # --- What a mechanism says of itself ---

    title: str  # as at the beginning of a sentence
    come_from: str  # "Keys and values come from ..."
    fixed_values: bool  # values are learned vectors: the layer has `values` and `slot_values`
    # The weights of a head are never negative and add up to one; with a sink, its share included.
    weights_on_simplex: bool
    has_softmax = False  # whose denominator may have a sink
    # Why there is no attention-weight chart. `None`: there is one, and with it `logit_map` and a
    # `bias` of the slots; a mechanism without a chart has no weights called "bias".
    no_weight_chart: str | None

    @staticmethod
    def state_axes(config: LayerConfig) -> tuple[int, ...]:
        """The axes of hidden states between seeds and points: none, or one for tokens.

        Each token has an input map of its own, and token 1 is read out.
        """
        return ()

    @staticmethod
    def mixed_count(config: LayerConfig) -> int:
        """Return how many fixed vectors a head mixes at most, with fixed values: n, or fewer."""
        return config.value_count

    # --- What a mechanism does ---

    # Draw the weights of queries, keys and values; `Draw` names and makes them.
    make_weights: Callable[[Draw], None]
    # The mixed values for the query's states, and the attention weights (S, H, N, n). Arguments are
    # the query's states, which without tokens are all states; all states; and weights in place of
    # computed ones: then there may be no states. They are given only where there is a weight chart.
    attend: Callable[[OptionalTensor, OptionalTensor, OptionalTensor], Mixed]
    # The values (S, n, N, D) of states before any gate; with fixed ones, N = 1.
    plain_values: Callable[[OptionalTensor], torch.Tensor]
    # Multiply all keys by a factor: the larger, the more attention saturates.
    sharpen: Callable[[float], None]

    # --- What only some have ---

    # With fixed values: they, (S, n, D), and those in force, gated by themselves at G2.
    values: nn.Parameter
    slot_values: Callable[[], torch.Tensor]
    # With a weight chart: (S, H, n), and the linear map (S, H, D, n) from hidden states to logits
    # less this bias, query and keys in one.
    bias: nn.Parameter
    logit_map: Callable[[], torch.Tensor]
    # Of a member: keys (n, D), whose products with states are logits, and values (n, D). Gate and
    # biases are left out; all are Python integers, each matrix up to a positive factor.
    exact_slots: Callable[[int], tuple[np.ndarray, np.ndarray]]

    def mixed_values(self) -> torch.Tensor:
        """(S, `mixed_count`, D): the fixed vectors that each head mixes; `slot_values`, if n."""
        return self.slot_values()

    # --- What all have in common ---

    def __init__(
        self,
        config: LayerConfig,
        seeds: tuple[int, ...],
        name: str,
        strengths: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        dim = config.model_dim

        def draw(part: str, shape: tuple[int, ...], scale: float) -> nn.Parameter:
            return nn.Parameter(normal(seeds, f"{name}.{part}", shape, scale))

        self.make_weights(draw)
        self.sink: nn.Parameter | None = None
        if config.sink == "learned":
            self.sink = draw("sink", (config.heads,), OFFSET_SCALE)
        self.gate: Gate | None = None
        if config.gate is not None:
            self.gate = Gate(config.gate, dim, config.heads, seeds, f"{name}.gate", strengths)
        self.projection: nn.Parameter | None = None
        if config.output_projection:
            self.projection = draw("projection", (dim, dim), dim**-0.5)

    def gated(self, position: str, x: torch.Tensor, states: OptionalTensor) -> torch.Tensor:
        """``x`` (S, ..., D), gated by ``states`` if this is where the layer's gate sits."""
        if self.gate is None or self.gate.config.position != position:
            return x
        return self.gate(x, states)

    def beside_sink(
        self, softmax: Callable[[torch.Tensor], torch.Tensor], logits: torch.Tensor
    ) -> torch.Tensor:
        """The ``softmax`` of ``logits`` (S, H, ..., n) over their last axis, beside the sink."""
        if self.config.sink == "none":
            return softmax(logits)
        sink: torch.Tensor | None = self.sink
        if sink is None:
            sink = torch.zeros(1, self.config.heads, dtype=logits.dtype, device=logits.device)
        sink = sink.reshape(-1, self.config.heads, *(1,) * (logits.ndim - 2))
        return softmax(torch.cat([logits, sink.expand(*logits.shape[:-1], 1)], -1))[..., :-1]

    def read(self, hidden: torch.Tensor) -> torch.Tensor:
        """The states that query and gate read, shaped as ``hidden``."""
        return rms_normalise(hidden) if self.config.norm == "pre" else hidden

    @property
    def has_weight_chart(self) -> bool:
        """True if the weights of a head can be prescribed on the simplex."""
        return self.no_weight_chart is None and self.config.sink == "none"

    @property
    def reads_only_weights(self) -> bool:
        """True if, once the attention weights are given, the hidden state no longer matters."""
        gate = self.gate
        only = gate is None or not gate.needs_state or gate.config.position in BEFORE_MIXING
        return self.has_weight_chart and only and not self.config.residual

    @property
    def averages_fixed_values(self) -> torch.Tensor:
        """(S,) or (): whether outputs are fixed linear images of averages of fixed values.

        One average for each head: values are fixed, and weights lie on the simplex. Gates before
        the mixing leave it so: with fixed values they are constants, or move the weights alone.
        """
        gate = self.gate
        if not self._mixes_fixed_values or gate is None or gate.config.position in BEFORE_MIXING:
            return torch.tensor(self._mixes_fixed_values and self.weights_on_simplex)
        return gate.constant & self.weights_on_simplex

    @property
    def scales_fixed_values(self) -> bool:
        """Return whether outputs are linear images of combinations of fixed values, one a head.

        Their weights need not add up to one: a gate with one number per head scales them.
        """
        gate = self.gate
        if gate is None or gate.config.position in BEFORE_MIXING:
            return self._mixes_fixed_values
        return self._mixes_fixed_values and gate.config.granularity == "headwise"

    @property
    def _mixes_fixed_values(self) -> bool:
        return self.fixed_values and not self.config.residual and self.config.norm != "post"

    def forward(
        self,
        hidden: OptionalTensor,
        weights: OptionalTensor = None,
        first_only: bool = False,
        records: list[LayerRecord] | None = None,
    ) -> torch.Tensor:
        """The next hidden states; given ``weights`` (S, H, N, n) replace the computed ones.

        Weights can be given where there is a weight chart; ``hidden`` may then be ``None`` when
        ``reads_only_weights`` holds. Of tokens, ``first_only`` returns token 1 alone,
        (S, 1, N, D). A `LayerRecord` is appended to ``records`` if that is given.
        """
        assert weights is None or self.has_weight_chart
        assert hidden is not None or self.reads_only_weights
        states = None if hidden is None else self.read(hidden)
        queries = states
        if first_only and self.state_axes(self.config) and hidden is not None:
            assert states is not None
            hidden, queries = hidden[:, :1], states[:, :1]
        mixed, weights = self.attend(queries, states, weights)
        out = self.gated("G1", mixed, queries)
        if self.projection is not None:
            lifted = self.projection if out.ndim == 3 else self.projection.unsqueeze(1)
            out = product(out, lifted)
        if queries is not None:
            out = self.gated("G5", out, queries)
        if hidden is not None and self.config.residual:
            out = out + hidden
        if records is not None:
            gate, logits = self.recorded_gate(states, mixed), None
            if self.gate and self.gate.config.record.reads_state and states is not None:
                logits = self.gate.logits(states)
            on_simplex = self.weights_on_simplex and self.config.sink == "none"
            records.append(LayerRecord(weights, gate, logits, on_simplex))
        return rms_normalise(out) if self.config.norm == "post" else out

    def recorded_gate(self, states: OptionalTensor, mixed: torch.Tensor) -> OptionalTensor:
        """(S, ..., N, D or H): the gate in force where values were ``mixed``; see `LayerRecord`."""
        if self.gate is None:
            return None
        if not self.gate.config.record.reads_state:
            return self.gate.values(None, mixed) * torch.ones_like(mixed)
        if states is None:  # the weights were given, and with them the query
            return None
        return self.gate.values(states, states)
