"""The kinds of gates and of their controls, one record each, and the configuration of one gate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from gating_core.checks import check_choice, check_number

GATE_GRANULARITIES = ("elementwise", "headwise")
GATE_POSITIONS = ("G1", "G2", "G3", "G4", "G5")


@dataclass(frozen=True)
class GateKind:
    """A kind of gate, or a control in its position, with its texts in the app.

    It computes ``sigma(z)`` of z = W h + b, or of the gated value where it does not read the state
    h. A control replaces a gate, to show which effects do not need one.

    ``sigma`` acts elementwise. Curvature has rigorous bounds where it is written in arithmetic and
    functions of `gating_core.jets.elementary`; with another torch function it has estimates, and
    only if torch.func can differentiate that one twice. ``script`` and ``javascript`` are the same
    function as expressions in z, and a test compares the three.
    """

    title: str  # as within a sentence
    sigma: Callable[[torch.Tensor], torch.Tensor]
    script: str | None  # sigma of z in plain PyTorch; None: there is no exported script
    line: str = ""  # what it does, for the tiles of Decision boundary
    formula: str = ""  # in TeX; o is what attention gives, h the state that the gate reads
    javascript: str | None = None  # sigma of z, for the tree on Experts; a gate must have it
    reads_state: bool = True  # it has weights of its own
    constant: bool = False  # the same number everywhere
    additive: bool = False  # added to what it acts on; a gate multiplies
    control: str | None = None  # None for a gate; else its name in the exported script
    variant: str | None = None  # its name among the compared variants, where that is another


GATE_KINDS = {  # a new kind is one more row: pages, variants, tests and scripts follow
    "sigmoid": GateKind(
        "sigmoid gate",
        torch.sigmoid,
        "torch.sigmoid(z)",
        "every channel times its own factor, 0 to 1",
        r"o \odot \sigma(Wh + b)",
        "1 / (1 + Math.exp(-z))",
    ),
    "silu": GateKind(
        "SiLU gate",
        lambda z: z * torch.sigmoid(z),  # not F.silu: torch.func cannot differentiate it twice
        "torch.nn.functional.silu(z)",
        "factors that may grow, and turn negative",
        r"o \odot \mathrm{SiLU}(Wh + b)",
        "z / (1 + Math.exp(-z))",
    ),
    "tanh": GateKind(
        "tanh gate",
        torch.tanh,
        "torch.tanh(z)",
        "factors from −1 to 1: channels flip",
        r"o \odot \tanh(Wh + b)",
        "Math.tanh(z)",
    ),
    "constant": GateKind(
        "constant gate of ½",
        lambda z: torch.tensor(0.5, dtype=z.dtype),
        "torch.full_like(z, 0.5)",
        "a control: the factor never changes",
        r"\tfrac12\,o",
        reads_state=False,
        constant=True,
        control="constant factor 1/2",
        variant="half",
    ),
    "additive": GateKind(
        "additive control",
        torch.sigmoid,
        "torch.sigmoid(z)",
        "a control: added, where a gate multiplies",
        r"o + \sigma(Wh + b)",
        additive=True,
        control="added sigmoid",
    ),
    "pointwise": GateKind(
        "pointwise SiLU",
        torch.sigmoid,  # SiLU(x) is x times the sigmoid of x
        "torch.sigmoid(z)",
        "a control: nonlinear, but reads no state",
        r"\mathrm{SiLU}(o)",
        reads_state=False,
        control="SiLU",
    ),
}
GATE_NAMES = tuple(name for name, kind in GATE_KINDS.items() if kind.control is None)
CONTROL_NAMES = tuple(name for name, kind in GATE_KINDS.items() if kind.control is not None)


@dataclass(frozen=True)
class GateConfig:
    """A multiplicative gate ``y * ((1 - strength) + strength * sigma(W h + b))``.

    Positions (Qiu et al., arXiv 2505.06708, figure 1): G1 after attention, G2 on the values, G3 on
    the keys, G4 on the queries, G5 after the output projection. The gate reads the state that the
    query is made from (G1, G4, G5) or that of each token (G2, G3). Slots have no state: there G2
    and G3 read the slot's own vector and are constants.

    Controls are elementwise at G1: "constant" multiplies by 1/2; "additive" gives
    ``y + strength * sigmoid(W h + b)``; "pointwise" is SiLU(y), a sigmoid gate that reads y itself.
    """

    kind: str = "sigmoid"  # a key of GATE_KINDS
    granularity: str = "elementwise"  # one gate per channel; "headwise": per head (G5: one in all)
    position: str = "G1"  # GATE_POSITIONS
    strength: float = 1.0  # 0 (no gate at all) to 1

    def __post_init__(self) -> None:
        check_choice("gate.kind", self.kind, GATE_KINDS)
        check_choice("gate.granularity", self.granularity, GATE_GRANULARITIES)
        check_choice("gate.position", self.position, GATE_POSITIONS)
        check_number("gate.strength", self.strength, 0.0, 1.0)
        if self.record.control and (self.granularity, self.position) != ("elementwise", "G1"):
            raise ValueError(
                f"gate is {self.granularity} at {self.position}; the control {self.kind!r} must be"
                " elementwise at G1"
            )

    @property
    def record(self) -> GateKind:
        """What this kind of gate is."""
        return GATE_KINDS[self.kind]
