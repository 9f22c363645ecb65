"""What is selected on the Experts page, and the models that belong to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gating_core.attention import AttentionConfig, GateConfig
from ui.common.possible import fitting_heads

TREE, NULLS = "One entry, taken apart", "What no data can decide"
TABS = (TREE, NULLS)  # as in ui/experts/sections.py
NO_GATE = "none"
POSITIONS = {"no gate": NO_GATE, "G1": "G1", "G2": "G2", "G3": "G3", "G4": "G4", "G5": "G5"}
GRANULARITIES = {"channel": "elementwise", "head": "headwise"}
EXPERT = re.compile(r"([1-9])\.([1-9])")  # head and channel of an expert, counted from 1


@dataclass(frozen=True)
class ExpertsSelection:
    """The page's controls: a token model of one layer, an input point and an output channel."""

    model_dim: int = 4  # D
    heads: int = 2  # H
    value_count: int = 3  # n tokens
    position: str = "G1"  # a value of POSITIONS
    granularity: str = "elementwise"  # a value of GRANULARITIES
    kind: str = "sigmoid"
    seed: int = 0
    strength: float = 1.0  # λ of the gate
    channel: int = 1  # of the output, counted from 1
    point: tuple[float, float] = (0.5, -0.3)  # x, the input
    expert: str = ""  # the followed one, as `EXPERT`; empty for none

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


def resolve(selection: ExpertsSelection) -> tuple[ExpertsSelection, list[str]]:
    """Return the nearest possible selection, and a sentence for each thing that is another."""
    heads, note = fitting_heads(selection.heads, selection.model_dim)
    notes = [note] if note else []
    channel, expert = min(selection.channel, selection.model_dim), selection.expert
    if channel < selection.channel:
        notes.append(f"There is no output {selection.channel}. Shown: {channel}.")
    if found := EXPERT.fullmatch(expert):
        head, own = map(int, found.groups())
        if head > heads or own > selection.model_dim // heads:
            notes.append(f"There is no expert {expert} in this model. None is followed.")
            expert = ""
    return replace(selection, heads=heads, channel=channel, expert=expert), notes
