"""Rules of several pages for the nearest possible value."""

from __future__ import annotations

import math

from gating_core.attention import MECHANISMS

SOURCES_HELP = "Slots are the same for all inputs. Tokens change with the input. " + " ".join(
    f"*{name}*: {mechanism.come_from}." for name, mechanism in MECHANISMS.items()
)


def fitting_heads(heads: int, dim: int) -> tuple[int, str]:
    """Return the most heads that divide both numbers, and a sentence if they are fewer."""
    fitting = math.gcd(heads, dim)
    if fitting == heads:
        return heads, ""
    return fitting, f"{heads} heads do not divide D = {dim}. Shown: {fitting}."
