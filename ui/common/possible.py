"""Which is the nearest to what was asked for that can be? Rules that pages have in common."""

from __future__ import annotations

import math

from gating_core.attention import MECHANISMS

SOURCES_HELP = "Slots are the same for all inputs; tokens move with the input. " + " ".join(
    f"*{name}*: {mechanism.come_from}." for name, mechanism in MECHANISMS.items()
)


def fitting_heads(heads: int, dim: int) -> tuple[int, str]:
    """The most heads that divide both, and a sentence where these are fewer than asked for."""
    found = math.gcd(heads, dim)
    if found == heads:
        return heads, ""
    return found, f"{heads} heads do not divide D = {dim}. Shown: {found}."
