"""The kinds of attention that are compared: a dictionary from name to gate.

Variants of one comparison differ in nothing else: same seed, data, optimiser.
"""

from __future__ import annotations

from gating_core.config import GateConfig

VARIANTS: dict[str, GateConfig | None] = {
    "ungated": None,
    "sigmoid": GateConfig("sigmoid", "elementwise"),
    "headwise": GateConfig("sigmoid", "headwise"),
}
