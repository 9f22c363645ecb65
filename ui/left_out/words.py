"""What all tabs say of whole models: their losses, and whether a gate makes leaving out cheaper.

Shapes: S seeds, N texts, C columns, one for each way to leave something out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from gating_core.at_work import PairedDifference, loss_difference
from ui.common.words import figures, plus_minus

LEAST_SEEDS = 3  # with fewer there is no verdict
Arrays = Mapping[str, np.ndarray]
Name = TypeVar("Name")


def nearest(measured: Iterable[int], to: int) -> int:
    """Return that of the ``measured`` numbers which is nearest to ``to``, by their ratio."""
    return min(measured, key=lambda one: abs(np.log2(one / to)))


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses of texts in nats, of models of several seeds."""

    sums: np.ndarray  # (S, C, N): with something left out
    full: np.ndarray  # (S, N)
    counts: np.ndarray  # (N,): characters

    def above(self, names: Sequence[Name]) -> dict[Name, PairedDifference]:
        """Return the losses above the full ones by the name of the column."""
        return {name: loss_difference(self.sums[:, column], self.full, self.counts)
                for column, name in enumerate(names)}  # fmt: skip


def by_seed(tables: Sequence[Arrays], name: str) -> np.ndarray:
    """(S, ...): the array called ``name`` of models of several seeds."""
    return np.stack([of[name] for of in tables]).astype(float)


def gate_saves(gated: Losses, ungated: Losses, column: int) -> PairedDifference:
    """Return how much more models with a gate lose by what a ``column`` leaves out than others.

    Below 0 a gate saves loss.
    """
    return loss_difference(gated.sums[:, column] - gated.full,
                           ungated.sums[:, column] - ungated.full, gated.counts)  # fmt: skip


def nats(difference: PairedDifference) -> str:
    """Format a difference with its interval."""
    return plus_minus(difference.mean, difference.half_width)


def gate_verdict(saves: PairedDifference, what: str) -> str:
    """Say whether ``what`` costs models with a gate less: ``saves`` is gated minus ungated."""
    seeds = len(saves.by_seed)
    if seeds < LEAST_SEEDS:
        return f"Whether a gate makes {what} cheaper: too few seeds ({seeds})"
    if saves.low <= 0 <= saves.high:
        return f"**It is undecided whether a gate makes {what} cheaper**"
    return f"**A gate makes {what} {'cheaper' if saves.mean < 0 else 'dearer'}**"


def gate_text(saves: PairedDifference, what: str, ungated: float, gated: float) -> str:
    """Return `gate_verdict` with the mean losses of both, and their difference."""
    seeds = len(saves.by_seed)
    if seeds < LEAST_SEEDS:
        return f"{gate_verdict(saves, what)}."
    verdict, sign = gate_verdict(saves, what), "+" if saves.low > 0 else ""
    change = f"{figures(ungated)} → {figures(gated)}".replace("-", "−")
    return (
        f"{verdict}. Nats a character above full attention: {change}, difference"
        f" {sign}{nats(saves)} ({seeds} seeds; interval over seeds and"
        " texts)."
    )
