"""The sizes and parts of a language model, and its block topologies: the inputs of the MLPs."""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.attention import GateConfig
from gating_core.characters import CHARACTERS
from gating_core.checks import check_choice, check_integer
from gating_core.lm.attention_kinds import ATTENTION_KINDS

POSITIONS = ("G1", "G2")  # positions of a gate: after attention, and on the values


@dataclass(frozen=True)
class Topology:
    """The inputs of the MLP of a later block besides the residual stream x.

    The first block always has the standard topology. *First attentions last* (FAL: Kim et al.,
    arXiv 2510.14614) feeds the MLP of every later block from the first block's attention, so that
    attention and MLP of a block can run in parallel. Where exactly its norms are is our reading of
    that paper.

    The MLP reads norm(x + A_l), or norm(x) if it does not read its own block's attention; if it
    reads the first block's, norm(A_1) is added. A_l is the attention output of
    block l after its projection, and every norm has gains of its own.
    """

    reads_own: bool  # A_l; then the MLP must wait for the attention of its block
    reads_first: bool  # A_1


TOPOLOGIES = {
    "usual": Topology(reads_own=True, reads_first=False),
    "fal": Topology(reads_own=False, reads_first=True),
    "fal_plus": Topology(reads_own=True, reads_first=True),
    "parallel": Topology(reads_own=False, reads_first=False),  # attention and MLP in parallel
}


@dataclass(frozen=True)
class ModelConfig:
    """A decoder of ``depth`` blocks of attention and MLP, with states of ``width`` D.

    ``ValueError`` for sizes that do not fit, and for unknown kinds of gate, attention and topology.
    """

    depth: int = 4
    width: int = 96  # D
    heads: int = 4  # of d = D / H channels each
    context: int = 128  # characters that it reads at most, the line break before them included
    characters: int = len(CHARACTERS)
    gate: GateConfig | None = None
    attention: str = "softmax"  # a key of ATTENTION_KINDS
    topology: str = "usual"  # a key of TOPOLOGIES
    # Keys that a query sees at most, its own included; with linear attention: in the added window.
    window: int | None = None

    def __post_init__(self) -> None:
        check_integer("depth", self.depth, 1, 64)
        check_integer("width", self.width, 1, 4096)
        check_integer("heads", self.heads, 1, self.width)
        check_integer("context", self.context, 1, 4096)
        check_integer("characters", self.characters, 2, 65536)
        check_choice("attention", self.attention, ATTENTION_KINDS)
        check_choice("topology", self.topology, TOPOLOGIES)
        if self.window is not None:
            check_integer("window", self.window, 1, self.context)
        if self.width % self.heads:
            raise ValueError(f"width is {self.width}; it must be a multiple of heads, {self.heads}")
        if self.gate is not None:
            check_choice("gate.position", self.gate.position, POSITIONS)
            if self.gate.record.control is not None:
                raise ValueError(f"gate.kind is {self.gate.kind!r}, a control; it must be a gate")
