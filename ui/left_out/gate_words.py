"""The one sentence of every tab: does a gate make leaving out cheaper?"""

from __future__ import annotations

from gating_core.at_work import PairedDifference
from ui.common.words import figures, plus_minus

LEAST_SEEDS = 3  # with fewer there is no verdict


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
        f" {sign}{plus_minus(saves.mean, saves.half_width)} ({seeds} seeds; interval over seeds and"
        " texts)."
    )
