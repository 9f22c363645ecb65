"""The tab Decision: what each gate changes and costs, and the advice that follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from gating_core.lm.overview import BASE, KEPT, OverviewRow
from gating_core.lm.resampling import PairedDifference
from gating_core.lm.shipped import SEEDS
from ui.common import charts as c
from ui.common.formatting import figures
from ui.common.lessons import section
from ui.common.links import LINK
from ui.common.page import draw_finding
from ui.language_models import shared
from ui.language_models.shared import ROWS, difference_text, listed, signs, widened

CSS = Path(__file__).with_name("decision.css")


class Column(NamedTuple):
    """A number of the table of gates, and what is gained where a gate lowers it."""

    heading: str
    unit: str
    digits: int
    scale: int  # that multiplies the number
    goal: str = ""  # of the answer where it is reached, and where it is not
    missed: str = ""
    gain: str = ""


COLUMNS = {
    "added": Column(
        f"Δ loss of top-{KEPT}", "nats", 3, 1, "if heads are to keep few keys",
        "for keeping few keys", f"top-{KEPT} attention then costs {{}} nats less"),
    "loss": Column(
        "Test loss", "nats", 3, 1, "for a lower loss", "for the loss", "it falls by {} nats"),
    "first_share": Column(
        "First-token share", "%", 1, 100, *("against attention sinks",) * 2,
        "the first token gets {} points less attention"),
    "rank": Column("Effective rank", "", 1, 1),
}  # fmt: skip
DECIDING = ["added", "loss"]  # what is drawn first, large, beside the training time


def draw() -> None:
    """Draw the tab."""
    rows = shared.architectures()
    says, lead, best = advice(rows)
    draw_finding(says, lead=lead)
    charts = c.Charts("decision")
    st.html(CSS)
    drawn = st.container()
    every = st.toggle("All columns", key="lm_all", **LINK)
    drawn.html(
        f'<div class="gc-gates {"" if every else "gc-large"}" tabindex="0" role="region"'
        f' aria-label="Gates">{table(rows, [*COLUMNS] if every else DECIDING, best)}</div>'
    )
    charts.tables["gates"] = columns(rows)
    for name in ("key", "published"):
        st.markdown(f":small[{section('language_models', name)}]")
    charts.draw_footer(section("language_models", "decision"))


def table(rows: Sequence[OverviewRow], names: Sequence[str], best: str = "") -> str:
    """Return the table of gates as HTML: differences called ``names`` from no gate, intervals.

    The row of the ``best`` gate, which is advised, is marked.
    """
    base, gates = split(rows)
    changes = {name: widened(rows, name) for name in names}
    heads = "".join(
        f'<th scope="col">{column.heading}<em>no gate'
        f" {column.scale * base.values[name].mean:.{column.digits}f}\u00a0{column.unit}</em>"
        f"<small>{'lower is better' if column.goal else 'neither better nor worse'};"
        f" corrected for {len(changes[name])} tests</small></th>"
        for name, column in COLUMNS.items()
        if name in names
    )
    ends = {
        name: max(abs(of[x.name].mean) + of[x.name].half_width for x in gates)
        for name, of in changes.items()
    }
    slowest = max(row.step_time[2] for row in gates) - 1
    heads += '<th scope="col">Training time<em>no gate × 1</em><small>lower is better</small></th>'
    lines = [f'<tr><th scope="col">Gate</th>{heads}</tr>']
    for row in gates:
        cells = "".join(cell(of[row.name], row, name, ends[name]) for name, of in changes.items())
        cost, picture = costs(row, base), interval(row.step_time - 1, 12, 80 / slowest)
        cells += (
            f'<td class="gc-cost" data-gate="{ROWS[row.name]}">{picture}'
            f"{cost['training']}, weights\u00a0{cost['weights']}</td>"
        )
        note, kind = ("<small>advised</small>", "gc-advised") if row.name == best else ("", "")
        lines.append(f'<tr class="{kind}"><th scope="row">{ROWS[row.name]}{note}</th>{cells}</tr>')
    return f"<table>{''.join(lines)}</table>"


def interval(places: Iterable[float], zero: float, unit: float) -> str:
    """Return a bar between two ``places``, marked at the one between, ``unit`` % each, as HTML.

    Its dashed line, for 0, stands at ``zero`` %.
    """
    style = "; ".join(
        f"--{at}: {zero + unit * x:.1f}%" for at, x in zip("abc", places, strict=True)
    )
    return f'<i style="--zero: {zero}%; {style}"></i>'


def cell(change: PairedDifference, row: OverviewRow, name: str, end: float) -> str:
    """Return a difference as HTML: its interval within ± ``end``, its verdict and the number."""
    column, sign = COLUMNS[name], (change.low > 0) - (change.high < 0)
    word, kind = ("lower", "inconclusive", "higher")[sign + 1], "gc-shown" if sign else "gc-open"
    if sign < 0 and column.goal:
        word, kind = "✓ lower", f"{kind} gc-gain"
    return (
        f'<td class="{kind}" data-gate="{ROWS[row.name]}">'
        f"{interval((change.low, change.mean, change.high), 50, 48 / end)}"
        f"<b>{word}</b> {difference_text(change, column.digits, column.scale)}</td>"
    )


def split(rows: Sequence[OverviewRow]) -> tuple[OverviewRow, list[OverviewRow]]:
    """Return the models without a gate, and those of the table that are compared with them."""
    gates = [row for row in rows if row.name in ROWS and row.changes]
    return next(row for row in rows if row.name == BASE), gates


def costs(row: OverviewRow, base: OverviewRow) -> dict[str, str]:
    """Return what a gate costs: weights, and quartiles of times over those without a gate."""
    return {
        "weights": f"+{figures(100 * (row.parameters / base.parameters - 1), 2)}\u00a0%",
        "training": "× {0:.2f} to {2:.2f}".format(*row.step_time),
        "reading": "× {0:.2f} to {2:.2f}".format(*row.token_time),
    }


def columns(rows: Sequence[OverviewRow]) -> dict[str, list[object]]:
    """Return the table of gates as data, by heading."""
    base, gates = split(rows)
    lines: list[dict[str, object]] = []
    for row in (base, *gates):
        lines.append({"gate": ROWS[row.name], "parameters": row.parameters})
        for name, (heading, *_) in COLUMNS.items():
            change, wide = row.changes.get(name), widened(rows, name).get(row.name)
            lines[-1] |= {
                heading: row.values[name].mean,
                f"{heading}, difference": change and change.mean,
                f"{heading}, half width": change and change.half_width,
                f"{heading}, half width for all tests": wide and wide.half_width,
                f"{heading}, significant": bool(signs(rows, name).get(row.name)),
            }
        lines[-1] |= costs(row, base)
    return {heading: [line[heading] for line in lines] for heading in lines[-1]}


def advice(rows: Sequence[OverviewRow]) -> tuple[str, str, str]:
    """Answer the page's question from the differences, say of which gate and models, and name it.

    It names the gate that reaches most goals without a higher loss, of several the one with the
    fewest parameters.
    """
    base, gates = split(rows)
    goals = {name: column for name, column in COLUMNS.items() if column.goal}
    found = {goal: signs(rows, goal) for goal in goals}
    reached = {
        row.name: [goal for goal in goals if found[goal].get(row.name) == -1]
        for row in gates
        if found["loss"].get(row.name) != 1
    }
    best = min(
        (row for row in gates if reached.get(row.name)),
        key=lambda row: (-len(reached[row.name]), row.parameters),
        default=None,
    )
    lead = (
        f"Models of {max(row.parameters for row in (base, *gates)) / 1e6:.1f} million weights,"
        f" {len(SEEDS)} seeds each: large ones may differ. A gate can curve attention: does it pay?"
    )
    if best is None:
        return f"No: no gain is shown {listed([x.missed for x in goals.values()], 'or')}.", lead, ""
    first, *_ = names = reached[best.name]
    column = goals[first]
    amount = f"{-column.scale * best.changes[first].mean:.{column.digits}f}"
    says = f"Yes, {listed([goals[name].goal for name in names])}: {column.gain.format(amount)}."
    if len(names) < len(goals):
        says += " No other gain is shown in our models."
    cost = (
        f"{figures(100 * (best.parameters / base.parameters - 1), 2)}\u00a0% more weights and"
        f" {100 * (best.step_time[1] - 1):.0f}\u00a0% more training time"
    )
    return says, f"That is {ROWS[best.name]}, for {cost}. {lead}", best.name
