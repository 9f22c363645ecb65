"""The one sentence of every tab: does a gate make leaving out cheaper?"""

from __future__ import annotations

from gating_core.at_work import PairedDifference
from ui.common.words import figures, plus_minus

LEAST_SEEDS = 3  # with fewer there is no verdict


def gate_text(saves: PairedDifference, what: str, ungated: float, gated: float) -> str:
    """Say whether ``what`` costs models with a gate less: ``saves`` is gated less ungated."""
    seeds = len(saves.by_seed)
    if seeds < LEAST_SEEDS:
        return f"Whether a gate makes {what} cheaper: {seeds} seeds are too few."
    if saves.high < 0:
        verdict = f"**A gate makes {what} cheaper**"
    elif saves.low > 0:
        verdict = f"**A gate makes {what} dearer**"
    else:
        verdict = f"**It is open whether a gate makes {what} cheaper**"
    sign = "+" if saves.low > 0 else ""
    change = f"{figures(ungated)} → {figures(gated)}".replace("-", "−")
    return (
        f"{verdict}: {change} nats a character above full attention, a difference of"
        f" {sign}{plus_minus(saves.mean, saves.half_width)} ({seeds} seeds, interval over these"
        " and texts)."
    )
