"""What is selected on the Experts page, and the model that it describes."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.attention import AttentionConfig, GateConfig

TREE, NULLS = "One entry, taken apart", "What no data can decide"
TABS = (TREE, NULLS)  # as in ui/experts/sections.py
NO_GATE = "none"
POSITIONS = {"no gate": NO_GATE, "G1": "G1", "G2": "G2", "G3": "G3", "G4": "G4", "G5": "G5"}


@dataclass(frozen=True)
class ExpertsSelection:
    """The page's controls: a token model of one layer, an input point and an output channel."""

    model_dim: int = 4  # D
    heads: int = 2  # H
    value_count: int = 3  # n tokens
    position: str = "G1"  # a value of POSITIONS
    granularity: str = "elementwise"
    kind: str = "sigmoid"
    seed: int = 0
    strength: float = 1.0  # λ of the gate
    channel: int = 1  # of the output, counted from 1
    point: tuple[float, float] = (0.5, -0.3)  # x, the input

    @property
    def config(self) -> AttentionConfig:
        """The model's configuration."""
        return self.with_gate(self.position, self.granularity)

    def with_gate(self, position: str, granularity: str) -> AttentionConfig:
        """Return the configuration with the gate in another place."""
        gate = None
        if position != NO_GATE:
            gate = GateConfig(self.kind, granularity, position, self.strength)
        return AttentionConfig(
            source="tokens", model_dim=self.model_dim, heads=self.heads,
            value_count=self.value_count, output_projection=True, gate=gate,
        )  # fmt: skip
