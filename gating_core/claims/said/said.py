"""What is said of a claim?"""

from __future__ import annotations

from dataclasses import dataclass

from gating_core.claims.wording import Table


@dataclass(frozen=True)
class Wording:
    """What is said of one claim."""

    sentences: str
    table: Table
    changes: str
