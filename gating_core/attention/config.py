"""What a model is: frozen configurations, checked once when they are made.

Seeds are never part of a configuration; they are arguments of the functions that use them.
"""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.attention.gate_kinds import GATES, GateKind
from gating_core.attention.layer import AttentionLayer
from gating_core.attention.memory import MemoryLayer
from gating_core.attention.tokens import TokenLayer
from gating_core.checks import check_choice, check_flag, check_integer, check_number

# By where keys and values come from: a new mechanism is one more file, and its row here.
LAYERS: dict[str, type[AttentionLayer]] = {"memory": MemoryLayer, "tokens": TokenLayer}
SOURCES = tuple(LAYERS)
NORMS = ("none", "pre", "post")
GATE_GRANULARITIES = ("elementwise", "headwise")
GATE_POSITIONS = ("G1", "G2", "G3", "G4", "G5")

INPUT_DIM_RANGE = (2, 3)
MODEL_DIM_RANGE = (1, 256)
VALUE_COUNT_RANGE = (2, 64)
HEADS_RANGE = (1, 64)
DEPTH_RANGE = (1, 16)


@dataclass(frozen=True)
class GateConfig:
    """A multiplicative gate ``y * ((1 - strength) + strength * sigma(W h + b))``.

    Where it sits (Qiu et al., arXiv 2505.06708, figure 1): G1 after attention, G2 on the values,
    G3 on the keys, G4 on the queries, G5 after the output projection. It reads the state that the
    query is made from (G1, G4, G5) or that of each token (G2, G3); memory slots have no state, so
    there G2 and G3 read the slot's own vector and are constants.

    Controls stand in a gate's place, G1 and elementwise, to show what a gate is not needed for:
    "constant" multiplies by 1/2; "additive" gives ``y + strength * sigmoid(W h + b)``;
    "pointwise" is SiLU(y), in other words a sigmoid gate that reads y itself.
    """

    kind: str = "sigmoid"  # a key of GATES: the function sigma, or a control
    granularity: str = "elementwise"  # one gate per channel; "headwise": per head (G5: one in all)
    position: str = "G1"  # GATE_POSITIONS
    strength: float = 1.0  # 0 (no gate at all) to 1

    def __post_init__(self) -> None:
        check_choice("gate.kind", self.kind, GATES)
        check_choice("gate.granularity", self.granularity, GATE_GRANULARITIES)
        check_choice("gate.position", self.position, GATE_POSITIONS)
        check_number("gate.strength", self.strength, 0.0, 1.0)
        place = (self.granularity, self.position)
        if self.record.control and place != ("elementwise", "G1"):
            raise ValueError(
                f"gate is {self.granularity} at {self.position}; the control {self.kind!r} must be"
                " elementwise at G1"
            )

    @property
    def record(self) -> GateKind:
        """What this kind of gate is."""
        return GATES[self.kind]


@dataclass(frozen=True)
class AttentionConfig:
    """A stack of attention layers that read points and write representations.

    Sizes: ``model_dim`` D, ``heads`` H of D / H channels each, ``value_count`` n, ``depth`` L.
    With ``source="memory"`` keys and values are n learned slots, fixed for all inputs; with
    "tokens" they come from n tokens, each an affine map of the same point (self-attention without
    mask or positions, read out at token 1).
    """

    source: str = "memory"  # a key of LAYERS
    input_dim: int = 2  # 2 or 3: surfaces or solids
    model_dim: int = 3  # D, 1 to 256
    value_count: int = 3  # n slots or tokens, 2 to 64
    heads: int = 1  # H, must divide D
    depth: int = 1  # L, 1 to 16
    residual: bool = False
    norm: str = "none"  # RMSNorm "pre" (of what query and gate read) or "post" (of the output)
    output_projection: bool = False
    gate: GateConfig | None = None

    def __post_init__(self) -> None:
        check_choice("source", self.source, LAYERS)
        check_integer("input_dim", self.input_dim, *INPUT_DIM_RANGE)
        check_integer("model_dim", self.model_dim, *MODEL_DIM_RANGE)
        check_integer("value_count", self.value_count, *VALUE_COUNT_RANGE)
        check_integer("heads", self.heads, *HEADS_RANGE)
        check_integer("depth", self.depth, *DEPTH_RANGE)
        check_flag("residual", self.residual)
        check_choice("norm", self.norm, NORMS)
        check_flag("output_projection", self.output_projection)
        if self.gate is not None and not isinstance(self.gate, GateConfig):
            raise ValueError(f"gate is {self.gate!r}; it must be a GateConfig or None")
        if self.model_dim % self.heads:
            raise ValueError(
                f"heads is {self.heads}; it must divide model_dim, which is {self.model_dim}"
            )

    @property
    def layer(self) -> type[AttentionLayer]:
        """The mechanism, which says what it can."""
        return LAYERS[self.source]
