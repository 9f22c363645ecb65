"""Rules of several pages for the nearest possible value."""

from __future__ import annotations

import math


def fitting_heads(heads: int, dim: int) -> tuple[int, str]:
    """Return the most heads that divide both numbers, and a sentence if they are fewer."""
    fitting = math.gcd(heads, dim)
    if fitting == heads:
        return heads, ""
    return fitting, f"{heads} heads do not divide D = {dim}. Shown: {fitting}."
