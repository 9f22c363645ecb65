"""How is a verdict said? Sentences from the numbers, a table, and what would change it."""

from collections.abc import Callable
from typing import Any

from gating_core.claims.said.bounds import with_gate, without_gate
from gating_core.claims.said.differences import better, more_curvature
from gating_core.claims.said.equality import equal
from gating_core.claims.said.growth import deeper
from gating_core.claims.said.relation import together
from gating_core.claims.said.said import Wording
from gating_core.claims.thresholds import Thresholds

__all__ = ["WORDING", "Wording"]

WORDING: dict[str, Callable[[Any, str, Thresholds], Wording]] = {
    "C1": without_gate,
    "C2": with_gate,
    "C3": more_curvature,
    "C4": better,
    "C5": equal,
    "C6": together,
    "C7": deeper,
}
