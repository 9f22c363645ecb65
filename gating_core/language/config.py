"""The sizes and parts of a language model."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.attention import GateConfig
from gating_core.checks import check_choice, check_integer
from gating_core.language.attention_kinds import ATTENTION_KINDS
from gating_core.language.characters import CHARACTERS
from gating_core.language.wirings import WIRINGS

POSITIONS = ("G1", "G2")  # positions of a gate: after attention, and on the values


@dataclass(frozen=True)
class ModelConfig:
    """A decoder of ``depth`` blocks of attention and MLP, with states of ``width`` D.

    ``ValueError`` for sizes that do not fit, and for unknown kinds of gate, attention and wiring.
    """

    depth: int = 4
    width: int = 96  # D
    heads: int = 4  # of d = D / H channels each
    context: int = 128  # characters that it reads at most, the line break before them included
    characters: int = len(CHARACTERS)
    gate: GateConfig | None = None
    attention: str = "softmax"  # a key of ATTENTION_KINDS
    wiring: str = "usual"  # a key of WIRINGS
    # Keys that a query sees at most, its own included; with linear attention: in the added window.
    window: int | None = None

    def __post_init__(self) -> None:
        check_integer("depth", self.depth, 1, 64)
        check_integer("width", self.width, 1, 4096)
        check_integer("heads", self.heads, 1, self.width)
        check_integer("context", self.context, 1, 4096)
        check_integer("characters", self.characters, 2, 65536)
        check_choice("attention", self.attention, ATTENTION_KINDS)
        check_choice("wiring", self.wiring, WIRINGS)
        if self.window is not None:
            check_integer("window", self.window, 1, self.context)
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}; it must be a multiple of heads, {self.heads}")
        if self.gate is not None:
            check_choice("gate.position", self.gate.position, POSITIONS)
            if self.gate.record.control is not None:
                raise ValueError(f"gate.kind is {self.gate.kind!r}, a control; it must be a gate")
