"""What is selected on the Experts page, and the models that belong to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gating_core.attention import AttentionConfig, GateConfig
from ui.common.possible import fitting_heads

TREE, NULLS = "One entry, taken apart", "What no data can decide"
DATA, CURVES = "How many data does it take?", "And in training?"
TABS = (TREE, NULLS, DATA, CURVES)  # as in ui/experts/sections.py
NO_GATE = "none"
RANDOM = "random"  # weights, in place of a task
POSITIONS = {"no gate": NO_GATE, "G1": "G1", "G2": "G2", "G3": "G3", "G4": "G4", "G5": "G5"}
MIXING, SCALING = "mix two experts", "scale one expert"
FARTHEST = 2.0  # of moves: t from -FARTHEST to FARTHEST
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
    task: str = RANDOM  # that the model has learned, a key of TASKS
    seed: int = 19  # an entry whose terms have both signs
    strength: float = 1.0  # λ of the gate
    channel: int = 1  # of the output, counted from 1
    point: tuple[float, float] = (-0.6, 0.4)  # x, the input
    expert: str = ""  # the followed one, as `EXPERT`; empty for none
    direction: str = MIXING  # in which weights move: or SCALING
    distance: float = 1.0  # t: how far

    @property
    def config(self) -> AttentionConfig:
        """The model's configuration."""
        return self.with_gate(self.position, self.granularity)

    def with_gate(self, position: str, granularity: str) -> AttentionConfig:
        """Return the configuration with the gate at another position."""
        gate = None
        if position != NO_GATE:
            gate = GateConfig(self.kind, granularity, position, self.strength)
        return AttentionConfig(
            source="tokens", model_dim=self.model_dim, heads=self.heads,
            value_count=self.value_count, output_projection=True, gate=gate,
        )  # fmt: skip

    @property
    def gate_setting(self) -> tuple[str, str] | None:
        """Position and granularity of the gate, if there is one."""
        return None if self.position == NO_GATE else (self.position, self.granularity)

    @property
    def moved(self) -> tuple[int, int, int]:
        """The head, and the first and second of its experts that are moved, counted from 0.

        The followed expert comes first, or else the first one of all.
        """
        match = EXPERT.fullmatch(self.expert or "1.1")
        assert match is not None
        head, first = (int(number) - 1 for number in match.groups())
        return head, first, (first + 1) % (self.model_dim // self.heads)

    @property
    def mixes(self) -> bool:
        """Whether two experts are mixed: a head of one channel has nothing to mix."""
        return self.direction == MIXING and self.heads < self.model_dim

    @property
    def compared(self) -> ExpertsSelection:
        """The gated model that is moved beside the one without a gate: itself, if it has one."""
        return (
            self if self.gate_setting else replace(self, position="G1", granularity="elementwise")
        )


def resolve(selection: ExpertsSelection) -> tuple[ExpertsSelection, list[str]]:
    """Return the nearest possible selection, and a sentence for each field that was changed."""
    heads, note = fitting_heads(selection.heads, selection.model_dim)
    notes = [note] if note else []
    channel, expert = min(selection.channel, selection.model_dim), selection.expert
    if channel < selection.channel:
        notes.append(f"There is no output {selection.channel}. Shown: {channel}.")
    if match := EXPERT.fullmatch(expert):
        head, own = map(int, match.groups())
        if head > heads or own > selection.model_dim // heads:
            notes.append(f"There is no expert {expert} in this model. None is followed.")
            expert = ""
    return replace(selection, heads=heads, channel=channel, expert=expert), notes
