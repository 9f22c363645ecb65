"""Which gates are there, and what is held against them? One record for each: `GATES`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class GateKind:
    """What stands at a gate's place, and all that the rest of the house says about it.

    It makes ``sigma(z)`` of z = W h + b, or of what it acts on where it does not read the state h.
    """

    title: str  # as in a sentence
    sigma: Callable[[torch.Tensor], torch.Tensor]
    script: str | None  # sigma of {0} in plain PyTorch; None: there is no script of it yet
    reads_state: bool = True  # by weights of its own
    constant: bool = False  # the same number everywhere
    additive: bool = False  # added to what it acts on, which a gate multiplies
    control: str | None = None  # None for a gate; else what a script calls it, in place of a gate


GATES = {
    "sigmoid": GateKind("sigmoid gate", torch.sigmoid, "torch.sigmoid({0})"),
    "silu": GateKind(
        "SiLU gate",
        lambda z: z * torch.sigmoid(z),  # not F.silu: torch.func cannot differentiate it twice
        "torch.nn.functional.silu({0})",
    ),
    "tanh": GateKind("tanh gate", torch.tanh, "torch.tanh({0})"),
    "constant": GateKind(
        "constant gate of ½",
        lambda z: torch.tensor(0.5, dtype=z.dtype),
        "0.5",
        reads_state=False,
        constant=True,
        control="constant factor 1/2",
    ),
    "additive": GateKind(
        "additive control",
        torch.sigmoid,
        "torch.sigmoid({0})",
        additive=True,
        control="added sigmoid",
    ),
    "pointwise": GateKind(
        "pointwise SiLU",
        torch.sigmoid,  # SiLU(x) is x times the sigmoid of x
        "torch.sigmoid({0})",
        reads_state=False,
        control="SiLU",
    ),
}
GATE_KINDS = tuple(name for name, kind in GATES.items() if kind.control is None)
CONTROL_KINDS = tuple(name for name, kind in GATES.items() if kind.control is not None)
