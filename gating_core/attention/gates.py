"""The kinds of gates and of their controls, and the gate: a part of a layer, or ``None``.

Shapes: S seeds, D model dimension, H heads of d = D / H channels; dots stand for axes of points,
slots or tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from gating_core.checks import check_choice, check_number
from gating_core.points_last import product
from gating_core.randomness import normal

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
    javascript: str | None = None  # sigma of z, for the tree of Decomposition; a gate must have it
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
        """The row of `GATE_KINDS` of this gate."""
        return GATE_KINDS[self.kind]


# --- The gate -------------------------------------------------------------------------------------

BIAS_SCALE = 0.1


class Gate(nn.Module):
    """``x * ((1 - strength) + strength * sigma(W h + b))``, one gate per channel or per head.

    All members have the configuration's strength, unless ``strengths`` names one for each. At 0
    the gate is skipped, so that the result is the ungated one bit for bit. Kinds that do not read
    the state h have no weights.
    """

    strengths: torch.Tensor | None  # (S,), where members have strengths of their own

    def __init__(
        self,
        config: GateConfig,
        model_dim: int,
        heads: int,
        seeds: tuple[int, ...],
        name: str,
        strengths: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.heads = 1 if config.position == "G5" else heads
        own = None if strengths is None else torch.tensor(strengths, dtype=torch.float64)
        self.register_buffer("strengths", own, persistent=False)
        if config.record.reads_state:
            width = model_dim if config.granularity == "elementwise" else self.heads
            scale = model_dim**-0.5
            self.weight = nn.Parameter(normal(seeds, f"{name}.weight", (model_dim, width), scale))
            self.bias = nn.Parameter(normal(seeds, f"{name}.bias", (width,), BIAS_SCALE))

    @property
    def strength(self) -> float | torch.Tensor:
        """One number for all members, or one for each of them (S,)."""
        return float(self.config.strength) if self.strengths is None else self.strengths

    @property
    def idle(self) -> bool:
        """True if the gate leaves every member's output as it is."""
        return self.strengths is None and self.config.strength == 0

    @property
    def needs_state(self) -> bool:
        """True if the gated output depends on the state."""
        return self.config.record.reads_state and not self.idle

    def logits(self, states: torch.Tensor | None) -> torch.Tensor:
        """(S, ..., D or H): W h + b for the states h (S, ..., D), of a kind that reads them."""
        assert states is not None
        inner = (1,) * (states.ndim - 3)
        weight = self.weight.unflatten(0, (-1, *inner)) if inner else self.weight
        return product(states, weight) + self.bias.unflatten(0, (-1, *inner, 1))

    @property
    def constant(self) -> torch.Tensor:
        """(S,) or (): whether it multiplies by the same number whatever the input."""
        return (torch.as_tensor(self.strength) == 0) | self.config.record.constant

    def values(self, states: torch.Tensor | None, x: torch.Tensor) -> torch.Tensor:
        """(S, ..., D or H): the factors of ``x``, strength included.

        For an additive control, its summand; a constant may have no axes. ``states``
        (S, ..., D) may be ``None`` where they are not read.
        """
        z = self.logits(states) if self.config.record.reads_state else x
        gate = self.config.record.sigma(z)
        strength = self.strength
        if isinstance(strength, torch.Tensor):
            strength = strength.to(x.dtype).reshape(-1, *(1,) * (x.ndim - 1))
        elif strength == 1.0:
            return gate
        if self.config.record.additive:
            return strength * gate
        return (1 - strength) + strength * gate

    def forward(self, x: torch.Tensor, states: torch.Tensor | None) -> torch.Tensor:
        """(S, ..., D): ``x`` times the gate that ``states`` (S, ..., D) open."""
        if self.idle:
            return x
        gate = self.values(states, x)
        if self.config.record.additive:
            return x + gate
        if self.config.granularity == "elementwise" or self.heads == 1:
            return x * gate
        by_head = x.unflatten(-1, (self.heads, -1)) * gate.unsqueeze(-1)
        return by_head.flatten(-2)
