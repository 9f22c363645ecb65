"""The tab Decision: what each gate changes and costs, and the advice that follows."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from gating_core.lm.measurements.overview import BASE, KEPT, OverviewRow
from ui.common import charts as c
from ui.common.formatting import figures
from ui.common.lessons import section
from ui.language_models import shared, sinks
from ui.language_models.shared import ROWS, difference_text, listed, signs

# What a gate may be for, by the number that is then lower: in the answer, where no gain is shown,
# and in the sentence that follows.
GOALS = {
    "loss": ("for a lower loss", "for the loss", "the loss"),
    "first_share": ("against attention sinks",) * 2 + ("the first token's share of attention",),
    "added": ("if heads are to keep few keys", "for keeping few keys",
              f"what top-{KEPT} attention adds to the loss"),
}  # fmt: skip
# Columns by the number: heading, digits, and what multiplies it.
COLUMNS = {
    "loss": ("Δ loss, nats", 3, 1),
    "first_share": ("first-token share, %", 1, 100),
    "rank": ("effective rank, of {channels}", 1, 1),
    "added": (f"Δ loss of top-{KEPT}", 3, 1),
}
NONE = "–"
# The last row: Qiu et al., arXiv 2505.06708, of a mixture of experts.
PUBLISHED = ("published [Q], 15 billion weights: G1, per channel", "perplexity 6.026 → 5.761",
             "46.7 → 4.8\u00a0%", NONE, NONE, NONE, "below 1.02", NONE)  # fmt: skip


def draw() -> None:
    """Draw the tab."""
    rows = shared.architectures()
    charts = c.Charts("decision")
    charts.draw_table("gates", st, "Each gate against no gate, on held-out texts", columns(rows))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(section("language_models", "published"))
        charts.draw_footer(section("language_models", "decision"))
    sinks.draw()


def draw_advice() -> None:
    """Draw the answer of the page, above its tabs."""
    rows = shared.architectures()
    st.container(key="lead").markdown(advice(rows) if rows else "No language models are bundled.")


def columns(rows: Sequence[OverviewRow]) -> dict[str, list[str]]:
    """Return the table of gates, cells by heading; significant differences are bold."""
    base = next(row for row in rows if row.name == BASE)
    channels = base.config.width // base.config.heads
    cells: dict[str, list[str]] = {}

    def by(row: OverviewRow, name: str, digits: int, scale: float) -> str:
        text = difference_text(row.changes[name], digits, scale)
        return f"**{text}**" if signs(rows, name).get(row.name) else text

    for row in (row for row in rows if row.name in ROWS):
        cells.setdefault("gate", []).append(ROWS[row.name])
        for name, (heading, digits, scale) in COLUMNS.items():
            text = shown(row, name) if name in row.values else NONE
            if name in row.changes:
                change = by(row, name, digits, scale)
                text = change if name == "loss" else f"{text} ({change})"
            elif name == "loss":
                text = f"loss {text}"
            cells.setdefault(heading.format(channels=channels), []).append(text)
        more = f" (+{100 * (row.parameters / base.parameters - 1):.1f}\u00a0%)" * (row != base)
        cells.setdefault("parameters", []).append(f"{row.parameters:,}{more}")
        for heading, ratio in (("training time, ×", row.step_time),
                               ("time per token, ×", row.token_time)):  # fmt: skip
            quartiles = NONE if ratio is None else "{0:.2f} to {2:.2f}".format(*ratio)
            cells.setdefault(heading, []).append(NONE if row is base else quartiles)
    for heading, cell in zip(cells, PUBLISHED, strict=True):
        cells[heading].append(f"*{cell}*")
    return cells


def advice(rows: Sequence[OverviewRow]) -> str:
    """Answer the page's question from the differences: for what a gate is shown to be good.

    It names the gate that reaches most of `GOALS` without a higher loss, of several the one with
    the fewest parameters.
    """
    base = next(row for row in rows if row.name == BASE)
    gates = [row for row in rows if row.name in ROWS and row.changes]
    found = {goal: signs(rows, goal) for goal in GOALS}
    reached = {
        row.name: [goal for goal in GOALS if found[goal].get(row.name) == -1]
        for row in gates
        if found["loss"].get(row.name) != 1
    }
    best = min(
        (row for row in gates if reached.get(row.name)),
        key=lambda row: (-len(reached[row.name]), row.parameters),
        default=None,
    )
    goals = reached[best.name] if best else []
    missing = [words for goal, (_, words, _) in GOALS.items() if goal not in goals]
    text = f"Yes, {listed([GOALS[goal][0] for goal in goals])}." if best else "No."
    if missing:
        text += f" No gain is shown {listed(missing, 'or')} in these models."
    text = f"**{text}**"
    if best:
        falls = [
            f"{GOALS[goal][2]} from {shown(base, goal)} to {shown(best, goal)}" for goal in goals
        ]
        more = figures(100 * (best.parameters / base.parameters - 1), 2)
        text += f" {ROWS[best.name]}, reduces {listed(falls)}, for {more}\u00a0% more weights"
        if best.step_time is not None:
            text += f" and {100 * (best.step_time[1] - 1):.0f}\u00a0% more training time"
        text += "."
    sizes = [row.parameters for row in (base, *gates)]
    seeds = min(len(row.seeds) for row in (base, *gates))
    return (
        f"{text} Measured on character models of {min(sizes):,} to {max(sizes):,} weights, {seeds}"
        " seeds each: a large model need not do the same."
    )


def shown(row: OverviewRow, name: str) -> str:
    """Format a number as in its column, with its unit."""
    _, digits, scale = COLUMNS[name]
    return f"{scale * row.values[name].mean:.{digits}f}" + "\u00a0%" * (scale == 100)
